#include "flotilla/ps/cold_rows.h"

#include <dlfcn.h>

#include <numeric>
#include <string>
#include <utility>

#include "flotilla/base/error.h"

namespace flotilla::ps {

// The part of RocksDB's C interface that is used. All of its types are opaque.
struct ColdRows::Library {
  void* (*options_create)() = nullptr;
  void (*options_destroy)(void*) = nullptr;
  void (*options_set_create_if_missing)(void*, unsigned char) = nullptr;
  void (*options_set_compression)(void*, int) = nullptr;
  void (*options_set_block_based_table_factory)(void*, void*) = nullptr;
  void* (*block_based_options_create)() = nullptr;
  void (*block_based_options_destroy)(void*) = nullptr;
  void (*block_based_options_set_filter_policy)(void*, void*) = nullptr;
  void* (*filterpolicy_create_bloom)(double) = nullptr;
  void* (*readoptions_create)() = nullptr;
  void (*readoptions_destroy)(void*) = nullptr;
  void* (*writeoptions_create)() = nullptr;
  void (*writeoptions_destroy)(void*) = nullptr;
  void (*writeoptions_disable_WAL)(void*, int) = nullptr;
  void* (*open)(const void*, const char*, char**) = nullptr;
  void (*close)(void*) = nullptr;
  char* (*get)(void*, const void*, const char*, size_t, size_t*, char**) = nullptr;
  void (*write)(void*, const void*, void*, char**) = nullptr;
  void* (*writebatch_create)() = nullptr;
  void (*writebatch_destroy)(void*) = nullptr;
  void (*writebatch_clear)(void*) = nullptr;
  void (*writebatch_put)(void*, const char*, size_t, const char*, size_t) = nullptr;
  void (*writebatch_delete)(void*, const char*, size_t) = nullptr;
  void* (*create_iterator)(void*, const void*) = nullptr;
  void (*iter_destroy)(void*) = nullptr;
  void (*iter_seek)(void*, const char*, size_t) = nullptr;
  unsigned char (*iter_valid)(const void*) = nullptr;
  void (*iter_next)(void*) = nullptr;
  const char* (*iter_key)(const void*, size_t*) = nullptr;
  const char* (*iter_value)(const void*, size_t*) = nullptr;
  void (*iter_get_error)(const void*, char**) = nullptr;
  void (*free)(void*) = nullptr;

  // Whether all of it is there.
  bool load(void* from) {
    bool whole = true;
    const auto find = [&]<typename F>(F*& function, const char* name) {
      function = reinterpret_cast<F*>(::dlsym(from, (std::string("rocksdb_") + name).c_str()));
      whole = whole && function != nullptr;
    };
#define FLT_FIND(name) find(name, #name)
    FLT_FIND(options_create);
    FLT_FIND(options_destroy);
    FLT_FIND(options_set_create_if_missing);
    FLT_FIND(options_set_compression);
    FLT_FIND(options_set_block_based_table_factory);
    FLT_FIND(block_based_options_create);
    FLT_FIND(block_based_options_destroy);
    FLT_FIND(block_based_options_set_filter_policy);
    FLT_FIND(filterpolicy_create_bloom);
    FLT_FIND(readoptions_create);
    FLT_FIND(readoptions_destroy);
    FLT_FIND(writeoptions_create);
    FLT_FIND(writeoptions_destroy);
    FLT_FIND(writeoptions_disable_WAL);
    FLT_FIND(open);
    FLT_FIND(close);
    FLT_FIND(get);
    FLT_FIND(write);
    FLT_FIND(writebatch_create);
    FLT_FIND(writebatch_destroy);
    FLT_FIND(writebatch_clear);
    FLT_FIND(writebatch_put);
    FLT_FIND(writebatch_delete);
    FLT_FIND(create_iterator);
    FLT_FIND(iter_destroy);
    FLT_FIND(iter_seek);
    FLT_FIND(iter_valid);
    FLT_FIND(iter_next);
    FLT_FIND(iter_key);
    FLT_FIND(iter_value);
    FLT_FIND(iter_get_error);
    FLT_FIND(free);
#undef FLT_FIND
    return whole;
  }
};

namespace {

// Shard and key, so that the rows of a shard lie together; in the order of the bytes.
std::array<char, 9> name_of(int64_t key) {
  std::array<char, 9> name;
  name[0] = static_cast<char>(shard_of(key));
  for (int i = 0; i < 8; ++i) {
    name[static_cast<size_t>(i) + 1] =
        static_cast<char>(static_cast<uint64_t>(key) >> (56 - 8 * i));
  }
  return name;
}

int64_t key_of(const char* name) {
  uint64_t key = 0;
  for (int i = 1; i <= 8; ++i) key = key << 8 | static_cast<unsigned char>(name[i]);
  return static_cast<int64_t>(key);
}

}  // namespace

// Null where there is none.
const ColdRows::Library* ColdRows::library() {
  static const std::unique_ptr<Library> loaded = [] {
    auto made = std::make_unique<Library>();
    for (const char* name : {"librocksdb.so", "librocksdb.so.7.8", "librocksdb.so.8.9"}) {
      void* handle = ::dlopen(name, RTLD_NOW | RTLD_LOCAL);
      if (handle != nullptr && made->load(handle)) return made;
    }
    return std::unique_ptr<Library>();
  }();
  return loaded.get();
}

bool ColdRows::available() { return library() != nullptr; }

struct ColdRows::Database {
  explicit Database(const std::filesystem::path& folder) : rocks(*library()), folder(folder) {
    void* options = rocks.options_create();
    void* blocks = rocks.block_based_options_create();
    // Most keys that are asked for are new: the filter answers for them.
    rocks.block_based_options_set_filter_policy(blocks, rocks.filterpolicy_create_bloom(10));
    rocks.options_set_block_based_table_factory(options, blocks);
    rocks.options_set_create_if_missing(options, 1);
    rocks.options_set_compression(options, 0);  // floats hardly get shorter
    read = rocks.readoptions_create();
    write = rocks.writeoptions_create();
    rocks.writeoptions_disable_WAL(write, 1);
    batch = rocks.writebatch_create();
    char* error = nullptr;
    handle = rocks.open(options, folder.c_str(), &error);
    rocks.block_based_options_destroy(blocks);
    rocks.options_destroy(options);
    check(error);
  }
  ~Database() {
    rocks.writebatch_destroy(batch);
    rocks.readoptions_destroy(read);
    rocks.writeoptions_destroy(write);
    if (handle != nullptr) rocks.close(handle);
  }

  void check(char* error) const {
    if (error == nullptr) return;
    const std::string text = error;
    rocks.free(error);
    throw Error(ErrorKind::kUnavailable, fmt::format("cannot use {}: {}", folder.string(), text));
  }

  const Library& rocks;
  const std::filesystem::path folder;
  void* read = nullptr;
  void* write = nullptr;
  void* batch = nullptr;
  void* handle = nullptr;
};

ColdRows::ColdRows(const std::filesystem::path& folder) {
  require(available(), "rows can be kept on disk only where RocksDB is installed: librocksdb.so");
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  database_ = std::make_unique<Database>(folder);
}

ColdRows::~ColdRows() = default;

bool ColdRows::take(int64_t key, std::vector<std::byte>& row) {
  int64_t& count = sizes_[static_cast<size_t>(shard_of(key))];
  if (count == 0) return false;
  const Library& rocks = database_->rocks;
  const std::array<char, 9> name = name_of(key);
  size_t size = 0;
  char* error = nullptr;
  char* value =
      rocks.get(database_->handle, database_->read, name.data(), name.size(), &size, &error);
  database_->check(error);
  if (value == nullptr) return false;
  const auto* bytes = reinterpret_cast<const std::byte*>(value);
  row.assign(bytes, bytes + size);
  rocks.free(value);
  rocks.writebatch_delete(database_->batch, name.data(), name.size());
  flush();
  --count;
  return true;
}

void ColdRows::put(int64_t key, std::span<const std::byte> row) {
  const std::array<char, 9> name = name_of(key);
  database_->rocks.writebatch_put(database_->batch, name.data(), name.size(),
                                  reinterpret_cast<const char*>(row.data()), row.size());
  put_.push_back(shard_of(key));
}

void ColdRows::flush() {
  char* error = nullptr;
  database_->rocks.write(database_->handle, database_->write, database_->batch, &error);
  database_->rocks.writebatch_clear(database_->batch);
  const std::vector<int> put = std::exchange(put_, {});
  database_->check(error);
  for (const int shard : put) ++sizes_[static_cast<size_t>(shard)];
}

int64_t ColdRows::size() const { return std::accumulate(sizes_.begin(), sizes_.end(), int64_t{0}); }

void ColdRows::for_each(int shard, const See& see) const {
  if (size(shard) == 0) return;
  const Library& rocks = database_->rocks;
  const std::unique_ptr<void, void (*)(void*)> rows(
      rocks.create_iterator(database_->handle, database_->read), rocks.iter_destroy);
  const char first = static_cast<char>(shard);
  for (rocks.iter_seek(rows.get(), &first, 1); rocks.iter_valid(rows.get()) != 0;
       rocks.iter_next(rows.get())) {
    size_t size = 0;
    const char* name = rocks.iter_key(rows.get(), &size);
    if (name[0] != first) break;
    const int64_t key = key_of(name);
    const char* value = rocks.iter_value(rows.get(), &size);
    see(key, {reinterpret_cast<const std::byte*>(value), size});
  }
  char* error = nullptr;
  rocks.iter_get_error(rows.get(), &error);
  database_->check(error);
}

void ColdRows::update(int shard, const std::function<bool(std::span<std::byte> row)>& change) {
  const Library& rocks = database_->rocks;
  std::vector<std::byte> copy;
  int64_t gone = 0;
  // The iterator sees the rows as they were.
  for_each(shard, [&](int64_t key, std::span<const std::byte> row) {
    const std::array<char, 9> name = name_of(key);
    copy.assign(row.begin(), row.end());
    if (change(copy)) {
      rocks.writebatch_put(database_->batch, name.data(), name.size(),
                           reinterpret_cast<const char*>(copy.data()), copy.size());
    } else {
      rocks.writebatch_delete(database_->batch, name.data(), name.size());
      ++gone;
    }
  });
  flush();
  sizes_[static_cast<size_t>(shard)] -= gone;
}

}  // namespace flotilla::ps

#include "flotilla/ps/snapshot.h"

#include <bit>
#include <charconv>
#include <utility>

#include "flotilla/base/crc32c.h"
#include "flotilla/base/error.h"

namespace flotilla::ps {
namespace {

constexpr std::string_view kUnfinished = ".unfinished";
constexpr std::string_view kChangedRows = "changed rows";

// The words of a manifest, line by line.
class Words {
 public:
  explicit Words(std::string_view text) : text_(text) {}

  std::string_view line() {
    const size_t end = text_.find('\n');
    require(end != text_.npos, "the manifest is incomplete");
    const std::string_view taken = text_.substr(0, end);
    text_.remove_prefix(end + 1);
    return taken;
  }
  bool starts_with(std::string_view word) const { return text_.starts_with(word); }
  bool at_end() const { return text_.empty(); }

 private:
  std::string_view text_;
};

// One line, word by word.
class Line {
 public:
  explicit Line(std::string_view line) : line_(line), rest_(line) {}

  std::string_view word() {
    const size_t end = std::min(rest_.find(' '), rest_.size());
    const std::string_view taken = rest_.substr(0, end);
    rest_.remove_prefix(std::min(end + 1, rest_.size()));
    return taken;
  }
  void expect(std::string_view expected) {
    const std::string_view found = word();
    require(found == expected, "a manifest must have \"{}\" where it has \"{}\": {}", expected,
            found, line_);
  }
  template <typename T>
  T number(int base = 10) {
    const std::string_view text = word();
    T value = {};
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
    require(error == std::errc() && stop == text.data() + text.size() && !text.empty(),
            "a manifest must have a number where it has \"{}\": {}", text, line_);
    return value;
  }

 private:
  std::string_view line_;
  std::string_view rest_;
};

Piece parse_piece(std::string_view text) {
  Line line(text);
  Piece piece;
  if (line.word() == "shard") {
    piece.shard = line.number<int>();
    require(0 <= piece.shard && piece.shard < kShards, "a manifest has shard {}", piece.shard);
  } else {
    piece.slice = {line.number<int64_t>(), line.number<int64_t>()};
  }
  line.expect("record");
  piece.record = line.number<uint64_t>();
  line.expect("rows");
  piece.rows = line.number<int64_t>();
  line.expect("offset");
  piece.offset = line.number<uint64_t>();
  line.expect("bytes");
  piece.bytes = line.number<uint64_t>();
  line.expect("crc");
  piece.crc = line.number<uint32_t>(16);
  return piece;
}

TableManifest parse_one_table(Words& words) {
  TableManifest table;
  table.spec = parse_table(words.line());
  Line powers(words.line());
  powers.expect("powers");
  table.powers.beta1 = std::bit_cast<float>(powers.number<uint32_t>(16));
  table.powers.beta2 = std::bit_cast<float>(powers.number<uint32_t>(16));
  while (words.starts_with("shard ") || words.starts_with("slice ")) {
    table.pieces.push_back(parse_piece(words.line()));
  }
  return table;
}

std::filesystem::path file_of(const std::filesystem::path& directory, const TableSpec& table) {
  return directory / fmt::format("table.{}", table.id);
}

std::span<const std::byte> as_bytes(std::string_view text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

}  // namespace

std::string print(const Manifest& manifest) {
  std::string text = "flotilla snapshot 1\n";
  const auto add = [&]<typename... Args>(fmt::format_string<Args...> format, Args&&... args) {
    fmt::format_to(std::back_inserter(text), format, std::forward<Args>(args)...);
  };
  add("record {}\n", manifest.record);
  add("server {} of {}\n", manifest.share.server, manifest.share.servers);
  if (manifest.delta) add("{}\n", kChangedRows);
  if (manifest.values) add("{}\n", print(*manifest.values));
  for (const PushId& id : manifest.last_pushes) add("worker {} {}\n", id.worker, id.sequence);
  for (const TableManifest& table : manifest.tables) {
    add("{}\n", print(table.spec));
    add("powers {:x} {:x}\n", std::bit_cast<uint32_t>(table.powers.beta1),
        std::bit_cast<uint32_t>(table.powers.beta2));
    for (const Piece& piece : table.pieces) {
      if (piece.shard >= 0) {
        add("shard {}", piece.shard);
      } else {
        add("slice {} {}", piece.slice.begin, piece.slice.end);
      }
      add(" record {} rows {} offset {} bytes {} crc {:x}\n", piece.record, piece.rows,
          piece.offset, piece.bytes, piece.crc);
    }
  }
  add("end {:x}\n", crc32c(0, text.data(), text.size()));
  return text;
}

Manifest parse_manifest(std::string_view text) {
  const size_t end = text.rfind("end ");
  require(end != text.npos, "the manifest is incomplete");
  Line last(Words(text.substr(end)).line());
  last.expect("end");
  require(last.number<uint32_t>(16) == crc32c(0, text.data(), end),
          "the manifest is damaged: its checksum does not match");
  Words words(text.substr(0, end));
  Manifest manifest;
  require(words.line() == "flotilla snapshot 1", "the manifest was written by another version");
  Line record(words.line());
  record.expect("record");
  manifest.record = record.number<uint64_t>();
  Line server(words.line());
  server.expect("server");
  manifest.share.server = server.number<int>();
  server.expect("of");
  manifest.share.servers = server.number<int>();
  manifest.delta = words.starts_with(kChangedRows);
  if (manifest.delta) words.line();
  if (words.starts_with("values ")) manifest.values = parse_values(words.line());
  while (words.starts_with("worker ")) {
    Line worker(words.line());
    worker.expect("worker");
    PushId id;
    id.worker = worker.number<uint64_t>();
    id.sequence = worker.number<uint64_t>();
    manifest.last_pushes.push_back(id);
  }
  while (!words.at_end()) manifest.tables.push_back(parse_one_table(words));
  return manifest;
}

SnapshotWriter::SnapshotWriter(std::filesystem::path directory, Manifest head)
    : directory_(std::move(directory)),
      temporary_(directory_.string() + std::string(kUnfinished)),
      manifest_(std::move(head)) {
  std::filesystem::remove_all(temporary_);
  std::filesystem::create_directories(temporary_);
}

SnapshotWriter::~SnapshotWriter() {
  file_.reset();
  std::error_code ignored;
  std::filesystem::remove_all(temporary_, ignored);
}

void SnapshotWriter::begin_table(const TableSpec& spec, const Powers& powers) {
  end_table();
  manifest_.tables.push_back({.spec = spec, .powers = powers});
  file_ = std::make_unique<FileWriter>(file_of(temporary_, spec));
}

void SnapshotWriter::add_piece(Piece piece, std::span<const std::byte> bytes) {
  piece.offset = file_->size();
  piece.bytes = bytes.size();
  piece.crc = crc32c(0, bytes.data(), bytes.size());
  file_->write(bytes);
  manifest_.tables.back().pieces.push_back(piece);
}

void SnapshotWriter::end_table() {
  if (file_) file_->finish();
  file_.reset();
}

void SnapshotWriter::finish() {
  end_table();
  FileWriter file(temporary_ / "MANIFEST");
  file.write(as_bytes(print(manifest_)));
  file.finish();
  sync_directory(temporary_);
  replace_directory(temporary_, directory_);
}

std::string part_name(const Share& share) {
  return fmt::format("server-{}-of-{}", share.server, share.servers);
}

bool is_unfinished(const std::filesystem::path& directory) {
  return directory.filename().string().ends_with(kUnfinished);
}

Manifest read_manifest(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / "MANIFEST";
  const std::vector<std::byte> bytes = read_file(path);
  try {
    return parse_manifest({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  } catch (Error& error) {
    error.note("file", path.string());
    throw;
  }
}

std::vector<std::byte> read_piece(const std::filesystem::path& directory, const TableSpec& table,
                                  const Piece& piece) {
  const std::filesystem::path path = file_of(directory, table);
  std::vector<std::byte> bytes = read_piece(path, piece.offset, piece.bytes);
  const uint32_t crc = crc32c(0, bytes.data(), bytes.size());
  require(crc == piece.crc, "{} is damaged between bytes {} and {}", path.string(), piece.offset,
          piece.offset + piece.bytes);
  return bytes;
}

}  // namespace flotilla::ps

#include "flotilla/ps/client.h"

#include <filesystem>

#include "flotilla/base/error.h"
#include "flotilla/base/save_set.h"
#include "flotilla/ps/bytes.h"

namespace flotilla::ps {
namespace {

std::string text_of(const Bytes& answer) {
  return {reinterpret_cast<const char*>(answer.data.data()), answer.data.size()};
}

}  // namespace

void Client::create(const std::vector<TableSpec>& tables) {
  std::string text;
  for (const TableSpec& table : tables) text += print(table) + "\n";
  ask_all({.kind = RequestKind::kCreate, .text = text});
}

std::vector<TableSpec> Client::tables() {
  const std::string text = text_of(ask_all({.kind = RequestKind::kTables}).back());
  std::vector<TableSpec> tables;
  const size_t folder = text.find('\n') + 1;
  for (size_t begin = text.find('\n', folder) + 1; begin < text.size();) {
    const size_t end = text.find('\n', begin);
    tables.push_back(parse_table(std::string_view(text).substr(begin, end - begin)));
    begin = end + 1;
  }
  return tables;
}

std::vector<ServerValues> Client::values() {
  std::vector<ServerValues> values;
  for (const Bytes& answer : ask_all({.kind = RequestKind::kTables})) {
    const std::string text = text_of(answer);
    const size_t folder = text.find('\n') + 1;
    values.push_back({.values = parse_values(text.substr(0, folder - 1)),
                      .folder = text.substr(folder, text.find('\n', folder) - folder)});
  }
  return values;
}

void Client::set_values() {
  // Not one of those that are not drawn (values.h).
  const std::string text = print(Values{.id = new_incarnation() | uint64_t{1} << 63});
  ask_all({.kind = RequestKind::kValues, .text = text});
}

void Client::announce(Presence presence) {
  presence.rank = self().rank;
  ask_all({.kind = RequestKind::kPresence, .presence = presence});
}

void Client::save(const std::string& directory, const SaveOptions& what) {
  const std::filesystem::path target(directory);
  SaveSet save(target.parent_path());
  write(save.add_folder(target.filename()), what);
  save.commit();
  saved(what);
}

void Client::write(const std::string& directory, const SaveOptions& what) {
  ask_all({.kind = RequestKind::kSave, .text = directory, .files = what});
}

void Client::saved(const SaveOptions& what) {
  if (what.mode != SaveMode::kAll) ask_all({.kind = RequestKind::kSaved, .files = what});
}

void Client::load(const std::string& directory, uint32_t only) {
  // What one of them cannot read, none of them takes.
  ask_all({.kind = RequestKind::kCheck, .text = directory, .files = {.table = only}});
  ask_all({.kind = RequestKind::kLoad, .text = directory, .files = {.table = only}});
}

void Client::snapshot() { ask_all({.kind = RequestKind::kSnapshot}); }

int64_t Client::shrink(uint32_t table, const Shrink& rule) {
  int64_t gone = 0;
  for (const Bytes& answer :
       ask_all({.kind = RequestKind::kShrink, .table = table, .shrink = rule})) {
    gone += ByteReader(answer.data).get<int64_t>();
  }
  return gone;
}

void Client::for_each_row(const TableSpec& table, const SeeRows& see) {
  for (int shard = 0; shard < kShards; ++shard) {
    const Bytes answer = ask(Share::server_of(shard, servers()),
                             {.kind = RequestKind::kScan, .table = table.id, .shard = shard});
    ByteReader from(answer.data);
    const auto keys = from.get<uint64_t>();
    require(keys <= from.left() / sizeof(int64_t), "a server sent {} keys in {} bytes", keys,
            answer.data.size());
    const std::span<const std::byte> first = from.get_bytes(keys * sizeof(int64_t));
    const std::span<const std::byte> second =
        from.get_bytes(keys * static_cast<size_t>(table.width) * sizeof(float));
    if (keys == 0) continue;
    see({reinterpret_cast<const int64_t*>(first.data()), keys},
        {reinterpret_cast<const float*>(second.data()), second.size() / sizeof(float)});
  }
}

std::string Client::metrics(int server) {
  return text_of(ask(server, {.kind = RequestKind::kStats}));
}

}  // namespace flotilla::ps

#include "flotilla/ps/values.h"

#include <stdio.h>

#include <algorithm>
#include <system_error>

#include "flotilla/base/crc32c.h"
#include "flotilla/base/error.h"
#include "flotilla/ps/files.h"

namespace flotilla::ps {
namespace {

constexpr char kReady[] = "ready";

std::string print(const ReadyMark& mark) {
  std::string text = fmt::format("flotilla ready 1\nserver {} of {}\nvalues {:x} record {}\n",
                                 mark.share.server, mark.share.servers, mark.id, mark.record);
  return text + fmt::format("end {:x}\n", crc32c(0, text.data(), text.size()));
}

// What print() gave, and nothing else.
std::optional<ReadyMark> parse_mark(const std::string& text) {
  ReadyMark mark;
  unsigned long long id = 0, record = 0;
  if (::sscanf(text.c_str(), "flotilla ready 1\nserver %d of %d\nvalues %llx record %llu\n",
               &mark.share.server, &mark.share.servers, &id, &record) != 4) {
    return std::nullopt;
  }
  mark.id = id;
  mark.record = record;
  if (print(mark) != text) return std::nullopt;
  return mark;
}

}  // namespace

std::string print(const Values& values) {
  const char* state = values.as_loaded ? "loaded" : values.used ? "used" : "unused";
  std::string text = fmt::format("values {:x} {}", values.id, state);
  if (values.checkpoint != 0) text += fmt::format(" {:x}", values.checkpoint);
  return text;
}

Values parse_values(std::string_view text) {
  Values values;
  char state[8] = "";
  unsigned long long id = 0, checkpoint = 0;
  const std::string line(text);
  if (::sscanf(line.c_str(), "values %llx %7s %llx", &id, state, &checkpoint) >= 2) {
    values = {.id = id, .checkpoint = checkpoint};
    values.as_loaded = std::string_view(state) == "loaded";
    values.used = values.as_loaded || std::string_view(state) == "used";
    if (print(values) == text) return values;
  }
  refuse(
      "the state of a server's values must be \"values <id> used\", \"... unused\" or "
      "\"... loaded\", with a checkpoint or none, but is \"{}\"",
      text);
}

bool are_as_loaded(std::span<const ServerValues> servers) {
  return std::all_of(servers.begin(), servers.end(), [&](const ServerValues& one) {
    return one.values.as_loaded && one.values.checkpoint == servers.front().values.checkpoint;
  });
}

bool have_values(std::span<const ServerValues> servers) {
  const auto alike = [](const Values& a, const Values& b) {
    return a.id == b.id && a.checkpoint == b.checkpoint;
  };
  const auto find = [&](auto is) { return std::find_if(servers.begin(), servers.end(), is); };
  const auto rank = [&](auto at) { return at - servers.begin(); };
  const auto folder = [](auto at) { return at->folder.empty() ? "(in memory)" : at->folder; };
  const auto other = find([&](const ServerValues& one) {
    return one.values.id == 0 || !alike(one.values, servers.front().values);
  });
  if (other == servers.end() || are_as_loaded(servers)) return true;
  const auto used = find([](const ServerValues& one) { return one.values.used; });
  if (used == servers.end()) return false;
  constexpr char kAdvice[] =
      "restore the files of that server, or start with an empty --ps_dir, from a checkpoint if "
      "there is one (fleet.init_server(dir))";
  const auto none = find([](const ServerValues& one) { return one.values.id == 0; });
  if (none != servers.end()) {
    refuse(
        "server {} has tables that were trained or loaded, but server {} has none, as if its "
        "folder {} were lost: {}",
        rank(used), rank(none), folder(none), kAdvice);
  }
  const auto loaded = find([](const ServerValues& one) { return one.values.as_loaded; });
  const auto trained =
      find([](const ServerValues& one) { return one.values.used && !one.values.as_loaded; });
  if (loaded != servers.end() && trained != servers.end()) {
    refuse(
        "server {} has tables that were trained, but server {} has those of a checkpoint that it "
        "has loaded since, as if its folder {} had been lost: {}",
        rank(trained), rank(loaded), folder(loaded), kAdvice);
  }
  const auto strange =
      find([&](const ServerValues& one) { return !alike(one.values, used->values); });
  refuse(
      "servers {} and {} have tables that do not belong together, as if the folder of one, {} or "
      "{}, were that of another job, or a load had reached only one: {}",
      rank(used), rank(strange), folder(used), folder(strange), kAdvice);
}

void write_ready_mark(const std::filesystem::path& directory, const ReadyMark& mark) {
  const std::filesystem::path path = directory / kReady;
  const std::filesystem::path unfinished = path.string() + ".unfinished";
  std::error_code ignored;
  std::filesystem::remove(unfinished, ignored);
  const std::string text = print(mark);
  FileWriter file(unfinished);
  file.write(std::as_bytes(std::span(text)));
  file.finish();
  if (::rename(unfinished.c_str(), path.c_str()) != 0) fail_to("rename", unfinished);
  sync_directory(directory);
}

FoundMark read_ready_mark(const std::filesystem::path& directory) {
  const std::filesystem::path path = directory / kReady;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return {};
  const std::vector<std::byte> bytes = read_file(path);
  return {.exists = true,
          .empty = bytes.empty(),
          .mark = parse_mark({reinterpret_cast<const char*>(bytes.data()), bytes.size()})};
}

}  // namespace flotilla::ps

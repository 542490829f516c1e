#include "flotilla/ps/values.h"

#include <stdio.h>

#include <algorithm>
#include <charconv>
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
  return fmt::format("values {:x} {}", values.id, values.used ? "used" : "unused");
}

Values parse_values(std::string_view text) {
  Values values;
  const std::string_view prefix = "values ";
  const size_t space = text.rfind(' ');
  if (text.starts_with(prefix) && space >= prefix.size()) {
    const char* end = text.data() + space;
    const auto [stop, error] = std::from_chars(text.data() + prefix.size(), end, values.id, 16);
    values.used = text.substr(space + 1) == "used";
    if (error == std::errc() && stop == end && print(values) == text) return values;
  }
  refuse(
      "the state of a server's values must be \"values <id> used\" or \"... unused\", but is "
      "\"{}\"",
      text);
}

bool have_values(std::span<const Values> servers) {
  const auto used =
      std::find_if(servers.begin(), servers.end(), [](const Values& one) { return one.used; });
  const bool alike = std::all_of(servers.begin(), servers.end(), [&](const Values& one) {
    return one.id == servers.front().id && one.id != 0;
  });
  if (alike) return true;
  if (used == servers.end()) return false;
  const auto other = std::find_if(servers.begin(), servers.end(),
                                  [&](const Values& one) { return one.id != used->id; });
  const auto rank = [&](auto at) { return at - servers.begin(); };
  constexpr char kAdvice[] =
      "put the files of that server back, or begin with an empty --ps_dir, from a checkpoint if "
      "there is one (fleet.init_server(dir))";
  require(other->id != 0,
          "server {} has tables that were trained or loaded, but server {} has none, as if its "
          "folder were lost: {}",
          rank(used), rank(other), kAdvice);
  refuse(
      "servers {} and {} have tables that do not belong together, as if the folder of one were "
      "that of another job, or a load had reached only one: {}",
      rank(used), rank(other), kAdvice);
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

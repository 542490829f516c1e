#include "flotilla/base/host_list.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/error.h"

namespace flotilla {
namespace {

constexpr int64_t kMostHosts = 65536;

// Where the entry of a list that begins at `begin` ends: commas inside of brackets do not count.
size_t end_of_entry(std::string_view text, size_t begin) {
  int depth = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']') --depth;
    if (text[i] == ',' && depth == 0) return i;
  }
  return text.size();
}

// The numbers of "7" or "08-10", as wide as they are written.
std::optional<std::vector<std::string>> numbers_of(std::string_view range) {
  const size_t dash = std::min(range.find('-'), range.size());
  const std::string_view first = range.substr(0, dash);
  const std::string_view last = dash == range.size() ? first : range.substr(dash + 1);
  int64_t from = 0, to = 0;
  for (const auto& [word, number] : {std::pair(first, &from), std::pair(last, &to)}) {
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), *number);
    if (error != std::errc() || stop != word.data() + word.size()) return std::nullopt;
  }
  if (from < 0 || to < from || to - from >= kMostHosts) return std::nullopt;
  std::vector<std::string> numbers;
  for (int64_t i = from; i <= to; ++i) numbers.push_back(fmt::format("{:0{}}", i, first.size()));
  return numbers;
}

// "rack[1-2]n[1-2]" has a bracket more behind the first: what follows is expanded for each.
bool expand_entry(std::string_view entry, const std::string& before,
                  std::vector<std::string>& hosts) {
  const size_t open = entry.find('[');
  if (open == std::string_view::npos) {
    const std::string host = before + std::string(entry);
    if (host.empty() || entry.find(']') != std::string_view::npos) return false;
    hosts.push_back(host);
    return std::ssize(hosts) <= kMostHosts;
  }
  const size_t close = entry.find(']', open);
  if (close == std::string_view::npos || close == open + 1) return false;
  for (const std::string& range : split_list(entry.substr(open + 1, close - open - 1))) {
    const auto numbers = numbers_of(range);
    if (!numbers) return false;
    for (const std::string& number : *numbers) {
      const std::string begun = before + std::string(entry.substr(0, open)) + number;
      if (!expand_entry(entry.substr(close + 1), begun, hosts)) return false;
    }
  }
  return true;
}

}  // namespace

std::vector<std::string> expand_hosts(std::string_view text, const std::string& source) {
  std::vector<std::string> hosts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = end_of_entry(text, begin);
    require(expand_entry(text.substr(begin, end - begin), "", hosts),
            "{} must be a list of machines such as node[1-3,7],login, but is \"{}\"", source, text);
    begin = end + 1;
  }
  return hosts;
}

}  // namespace flotilla

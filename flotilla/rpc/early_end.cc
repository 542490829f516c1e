#include "flotilla/rpc/early_end.h"

#include <fmt/format.h>

#include <charconv>

namespace flotilla::rpc {
namespace {

constexpr std::string_view kWorker = "worker ";
constexpr std::string_view kAfter = " after ";
constexpr std::string_view kWhile = " while worker ";
// What the groups of comm say.
constexpr std::string_view kWasEnded = " was ended: ";
constexpr std::string_view kLost[] = {"rank ", "the connection to rank "};

}  // namespace

std::string ended_after(bool failed, int64_t steps) {
  return fmt::format("{}{}{} step{}", failed ? "failed" : "ended", kAfter, steps,
                     steps == 1 ? "" : "s");
}

std::string early_end(int64_t who, std::string_view how, std::string_view waiting) {
  return fmt::format("{}{} {} while {}", kWorker, who, how, waiting);
}

std::string_view find_early_end(std::string_view line) {
  const size_t meanwhile = line.find(kWhile);
  if (meanwhile == std::string_view::npos) return {};
  const size_t after = line.rfind(kAfter, meanwhile);
  if (after == std::string_view::npos) return {};
  const size_t begin = line.rfind(kWorker, after);
  if (begin == std::string_view::npos) return {};
  return line.substr(begin, line.find(':', meanwhile) - begin);
}

std::optional<int64_t> find_lost_rank(std::string_view line) {
  const size_t ended = line.find(kWasEnded);
  if (ended == std::string_view::npos) return std::nullopt;
  line.remove_prefix(ended + kWasEnded.size());
  for (const std::string_view begin : kLost) {
    if (!line.starts_with(begin)) continue;
    int64_t rank = 0;
    const char* digits = line.data() + begin.size();
    const auto [stopped, error] = std::from_chars(digits, line.data() + line.size(), rank);
    if (error == std::errc()) return rank;
  }
  return std::nullopt;
}

}  // namespace flotilla::rpc

#include "flotilla/rpc/early_end.h"

#include <fmt/format.h>

namespace flotilla::rpc {
namespace {

constexpr std::string_view kWorker = "worker ";
constexpr std::string_view kAfter = " after ";
constexpr std::string_view kWhile = " while worker ";

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

}  // namespace flotilla::rpc

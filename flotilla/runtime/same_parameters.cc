#include "flotilla/runtime/same_parameters.h"

#include <algorithm>
#include <set>

#include "flotilla/base/crc32c.h"
#include "flotilla/base/env.h"
#include "flotilla/base/error.h"

namespace flotilla {
namespace {

using Sums = std::vector<uint32_t>;

// Values as they are saved: in which layout a rank keeps them is its own affair.
uint32_t sum_of(const Tensor* tensor) {
  if (tensor == nullptr || !tensor->defined()) return 0;
  const Tensor plain = tensor->plain();
  return crc32c(0, plain.raw(), static_cast<size_t>(plain.bytes()));
}

std::string bytes_of(const Sums& sums) {
  return {reinterpret_cast<const char*>(sums.data()), sums.size() * sizeof(uint32_t)};
}

bool all_same(const std::vector<std::string>& values) {
  return std::ranges::all_of(values, [&](const std::string& v) { return v == values.front(); });
}

void refuse_first_difference(const std::vector<std::string>& names,
                             const std::vector<std::string>& all) {
  for (size_t i = 0; i < names.size(); ++i) {
    std::vector<size_t> others;
    for (size_t r = 1; r < all.size(); ++r) {
      const size_t at = i * sizeof(uint32_t);
      if (all[r].compare(at, sizeof(uint32_t), all[0], at, sizeof(uint32_t)) != 0) {
        others.push_back(r);
      }
    }
    if (others.empty()) continue;
    refuse(
        "parameter \"{}\" has different values on rank{} {} than on rank 0: all ranks must start "
        "from the same values, and only the program may change them",
        names[i], others.size() > 1 ? "s" : "", fmt::join(others, ", "));
  }
}

}  // namespace

bool compares_parameters() { return env::flag_or("FLT_COMPARE_PARAMETERS", true); }

std::vector<std::string> exchanged_parameters(const Program& program) {
  std::set<std::string> exchanged, found;
  for (const auto& block : program.blocks()) {
    for (const auto& op : block->ops()) {
      const bool exchanges = op->type() == "c_allreduce_sum" || op->type() == "fused_all_reduce" ||
                             op->type() == "all_gather_rows";
      if (!exchanges || op->attr_or<int32_t>("ring_id", 0) != 0) continue;
      for (const std::string& name : op->output_list("Out")) exchanged.insert(name);
    }
  }
  for (const auto& block : program.blocks()) {
    for (const auto& op : block->ops()) {
      for (const std::string& name : op->input_list("Param")) {
        if (exchanged.contains(name + std::string(kGradSuffix))) found.insert(name);
      }
    }
  }
  return {found.begin(), found.end()};
}

void compare_parameters(comm::World& world, const std::vector<std::string>& names, Scope& scope) {
  if (world.size() == 1 || names.empty() || !compares_parameters()) return;
  Sums sums;
  for (const std::string& name : names) sums.push_back(sum_of(scope.find(name)));
  const std::string mine = bytes_of(sums);
  if (all_same(world.exchange().all_gather(bytes_of({crc32c(0, mine.data(), mine.size())})))) {
    return;
  }
  refuse_first_difference(names, world.exchange().all_gather(mine));
}

}  // namespace flotilla

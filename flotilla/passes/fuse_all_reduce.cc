// flotilla/passes/fuse_all_reduce.cc
//
//     conv2d_grad(...) -> g0
//     c_allreduce_sum(g0)                 conv2d_grad(...) -> g0
//     conv2d_grad(...) -> g1        ==>   conv2d_grad(...) -> g1
//     c_allreduce_sum(g1)                 fused_all_reduce(g0, g1)
//
// Every exchange pays a fixed latency, and most of ResNet50's 161 gradients are small. The planner
// lays the gradients of a bucket out side by side, so nothing is copied. The fused op stands where
// the exchange of its last member stood, so an op in between must not touch a member.

#include "flotilla/passes/fuse_all_reduce.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "flotilla/passes/exchange.h"
#include "flotilla/passes/pass.h"
#include "flotilla/passes/strategy.pb.h"
#include "flotilla/passes/uses.h"

namespace flotilla::passes {
namespace {

// Exchanges that may move down to the last of them.
using Run = std::vector<size_t>;  // positions in the block, ascending

std::vector<Run> find_runs(const Block& block) {
  std::vector<Run> found(1);
  Names members;
  for (size_t i = 0; i < block.size(); ++i) {
    const Op& op = block.op(i);
    const Touched touched(op);
    const bool meets = std::any_of(members.begin(), members.end(), [&](const std::string& var) {
      return touched.reads.contains(var) || touched.writes.contains(var);
    });
    if (meets) {
      found.emplace_back();
      members.clear();
    }
    if (op.type() != kAllReduce || !starts_exchange(op)) continue;
    found.back().push_back(i);
    members.insert(op.output("Out"));
  }
  std::erase_if(found, [](const Run& run) { return run.empty(); });
  return found;
}

// A bucket holds elements of one type.
std::vector<Run> by_dtype(const Block& block, const Run& run) {
  std::map<DType, Run> groups;
  for (const size_t i : run) groups[block.var(block.op(i).output("Out")).dtype].push_back(i);
  std::vector<Run> found;
  for (auto& [dtype, group] : groups) found.push_back(std::move(group));
  return found;
}

Fusion fuse(const Block& block, std::vector<size_t> positions) {
  const Op& last = block.op(positions.back());
  std::vector<std::string> members;
  for (const size_t i : positions) members.push_back(block.op(i).output("Out"));
  return {std::move(positions),
          exchange_op(kFusedAllReduce, std::move(members), false, marks_of(last))};
}

// A bias and the weight of its layer: the planner makes both in one op, unless an exchange of the
// bias alone stands in between.
bool belong_together(const Block& block, size_t bias, size_t weight) {
  if (bias == 0 || weight != bias + 2) return false;
  const Op& sum = block.op(bias - 1);
  return sum.type() == "elementwise_add_grad" && sum.has_output("X@GRAD") &&
         block.op(bias + 1).reads(sum.output("X@GRAD"));
}

// Moves a bias at the end of a bucket into the next one.
void keep_layers_whole(const Block& block, const Run& run, std::vector<size_t>& counts) {
  size_t end = 0;
  for (size_t i = 0; i + 1 < counts.size(); ++i) {
    end += counts[i];
    if (counts[i] < 2 || !belong_together(block, run[end - 1], run[end])) continue;
    --counts[i];
    ++counts[i + 1];
    --end;
  }
}

std::vector<Fusion> find_buckets(const Block& block, const Run& run, const BucketSizes& sizes) {
  std::vector<int64_t> bytes;
  for (const size_t i : run) bytes.push_back(block.var(block.op(i).output("Out")).bytes());
  std::vector<size_t> counts = split_into_buckets(bytes, sizes);
  keep_layers_whole(block, run, counts);
  std::vector<Fusion> found;
  auto begin = run.begin();
  for (const size_t count : counts) {
    const auto end = begin + static_cast<std::ptrdiff_t>(count);
    found.push_back(fuse(block, std::vector<size_t>(begin, end)));
    begin = end;
  }
  return found;
}

// How many elements from the front have a sum of at most `limit`.
template <typename Iterator>
size_t fit(Iterator begin, Iterator end, int64_t limit) {
  int64_t total = 0;
  Iterator it = begin;
  while (it != end && total + *it <= limit) total += *it++;
  return static_cast<size_t>(it - begin);
}

}  // namespace

std::vector<size_t> split_into_buckets(std::span<const int64_t> bytes, const BucketSizes& sizes) {
  require(sizes.ends > 0 && sizes.between > 0,
          "a bucket of gradients must hold one byte or more, but the first and the last may hold "
          "{} and the others {}",
          sizes.ends, sizes.between);
  if (bytes.empty()) return {};
  const int64_t ends = std::min(sizes.ends, sizes.between);
  const int64_t total = std::accumulate(bytes.begin(), bytes.end(), int64_t{0});
  if (total <= std::min(2 * ends, sizes.between)) return {bytes.size()};
  const size_t first = fit(bytes.begin(), bytes.end(), ends);
  const size_t last = fit(bytes.rbegin(), bytes.rend() - static_cast<std::ptrdiff_t>(first), ends);
  const std::span<const int64_t> between = bytes.subspan(first, bytes.size() - first - last);
  std::vector<size_t> counts;
  if (first > 0) counts.push_back(first);
  for (size_t i = 0; i < between.size(); i += counts.back()) {
    counts.push_back(std::max(
        fit(between.begin() + static_cast<std::ptrdiff_t>(i), between.end(), sizes.between),
        size_t{1}));
  }
  if (last > 0) counts.push_back(last);
  return counts;
}

std::string fuse_all_reduce(Program& program, const BucketSizes& sizes) {
  size_t before = 0, after = 0;
  for (const auto& block : program.blocks()) {
    std::vector<Fusion> fusions;
    for (const Run& run : find_runs(*block)) {
      before += run.size();
      for (const Run& group : by_dtype(*block, run)) {
        for (Fusion& bucket : find_buckets(*block, group, sizes)) {
          fusions.push_back(std::move(bucket));
        }
      }
    }
    after += fusions.size();
    apply(*block, std::move(fusions));
  }
  if (before == 0) return "";
  return fmt::format(
      "Find all_reduce operators: {}. To make the speed faster, some all_reduce ops are fused "
      "during training, after fusion, the number of all_reduce ops is {}.",
      before, after);
}

void fuse_all_reduce(PassContext& context) {
  constexpr int64_t kMegabyte = 1 << 20;
  const strategy::DistributedStrategy& settings = context.settings();
  context.fusion = fuse_all_reduce(
      context.main, {.ends = static_cast<int64_t>(settings.last_comm_group_size_mb() * kMegabyte),
                     .between = settings.fuse_grad_size_in_mb() * kMegabyte});
}

}  // namespace flotilla::passes

#include "flotilla/passes/exchange.h"

#include <algorithm>
#include <array>

#include "flotilla/passes/uses.h"

namespace flotilla::passes {
namespace {

constexpr std::array<std::string_view, 3> kExchanges = {kAllReduce, kFusedAllReduce, kGatherRows};

bool is_exchange(const Op& op) {
  return std::find(kExchanges.begin(), kExchanges.end(), op.type()) != kExchanges.end();
}

bool touches(const Touched& op, const std::vector<std::string>& vars) {
  return std::any_of(vars.begin(), vars.end(), [&](const std::string& var) {
    return op.reads.contains(var) || op.writes.contains(var);
  });
}

}  // namespace

Op exchange_op(std::string_view type, std::vector<std::string> vars, bool use_calc_stream,
               Attrs marks) {
  marks["op_role"] = static_cast<int32_t>(kBackwardRole);
  marks["ring_id"] = kWorldRing;
  if (type != kWaitForExchange) marks["use_calc_stream"] = use_calc_stream;
  return Op(std::string(type), {{"X", vars}}, {{"Out", vars}}, std::move(marks));
}

bool starts_exchange(const Op& op) {
  return is_exchange(op) && (op.role() & kBackwardRole) != 0 &&
         !op.attr_or<bool>("use_calc_stream", false);
}

bool is_exchanged(const Block& block, std::string_view var) {
  return std::any_of(block.ops().begin(), block.ops().end(),
                     [&](const auto& op) { return is_exchange(*op) && op->writes(var); });
}

void insert_waits(Block& block) {
  std::vector<std::string> started;
  for (size_t i = 0; i < block.size(); ++i) {
    const Op& op = block.op(i);
    if (op.type() == kWaitForExchange) {
      std::erase_if(started, [&](const std::string& var) { return op.reads(var); });
    } else if (touches(Touched(op), started)) {
      block.insert(i, exchange_op(kWaitForExchange, std::move(started), false, marks_of(op)));
      started.clear();
      continue;  // to the op that was touched
    }
    if (!starts_exchange(block.op(i))) continue;
    for (const std::string& var : block.op(i).output_list("Out")) started.push_back(var);
  }
}

}  // namespace flotilla::passes

// flotilla/passes/insert_all_reduce.cc
//
//     fill_constant(1) -> loss@GRAD        fill_constant(1) -> loss@GRAD
//                                          scale(loss@GRAD, 1/nranks) -> loss@GRAD
//     mul_grad(...) -> w@GRAD        ==>   mul_grad(...) -> w@GRAD
//                                          c_allreduce_sum(w@GRAD)
//     lookup_grad(...) -> e@GRAD           lookup_grad(...) -> e@GRAD
//                                          all_gather_rows(e@GRAD)
//                                          c_sync_comm_stream(w@GRAD, e@GRAD)
//     clip, decay, update                  clip, decay, update
//
// Where samples are counted, weigh_by_samples(loss@GRAD, a fed variable) stands for the scale.
//
// A gradient is exchanged where the last backward op has written it, in the block in which it is
// used: the updates of merged gradients have a block of their own.

#include "flotilla/passes/insert_all_reduce.h"

#include <algorithm>
#include <map>

#include "flotilla/passes/exchange.h"
#include "flotilla/passes/gradients.h"
#include "flotilla/passes/pass.h"
#include "flotilla/passes/strategy.pb.h"
#include "flotilla/passes/strategy_check.h"

namespace flotilla::passes {
namespace {

// Back to front, so that the positions of the earlier ones stay valid.
int64_t insert_exchanges(Block& block, const ExchangeOptions& options) {
  std::map<size_t, std::vector<std::string>, std::greater<>> by_position;
  for (const auto& [gradient, position] : find_gradients(block)) {
    if (!is_exchanged(block, gradient)) by_position[position].push_back(gradient);
  }
  int64_t count = 0;
  for (const auto& [position, gradients] : by_position) {
    const Attrs marks = marks_of(block.op(position));
    std::vector<Op> exchanges;
    for (const std::string& gradient : gradients) {
      const bool sparse = block.var(gradient).kind == VarKind::kSelectedRows;
      exchanges.push_back(exchange_op(sparse ? kGatherRows : kAllReduce, {gradient},
                                      options.use_calc_stream, marks));
      ++count;
    }
    block.insert_before(position + 1, std::move(exchanges));
  }
  return count;
}

bool is_scaled(const Block& block, size_t seed, const std::string& gradient) {
  if (seed + 1 == block.size()) return false;
  const Op& next = block.op(seed + 1);
  return (next.type() == "scale" || next.type() == kWeighBySamples) &&
         has_role(next, kBackwardRole) && next.reads(gradient);
}

// What is fed and has a row for each sample; where several do, the first.
std::string find_samples(const Block& block) {
  const Var* found = nullptr;
  for (const auto& var : block.vars()) {
    // Of sequences, rows are not samples.
    if (!var->is_data || var->lod_level > 0 || var->shape.rank() == 0) continue;
    if (var->shape[0] < 0) return var->name;
    if (found == nullptr) found = var.get();
  }
  require(found != nullptr,
          "gradients cannot be averaged over samples: the program declares no variable with data() "
          "by whose rows samples could be counted");
  return found->name;
}

Op scale_op(const Block& block, const std::string& gradient, const ExchangeOptions& options,
            Attrs attrs) {
  attrs["op_role"] = static_cast<int32_t>(kBackwardRole);
  if (options.by_samples) {
    attrs["ring_id"] = kWorldRing;
    return Op(std::string(kWeighBySamples), {{"X", {gradient}}, {"Samples", {find_samples(block)}}},
              {{"Out", {gradient}}}, std::move(attrs));
  }
  attrs["scale"] = 1.0f / static_cast<float>(options.nranks);
  return Op("scale", {{"X", {gradient}}}, {{"Out", {gradient}}}, std::move(attrs));
}

// Behind the ops that start the backward pass of a loss.
int64_t scale_loss_gradients(Block& block, const ExchangeOptions& options) {
  int64_t count = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    const Op& op = block.op(i);
    if (!has_role(op, kBackwardRole) || !has_role(op, kLossRole)) continue;
    ++count;
    const std::string gradient = op.output("Out");
    if (is_scaled(block, i, gradient)) continue;
    block.insert(i + 1, scale_op(block, gradient, options, marks_of(op)));
  }
  return count;
}

}  // namespace

void insert_all_reduce(Program& program, const ExchangeOptions& options) {
  require(options.nranks >= 1, "gradients are exchanged between one rank or more, but nranks is {}",
          options.nranks);
  int64_t exchanged = 0;
  for (const auto& block : program.blocks()) {
    exchanged += insert_exchanges(*block, options);
    if (!options.use_calc_stream) insert_waits(*block);
  }
  require(exchanged > 0,
          "the program has no gradient to exchange between {} ranks: no op updates a parameter "
          "with what backward ops wrote, or all of it is exchanged already",
          options.nranks);
  if (!options.average) return;
  require(scale_loss_gradients(program.global_block(), options) > 0,
          "the program has no op that starts the backward pass of a loss (op_role {}), so that the "
          "gradients cannot be averaged over {} ranks",
          kBackwardRole | kLossRole, options.nranks);
}

void insert_all_reduce(PassContext& context) {
  const strategy::DistributedStrategy& settings = context.settings();
  const std::string& scale = settings.gradient_scale_configs().scale_strategy();
  insert_all_reduce(context.main, {.nranks = context.ranks.count,
                                   .average = scale == "avg" || scale == "samples",
                                   .by_samples = scale == "samples",
                                   .use_calc_stream = settings.calc_comm_same_stream()});
}

void check_all_reduce(const DistributedStrategy& strategy) {
  check_at_least_one("fuse_grad_size_in_MB", strategy.message().fuse_grad_size_in_mb());
  const std::string& scale = strategy.message().gradient_scale_configs().scale_strategy();
  require(
      scale == "avg" || scale == "samples" || scale == "sum" || scale == "customized",
      "strategy.gradient_scale_configs[\"scale_strategy\"] must be \"avg\", \"samples\", \"sum\" "
      "or \"customized\", but is \"{}\"",
      scale);
}

std::string merging_by_all_reduce(const PassContext& context) {
  const std::string& scale = context.settings().gradient_scale_configs().scale_strategy();
  if (scale == "avg") return "gradients are averaged over workers";
  if (scale == "samples") return "gradients are averaged over the samples of all workers";
  return "gradients are added up";
}

}  // namespace flotilla::passes

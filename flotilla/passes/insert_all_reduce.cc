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
// A gradient is exchanged where the last backward op has written it, in the block in which it is
// used: the updates of merged gradients have a block of their own.

#include "flotilla/passes/insert_all_reduce.h"

#include <algorithm>
#include <map>

#include "flotilla/passes/exchange.h"
#include "flotilla/passes/uses.h"

namespace flotilla::passes {
namespace {

bool has_role(const Op& op, int32_t role) { return (op.role() & role) != 0; }

// The parameters that ops of the block update.
Names updated_params(const Block& block) {
  Names found;
  for (const auto& op : block.ops()) {
    if (!has_role(*op, kOptimizeRole)) continue;
    for (const std::string& param : op->input_list("Param")) found.insert(param);
  }
  return found;
}

// What the backward op gives to updates of this block: its op_role_var names pairs of a parameter
// and its gradient. A program that carries no such marks says it by who reads.
std::vector<std::string> gradients_of(const Op& op, const Names& updated, const Names& used) {
  std::vector<std::string> found;
  const auto pairs = op.attr_or<std::vector<std::string>>("op_role_var", {});
  require(pairs.size() % 2 == 0,
          "op_role_var of {} must hold pairs of a parameter and its gradient, but holds {} names",
          op.type(), pairs.size());
  Names given;
  for (size_t i = 0; i < pairs.size(); i += 2) {
    if (updated.contains(pairs[i])) given.insert(pairs[i + 1]);
  }
  for (const std::string& name : op.output_names()) {
    if (name != kEmptyVar && (given.contains(name) || used.contains(name))) found.push_back(name);
  }
  return found;
}

// Position of the op that finishes it, for each gradient.
std::map<std::string, size_t> find_gradients(const Block& block) {
  const Names updated = updated_params(block);
  std::map<std::string, size_t> finished;
  if (updated.empty()) return finished;
  Names used;
  for (const auto& op : block.ops()) {
    if (!has_role(*op, kOptimizeRole)) continue;
    for (const std::string& name : op->input_names()) used.insert(name);
  }
  for (size_t i = 0; i < block.size(); ++i) {
    const Op& op = block.op(i);
    if (!has_role(op, kBackwardRole) || has_role(op, kOptimizeRole)) continue;
    for (const std::string& name : gradients_of(op, updated, used)) finished[name] = i;
  }
  return finished;
}

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
    block.insert_after(position, std::move(exchanges));
  }
  return count;
}

bool is_scaled(const Block& block, size_t seed, const std::string& gradient) {
  return seed + 1 < block.size() && block.op(seed + 1).type() == "scale" &&
         has_role(block.op(seed + 1), kBackwardRole) && block.op(seed + 1).reads(gradient);
}

// Behind the ops that start the backward pass of a loss.
int64_t scale_loss_gradients(Block& block, int64_t nranks) {
  int64_t count = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    const Op& op = block.op(i);
    if (!has_role(op, kBackwardRole) || !has_role(op, kLossRole)) continue;
    ++count;
    const std::string gradient = op.output("Out");
    if (is_scaled(block, i, gradient)) continue;
    Attrs attrs = marks_of(op);
    attrs["op_role"] = static_cast<int32_t>(kBackwardRole);
    attrs["scale"] = 1.0f / static_cast<float>(nranks);
    block.insert(i + 1, Op("scale", {{"X", {gradient}}}, {{"Out", {gradient}}}, std::move(attrs)));
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
  require(scale_loss_gradients(program.global_block(), options.nranks) > 0,
          "the program has no op that starts the backward pass of a loss (op_role {}), so that the "
          "gradients cannot be averaged over {} ranks",
          kBackwardRole | kLossRole, options.nranks);
}

}  // namespace flotilla::passes

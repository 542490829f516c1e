// Ops that run a block of gradients.
//
// The block of a conditional_block_grad reads what the conditional_block has computed: it is still
// there. The rounds of a while overwrite what the last one computed, so a loop with gradients
// records it, and the loop that goes backward takes it out again, round by round.

#include <algorithm>

#include "flotilla/ir/structure.h"
#include "flotilla/plan/planner.h"

namespace flotilla::plan {
namespace {

// How much may be recorded before the system is asked again what it has left.
constexpr int64_t kRecordedAtOnce = int64_t{64} << 20;
// What a recorded value takes beside its elements.
constexpr int64_t kRecord = 64;

// A loop that does not end records without end.
void count_recorded(Rounds& rounds, int64_t bytes) {
  rounds.bytes += bytes + kRecord;
  if (rounds.bytes < kRecordedAtOnce) return;
  rounds.bytes = 0;
  const int64_t left = memory_left();
  require(left >= kRecordedAtOnce,
          "the gradient of while needs what each round computed, but after {} rounds {} bytes of "
          "memory are left",
          rounds.count, left);
}

}  // namespace

void Planner::prepare_own(const Block& block, std::string type, std::vector<std::string> x,
                          const std::string& out) {
  const Op& op =
      own_ops_.emplace_back(std::move(type), Slots{{"X", std::move(x)}}, Slots{{"Out", {out}}});
  prepare(block, op, op_def(op.type()));
}

void Planner::add_node(Step step, std::vector<int32_t> reads, std::vector<int32_t> writes) {
  for (const int32_t value : reads) at(value).used = true;
  for (const int32_t value : writes) at(value).used = at(value).written = true;
  draft_.nodes.push_back({.step = std::move(step),
                          .reads = std::move(reads),
                          .writes = std::move(writes),
                          .side_effect = true});
}

// Plans a block whose variables may bear the names of outer ones. Returns its own.
Planner::Values Planner::plan_own_block(const Block& block) {
  Values outer = current_;
  for (const auto& var : block.vars()) current_.erase(var->name);
  plan_block(block);
  Values own;
  for (const auto& var : block.vars()) {
    if (const auto found = current_.find(var->name); found != current_.end()) own.insert(*found);
  }
  current_ = std::move(outer);
  return own;
}

// Adds the gradients x@GRAD that a block has as its own variables to what stands outside for x of
// `slot`.
void Planner::take_gradients_out(const Block& block, const Op& op, const std::string& slot,
                                 const Values& own) {
  const std::span<const std::string> inputs = op.input_list(slot);
  const std::span<const std::string> gradients = op.output_list(grad_name(slot));
  for (size_t i = 0; i < gradients.size(); ++i) {
    const auto found = own.find(grad_name(inputs[i]));
    if (gradients[i] == kEmptyVar || found == own.end()) continue;
    const std::string inside = found->first + "@INSIDE";
    current_[inside] = found->second;
    prepare_own(block, "sum", {gradients[i], inside}, gradients[i]);
    current_.erase(inside);
  }
}

void Planner::zero_gradients(const Block& block, const Op& op, const std::string& slot,
                             const Names& carried) {
  const std::span<const std::string> inputs = op.input_list(slot);
  const std::span<const std::string> gradients = op.output_list(grad_name(slot));
  require(gradients.size() <= inputs.size(), "{} gives {} gradients of {} variables", op.type(),
          gradients.size(), inputs.size());
  for (size_t i = 0; i < gradients.size(); ++i) {
    if (gradients[i] == kEmptyVar || carried.contains(grad_name(inputs[i]))) continue;
    prepare_own(block, "fill_zeros_like", {inputs[i]}, gradients[i]);
  }
}

void Planner::plan_conditional_grad(const Block& block, const Op& op) {
  zero_gradients(block, op, "Input", {});
  plan_conditional(op, condition_of(block, op, "Cond"), false, [&] {
    const Block& inner = sub_block(op);
    take_gradients_out(block, op, "Input", plan_own_block(inner));
  });
}

void Planner::record(Rounds& rounds, const std::string& name, int32_t value) {
  require(!at(value).sparse() && at(value).home != Home::kLate,
          "the gradient of while needs {}, whose size is known only when the loop runs", name);
  Rounds::Recorded& made = rounds.recorded.emplace_back();
  made.name = name;
  made.from = &at(value);
  add_node(
      [&made, &rounds] {
        count_recorded(rounds, made.from->bytes());
        const char* data = static_cast<const char*>(made.from->cell.data);
        made.rounds.emplace_back(data, data + made.from->bytes());
      },
      {value}, {});
}

// What the gradients read: of variables outside that the loop changes, as each round finds them; of
// its own, as each round leaves them.
void Planner::plan_recorded_while(const Block& block, const Op& op, const Block& backward) {
  require(loops_ == 0, "gradients do not flow through a loop inside another yet");
  const Block& inner = sub_block(op);
  adaptive_ = false;  // the records have the sizes of this plan
  const Names read = names_inside(backward).read, written = names_inside(inner).written;
  Rounds& rounds = rounds_[inner.index()];
  add_node(
      [&rounds] {
        rounds.count = 0;
        for (Rounds::Recorded& one : rounds.recorded) one.rounds.clear();
      },
      {}, {});
  plan_conditional(op, condition_of(block, op, "Condition"), true, [&] {
    add_node([&rounds] { ++rounds.count; }, {}, {});
    const auto record_all = [&](bool outside) {
      for (const std::string& name : read) {
        const bool is_outside = block.find_var_recursive(name) != nullptr;
        const auto found = current_.find(name);
        if (is_outside != outside || !written.contains(name) || found == current_.end()) continue;
        // What only carries a shape holds nothing.
        const Value& value = at(found->second);
        if (value.pinned || value.written) record(rounds, name, found->second);
      }
    };
    record_all(true);
    plan_block(inner);
    record_all(false);
  });
}

// Gradients of what goes from round to round stand outside the block; it replaces them.
void Planner::plan_while_grad(const Block& block, const Op& op) {
  const Block& inner = sub_block(op);
  const auto found = rounds_.find(inner.forward_block());
  require(found != rounds_.end(), "while_grad must come after the while of block {}",
          inner.forward_block());
  Rounds& rounds = found->second;
  const std::span<const std::string> outer = op.input_list("Out@GRAD");
  const auto called = op.attr_or<std::vector<std::string>>("original_output_grad", {});
  require(called.size() == outer.size(), "while_grad has {} Out@GRAD, but names for {}",
          outer.size(), called.size());
  for (size_t i = 0; i < outer.size(); ++i) {
    if (called[i] != outer[i]) prepare_own(block, "assign", {outer[i]}, called[i]);
  }
  const Names carried(called.begin(), called.end());
  zero_gradients(block, op, "X", carried);
  const int32_t more =
      add_value({.name = "more rounds", .meta = {.dtype = boolean, .shape = {1}}, .pinned = true});
  const Step set_more = [&rounds, cell = &at(more).cell] {
    *static_cast<bool*>(cell->data) = rounds.count > 0;
  };
  add_node(set_more, {}, {more});
  plan_conditional(op, more, true, [&] {
    const Values before = current_;
    add_node([&rounds] { --rounds.count; }, {}, {});
    for (Rounds::Recorded& one : rounds.recorded) {
      const int32_t restored = add_value(
          {.name = one.name, .meta = one.from->meta, .layout = one.from->layout, .pinned = true});
      at(restored).meta.value.reset();
      add_node(
          [&one, to = &at(restored).cell] {
            std::ranges::copy(one.rounds.back(), static_cast<char*>(to->data));
            one.rounds.pop_back();
          },
          {}, {restored});
      current_[one.name] = restored;
    }
    const Values own = plan_own_block(inner);
    current_ = before;
    take_gradients_out(block, op, "X", own);
    add_node(set_more, {}, {more});
  });
  for (size_t i = 0; i < op.output_list("X@GRAD").size(); ++i) {
    const std::string& gradient = op.output_list("X@GRAD")[i];
    const std::string inside = grad_name(op.input_list("X")[i]);
    if (gradient == kEmptyVar || !carried.contains(inside) || gradient == inside) continue;
    prepare_own(block, "assign", {inside}, gradient);
  }
}

}  // namespace flotilla::plan

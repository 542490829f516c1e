// A while with gradients, and the loop that goes backward.

#include <set>
#include <string>

#include "flotilla/ir/structure.h"
#include "flotilla/plan/control_flow.h"
#include "flotilla/plan/drafter.h"

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
          "the gradient of while needs the values of each iteration, but after {} iterations only "
          "{} bytes of memory are available",
          rounds.left(), left);
}

// What the loops inside a block have for themselves, they record themselves.
void add_own_names_of_loops(const Block& block, bool in_loop, std::set<std::string>& names) {
  if (in_loop) {
    for (const auto& var : block.vars()) names.insert(var->name);
  }
  for (const auto& op : block.ops()) {
    for (const int32_t index : sub_blocks(*op)) {
      add_own_names_of_loops(block.program().block(index), in_loop || op->type() == "while", names);
    }
  }
}

}  // namespace

void ControlFlow::record(Rounds& rounds, const std::string& name, int32_t value) {
  Draft& draft = drafter_.draft();
  require(!draft.at(value).sparse() && draft.at(value).home != Home::kDynamic,
          "the gradient of while needs {}, whose size is known only when the loop runs", name);
  value = drafter_.host().moved(value, kHost, draft.at(value).layout);
  Rounds::Recorded& made = rounds.recorded.emplace_back();
  made.name = name;
  made.from = &draft.at(value);
  drafter_.host().add_node(
      [host = &draft.host, &made, &rounds] {
        const int64_t bytes = made.from->bytes();
        count_recorded(rounds, bytes);
        made.rounds.emplace_back(static_cast<size_t>(bytes));
        host->read(made.rounds.back().data(), made.from->cell.data, bytes);
      },
      {value}, {});
}

void ControlFlow::restore(Rounds::Recorded& one) {
  Draft& draft = drafter_.draft();
  const int32_t restored = draft.add(
      {.name = one.name, .meta = one.from->meta, .layout = one.from->layout, .pinned = true});
  draft.at(restored).meta.value.reset();
  drafter_.host().add_node(
      [host = &draft.host, &one, to = &draft.at(restored).cell] {
        require(!one.rounds.empty(), "a round of while in which {} was recorded is missing",
                one.name);
        host->write(to->data, one.rounds.back().data(), std::ssize(one.rounds.back()));
        one.rounds.pop_back();
      },
      {}, {restored});
  drafter_.current()[one.name] = restored;
}

std::vector<ControlFlow::Recording> ControlFlow::recordings_of(const Block& inner) {
  std::vector<Recording> recordings;
  for (const auto& other : drafter_.program().blocks()) {
    if (other->forward_block() != inner.index()) continue;
    recordings.push_back({&drafter_.draft().rounds[other->index()], names_inside(*other).read});
  }
  if (recordings.empty()) return {};
  const Names written = names_inside(inner).written;
  std::set<std::string> of_loops;
  add_own_names_of_loops(inner, false, of_loops);
  for (Recording& recording : recordings) {
    std::erase_if(recording.names, [&](const std::string& name) {
      return !written.contains(name) || of_loops.contains(name);
    });
  }
  return recordings;
}

// A run that failed has left what nobody took back.
void ControlFlow::forget_rounds(const Block& inner) {
  const Program& program = drafter_.program();
  std::vector<int32_t> blocks;
  for (const auto& other : program.blocks()) {
    int32_t forward = other->forward_block();
    while (forward >= 0 && forward != inner.index()) forward = program.block(forward).parent();
    if (forward >= 0) blocks.push_back(other->index());
  }
  if (blocks.empty()) return;
  drafter_.host().add_node(
      [&all = drafter_.draft().rounds, blocks] {
        for (const int32_t block : blocks) {
          const auto found = all.find(block);
          if (found == all.end()) continue;
          found->second.counts.clear();
          for (Rounds::Recorded& one : found->second.recorded) one.rounds.clear();
        }
      },
      {}, {});
}

// What the gradients read: of variables outside that the loop changes, as each round finds them; of
// its own, as each round leaves them.
void ControlFlow::plan_recorded_while(const Block& block, const Op& op,
                                      std::vector<Recording> recordings) {
  DraftHost& host = drafter_.host();
  Draft& draft = drafter_.draft();
  draft.adaptive = false;  // the records have the sizes of this plan
  const auto for_all = [&](auto change) {
    for (const Recording& one : recordings) {
      host.add_node([rounds = one.rounds, change] { change(*rounds); }, {}, {});
    }
  };
  for_all([](Rounds& rounds) { rounds.counts.push_back(0); });
  plan_conditional(op, condition_of(block, op, "Condition"), true, [&] {
    for_all([](Rounds& rounds) { ++rounds.counts.back(); });
    const auto record_all = [&](const Recording& recording, bool outside) {
      for (const std::string& name : recording.names) {
        const bool is_outside = block.find_var_recursive(name) != nullptr;
        const auto found = drafter_.current().find(name);
        if (is_outside != outside || found == drafter_.current().end()) continue;
        // What only carries a shape holds nothing.
        const Value& value = draft.at(found->second);
        if (value.pinned || value.written) record(*recording.rounds, name, found->second);
      }
    };
    for (const Recording& one : recordings) record_all(one, true);
    drafter_.plan_block(sub_block(op));
    for (const Recording& one : recordings) record_all(one, false);
  });
}

// Gradients of what goes from round to round stand outside the block; it replaces them.
void ControlFlow::plan_while_grad(const Block& block, const Op& op) {
  const Block& backward = sub_block(op);
  const auto found = drafter_.draft().rounds.find(backward.index());
  require(found != drafter_.draft().rounds.end(),
          "while_grad must come after the while of block {}", backward.forward_block());
  const std::span<const std::string> outer = op.input_list("Out@GRAD");
  const auto called = op.attr_or<std::vector<std::string>>("original_output_grad", {});
  require(called.size() == outer.size(), "while_grad has {} Out@GRAD, but names for {}",
          outer.size(), called.size());
  for (size_t i = 0; i < outer.size(); ++i) {
    if (called[i] != outer[i]) prepare_own(block, "assign", {outer[i]}, called[i]);
  }
  const Names carried(called.begin(), called.end());
  zero_gradients(block, op, "X", carried);
  plan_round_back(block, op, found->second);
  for (size_t i = 0; i < op.output_list("X@GRAD").size(); ++i) {
    const std::string& gradient = op.output_list("X@GRAD")[i];
    const std::string inside = grad_name(op.input_list("X")[i]);
    if (gradient == kEmptyVar || !carried.contains(inside) || gradient == inside) continue;
    prepare_own(block, "assign", {inside}, gradient);
  }
}

void ControlFlow::plan_round_back(const Block& block, const Op& op, Rounds& rounds) {
  Draft& draft = drafter_.draft();
  DraftHost& host = drafter_.host();
  const int32_t more =
      draft.add({.name = "more rounds", .meta = {.dtype = boolean, .shape = {1}}, .pinned = true});
  const Step set_more = [&rounds, backend = &draft.host, cell = &draft.at(more).cell] {
    const bool left = rounds.left() > 0;
    backend->write(cell->data, &left, sizeof left);
  };
  host.add_node(set_more, {}, {more});
  plan_conditional(op, more, true, [&] {
    const Values before = drafter_.current();
    host.add_node([&rounds] { --rounds.counts.back(); }, {}, {});
    for (Rounds::Recorded& one : rounds.recorded) restore(one);
    const Values own = plan_own_block(sub_block(op));
    drafter_.current() = before;
    take_gradients_out(block, op, "X", own);
    host.add_node(set_more, {}, {more});
  });
  host.add_node(
      [&rounds] {
        if (!rounds.counts.empty()) rounds.counts.pop_back();
      },
      {}, {});
}

}  // namespace flotilla::plan

// flotilla/ir/clone.cc
//
// Copies of programs, whole or in part. What is left out is decided first, op by op and variable by
// variable; then the rest is copied, and the blocks that remain are numbered anew.

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "flotilla/ir/program.h"
#include "flotilla/ir/structure.h"

namespace flotilla {
namespace {

// What of a program is copied.
struct Selection {
  std::unordered_set<const Op*> ops = {};
  std::unordered_set<const Var*> vars = {};
};

// The variables that `op` names, by slots and by attributes.
template <typename F>
void for_each_var(const Block& block, const Op& op, F f) {
  const auto visit = [&](const std::string& name) {
    if (const Var* var = block.find_var_recursive(name)) f(var);
  };
  for (const Slots* slots : {&op.inputs(), &op.outputs()}) {
    for (const auto& [slot, vars] : *slots) std::for_each(vars.begin(), vars.end(), visit);
  }
  for (const auto& [name, attr] : op.attrs()) {
    if (const auto* one = std::get_if<VarRef>(&attr)) visit(one->name);
    if (const auto* many = std::get_if<std::vector<VarRef>>(&attr)) {
      for (const VarRef& ref : *many) visit(ref.name);
    }
  }
}

// ---- copying

// The new number of each block that remains; -1 for those that do not.
using Numbers = std::vector<int32_t>;

// Blocks that selected ops run, directly or through other blocks, and the blocks around those.
Numbers number_blocks(const Program& program, const Selection& selection) {
  std::vector<bool> is_kept(program.blocks().size(), false);
  std::vector<int32_t> open = {0};
  while (!open.empty()) {
    const int32_t index = open.back();
    open.pop_back();
    if (is_kept[static_cast<size_t>(index)]) continue;
    is_kept[static_cast<size_t>(index)] = true;
    const Block& block = program.block(index);
    if (block.parent() >= 0) open.push_back(block.parent());
    for (const auto& op : block.ops()) {
      if (!selection.ops.contains(op.get())) continue;
      for (const int32_t inner : sub_blocks(*op)) open.push_back(inner);
    }
  }
  Numbers numbers;
  int32_t next = 0;
  for (const bool kept : is_kept) numbers.push_back(kept ? next++ : -1);
  return numbers;
}

Attr renumber(const Attr& attr, const Numbers& numbers) {
  const auto number = [&](const BlockRef& ref) {
    return BlockRef{numbers[static_cast<size_t>(ref.index)]};
  };
  if (const auto* one = std::get_if<BlockRef>(&attr)) return number(*one);
  if (const auto* many = std::get_if<std::vector<BlockRef>>(&attr)) {
    std::vector<BlockRef> list;
    std::transform(many->begin(), many->end(), std::back_inserter(list), number);
    return list;
  }
  return attr;
}

void copy_block(const Block& from, const Selection& selection, const Numbers& numbers, Block& to) {
  if (from.forward_block() >= 0) {
    to.set_forward_block(numbers[static_cast<size_t>(from.forward_block())]);
  }
  for (const auto& var : from.vars()) {
    if (selection.vars.contains(var.get())) to.add_var(*var);
  }
  for (const auto& op : from.ops()) {
    if (!selection.ops.contains(op.get())) continue;
    Attrs attrs;
    for (const auto& [name, value] : op->attrs()) attrs.emplace(name, renumber(value, numbers));
    to.push_back(Op(op->type(), op->inputs(), op->outputs(), std::move(attrs)));
  }
}

std::shared_ptr<Program> copy(const Program& program, const Selection& selection,
                              const Numbers& numbers) {
  auto out = std::make_shared<Program>();
  out->set_random_seed(program.random_seed());
  out->set_wire_versions(program.wire_versions());
  for (const auto& block : program.blocks()) {
    const int32_t number = numbers[static_cast<size_t>(block->index())];
    if (number > 0) out->create_block(numbers[static_cast<size_t>(block->parent())]);
  }
  for (const auto& block : program.blocks()) {
    const int32_t number = numbers[static_cast<size_t>(block->index())];
    if (number >= 0) copy_block(*block, selection, numbers, out->block(number));
  }
  return out;
}

// ---- choosing

Selection everything(const Program& program) {
  Selection all;
  for (const auto& block : program.blocks()) {
    for (const auto& var : block->vars()) all.vars.insert(var.get());
    for (const auto& op : block->ops()) all.ops.insert(op.get());
  }
  return all;
}

Selection without_training(const Program& program) {
  Selection kept;
  std::unordered_set<const Var*> dropped;
  for (const auto& block : program.blocks()) {
    for (const auto& op : block->ops()) {
      const bool trains = (op->role() & (kBackwardRole | kOptimizeRole | kLrSchedRole)) != 0;
      if (!trains) kept.ops.insert(op.get());
      for_each_var(*block, *op,
                   [&](const Var* var) { (trains ? dropped : kept.vars).insert(var); });
    }
  }
  for (const auto& block : program.blocks()) {
    for (const auto& var : block->vars()) {
      if (!dropped.contains(var.get()) || var->is_data) kept.vars.insert(var.get());
    }
  }
  return kept;
}

// What an op reads and writes, its sub-blocks included.
struct Effects {
  std::unordered_set<const Var*> reads = {};
  std::unordered_set<const Var*> writes = {};
};

class Pruner {
 public:
  Pruner(const Program& program, const std::vector<std::string>& feeds,
         const std::vector<std::string>& targets)
      : program_(program) {
    const Block& global = program.global_block();
    for (const std::string& name : feeds) feeds_.insert(&global.var(name));
    for (const std::string& name : targets) targets_.insert(&global.var(name));
    replaced_ = feeds_;
    std::unordered_set<const Var*> written;
    for (const auto& op : global.ops()) {
      const Effects effects = effects_of(global, *op);
      std::erase_if(replaced_, [&](const Var* var) {
        return effects.reads.contains(var) && !written.contains(var);
      });
      written.insert(effects.writes.begin(), effects.writes.end());
    }
  }

  Selection run() {
    need(targets_);
    const auto& ops = program_.global_block().ops();
    for (size_t i = ops.size(); i-- > 0;) {
      const Effects effects = effects_of(program_.global_block(), *ops[i]);
      const bool is_needed = std::any_of(effects.writes.begin(), effects.writes.end(),
                                         [&](const Var* var) { return needed_.contains(var); });
      if (!is_needed) continue;
      keep(program_.global_block(), *ops[i]);
      need(effects.reads);
    }
    kept_.vars.insert(feeds_.begin(), feeds_.end());
    kept_.vars.insert(targets_.begin(), targets_.end());
    return std::move(kept_);
  }

 private:
  void need(const std::unordered_set<const Var*>& vars) {
    for (const Var* var : vars) {
      if (!replaced_.contains(var)) needed_.insert(var);
    }
  }

  void keep(const Block& block, const Op& op) {
    if (!kept_.ops.insert(&op).second) return;
    for_each_var(block, op, [&](const Var* var) { kept_.vars.insert(var); });
    for (const int32_t index : sub_blocks(op)) {
      const Block& inner = program_.block(index);
      for (const auto& inner_op : inner.ops()) keep(inner, *inner_op);
    }
  }

  Effects effects_of(const Block& block, const Op& op) {
    Effects effects;
    const auto add = [&](const Slots& slots, std::unordered_set<const Var*>& found) {
      for (const auto& [slot, vars] : slots) {
        for (const std::string& name : vars) {
          if (const Var* var = block.find_var_recursive(name)) found.insert(var);
        }
      }
    };
    add(op.inputs(), effects.reads);
    add(op.outputs(), effects.writes);
    for_each_var(block, op, [&](const Var* var) {
      if (!effects.writes.contains(var)) effects.reads.insert(var);
    });
    for (const int32_t index : sub_blocks(op)) {
      const Effects& inner = effects_of_block(index);
      effects.reads.insert(inner.reads.begin(), inner.reads.end());
      effects.writes.insert(inner.writes.begin(), inner.writes.end());
    }
    return effects;
  }

  const Effects& effects_of_block(int32_t index) {
    if (const auto known = blocks_.find(index); known != blocks_.end()) return known->second;
    Effects effects;
    for (const auto& op : program_.block(index).ops()) {
      const Effects inner = effects_of(program_.block(index), *op);
      effects.reads.insert(inner.reads.begin(), inner.reads.end());
      effects.writes.insert(inner.writes.begin(), inner.writes.end());
    }
    return blocks_.emplace(index, std::move(effects)).first->second;
  }

  const Program& program_;
  std::unordered_set<const Var*> feeds_;
  // Feeds in the place of what an op computes: whoever writes them is not needed. What the program
  // itself reads first, and then changes, as a loop does, begins with its feed.
  std::unordered_set<const Var*> replaced_;
  std::unordered_set<const Var*> targets_;
  std::unordered_set<const Var*> needed_;
  std::unordered_map<int32_t, Effects> blocks_;
  Selection kept_;
};

}  // namespace

std::shared_ptr<Program> Program::clone(bool for_test) const {
  check_blocks(*this);
  if (!for_test) {
    Numbers numbers;
    for (int32_t i = 0; i < num_blocks(); ++i) numbers.push_back(i);
    return copy(*this, everything(*this), numbers);
  }
  const Selection selection = without_training(*this);
  std::shared_ptr<Program> out = copy(*this, selection, number_blocks(*this, selection));
  for (const auto& block : out->blocks()) {
    for (const auto& op : block->ops()) {
      if (op->attrs().contains("is_test")) op->set_attr("is_test", true);
    }
  }
  return out;
}

std::shared_ptr<Program> Program::prune(const std::vector<std::string>& feeds,
                                        const std::vector<std::string>& targets) const {
  check_blocks(*this);
  const Selection selection = Pruner(*this, feeds, targets).run();
  return copy(*this, selection, number_blocks(*this, selection));
}

}  // namespace flotilla

#include "flotilla/ir/program.h"

#include <algorithm>
#include <atomic>

#include "flotilla/ir/quote.h"

namespace flotilla {
namespace {

uint64_t next_id() {
  static std::atomic<uint64_t> last = 0;
  return ++last;
}

}  // namespace

std::string_view name_of(VarKind kind) {
  for (const auto& [known, name] : kVarKinds) {
    if (known == kind) return name;
  }
  return "unknown";
}

Block::Block(Program& program, int32_t index, int32_t parent)
    : program_(program), index_(index), parent_(parent) {}

Var& Block::add_var(Var var) {
  var.block = this;
  program_.touch();
  if (Var* existing = find_var(var.name)) {
    *existing = std::move(var);
    return *existing;
  }
  vars_.push_back(std::make_unique<Var>(std::move(var)));
  Var& added = *vars_.back();
  by_name_.emplace(added.name, &added);
  return added;
}

Var* Block::find_var(std::string_view name) const {
  const auto found = by_name_.find(std::string(name));
  return found == by_name_.end() ? nullptr : found->second;
}

Var* Block::find_var_recursive(std::string_view name) const {
  for (const Block* block = this;; block = &program_.block(block->parent_)) {
    if (Var* found = block->find_var(name)) return found;
    if (block->forward_block_ >= 0) {
      if (Var* found = program_.block(block->forward_block_).find_var(name)) return found;
    }
    if (block->parent_ < 0) return nullptr;
  }
}

Var& Block::var(std::string_view name) const {
  if (Var* found = find_var_recursive(name)) return *found;
  std::vector<std::string> names;
  for (const Block* block = this;; block = &program_.block(block->parent_)) {
    for (const auto& var : block->vars_) names.push_back(var->name);
    if (block->parent_ < 0) break;
  }
  not_found("the program has no variable {}.{}", in_quotes(name), did_you_mean(name, names));
}

void Block::remove_var(std::string_view name) {
  const Var* removed = find_var(name);
  if (removed == nullptr) return;
  by_name_.erase(std::string(name));
  const auto place = std::find_if(vars_.begin(), vars_.end(),
                                  [&](const auto& var) { return var.get() == removed; });
  removed_vars_.push_back(std::move(*place));
  vars_.erase(place);
  program_.touch();
}

void Block::rename_var(std::string_view from, std::string_view to) {
  require(find_var(to) == nullptr, "\"{}\" cannot be renamed: \"{}\" already exists", from, to);
  Var* renamed = find_var(from);
  if (renamed == nullptr) not_found("block {} has no variable \"{}\"", index_, from);
  // The names may be views of the very name that changes.
  const std::string before(from), after(to);
  for (const auto& block : program_.blocks()) {
    if (block->find_var_recursive(before) != renamed) continue;
    for (const auto& op : block->ops_) op->rename(before, after);
  }
  by_name_.erase(before);
  renamed->name = after;
  by_name_.emplace(after, renamed);
  program_.touch();
}

Var& Block::add_temporary(std::string_view prefix, DType dtype, Shape shape) {
  std::string name;
  do name = program_.temporaries_.generate(prefix);
  while (find_var_recursive(name) != nullptr);
  return add_var({.name = std::move(name), .dtype = dtype, .shape = std::move(shape)});
}

std::vector<Var*> Block::parameters() const {
  std::vector<Var*> found;
  for (const auto& var : vars_) {
    if (var->is_parameter()) found.push_back(var.get());
  }
  return found;
}

Op& Block::push_back(Op op) { return insert(size(), std::move(op)); }

Op& Block::insert(size_t position, Op op) {
  op.block_ = this;
  program_.touch();
  const auto place = ops_.begin() + static_cast<std::ptrdiff_t>(position);
  return **ops_.insert(place, std::make_unique<Op>(std::move(op)));
}

void Block::insert_before(size_t position, std::vector<Op> ops) {
  for (size_t i = 0; i < ops.size(); ++i) insert(position + i, std::move(ops[i]));
}

void Block::erase(const std::vector<size_t>& positions) {
  size_t next = 0, kept = 0;
  for (size_t i = 0; i < ops_.size(); ++i) {
    if (next < positions.size() && positions[next] == i) {
      ++next;
      removed_ops_.push_back(std::move(ops_[i]));
    } else {
      if (kept != i) ops_[kept] = std::move(ops_[i]);
      ++kept;
    }
  }
  ops_.resize(kept);
  program_.touch();
}

int64_t Block::count(std::string_view op_type) const {
  return std::count_if(ops_.begin(), ops_.end(),
                       [&](const auto& op) { return op->type() == op_type; });
}

size_t Block::first_writer_of(std::span<const std::string> vars) const {
  for (size_t i = 0; i < ops_.size(); ++i) {
    for (const std::string& var : vars) {
      if (ops_[i]->writes(var)) return i;
    }
  }
  return ops_.size();
}

Program::Program() : id_(next_id()) { blocks_.push_back(std::make_unique<Block>(*this, 0, -1)); }

Block& Program::block(int32_t index) const {
  require(0 <= index && index < num_blocks(), "the program has {} blocks, but block {} was named",
          num_blocks(), index);
  return *blocks_[static_cast<size_t>(index)];
}

Block& Program::create_block(int32_t parent) {
  require(0 <= parent && parent < num_blocks(),
          "a block must lie in one of the program's {} blocks, but {} was named", num_blocks(),
          parent);
  touch();
  blocks_.push_back(std::make_unique<Block>(*this, num_blocks(), parent));
  return *blocks_.back();
}

Block& Program::enter_block() {
  Block& entered = create_block(current_);
  current_ = entered.index();
  return entered;
}

void Program::leave_block() {
  require(current_block().parent() >= 0, "the global block cannot be left");
  current_ = current_block().parent();
}

std::vector<Var*> Program::parameters() const {
  std::vector<Var*> found;
  for (const auto& block : blocks_) {
    const std::vector<Var*> here = block->parameters();
    found.insert(found.end(), here.begin(), here.end());
  }
  return found;
}

}  // namespace flotilla

#include "flotilla/autodiff/drafts.h"

#include <algorithm>

#include "flotilla/op/build.h"

namespace flotilla::autodiff {
namespace {

// Sets the user's line for what is appended while it lives; keeps the caller's where it is unknown.
class CallstackGuard {
 public:
  CallstackGuard(Program& program, const std::vector<std::string>& callstack)
      : build_(program.build()), before_(build_.callstack) {
    if (!callstack.empty()) build_.callstack = callstack;
  }
  ~CallstackGuard() { build_.callstack = std::move(before_); }
  CallstackGuard(const CallstackGuard&) = delete;
  CallstackGuard& operator=(const CallstackGuard&) = delete;

 private:
  BuildState& build_;
  std::vector<std::string> before_;
};

}  // namespace

void Drafts::add(Op op, int32_t role, std::shared_ptr<Drafts> inside) {
  drafts_.push_back({std::move(op), role, callstack_, std::move(inside)});
}

std::string Drafts::take(const std::string& var) {
  const std::vector<std::string> parts = names_.take(var);
  if (parts.empty()) return "";
  if (parts.size() == 1) return parts.front();
  const std::string sum = names_.base_name(var);
  add(Op("sum", {{"X", parts}}, {{"Out", {sum}}}));
  return sum;
}

std::string Drafts::saved(const std::string& var, size_t before) {
  for (const Saved& saved : saved_) {
    if (saved.var == var && saved.before == before) return saved.copy;
  }
  // What the blocks inside save comes later, and has to have other names.
  const int32_t block = block_.index();
  std::string copy = fmt::format("{}@SAVED@{}{}", var,
                                 block == 0 ? "" : fmt::format("block{}@", block), saved_.size());
  while (block_.find_var_recursive(copy) != nullptr) copy += '_';
  saved_.push_back({var, copy, before});
  return copy;
}

void Drafts::rename_reads(const std::function<std::string(const Var&)>& rename) {
  for (Draft& draft : drafts_) {
    const Slots inputs = draft.op.inputs();
    for (auto [slot, vars] : inputs) {
      // The other slots of such an op only name what its block reads and writes.
      if (draft.inside && slot != "Cond") continue;
      for (std::string& name : vars) {
        const Var* var = block_.find_var_recursive(name);
        if (var != nullptr) name = rename(*var);
      }
      draft.op.set_input(slot, vars);
    }
    if (draft.inside) draft.inside->rename_reads(rename);
  }
}

void Drafts::keep_ends_of_rounds(const Names& changed) {
  rename_reads([&](const Var& var) {
    const bool outside = block_.find_var(var.name) == nullptr && changed.contains(var.name) &&
                         block_.find_var_recursive(var.name) == &var;
    return outside ? saved(var.name, block_.size()) : var.name;
  });
}

void Drafts::set_leaves(Names leaves) {
  for (const std::string& leaf : leaves) names_.set_base_name(leaf, grad_name(leaf));
  leaves_ = std::move(leaves);
}

size_t Drafts::append_to(Block& target) {
  while (const std::optional<std::string> var = names_.any_with_parts()) take(*var);
  // Back to front, so that the positions of the earlier ones stay valid.
  std::stable_sort(saved_.begin(), saved_.end(),
                   [](const Saved& a, const Saved& b) { return a.before > b.before; });
  for (const Saved& saved : saved_) {
    const RoleGuard role(block_.program(), kForwardRole);
    insert_op(block_, saved.before, "assign", {{"X", {saved.var}}}, {{"Out", {saved.copy}}});
  }
  for (const std::string& leaf : leaves_) {
    const Var& var = block_.var(leaf);
    target.add_var({.name = grad_name(leaf), .dtype = var.dtype, .shape = var.shape});
  }
  const size_t begin = target.size();
  for (Draft& draft : drafts_) {
    const RoleGuard role(block_.program(), draft.role);
    const CallstackGuard callstack(block_.program(), draft.callstack);
    if (draft.inside) {
      Block& inner = block_.program().create_block(target.index());
      inner.set_forward_block(draft.inside->block_.index());
      draft.inside->append_to(inner);
      draft.op.set_attr("sub_block", BlockRef{inner.index()});
    }
    append_op(target, draft.op.type(), names_.named(draft.op.inputs()),
              names_.named(draft.op.outputs()), draft.op.attrs());
  }
  return begin;
}

}  // namespace flotilla::autodiff

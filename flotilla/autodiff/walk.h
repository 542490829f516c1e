// flotilla/autodiff/walk.h
//
// The reverse walk. It only drafts ops; the block changes in append(), once everything is decided.
//
// A use of a variable gives a part of its gradient. How a part is named depends on how many there
// will be, so it has a mark instead of a name until all uses of that version are behind us.

#pragma once

#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/autodiff/flow.h"
#include "flotilla/op/grad_context.h"

namespace flotilla::autodiff {

// What the gradient op inherits: what its definition knows, and where the op belongs.
Attrs inherited_attrs(const Op& op, const OpDef* def);

class Walk final : public GradContext {
 public:
  // `leaves`: variables outside the block whose gradients are wanted too.
  Walk(Block& block, Wanted wanted, const Names& leaves = {});

  bool needs(std::string_view var) const { return flow_.needs(var); }
  // Starts from `var` with a gradient made by the op, which writes it to its output Out; or with
  // one that exists already.
  void seed(const std::string& var, Op op, int32_t role);
  void seed(const std::string& var, const std::string& gradient);
  void run();
  // The gradient that arrived at a variable; "" where none did. Call after run(), before append().
  std::string gradient_of(const std::string& var);
  // Appends what was drafted. Returns the position of the first op.
  size_t append();
  // A name from gradient_of as it stands in the program.
  std::string name_of(const std::string& gradient) const;

  // GradContext
  const Op& op() const override { return block_.op(position_); }
  Block& block() const override { return block_; }
  std::string output_grad(std::string_view slot, size_t i) override;
  std::string input_grad(std::string_view slot, size_t i) override;
  void emit(std::string type, Slots inputs, Slots outputs, Attrs attrs) override;

 private:
  struct Draft {
    Op op = {};
    int32_t role = kBackwardRole;
    std::vector<std::string> callstack = {};  // empty: of the caller
    std::shared_ptr<Walk> inside = {};        // what the op's own block holds
  };
  // The value of a variable that must outlive the op that overwrites it.
  struct Saved {
    std::string var = {};
    std::string copy = {};
    size_t before = 0;  // position of the overwriting op
  };

  void visit(size_t position);
  void emit_grad_op();
  // Of ops with a block of their own (walk_blocks.cc).
  void emit_conditional_grad();
  void emit_while_grad();
  std::shared_ptr<Walk> inside(const Names& carried) const;
  void read_what_was_there(Walk& inside);
  void keep_ends_of_rounds(const Names& changed);
  // Gives what is drafted, here and in blocks inside, other names for the variables that it reads.
  void rename_reads(const std::function<std::string(const Var&)>& rename);
  std::string saved(const std::string& var, size_t before);
  Slots block_grad_inputs(std::initializer_list<std::string_view> slots) const;
  // Appends to `target`, which is block(), or the block of its gradients. Returns as append().
  size_t append_to(Block& target);
  Slots grad_op_inputs(const OpDef& grad_def);
  Slots grad_op_outputs(const OpDef& grad_def);
  // Joins the parts of the current version's gradient, and forgets them.
  std::string take(const std::string& var);
  std::string zeros(const std::string& var);
  std::string add_part(const std::string& var);
  // v@GRAD, with a number where the program has that name already.
  const std::string& base_name(const std::string& var);
  // The variable that still holds at the end of the program what op() read, or else wrote.
  std::string value_of(const std::string& var, bool is_input);
  Slots named(const Slots& slots) const;
  void draft(Op op, int32_t role = kBackwardRole);

  Block& block_;
  const Wanted wanted_;
  const Flow flow_;
  Names leaves_;  // those whose gradients the block of gradients has as variables of its own
  size_t position_ = 0;
  bool walking_ = false;
  std::map<std::string, std::vector<std::string>, std::less<>> output_grads_;  // of op()
  std::vector<Draft> drafts_;
  std::vector<Saved> saved_;
  std::map<std::string, std::vector<std::string>> parts_;  // variable to marks or names
  std::map<std::string, std::string> taken_;               // wanted intermediate variables
  std::vector<std::string> names_;                         // of marks; "" while open
  std::map<std::string, std::string> bases_;
  std::map<std::string, int> part_counts_;
};

}  // namespace flotilla::autodiff

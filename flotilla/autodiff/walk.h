// flotilla/autodiff/walk.h
//
// The reverse walk over the ops of a block. It only drafts (drafts.h); the block changes in
// append().

#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/autodiff/drafts.h"
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
  std::string name_of(const std::string& gradient) const {
    return drafts_->names().name_of(gradient);
  }

  // GradContext
  const Op& op() const override { return block_.op(position_); }
  Block& block() const override { return block_; }
  std::string output_grad(std::string_view slot, size_t i) override;
  std::string input_grad(std::string_view slot, size_t i) override;
  void emit(std::string type, Slots inputs, Slots outputs, Attrs attrs) override;

 private:
  void visit(size_t position);
  void emit_grad_op();
  Slots grad_op_inputs(const OpDef& grad_def);
  Slots grad_op_outputs(const OpDef& grad_def);
  // Of ops with a block of their own (walk_blocks.cc).
  void emit_conditional_grad();
  void emit_while_grad();
  std::shared_ptr<Walk> inside(const Names& carried) const;
  void read_what_was_there(Walk& inside);
  bool was_there(const std::string& var) const;
  void add_gradient_of_what_stays(const std::string& var, const std::string& gradient,
                                  const std::string& cond);
  std::string zeros(const std::string& var);
  // The variable that still holds at the end of the program what op() read, or else wrote.
  std::string value_of(const std::string& var, bool is_input);

  Block& block_;
  const Wanted wanted_;
  const Flow flow_;
  const std::shared_ptr<Drafts> drafts_;  // shared with those of the block around this one
  size_t position_ = 0;
  std::map<std::string, std::vector<std::string>, std::less<>> output_grads_;  // of op()
  std::map<std::string, std::string> taken_;  // wanted intermediate variables
};

}  // namespace flotilla::autodiff

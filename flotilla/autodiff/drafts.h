// flotilla/autodiff/drafts.h
//
// The gradients of a block before they are part of the program: ops that are drafted while the walk
// decides, and values that must outlive the ops that overwrite them. The program changes in
// append_to(), once everything is decided.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "flotilla/autodiff/flow.h"
#include "flotilla/autodiff/grad_names.h"
#include "flotilla/ir/program.h"

namespace flotilla::autodiff {

class Drafts {
 public:
  // For the gradients of `block`.
  explicit Drafts(Block& block) : block_(block), names_(block) {}

  GradNames& names() { return names_; }
  const GradNames& names() const { return names_; }

  // The user's line of what is drafted from now on; empty: that of whoever appends.
  void set_callstack(std::vector<std::string> callstack) { callstack_ = std::move(callstack); }
  // `inside`: what the op's own block holds, of an op that has one.
  void add(Op op, int32_t role = kBackwardRole, std::shared_ptr<Drafts> inside = {});

  // Joins the parts of the current version's gradient, and forgets them. "": there are none.
  std::string take(const std::string& var);

  // Where the value lies that a variable has before the op at that position overwrites it.
  std::string saved(const std::string& var, size_t before);

  // Gives what is drafted, here and in blocks inside, other names for the variables that it reads.
  void rename_reads(const std::function<std::string(const Var&)>& rename);
  // In a block that runs again, what it left in a variable outside is gone later; what it found
  // there has been saved.
  void keep_ends_of_rounds(const Names& changed);

  // The block of gradients has those of `leaves` as variables of its own, by the name under which
  // whoever runs it looks for them.
  void set_leaves(Names leaves);
  bool is_leaf(const std::string& var) const { return leaves_.contains(var); }

  // Appends to `target`, which is the block, or one for its gradients. Returns the position of the
  // first op.
  size_t append_to(Block& target);

 private:
  struct Draft {
    Op op = {};
    int32_t role = kBackwardRole;
    std::vector<std::string> callstack = {};
    std::shared_ptr<Drafts> inside = {};
  };
  struct Saved {
    std::string var = {};
    std::string copy = {};
    size_t before = 0;  // position of the overwriting op
  };

  Block& block_;
  GradNames names_;
  Names leaves_;
  std::vector<std::string> callstack_;
  std::vector<Draft> drafts_;
  std::vector<Saved> saved_;
};

}  // namespace flotilla::autodiff

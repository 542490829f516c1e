// flotilla/autodiff/grad_names.h
//
// How gradients are named. A use of a variable gives a part of its gradient, and how a part is
// named depends on how many there will be: it has a mark instead of a name until all uses of that
// version are behind us. The one part of v is v@GRAD; several are v@GRAD@RENAME@block0@<i>.

#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/ir/program.h"

namespace flotilla::autodiff {

class GradNames {
 public:
  // Of variables of `block`; names that it has already are not given again.
  explicit GradNames(const Block& block) : block_(block) {}

  // Another part, by a new mark, or by the name that it has already.
  std::string add_part(const std::string& var);
  void add_part(const std::string& var, const std::string& name);
  bool has_parts(const std::string& var) const { return parts_.contains(var); }
  // A variable that has parts; nothing: none has.
  std::optional<std::string> any_with_parts() const;
  // The parts of the current version, which have names from now on and are forgotten.
  std::vector<std::string> take(const std::string& var);

  // v@GRAD, with a number where the program has that name already.
  const std::string& base_name(const std::string& var);
  // The same where whoever runs the block looks for another one.
  void set_base_name(const std::string& var, std::string name) { bases_[var] = std::move(name); }

  // As it stands in the program: a mark in a name, once it has been taken, becomes that of its
  // part.
  std::string name_of(const std::string& gradient) const;
  Slots named(const Slots& slots) const;

 private:
  const Block& block_;
  std::map<std::string, std::vector<std::string>> parts_;  // variable to marks or names
  std::vector<std::string> names_;                         // of marks; "" while open
  std::map<std::string, std::string> bases_;
  std::map<std::string, int> counts_;  // of the parts that were named beside others
};

}  // namespace flotilla::autodiff

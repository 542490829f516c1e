// flotilla/op/lower.h
//
// An operator in terms of others: `lower` of its definition appends ops that compute the same, and
// says which of their results are its outputs.
//
//   void lower(LowerContext& c) {  // Out = X + Weight (Y - X)
//     const std::string way = c.sub(c.in("Y"), c.in("X"));
//     c.result("Out", c.add(c.in("X"), c.mul(way, c.in("Weight"))));
//   }
//
// passes/lower.h puts the body behind an op for which the device has no kernel. The op stays in
// front of it with a mark, so that a plan still compares its inputs by its own rules: a body that
// repeats what is smaller would take more. Programs that are printed or saved keep the op as it is.

#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flotilla/ir/program.h"
#include "flotilla/op/infer.h"
#include "flotilla/op/op_def.h"

namespace flotilla {

// The attribute of an op whose body follows: a plan infers it, and computes nothing.
inline constexpr std::string_view kLoweredAttr = "@LOWERED@";

class LowerContext {
 public:
  // By slot and place in it.
  using Results = std::map<std::pair<std::string, size_t>, std::string>;

  // The body goes to the end of `block`, which has the variables that `op` reads.
  LowerContext(Block& block, const Op& op, const OpDef& def);

  bool has(std::string_view slot) const;
  size_t count(std::string_view slot) const { return op_.input_list(slot).size(); }
  // The variable that the op reads. Refuses a slot that holds none.
  const std::string& in(std::string_view slot, size_t i = 0) const;
  // What is known of it, or of a variable of the body; extents may be -1.
  const Var& var(std::string_view name) const { return block_.var(name); }
  const Shape& shape(std::string_view slot, size_t i = 0) const { return var(in(slot, i)).shape; }
  template <typename T>
  T attr(std::string_view name) const {
    return attr_as<T>(attr_or_default(op_, def_, name), name);
  }
  // Those of its attributes that the op names itself.
  const Attrs& given_attrs() const { return op_.attrs(); }
  // Whether anybody asks for the output.
  bool wants(std::string_view slot, size_t i = 0) const;

  // Appends an op, as layers do, and returns the variable of its first output.
  std::string append(std::string type, Slots inputs, Attrs attrs = {});
  // The same for ops of X, and of X and Y.
  std::string apply(std::string type, std::string x, Attrs attrs = {});
  std::string apply(std::string type, std::string x, std::string y, Attrs attrs = {});

  // The words that most bodies are made of. Element by element:
  std::string add(std::string x, std::string y) { return apply("elementwise_add", x, y); }
  std::string sub(std::string x, std::string y) { return apply("elementwise_sub", x, y); }
  std::string mul(std::string x, std::string y) { return apply("elementwise_mul", x, y); }
  std::string div(std::string x, std::string y) { return apply("elementwise_div", x, y); }
  std::string scale(std::string x, float factor, float summand = 0);
  std::string clip(std::string x, float least, float most);
  std::string cast(std::string x, DType to);
  // Axes count from the end where they are negative.
  using Ints = std::vector<int32_t>;
  std::string sum(std::string x, Ints axes, bool keep = false);
  std::string reshape(std::string x, Ints shape);
  std::string flatten(std::string x, int32_t first, int32_t last);  // these axes become one
  // Elements [begin, end) of an axis, which is left out with `drop`.
  std::string slice(std::string x, int32_t axis, int64_t begin, int64_t end, bool drop = false);

  // The output is this variable.
  void result(std::string slot, std::string var, size_t i = 0);
  const Results& results() const { return results_; }

 private:
  Block& block_;
  const Op& op_;
  const OpDef& def_;
  Results results_;
};

}  // namespace flotilla

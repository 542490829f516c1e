// flotilla/op/grad_context.h
//
// What a gradient rule of its own (custom_grad) sees: one forward op, the gradients of its outputs,
// the gradients it may write.

#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "flotilla/ir/program.h"

namespace flotilla {

class GradContext {
 public:
  virtual ~GradContext() = default;
  virtual const Op& op() const = 0;
  virtual Block& block() const = 0;
  // The gradient of an output variable; "" where none flowed into it.
  virtual std::string output_grad(std::string_view slot, size_t i = 0) = 0;
  // The name to write the gradient of an input variable to; "" where nobody needs it. Ask once for
  // each name that is then written.
  virtual std::string input_grad(std::string_view slot, size_t i = 0) = 0;
  virtual void emit(std::string type, Slots inputs, Slots outputs, Attrs attrs) = 0;
};

// The gradient of X is what the op `type`, of X and Out too, makes of that of Out. Nothing where
// nobody needs it.
inline void hand_back(GradContext& g, std::string type, Attrs attrs = {},
                      const std::string& x = "X") {
  const std::string dout = g.output_grad("Out"), dx = g.input_grad(x);
  if (dx.empty()) return;
  g.emit(std::move(type), {{"X", {dout}}}, {{"Out", {dx}}}, std::move(attrs));
}

}  // namespace flotilla

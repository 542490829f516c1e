// flotilla/op/grad_context.h
//
// What a gradient rule of its own (custom_grad) sees: one forward op, the gradients of its outputs,
// the gradients it may write.

#pragma once

#include <string>
#include <string_view>

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

}  // namespace flotilla

// flotilla/op/grad_rule.h
//
// How the gradient of an operator follows. A rule is a value: most operators name the forward slots
// that their gradient operator reads and are done.

#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/ir/program.h"

namespace flotilla {

class GradContext;

struct GradRule {
  enum Kind { kNone, kGradOp, kCustom };
  Kind kind = kNone;
  std::string type = {};                 // of the gradient op; empty: <type>_grad
  std::vector<std::string> uses = {};    // forward slots that it reads
  void (*emit)(GradContext&) = nullptr;  // kCustom
};

// Not differentiable: gradients stop here.
inline GradRule no_grad() { return {}; }

// Emits <type>_grad: it reads the forward slots in `uses` and the gradient of every output, and
// writes the gradient of every input that needs one. Slots marked no_grad are left out.
GradRule grad_op(std::initializer_list<std::string_view> uses, std::string_view type = {});

// Emits what the function says, for operators whose gradient is made of others (sum, scale, cast).
GradRule custom_grad(void (*emit)(GradContext&));

// What a custom rule sees: one forward op, the gradients of its outputs, the gradients it may
// write.
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

// flotilla/op/op_def.h
//
// An operator is one value of type OpDef: what it takes and gives, how shapes follow, how the
// gradient follows, which kernels exist. The Python signature, the docs, autodiff, the passes, the
// planner and the serializer all read this value; nothing else keeps a list of operators.

#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/device.h"
#include "flotilla/base/dtype.h"
#include "flotilla/ir/attr.h"

namespace flotilla {

class Block;           // ir/program.h
class GradContext;     // op/grad_context.h
class InferContext;    // op/infer.h
class LowerContext;    // op/lower.h
class Op;              // ir/op.h
class PrepareContext;  // kernel/prepare.h

// What a kernel leaves to run, step after step: it only computes. Nothing is looked up by name.
using Step = std::function<void()>;

struct Slot {
  std::string name = {};
  std::string doc = {};
  bool optional = false;
  bool list = false;        // holds any number of variables
  bool no_grad = false;     // never differentiated: labels, indices, shapes, saved statistics
  bool shape_only = false;  // the kernel reads its shape, never its elements; or writes none

  // The rule for its size, which holds before a kernel sees it (op/check.h).
  std::string like = {};  // has the extents of this input, entry by entry
  bool one = false;       // holds one element
};

struct AttrSpec {
  std::string name = {};
  Attr initial = {};
  std::string doc = {};
};

// A kernel runs when a plan is made: it resolves slots, decodes attributes, states the layouts,
// workspace and in-place pairs it wants, creates its primitive, and returns a Step that only
// computes.
struct Kernel {
  Device device = kCpu;
  DType dtype = f32;
  Step (*prepare)(PrepareContext&) = nullptr;
};

// A slot of the forward op that its gradient op has, too.
struct Use {
  Use(std::string slot_name) : slot(std::move(slot_name)) {}  // NOLINT: a list of names reads best
  Use(const char* slot_name) : slot(slot_name) {}             // NOLINT

  std::string slot;
  bool shape_only = false;  // it reads the extents, never the elements
};
Use shape_of(std::string slot);

// What a gradient op has beside what follows from its forward op (op/gradient.h).
struct GradOp {
  std::vector<Kernel> kernels = {};
  void (*lower)(LowerContext&) = nullptr;  // as that of OpDef
  // Null: every gradient has the extents and dtype of its variable.
  void (*infer)(InferContext&) = nullptr;
  // Inputs that other releases write, or in the place of those that follow.
  std::vector<Slot> inputs = {};
  std::string type = {};                                       // empty: <type>_grad
  void (*to_paddle)(Block& block, size_t position) = nullptr;  // as that of OpDef
};

// How the gradient of an operator follows. A rule is a value: most operators name the slots that
// their gradient operator reads, and its kernels.
struct GradRule {
  enum Kind { kNone, kGradOp, kCustom };
  Kind kind = kNone;
  std::vector<Use> uses = {};  // kGradOp
  GradOp op = {};
  bool of_body = false;                  // kGradOp: follows from OpDef::lower
  void (*emit)(GradContext&) = nullptr;  // kCustom
};

// Not differentiable: gradients stop here.
inline GradRule no_grad() { return {}; }

// Emits <type>_grad: it reads the forward slots in `uses` and the gradient of every output, and
// writes the gradient of every input that needs one. Slots marked no_grad are left out.
GradRule grad_op(std::vector<Use> uses, GradOp op = {});

// The same for an op that has `lower`: the gradient is that of its body. Its gradient operator
// reads all inputs, unless `uses` names them.
GradRule grad_of_body(std::vector<Use> uses = {});

// Emits what the function says, for operators whose gradient is made of others (sum, scale, cast).
GradRule custom_grad(void (*emit)(GradContext&));

struct OpDef {
  std::string type = {};  // as it stands in a Program, e.g. "softmax"
  std::string doc = {};   // one sentence; becomes the Python docstring
  std::vector<Slot> inputs = {};
  std::vector<Slot> outputs = {};
  std::vector<AttrSpec> attrs = {};
  // Shapes and dtypes of the outputs, or a clear refusal. Null: they are what the program declares,
  // and kernels compare it with what comes.
  void (*infer)(InferContext&) = nullptr;
  GradRule grad = no_grad();         // by default not differentiable
  std::vector<Kernel> kernels = {};  // <op>.cu adds its own with add_kernels()
  // The op in terms of others (op/lower.h), for devices and dtypes without a kernel.
  void (*lower)(LowerContext&) = nullptr;
  std::string dtype_slot = {};  // whose dtype picks the kernel; by default the first input that is
                                // there, or the first output
  bool side_effect = false;     // runs even where nobody reads what it writes
  // Changes the op at `position` of a program that real Paddle is to read
  // (op/export_to_paddle.h), and an op that real Paddle has written (op/import_from_paddle.h).
  void (*to_paddle)(Block& block, size_t position) = nullptr;
  void (*from_paddle)(Op& op) = nullptr;

  // Of its gradient op; "" where it has none.
  std::string grad_type() const;
  const Slot* find_input(std::string_view slot) const;
  const Slot* find_output(std::string_view slot) const;
  const AttrSpec* find_attr(std::string_view name) const;
};

// Registers `def` under def.type, and its gradient op where the rule has kernels for it. Called
// while static objects are built, never later.
const OpDef& define_op(OpDef def);
// Adds kernels to an op that another file defines. Same rule.
bool add_kernels(std::string_view type, std::vector<Kernel> kernels);

// Null where there is none.
const OpDef* find_op(std::string_view type);
// Refuses an unknown type and suggests the nearest.
const OpDef& op_def(std::string_view type);
// The op whose gradient `type` is, by its rule or its name; null where it is none's.
const OpDef* forward_of(std::string_view type);
// Sorted.
std::vector<std::string> op_types();
bool has_kernel(const OpDef& def, Device device, DType dtype);
// Refuses with the list of those that exist.
const Kernel& find_kernel(const OpDef& def, Device device, DType dtype);

// One row for each of the dtypes: the same generic lambda, instantiated.
//   constexpr auto forward = []<typename T>(PrepareContext& c) -> Step { ... };
//   .kernels = kernels_for<float, double>(forward)
template <typename... T, typename F>
std::vector<Kernel> kernels_for(F) {
  return {Kernel{kCpu, dtype_of<T>,
                 [](PrepareContext& c) -> Step { return F{}.template operator()<T>(c); }}...};
}
// All dtypes that are computed with: f32 f64 i32 i64 bool u8 i8 i16.
template <typename F>
std::vector<Kernel> kernels_for_all(F f) {
  return kernels_for<float, double, int32_t, int64_t, bool, uint8_t, int8_t, int16_t>(f);
}

}  // namespace flotilla

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
#include "flotilla/op/grad_rule.h"

namespace flotilla {

class InferContext;    // op/infer.h
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
  // What it says decides shapes of outputs, and the gradient op does not have it.
  bool decides_shape = false;

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
  std::string dtype_slot = {};  // whose dtype picks the kernel; by default the first input that is
                                // there, or the first output
  bool side_effect = false;     // runs even where nobody reads what it writes

  const Slot* find_input(std::string_view slot) const;
  const Slot* find_output(std::string_view slot) const;
  const AttrSpec* find_attr(std::string_view name) const;
};

// Registers `def` under def.type. Called while static objects are built, never later.
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
// Refuses with the list of those that exist.
const Kernel& find_kernel(const OpDef& def, Device device, DType dtype);

// One row for each of the dtypes: the same function template, instantiated.
//   .kernels = kernels_for<float, double>([]<typename T>(PrepareContext& c) { return forward<T>(c);
//   })
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

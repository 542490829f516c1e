// flotilla/ops/math/activations.cu
//
// The activation functions of layers on a GPU: kernels for the operators that activations.cc
// defines, from the same list of formulas.

#include "flotilla/ops/common/activation_formulas.h"
#include "flotilla/ops/math/unary.cuh"

namespace flotilla::ops {
namespace {

// gelu is one operator in two forms.
struct GeluForward {
  template <typename T>
  static Step make(PrepareContext& c) {
    return c.attr<bool>("approximate") ? cuda_unary_forward<unary::GeluTanh, T>(c)
                                       : cuda_unary_forward<unary::Gelu, T>(c);
  }
};

struct GeluBackward {
  template <typename T>
  static Step make(PrepareContext& c) {
    return c.attr<bool>("approximate") ? cuda_unary_backward<unary::GeluTanh, T>(c)
                                       : cuda_unary_backward<unary::Gelu, T>(c);
  }
};

[[maybe_unused]] const bool kActivations = add_cuda_unary(unary::Activations{});
[[maybe_unused]] const bool kGelu = add_kernels("gelu", cuda_float_kernels<GeluForward>()) &&
                                    add_kernels("gelu_grad", cuda_float_kernels<GeluBackward>());

}  // namespace
}  // namespace flotilla::ops

// flotilla/ops/nn/conv2d.cu
//
// conv2d and depthwise_conv2d on a GPU.

#include "flotilla/kernel/in_order.h"
#include "flotilla/ops/nn/conv.cuh"

namespace flotilla::ops {
namespace {

template <typename T>
Step forward(PrepareContext& c) {
  return cuda_conv<T>(c, conv_problem(c, "Output"), Convolution::kForward,
                      {"Input", "Filter", "Output"});
}

template <typename T>
Step backward(PrepareContext& c) {
  const onednn::ConvProblem problem = conv_problem(c, "Output@GRAD");
  std::vector<Step> steps;
  if (c.has("Filter@GRAD")) {
    steps.push_back(cuda_conv<T>(c, problem, Convolution::kFilterGradient,
                                 {"Input", "Output@GRAD", "Filter@GRAD"}));
  }
  if (c.has("Input@GRAD")) {
    steps.push_back(cuda_conv<T>(c, problem, Convolution::kSourceGradient,
                                 {"Output@GRAD", "Filter", "Input@GRAD"}));
  }
  return in_order(std::move(steps));
}

bool add(const std::string& type) {
  return add_kernels(type, {{kCuda, f32, forward<float>},
                            {kCuda, f64, forward<double>},
                            {kCuda, f16, forward<Half>},
                            {kCuda, bf16, forward<BFloat16>}}) &&
         add_kernels(type + "_grad", {{kCuda, f32, backward<float>},
                                      {kCuda, f64, backward<double>},
                                      {kCuda, f16, backward<Half>},
                                      {kCuda, bf16, backward<BFloat16>}});
}

[[maybe_unused]] const bool kConvolutions = add("conv2d") && add("depthwise_conv2d");

}  // namespace
}  // namespace flotilla::ops

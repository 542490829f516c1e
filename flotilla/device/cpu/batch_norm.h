// flotilla/device/cpu/batch_norm.h
//
// Batch norm of [N, C, ...] over all axes but C, with an optional addition and relu in the same
// pass over memory:
//
//     y = relu((x - mean) * inv_std * scale + shift + residual)
//
// A tensor of training is larger than the caches, so time is memory traffic. A group of channels is
// finished before the next one begins: its second reading comes from the cache.
//
// Sums are kept in double, each channel's in a fixed order: the same number of threads gives the
// same bits. Thread safety: const methods may run at the same time with different memory.

#pragma once

#include <cstdint>
#include <memory>

#include "flotilla/base/layout.h"
#include "flotilla/base/shape.h"

namespace flotilla {

struct BatchNormOptions {
  Shape shape = {};
  Layout layout = {};
  float epsilon = 1e-5f;
  // running = momentum * running + (1 - momentum) * this batch
  float momentum = 0.9f;
  bool relu = false;
};

class BatchNorm {
 public:
  // Plain, channels last, or axis 1 cut into blocks.
  static bool knows(const Shape& shape, const Layout& layout);

  // REQUIRES: knows(options.shape, options.layout)
  explicit BatchNorm(const BatchNormOptions& options);

  // Of `scratch` below, aligned to 64; nothing is kept there.
  int64_t scratch_bytes() const;

  // Tensors have the layout of the options; scale, shift and statistics hold one number for each
  // channel. `y` may be the memory of residual, not of x.
  struct Forward {
    const float* x = nullptr;
    const float* residual = nullptr;  // may be missing
    const float* scale = nullptr;
    const float* shift = nullptr;
    float* y = nullptr;
    float* mean = nullptr;
    float* inv_std = nullptr;           // 1 / sqrt(variance + epsilon), the variance being biased
    float* running_mean = nullptr;      // updated in place; may be missing
    float* running_variance = nullptr;  // like running_mean
  };
  void forward(const Forward& f, void* scratch) const;

  // With given statistics; `y` may be the memory of x or residual.
  struct Inference {
    const float* x = nullptr;
    const float* residual = nullptr;  // may be missing
    const float* scale = nullptr;
    const float* shift = nullptr;
    const float* mean = nullptr;
    const float* variance = nullptr;
    float* y = nullptr;
  };
  void infer(const Inference& i, void* scratch) const;

  // `dx` and `dresidual` may be the memory of dy, though not both.
  struct Backward {
    const float* x = nullptr;
    // The result, which tells where relu cut off. May be missing without relu, and also where
    // forward had no residual: then it is computed again, which is faster than reading it.
    const float* y = nullptr;
    const float* dy = nullptr;
    const float* scale = nullptr;
    const float* shift = nullptr;  // needed where y is missing
    const float* mean = nullptr;
    const float* inv_std = nullptr;
    float* dx = nullptr;
    float* dresidual = nullptr;  // may be missing
    float* dscale = nullptr;
    float* dshift = nullptr;
  };
  void backward(const Backward& b, void* scratch) const;

 private:
  struct Plan;

  std::shared_ptr<const Plan> plan_;
};

}  // namespace flotilla

// flotilla/device/cuda/dnn.h
//
// Convolutions by cuDNN, behind Flotilla's own types. A plan decides everything when it is made
// (algorithm, scratch memory); run() only enqueues, and its results repeat to the bit.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "flotilla/base/dtype.h"
#include "flotilla/device/cpu/onednn.h"
#include "flotilla/device/stream.h"

namespace flotilla::cuda {

// The problem is that of onednn.h, without a bias and an activation: images [N, C, H, W] and
// filters [O, C / groups, height, width]. All lie in memory with their axis 1 innermost.
struct Convolution {
  enum Direction {
    kForward,         // (source, filter) to destination
    kSourceGradient,  // (destination, filter) to source
    kFilterGradient   // (source, destination) to filter
  };

  onednn::ConvProblem problem = {};
  Direction direction = kForward;
  DType dtype = f32;  // f32, f16 or bf16, of everything
};

class ConvolutionPlan {
 public:
  struct State;
  explicit ConvolutionPlan(std::unique_ptr<State> state);
  ~ConvolutionPlan();
  ConvolutionPlan(const ConvolutionPlan&) = delete;
  ConvolutionPlan& operator=(const ConvolutionPlan&) = delete;

  int64_t scratch_bytes() const;
  // In the order of Direction. `scratch` is null where there is none.
  void run(const void* first, const void* second, void* result, void* scratch) const;

 private:
  std::unique_ptr<State> state_;
};

class Dnn {
 public:
  // Refuses where cuDNN is missing or of another version than Flotilla was built for.
  explicit Dnn(Stream stream);
  ~Dnn();
  Dnn(const Dnn&) = delete;
  Dnn& operator=(const Dnn&) = delete;

  // The same plan for the same question. Null where cuDNN has no algorithm whose results repeat.
  std::shared_ptr<const ConvolutionPlan> convolution(const Convolution& wanted);

 private:
  void* handle_ = nullptr;  // a cudnnHandle_t
  std::map<std::string, std::shared_ptr<const ConvolutionPlan>> known_;
};

}  // namespace flotilla::cuda

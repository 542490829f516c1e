// flotilla/device/cuda/blas.h
//
// Matrix products by cuBLASLt, behind Flotilla's own types. A plan decides everything when it is
// made (algorithm, scratch memory); run() only enqueues, and its results repeat to the bit.

#pragma once

#include <cstdint>
#include <memory>

#include "flotilla/base/dtype.h"
#include "flotilla/device/stream.h"

namespace flotilla::cuda {

// C = alpha A B, + C where it accumulates, + a bias, rectified: `batch` such products. Row major; a
// transposed operand lies in memory as its transpose. 16-bit floats are multiplied exactly and
// summed up as f32.
// REQUIRES: batch, m, n, k > 0
struct MatmulProblem {
  DType dtype = f32;            // f32, f64, f16 or bf16, of everything
  int64_t m = 0, n = 0, k = 0;  // A is m x k, B is k x n, C is m x n
  bool transpose_a = false;     // A lies in memory as k x m
  bool transpose_b = false;     // B lies in memory as n x k
  int64_t batch = 1;
  int64_t stride_a = 0, stride_b = 0, stride_c = 0;  // elements from one product to the next

  double alpha = 1;
  bool accumulate = false;
  bool bias = false;  // one number for each column of C. REQUIRES: not f64
  bool relu = false;  // REQUIRES: bias

  int64_t alignment = 16;  // of all addresses, in bytes: a power of two up to 16
};

class MatmulPlan {
 public:
  MatmulPlan(void* handle, Stream stream, const MatmulProblem& problem);
  ~MatmulPlan();
  MatmulPlan(const MatmulPlan&) = delete;
  MatmulPlan& operator=(const MatmulPlan&) = delete;

  int64_t scratch_bytes() const;
  // `bias` is null where there is none, as is `scratch`.
  void run(const void* a, const void* b, const void* bias, void* c, void* scratch) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

class Blas {
 public:
  // Refuses where cuBLASLt is missing or of another version than Flotilla was built for.
  explicit Blas(Stream stream);
  ~Blas();
  Blas(const Blas&) = delete;
  Blas& operator=(const Blas&) = delete;

  std::shared_ptr<const MatmulPlan> matmul(const MatmulProblem& problem);

 private:
  const Stream stream_;
  void* handle_ = nullptr;  // a cublasLtHandle_t
};

}  // namespace flotilla::cuda

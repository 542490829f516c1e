// flotilla/ops/common/product.h
//
// A matrix product that is prepared once and run often: oneDNN for float, a loop for double.

#pragma once

#include <memory>
#include <type_traits>
#include <vector>

#include "flotilla/device/cpu/onednn.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/move.h"

namespace flotilla::ops {

template <typename T>
class Product {
 public:
  Product(PrepareContext& c, const onednn::MatmulProblem& problem) : p_(problem) {
    require(p_.batch.size() <= 8, "a matrix product has at most 8 batch axes, but {} were given",
            p_.batch.size());
    if constexpr (std::is_same_v<T, float>) {
      if (!empty()) {
        primitive_ = std::make_shared<onednn::Matmul>(problem);
        if (primitive_->scratch_bytes() > 0) scratch_ = c.workspace(primitive_->scratch_bytes());
      }
    }
  }

  void run(const T* a, const T* b, T* out) const {
    if (empty()) {
      if (!p_.accumulate) std::fill_n(out, batches() * p_.m * p_.n, T{0});
      return;
    }
    if constexpr (std::is_same_v<T, float>) {
      primitive_->run(a, b, nullptr, out, scratch_ ? scratch_.data() : nullptr);
    } else {
      loop(a, b, out);
    }
  }

 private:
  int64_t batches() const { return Shape(p_.batch).numel(); }
  bool empty() const { return batches() * p_.m * p_.n * p_.k == 0; }

  // How far the operand moves to reach batch `index`.
  int64_t move(int64_t index, const std::vector<int64_t>& strides, int64_t dense) const {
    return strides.empty() ? index * dense : place_in(p_.batch, strides, index);
  }

  void loop(const T* a, const T* b, T* out) const {
    const int64_t a_row = p_.transpose_a ? 1 : p_.k, a_column = p_.transpose_a ? p_.m : 1;
    const int64_t b_row = p_.transpose_b ? 1 : p_.n, b_column = p_.transpose_b ? p_.k : 1;
    parallel_for(batches() * p_.m, [&](int64_t i) {
      const int64_t batch = i / p_.m, row = i % p_.m;
      const T* x = a + move(batch, p_.batch_stride_a, p_.m * p_.k) + row * a_row;
      const T* y = b + move(batch, p_.batch_stride_b, p_.k * p_.n);
      T* z = out + i * p_.n;
      if (!p_.accumulate) std::fill_n(z, p_.n, T{0});
      for (int64_t k = 0; k < p_.k; ++k) {
        const T factor = x[k * a_column];
        for (int64_t n = 0; n < p_.n; ++n) z[n] += factor * y[k * b_row + n * b_column];
      }
    });
  }

  onednn::MatmulProblem p_;
  std::shared_ptr<onednn::Matmul> primitive_;
  Out<char> scratch_;
};

}  // namespace flotilla::ops

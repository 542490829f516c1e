// flotilla/ops/math/logcumsumexp.cc
//
// logcumsumexp: log(sum(exp(X))) of each element and all before it along an axis. Nothing
// overflows, because no exponent is above zero: sums are kept relative to the largest element so
// far, and gradients relative to Out, which never falls.
//
//   G[i]  = dOut[i] + exp(Out[i] - Out[i + 1]) G[i + 1]
//   dX[i] = exp(X[i] - Out[i]) G[i]
//
// The sum of nothing, and of -inf alone, is the lowest number, as in Paddle.

#include <algorithm>
#include <cmath>
#include <limits>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/math/scan.h"

namespace flotilla::ops {
namespace {

// exp(a - b), also where both are the same infinity.
template <typename T>
T ratio(T a, T b) {
  return a == b ? T{1} : std::exp(a - b);
}

// log(sum(exp(x))) of what was added so far.
template <typename T>
class LogSum {
 public:
  void add(T x) {
    if (x > largest_) {
      sum_ = sum_ * ratio(largest_, x) + 1;
      largest_ = x;
    } else {
      sum_ += ratio(x, largest_);
    }
  }
  // NaN stays what it is.
  T get() const { return std::max(largest_ + std::log(sum_), kLowest); }

 private:
  static constexpr T kLowest = std::numeric_limits<T>::lowest();
  T largest_ = kLowest;
  T sum_ = 0;  // of exp(x - largest_)
};

constexpr int64_t kCost = 32;  // simple operations for an element, roughly

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [scan = Scan(c, c.shape("X"), c.attr<bool>("reverse")), in = c.in<T>("X"),
          out = c.out<T>("Out")] {
    const T* x = in.data();
    T* y = out.data();
    parallel_for(scan.count(), scan.length() * kCost, [=](int64_t slice) {
      int64_t at = scan.first(slice);
      LogSum<T> sum;
      for (int64_t i = 0; i < scan.length(); ++i, at += scan.step()) {
        const T value = x[at];
        if (scan.exclusive()) y[at] = sum.get();
        sum.add(value);
        if (!scan.exclusive()) y[at] = sum.get();
      }
    });
  };
};

// Walks back. An exclusive element counts from Out of the next one on.
constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return [scan = Scan(c, c.shape("X"), !c.attr<bool>("reverse")), in = c.in<T>("X"),
          out = c.in<T>("Out"), dout = c.in<T>("Out@GRAD"), din = c.out<T>("X@GRAD")] {
    const T *x = in.data(), *y = out.data(), *dy = dout.data();
    T* dx = din.data();
    parallel_for(scan.count(), scan.length() * kCost, [=](int64_t slice) {
      int64_t at = scan.first(slice);
      T next = 0, sum = 0;  // Out[i + 1], G[i + 1]
      for (int64_t i = 0; i < scan.length(); ++i, at += scan.step()) {
        if (scan.exclusive()) dx[at] = i == 0 ? T{0} : std::exp(x[at] - next) * sum;
        sum = i == 0 ? dy[at] : dy[at] + ratio(y[at], next) * sum;
        next = y[at];
        if (!scan.exclusive()) dx[at] = std::exp(x[at] - next) * sum;
      }
    });
  };
};

const OpDef& logcumsumexp = define_op({
    .type = "logcumsumexp",
    .doc = "log(sum(exp(X))) of each element and all that come before it along the axis.",
    .inputs = {{.name = "X", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "same shape as X"}},
    .attrs = scan_attrs(),
    .infer = infer_scan,
    .grad = grad_op({"X", "Out"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops

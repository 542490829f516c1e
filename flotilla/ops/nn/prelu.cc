// flotilla/ops/nn/prelu.cc
//
// prelu: Out = X where X > 0, else Alpha * X. `mode` says how Alpha is shared: one number for all,
// one for each channel, or one for each element of an image.

#include <algorithm>

#include "flotilla/base/half.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/device/cpu/simd.h"
#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/nn/slope_sharing.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape& x = c.in("X").shape;
  const Shape& alpha = c.in("Alpha").shape;
  const Sharing sharing = sharing_of(c, x);
  require(alpha.numel() == sharing.count || sharing.count < 0 || !alpha.known(),
          "Alpha must hold {} numbers because X has shape {} and mode is {}, but has shape {}",
          sharing.count, x, c.attr<std::string>("mode"), alpha);
  c.out("Out") = c.in("X");
}

// Calls f(element of X, its slope) for all, in runs that share one, or take one after the other.
// What f chooses from it computes before, so that there is no branch.
template <typename T, typename F>
void for_each_element(int64_t n, const Sharing& sharing, const T* alpha, F f) {
  const int64_t run = sharing.inner > 1 ? sharing.inner : sharing.count;
  parallel_ranges(n, kGrainOperations / 4, [=](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t stop = std::min(end, (begin / run + 1) * run);
      int64_t k = sharing.of(begin);
      if (sharing.inner > 1) {
        const auto slope = widen(alpha[k]);
        for (int64_t i = begin; i < stop; ++i) f(i, slope);
      } else {
        for (int64_t i = begin; i < stop; ++i) f(i, widen(alpha[k++]));
      }
      begin = stop;
    }
  });
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const int64_t n = c.shape("X").numel();
  return [n, sharing = sharing_of(c, c.shape("X")), in = c.in<T>("X"), alpha = c.in<T>("Alpha"),
          out = c.out<T>("Out")] {
    const T* x = in.data();
    T* y = out.data();
    for_each_element(n, sharing, alpha.data(), [=](int64_t i, auto slope) {
      const auto value = widen(x[i]), below = slope * value;
      y[i] = narrow<T>(value > 0 ? value : below);
    });
  };
};

// What a thread adds up at once, of elements that share a slope.
constexpr int64_t kPiece = 16384;

// The sum of x * dy where x is not positive; many numbers at once.
template <typename T>
FLT_INLINE double sum_below(const T* x, const T* dy, int64_t n) {
  constexpr int64_t kLanes = 32, kBlock = 1024;
  double sum = 0;
  for (int64_t begin = 0; begin < n; begin += kBlock) {
    const int64_t end = std::min(n, begin + kBlock);
    Compute<T> lanes[kLanes] = {};
    int64_t i = begin;
    for (; i + kLanes <= end; i += kLanes) {
      for (int64_t l = 0; l < kLanes; ++l) {
        const Compute<T> value = widen(x[i + l]), product = value * widen(dy[i + l]);
        lanes[l] += value <= 0 ? product : Compute<T>{0};
      }
    }
    for (; i < end; ++i) {
      const Compute<T> value = widen(x[i]);
      if (value <= 0) lanes[0] += value * widen(dy[i]);
    }
    for (const Compute<T> lane : lanes) sum += static_cast<double>(lane);
  }
  return sum;
}

// The sums for the slopes, each of its elements in order, whatever the number of threads.
class SlopeSums {
 public:
  SlopeSums(PrepareContext& c, int64_t n, const Sharing& sharing)
      : sharing_(sharing),
        outer_(n / std::max<int64_t>(1, sharing.count * sharing.inner)),
        pieces_((sharing.inner + kPiece - 1) / kPiece) {
    if (sharing.inner > 1) sums_ = c.workspace<double>(outer_ * sharing.count * pieces_);
  }

  template <typename T>
  void run(const T* x, const T* dy, T* dalpha) const {
    if (sharing_.inner > 1) {
      runs(x, dy, dalpha);
    } else {
      columns(x, dy, dalpha);
    }
  }

 private:
  template <typename T>
  void runs(const T* x, const T* dy, T* dalpha) const {
    double* sums = sums_.data();
    const int64_t inner = sharing_.inner, pieces = pieces_;
    parallel_for(outer_ * sharing_.count * pieces, std::min(inner, kPiece), [=](int64_t i) {
      const int64_t first = i % pieces * kPiece, begin = i / pieces * inner + first;
      simd([&] { sums[i] = sum_below(x + begin, dy + begin, std::min(kPiece, inner - first)); });
    });
    for (int64_t k = 0; k < sharing_.count; ++k) {
      double sum = 0;
      for (int64_t o = 0; o < outer_; ++o) {
        const double* run = sums + (o * sharing_.count + k) * pieces;
        for (int64_t p = 0; p < pieces; ++p) sum += run[p];
      }
      dalpha[k] = narrow<T>(static_cast<Compute<T>>(sum));
    }
  }

  // Each element of a row has a slope of its own.
  template <typename T>
  void columns(const T* x, const T* dy, T* dalpha) const {
    constexpr int64_t kColumns = 32;
    const int64_t count = sharing_.count, outer = outer_;
    parallel_for((count + kColumns - 1) / kColumns, outer * kColumns, [=](int64_t block) {
      const int64_t first = block * kColumns, width = std::min(kColumns, count - first);
      double sums[kColumns] = {};
      for (int64_t o = 0; o < outer; ++o) {
        const T *row = x + o * count + first, *slopes = dy + o * count + first;
        for (int64_t k = 0; k < width; ++k) {
          const Compute<T> value = widen(row[k]), product = value * widen(slopes[k]);
          sums[k] += value <= 0 ? static_cast<double>(product) : 0;
        }
      }
      for (int64_t k = 0; k < width; ++k) {
        dalpha[first + k] = narrow<T>(static_cast<Compute<T>>(sums[k]));
      }
    });
  }

  Sharing sharing_;
  int64_t outer_ = 0, pieces_ = 0;
  Out<double> sums_ = {};
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const int64_t n = c.shape("X").numel();
  const Sharing sharing = sharing_of(c, c.shape("X"));
  return [n, sharing, sums = SlopeSums(c, n, sharing), in = c.in<T>("X"), alpha = c.in<T>("Alpha"),
          dout = c.in<T>("Out@GRAD"), din = wanted<T>(c, "X@GRAD"),
          dalpha = wanted<T>(c, "Alpha@GRAD")] {
    const T *x = in.data(), *dy = dout.data();
    if (din) {
      T* dx = din.data();
      for_each_element(n, sharing, alpha.data(), [=](int64_t i, auto slope) {
        const auto g = widen(dy[i]), below = slope * g;
        dx[i] = narrow<T>(widen(x[i]) > 0 ? g : below);
      });
    }
    if (dalpha) sums.run(x, dy, dalpha.data());
  };
};

const OpDef& prelu = define_op({
    .type = "prelu",
    .doc = "X where it is positive, else X times a slope that is trained.",
    .inputs = {{"X", "any tensor"}, {"Alpha", "slopes"}},
    .outputs = {{"Out", "like X"}},
    .attrs = {{"mode", "all", "all, channel or element"}, {"data_format", "NCHW", "NCHW or NHWC"}},
    .infer = infer,
    .grad =
        grad_op({"X", "Alpha"}, {.kernels = kernels_for<float, double, Half, BFloat16>(backward)}),
    .kernels = kernels_for<float, double, Half, BFloat16>(forward),
});

}  // namespace
}  // namespace flotilla::ops

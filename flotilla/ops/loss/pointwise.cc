// flotilla/ops/loss/pointwise.cc
//
// Losses of a prediction x and a label y, element by element:
//
//   log_loss    -y log(x + epsilon) - (1 - y) log(1 - x + epsilon)
//   bce_loss    -y log(x) - (1 - y) log(1 - x), where no logarithm is below -100
//   hinge_loss  max(0, 1 - (2 y - 1) x)

#include <algorithm>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/loss/scalar_math.h"

namespace flotilla::ops {
namespace {

// A row gives the names of the slots, the loss and its derivative by x; `e` is epsilon.
struct LogLoss {
  static constexpr const char* kType = "log_loss";
  static constexpr const char* kX = "Predicted";
  static constexpr const char* kY = "Labels";
  static constexpr const char* kOut = "Loss";
  template <typename T>
  FLT_INLINE static T loss(T x, T y, T e) {
    return -y * log_of(x + e) - (1 - y) * log_of(1 - x + e);
  }
  template <typename T>
  FLT_INLINE static T slope(T x, T y, T e) {
    return (1 - y) / (1 - x + e) - y / (x + e);
  }
};

struct BceLoss {
  static constexpr const char* kType = "bce_loss";
  static constexpr const char* kX = "X";
  static constexpr const char* kY = "Label";
  static constexpr const char* kOut = "Out";
  template <typename T>
  FLT_INLINE static T loss(T x, T y, T) {
    return -y * std::max(log_of(x), T{-100}) - (1 - y) * std::max(log_of(1 - x), T{-100});
  }
  template <typename T>
  FLT_INLINE static T slope(T x, T y, T) {
    return (x - y) / std::max((1 - x) * x, T{1e-12});
  }
};

struct HingeLoss {
  static constexpr const char* kType = "hinge_loss";
  static constexpr const char* kX = "Logits";
  static constexpr const char* kY = "Labels";
  static constexpr const char* kOut = "Loss";
  template <typename T>
  FLT_INLINE static T loss(T x, T y, T) {
    return std::max(T{0}, 1 - (2 * y - 1) * x);
  }
  template <typename T>
  FLT_INLINE static T slope(T x, T y, T) {
    return 1 - (2 * y - 1) * x > 0 ? 1 - 2 * y : T{0};
  }
};

template <typename Row>
void infer(InferContext& c) {
  const Shape& x = c.in(Row::kX).shape;
  const Shape& y = c.in(Row::kY).shape;
  const bool fits = x == y || ((!x.known() || !y.known()) && x.rank() == y.rank());
  require(fits, "{} and {} must have one shape, but they are {} and {}", Row::kX, Row::kY, x, y);
  c.out(Row::kOut) = c.in(Row::kX);
}

template <typename Row, typename T>
T epsilon_of(const PrepareContext& c) {
  if constexpr (std::is_same_v<Row, LogLoss>) return static_cast<T>(c.attr<float>("epsilon"));
  return T{0};
}

template <typename Row, typename T>
Step forward(PrepareContext& c) {
  const int64_t n = c.shape(Row::kX).numel();
  return [n, e = epsilon_of<Row, T>(c), in = c.in<T>(Row::kX), labels = c.in<T>(Row::kY),
          out = c.out<T>(Row::kOut)] {
    const T* x = in.data();
    const T* y = labels.data();
    T* to = out.data();
    parallel_ranges(n, kGrainOperations / 16, [=](int64_t begin, int64_t end) {
      simd([=] {
        for (int64_t i = begin; i < end; ++i) to[i] = Row::template loss<T>(x[i], y[i], e);
      });
    });
  };
}

template <typename Row, typename T>
Step backward(PrepareContext& c) {
  const int64_t n = c.shape(Row::kX).numel();
  const std::string grad = grad_name(Row::kOut);
  return [n, e = epsilon_of<Row, T>(c), in = c.in<T>(Row::kX), labels = c.in<T>(Row::kY),
          dout = c.in<T>(grad), out = c.out<T>(grad_name(Row::kX))] {
    const T* x = in.data();
    const T* y = labels.data();
    const T* d = dout.data();
    T* to = out.data();
    parallel_ranges(n, kGrainOperations / 4, [=](int64_t begin, int64_t end) {
      simd([=] {
        for (int64_t i = begin; i < end; ++i) to[i] = Row::template slope<T>(x[i], y[i], e) * d[i];
      });
    });
  };
}

template <typename Row>
const OpDef& define(std::string doc, std::vector<AttrSpec> attrs = {}) {
  return define_op(
      {.type = Row::kType,
       .doc = std::move(doc),
       .inputs = {{Row::kX, "predictions"}, {.name = Row::kY, .doc = "labels", .no_grad = true}},
       .outputs = {{Row::kOut, "a loss for each prediction"}},
       .attrs = std::move(attrs),
       .infer = infer<Row>,
       .grad = grad_op({Row::kX, Row::kY},
                       {.kernels = kernels_for<float, double>(
                            []<typename T>(PrepareContext& c) { return backward<Row, T>(c); })}),
       .kernels = kernels_for<float, double>(
           []<typename T>(PrepareContext& c) { return forward<Row, T>(c); })});
}

const OpDef& log_loss =
    define<LogLoss>("Minus the logarithm of the probability of labels that are 0 or 1.",
                    {{"epsilon", 1e-4f, "keeps the logarithms finite"}});
const OpDef& bce_loss =
    define<BceLoss>("The cross entropy of probabilities and labels between 0 and 1.");
const OpDef& hinge_loss =
    define<HingeLoss>("How far predictions are on the wrong side of a margin.");

}  // namespace
}  // namespace flotilla::ops

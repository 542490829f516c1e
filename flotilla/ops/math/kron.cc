// flotilla/ops/math/kron.cc
//
// kron: the Kronecker product, blocks of Y, one for each element of X and scaled by it. Along each
// axis index i of X and j of Y meet at i * (extent of Y) + j; a missing axis counts as extent 1.

#include <algorithm>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/move.h"
#include "flotilla/ops/tensor/optional_slots.h"

namespace flotilla::ops {
namespace {

// The extents with ones in front, `rank` of them.
Ints padded(const Shape& shape, int64_t rank) {
  Ints dims(static_cast<size_t>(rank - shape.rank()), 1);
  dims.insert(dims.end(), shape.begin(), shape.end());
  return dims;
}

void infer(InferContext& c) {
  const VarMeta &x = c.in("X"), &y = c.in("Y");
  require(x.dtype == y.dtype, "X and Y must have one dtype, but hold {} and {}", x.dtype, y.dtype);
  const int64_t rank = std::max(x.shape.rank(), y.shape.rank());
  Ints dims = padded(x.shape, rank);
  const Ints of_y = padded(y.shape, rank);
  for (size_t a = 0; a < dims.size(); ++a) {
    dims[a] = dims[a] < 0 || of_y[a] < 0 ? -1 : dims[a] * of_y[a];
  }
  c.out("Out") = VarMeta::tensor(x.dtype, Shape(std::move(dims)));
}

// Which elements of X and Y an element of the result comes from.
class Pairs {
 public:
  explicit Pairs(const PrepareContext& c) {
    const Shape &x = c.shape("X"), &y = c.shape("Y");
    const int64_t rank = std::max(x.rank(), y.rank());
    x_ = padded(x, rank), y_ = padded(y, rank);
    count_ = x.numel() * y.numel();
  }
  int64_t count() const { return count_; }
  struct Pair {
    int64_t x = 0, y = 0;
  };
  Pair of(int64_t i) const {
    Pair pair;
    int64_t x_stride = 1, y_stride = 1;
    for (size_t a = x_.size(); a-- > 0;) {
      const int64_t index = i % (x_[a] * y_[a]);
      i /= x_[a] * y_[a];
      pair.x += index / y_[a] * x_stride;
      pair.y += index % y_[a] * y_stride;
      x_stride *= x_[a];
      y_stride *= y_[a];
    }
    return pair;
  }

 private:
  Ints x_, y_;
  int64_t count_ = 0;
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [pairs = Pairs(c), x = c.in<T>("X"), y = c.in<T>("Y"), out = c.out<T>("Out")] {
    parallel_for(pairs.count(), 16, [&](int64_t i) {
      const auto pair = pairs.of(i);
      out.data()[i] = x.data()[pair.x] * y.data()[pair.y];
    });
  };
};

// Each element gets the gradients of a whole block: one thread adds them up, in order.
constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  return [pairs = Pairs(c), x_count = c.shape("X").numel(), y_count = c.shape("Y").numel(),
          x = c.in<T>("X"), y = c.in<T>("Y"), dout = c.in<T>("Out@GRAD"),
          dx = wanted<T>(c, "X@GRAD"), dy = wanted<T>(c, "Y@GRAD")] {
    if (dx) std::fill_n(dx.data(), x_count, T{0});
    if (dy) std::fill_n(dy.data(), y_count, T{0});
    for (int64_t i = 0; i < pairs.count(); ++i) {
      const auto pair = pairs.of(i);
      if (dx) dx.data()[pair.x] += dout.data()[i] * y.data()[pair.y];
      if (dy) dy.data()[pair.y] += dout.data()[i] * x.data()[pair.x];
    }
  };
};

const OpDef& kron = define_op({
    .type = "kron",
    .doc = "Blocks of Y, one for each element of X and scaled by it.",
    .inputs = {{.name = "X", .doc = "tensor"}, {.name = "Y", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "the products of the extents of X and Y"}},
    .infer = infer,
    .grad = grad_op({"X", "Y"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double, int32_t, int64_t>(forward),
});

}  // namespace
}  // namespace flotilla::ops

// flotilla/ops/math/dist.cc
//
// dist: the p-norm of Z = X - Y, both repeated to their common shape.
//
//   p = 0: how many differ;  p = inf, -inf: the largest, the smallest |Z|;  else (sum |Z|^p)^(1/p)
//
//   dX = sign(Z) dOut                       where |Z| is Out, for p = inf and -inf; zero elsewhere
//   dX = sign(Z) (|Z| / Out)^(p - 1) dOut   else; zero where p or Out is;  dY = -dX

#include <cmath>

#include "flotilla/ops/math/elementwise.h"
#include "flotilla/ops/math/reduce_engine.h"
#include "flotilla/ops/tensor/known_value.h"

namespace flotilla::ops {
namespace {

struct Difference {
  template <typename T>
  static T f(T x, T y) {
    return x - y;
  }
};

// X - Y, in memory of the op's own.
template <typename T>
class Differences {
 public:
  explicit Differences(PrepareContext& c)
      : shape_(broadcast(c.shape("X"), c.shape("Y"), -1)),
        walk_(shape_, {}, aligned(c.shape("X"), -1, shape_.rank()),
              aligned(c.shape("Y"), -1, shape_.rank())),
        x_(c.in<T>("X")),
        y_(c.in<T>("Y")),
        z_(c.workspace<T>(shape_.numel())) {}
  const Shape& shape() const { return shape_; }
  T* compute() const {
    apply<Difference>(walk_, x_.data(), y_.data(), z_.data());
    return z_.data();
  }

 private:
  Shape shape_;
  Walk walk_;
  In<T> x_, y_;
  Out<T> z_;
};

// z[i] = f(z[i])
template <typename T, typename F>
void replace(T* z, int64_t n, F f) {
  parallel_ranges(n, kGrainOperations / 16, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) z[i] = f(z[i]);
  });
}

void infer(InferContext& c) {
  const VarMeta &x = c.in("X"), &y = c.in("Y");
  require(x.dtype == y.dtype, "X and Y must have one dtype, but hold {} and {}", x.dtype, y.dtype);
  broadcast(x.shape, y.shape, -1);
  c.out("Out") = VarMeta::tensor(x.dtype, {1});
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Differences<T> differences(c);
  const int64_t n = differences.shape().numel();
  const FoldPlan fold({n}, {}, {1});
  return [=, p = static_cast<T>(c.attr<float>("p")), work = c.workspace<T>(fold.workspace()),
          out = c.out<T>("Out")] {
    T* z = differences.compute();
    const auto same = [](T folded) { return folded; };
    if (std::isinf(p)) {
      replace(z, n, [](T one) { return std::abs(one); });
      if (p > 0) {
        fold.run<MaxFold>(z, out.data(), work.data(), same);
      } else {
        fold.run<MinFold>(z, out.data(), work.data(), same);
      }
    } else if (p == 0) {
      replace(z, n, [](T one) { return static_cast<T>(one != 0); });
      fold.run<SumFold>(z, out.data(), work.data(), same);
    } else {
      replace(z, n, [=](T one) { return std::pow(std::abs(one), p); });
      fold.run<SumFold>(z, out.data(), work.data(), [=](T sum) { return std::pow(sum, 1 / p); });
    }
  };
};

// slot@GRAD = factor fold(z)
template <typename T>
std::function<void(const T*)> fold_side(PrepareContext& c, const std::string& slot,
                                        const Shape& whole, T factor) {
  if (!c.has(slot + "@GRAD")) return [](const T*) {};
  const FoldPlan fold(whole, {}, aligned(c.shape(slot), -1, whole.rank()));
  return [fold, factor, work = c.workspace<T>(fold.workspace()),
          to = c.out<T>(slot + "@GRAD")](const T* z) {
    fold.run<SumFold>(z, to.data(), work.data(), [=](T sum) { return factor * sum; });
  };
}

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const Differences<T> differences(c);
  return [=, p = static_cast<T>(c.attr<float>("p")), out = c.in<T>("Out"),
          dout = c.in<T>("Out@GRAD"), to_x = fold_side<T>(c, "X", differences.shape(), T{1}),
          to_y = fold_side<T>(c, "Y", differences.shape(), T{-1})] {
    T* z = differences.compute();
    const T norm = *out.data(), g = *dout.data();
    replace(z, differences.shape().numel(), [=](T one) {
      if (one == 0 || norm == 0 || p == 0) return T{0};
      const T size = std::abs(one), signed_g = std::copysign(T{1}, one) * g;
      if (std::isinf(p)) return size == norm ? signed_g : T{0};
      return signed_g * std::pow(size / norm, p - 1);
    });
    to_x(z);
    to_y(z);
  };
};

const AttrSpec kP = {"p", 2.0f, "which norm"};

const OpDef& dist = define_op({
    .type = "dist",
    .doc = "The p-norm of X - Y.",
    .inputs = {{.name = "X", .doc = "tensor"}, {.name = "Y", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "of shape [1]"}},
    .attrs = {kP},
    .infer = infer,
    .grad = grad_op({"X", "Y", "Out"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops

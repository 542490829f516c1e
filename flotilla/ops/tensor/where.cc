// where: X where Condition holds, Y elsewhere.

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

void infer_where(InferContext& c) {
  const VarMeta &x = c.in("X"), &y = c.in("Y"), &condition = c.in("Condition");
  require(condition.dtype == boolean, "Condition must hold bool, but holds {}", condition.dtype);
  const bool fit =
      fits(x.shape, y.shape) && fits(x.shape, condition.shape) && fits(y.shape, condition.shape);
  require(fit && x.dtype == y.dtype,
          "Condition, X and Y must be alike, but have shapes {}, {} and {} and hold {} and {}",
          condition.shape, x.shape, y.shape, x.dtype, y.dtype);
  c.out("Out") = like(x);
}

constexpr auto where_forward = []<typename T>(PrepareContext& c) -> Step {
  c.in_place("X", "Out");
  c.in_place("Y", "Out");
  return [n = c.shape("X").numel(), condition = c.in<bool>("Condition"), x = c.in<T>("X"),
          y = c.in<T>("Y"), out = c.out<T>("Out")] {
    const bool* chosen = condition.data();
    const T *a = x.data(), *b = y.data();
    T* to = out.data();
    parallel_ranges(n, kGrainOperations, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = chosen[i] ? a[i] : b[i];
    });
  };
};

constexpr auto where_backward = []<typename T>(PrepareContext& c) -> Step {
  return [n = c.shape("Out@GRAD").numel(), condition = c.in<bool>("Condition"),
          dout = c.in<T>("Out@GRAD"), dx = wanted<T>(c, "X@GRAD"), dy = wanted<T>(c, "Y@GRAD")] {
    const bool* chosen = condition.data();
    const T* g = dout.data();
    T* x = dx ? dx.data() : nullptr;
    T* y = dy ? dy.data() : nullptr;
    parallel_ranges(n, kGrainOperations, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; x != nullptr && i < end; ++i) x[i] = chosen[i] ? g[i] : T{0};
      for (int64_t i = begin; y != nullptr && i < end; ++i) y[i] = chosen[i] ? T{0} : g[i];
    });
  };
};

const OpDef& where = define_op({
    .type = "where",
    .doc = "X where Condition holds, Y elsewhere.",
    .inputs = {{.name = "Condition", .doc = "bool", .no_grad = true},
               {.name = "X", .doc = "tensor"},
               {.name = "Y", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "same shape and dtype as X"}},
    .infer = infer_where,
    .grad = float_grad({"Condition", shape_of("X"), shape_of("Y")}, where_backward),
    .kernels = kernels_for_all(where_forward),
    .dtype_slot = "X",
});

}  // namespace
}  // namespace flotilla::ops

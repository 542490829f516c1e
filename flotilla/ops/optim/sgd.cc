// flotilla/ops/optim/sgd.cc
//
// sgd: ParamOut = Param - LearningRate * Grad. Each occurrence of a row in a sparse gradient
// counts.

#include "flotilla/update/sgd.h"

#include <bit>

#include "flotilla/device/cpu/simd.h"
#include "flotilla/ops/optim/optim.h"
#include "flotilla/ops/optim/sparse.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) { c.out("ParamOut") = c.in("Param"); }

template <typename T>
Step dense(PrepareContext& c) {
  const Layout layout = c.layout("Param");
  const NumberIn rate(c, "LearningRate");
  const Changed<T> param(c, "Param", "ParamOut", layout);
  return [rate, param, grad = c.in<T>("Grad", 0, layout)] {
    const T lr = rate.get<T>();
    update_parts(param, grad, [lr](auto p, auto g) { update::sgd(p, g, lr); });
  };
}

constexpr int64_t kAhead = 16;

// Threads share out the rows of the parameter by number, so that no two change the same one and
// repeated rows are subtracted in the order they come.
template <typename T>
Step sparse(PrepareContext& c) {
  const NumberIn rate(c, "LearningRate");
  const Changed<T> param(c, "Param", "ParamOut", {});
  return [rate, param, grad = c.sparse_in<T>("Grad")] {
    const int64_t* rows = grad.rows.data();
    const int64_t width = grad.width, count = grad.count;
    check_rows({rows, static_cast<size_t>(count)}, grad.height);
    T* p = param.start();
    const T* g = grad.value.data();
    const T lr = rate.get<T>();
    // A power of two, so that a row's owner is found without a division.
    const auto parts = static_cast<int64_t>(
        count * width < 2 * kUpdateGrain ? 1 : std::bit_floor(static_cast<uint64_t>(threads())));
    parallel_ranges(parts, 1, [=](int64_t begin, int64_t end) {
      const auto own = [=](int64_t row) {
        const int64_t part = row & (parts - 1);
        return begin <= part && part < end;
      };
      for (int64_t i = 0; i < count; ++i) {
        // Rows lie far apart: the cache is told early which ones will be wanted. A short row may
        // lie in two of its lines.
        if (i + kAhead < count && own(rows[i + kAhead])) {
          const T* next = p + rows[i + kAhead] * width;
          __builtin_prefetch(next, 1);
          __builtin_prefetch(next + width - 1, 1);
        }
        if (!own(rows[i])) continue;
        T* FLT_RESTRICT row = p + rows[i] * width;
        const T* FLT_RESTRICT step = g + i * width;
        for (int64_t j = 0; j < width; ++j) row[j] -= lr * step[j];
      }
    });
  };
}

constexpr auto prepare = []<typename T>(PrepareContext& c) -> Step {
  return c.is_sparse("Grad") ? sparse<T>(c) : dense<T>(c);
};

const OpDef& sgd = define_op({
    .type = "sgd",
    .doc = "Subtracts the gradient, times the learning rate, from the parameter.",
    .inputs = {{"Param", "parameter"},
               one_number("LearningRate", "one number"),
               like_param("Grad", "gradient of Param, dense or sparse rows"),
               master_param()},
    .outputs = {like_param("ParamOut", "the new parameter, in the place of Param"),
                master_param_out()},
    .attrs = {kMultiPrecision},
    .infer = infer,
    .kernels = kernels_for<float, double>(prepare),
});

}  // namespace
}  // namespace flotilla::ops

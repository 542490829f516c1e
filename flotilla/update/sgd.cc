#include "flotilla/update/sgd.h"

#include <cstddef>
#include <cstdint>
#include <iterator>

#include "flotilla/update/loop.h"
#include "flotilla/update/rule.h"

namespace flotilla::update {
namespace {

FLT_UPDATE_CLONES void loop(float* p, const float* g, size_t n, SgdFormula<float> f) {
  update_each(f, n, p, g);
}
FLT_UPDATE_CLONES void loop(double* p, const double* g, size_t n, SgdFormula<double> f) {
  update_each(f, n, p, g);
}

}  // namespace

void sgd(std::span<float> param, std::span<const float> grad, float lr) {
  loop(param.data(), grad.data(), param.size(), {lr});
}

void sgd(std::span<double> param, std::span<const double> grad, double lr) {
  loop(param.data(), grad.data(), param.size(), {lr});
}

namespace {

constexpr int64_t kAhead = 16;

// Not compiled for several processors: one with fused multiply-add would round only once, and
// there is little to compute in a row.
template <typename T>
void scatter(const RowShare<T>& share, const Numbers<T>& n) {
  const int64_t* rows = share.rows.data();
  const int64_t count = std::ssize(share.rows), width = share.width;
  const auto formula = SgdFormula<T>::of(n);
  for (int64_t i = 0; i < count; ++i) {
    // Rows lie far apart: the cache is told early which ones will be wanted. A short row may lie in
    // two of its lines.
    if (i + kAhead < count && share.owns(rows[i + kAhead])) {
      const T* next = share.param + rows[i + kAhead] * width;
      __builtin_prefetch(next, 1);
      __builtin_prefetch(next + width - 1, 1);
    }
    if (!share.owns(rows[i])) continue;
    T* __restrict row = share.param + rows[i] * width;
    const T* __restrict step = share.grad + i * width;
    for (int64_t j = 0; j < width; ++j) formula(row[j], step[j]);
  }
}

const Rule& rule = define_rule(elementwise(
    {
        .name = "sgd",
        .doc = "Subtracts the gradient, times the learning rate, from the parameter.",
        .settings = {multi_precision()},
        .f32 = {.scatter = scatter<float>},
        .f64 = {.scatter = scatter<double>},
        .sparse = Sparse::kScattered,
        .fuses = true,
        .adds_up = true,
        .inputs = {"Param", "LearningRate"},
    },
    []<typename T>(const Part<T>& p, const Numbers<T>& n) {
      sgd(p.param, p.grad, static_cast<T>(n.lr));
    }));

}  // namespace

}  // namespace flotilla::update

#include "flotilla/update/sgd.h"

#include <cstddef>

#include "flotilla/update/clones.h"

namespace flotilla::update {
namespace {

template <typename T>
FLT_UPDATE_BODY void body(T* __restrict p, const T* __restrict g, size_t n, T lr) {
  for (size_t i = 0; i < n; ++i) p[i] -= lr * g[i];
}

FLT_UPDATE_CLONES void loop(float* p, const float* g, size_t n, float lr) { body(p, g, n, lr); }
FLT_UPDATE_CLONES void loop(double* p, const double* g, size_t n, double lr) { body(p, g, n, lr); }

}  // namespace

void sgd(std::span<float> param, std::span<const float> grad, float lr) {
  loop(param.data(), grad.data(), param.size(), lr);
}

void sgd(std::span<double> param, std::span<const double> grad, double lr) {
  loop(param.data(), grad.data(), param.size(), lr);
}

}  // namespace flotilla::update

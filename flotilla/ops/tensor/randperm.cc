// randperm: the numbers 0, 1, ..., n - 1 in random order.

#include "flotilla/ops/tensor/random.h"

namespace flotilla::ops {
namespace {

void infer_permutation(InferContext& c) {
  const int64_t n = c.attr<int64_t>("n");
  require(n > 0, "randperm needs a positive n, but n is {}", n);
  c.out("Out") = VarMeta::tensor(dtype_attr(c), {n});
}

constexpr auto permutation = []<typename T>(PrepareContext& c) -> Step {
  return [n = c.attr<int64_t>("n"), source = c.random(c.attr<int64_t>("seed")),
          out = c.out<T>("Out")] {
    const RandomStream stream = source.draw();
    T* to = out.data();
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(i);
    for (int64_t i = n - 1; i > 0; --i) {
      const std::array<uint32_t, 4> words = stream.at(static_cast<uint64_t>(i));
      const uint64_t wide = static_cast<uint64_t>(words[0]) << 32 | words[1];
      std::swap(to[i], to[wide % static_cast<uint64_t>(i + 1)]);
    }
  };
};

const OpDef& randperm =
    define_random("randperm", "The numbers 0, 1, ..., n - 1 in random order.", {},
                  {{"n", int32_t{0}, "how many numbers"}, dtype_spec(3), kSeed}, infer_permutation,
                  kernels_for<int64_t, int32_t, float, double>(permutation));

}  // namespace
}  // namespace flotilla::ops

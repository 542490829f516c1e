// gaussian_random and its forms: normally distributed numbers.

#include "flotilla/ops/tensor/random.h"

namespace flotilla::ops {
namespace {

template <typename T>
void generate_normal(const RandomStream& stream, T* out, int64_t n, T mean, T std) {
  for_blocks(stream, n, [=](int64_t block, const std::array<uint32_t, 4>& words) {
    const auto [a, b] = normal_pair<T>(words[0], words[1]);
    const auto [c, d] = normal_pair<T>(words[2], words[3]);
    const T four[] = {a, b, c, d};
    const int64_t first = block * 4;
    for (int64_t i = first; i < std::min(first + 4, n); ++i) out[i] = mean + std * four[i - first];
  });
}

constexpr auto gaussian = []<typename T>(PrepareContext& c) -> Step {
  const char* const slot = c.has("Out") ? "Out" : "out";
  return [mean = static_cast<T>(c.attr<float>("mean")), std = static_cast<T>(c.attr<float>("std")),
          n = c.shape(slot).numel(), source = c.random(c.attr<int64_t>("seed")),
          out = c.out<T>(slot)] { generate_normal(source.draw(), out.data(), n, mean, std); };
};

constexpr auto truncated_gaussian = []<typename T>(PrepareContext& c) -> Step {
  const T mean = c.attr<float>("mean"), std = c.attr<float>("std");
  return [mean, std, n = c.shape("Out").numel(), source = c.random(c.attr<int64_t>("seed")),
          out = c.out<T>("Out")] {
    generate(source.draw(), out.data(), n,
             [=](uint32_t word) { return mean + std * truncated_normal(unit_number<T>(word)); });
  };
};

const bool kDefined = [] {
  const AttrSpec shape = {"shape", std::vector<int64_t>{}, "extents"};
  const AttrSpec short_shape = {"shape", std::vector<int32_t>{}, "extents"};
  const std::vector<AttrSpec> bell = {
      {"mean", 0.0f, "mean of the distribution"}, {"std", 1.0f, "standard deviation"}, kSeed};
  const auto normal_attrs = [&](const AttrSpec& extents) {
    return joined(joined<AttrSpec>({extents}, bell), {dtype_spec()});
  };
  const std::vector<Kernel> normal_kernels = kernels_for<float, double>(gaussian);
  define_random("gaussian_random", "Normally distributed numbers.", with_slots_of({kNewShape}),
                normal_attrs(shape), infer_new, normal_kernels);
  define_random("gaussian_random_batch_size_like",
                "Normally distributed numbers, as many rows as Input has.", kBatchInput,
                with_batch_axes(normal_attrs(short_shape)), infer_batch_like, normal_kernels);
  define_random("truncated_gaussian_random",
                "Normally distributed numbers within two standard deviations of the mean.", {},
                normal_attrs(short_shape), infer_new,
                kernels_for<float, double>(truncated_gaussian));
  define_random_over(
      "gaussian_inplace", "Normally distributed numbers, in the place of x.",
      {.name = "x", .doc = "gives the shape", .shape_only = true}, bell,
      [](InferContext& c) { c.out("out") = like(c.in("x")); }, normal_kernels);
  return true;
}();

}  // namespace
}  // namespace flotilla::ops

// uniform_random and its forms: numbers spread evenly over [min, max).

#include "flotilla/ops/tensor/random.h"

namespace flotilla::ops {
namespace {

constexpr auto uniform = []<typename T>(PrepareContext& c) -> Step {
  const T min = c.attr<float>("min"), range = static_cast<T>(c.attr<float>("max")) - min;
  const int64_t diagonal = c.attr<int64_t>("diag_num");
  const int64_t step = c.attr<int64_t>("diag_step") + 1;
  const T on_diagonal = c.attr<float>("diag_val");
  const int64_t n = c.shape("Out").numel();
  require(diagonal == 0 || (diagonal - 1) * step < n,
          "a tensor of {} elements has no diagonal of {} elements with step {}", n, diagonal, step);
  return [=, source = c.random(c.attr<int64_t>("seed")), out = c.out<T>("Out")] {
    T* to = out.data();
    generate(source.draw(), to, n,
             [=](uint32_t word) { return min + range * unit_number<T>(word); });
    for (int64_t i = 0; i < diagonal; ++i) to[i * step] = on_diagonal;
  };
};

const bool kDefined = [] {
  const std::vector<AttrSpec> spread = {
      {"min", -1.0f, "least value"},
      {"max", 1.0f, "values stay below"},
      kSeed,
      {"diag_num", int32_t{0}, "elements of a diagonal that are set to `diag_val`"},
      {"diag_step", int32_t{0}, "elements from one of them to the next in its row"},
      {"diag_val", 1.0f, "their value"}};
  const auto uniform_attrs = [&](const AttrSpec& extents) {
    return joined<AttrSpec>({extents, dtype_spec()}, spread);
  };
  const std::vector<Kernel> uniform_kernels = kernels_for<float, double>(uniform);
  define_random(
      "uniform_random", "Numbers spread evenly over [min, max).", with_slots_of({kNewShape}),
      uniform_attrs({"shape", std::vector<int64_t>{}, "extents"}), infer_new, uniform_kernels);
  define_random("uniform_random_batch_size_like",
                "Numbers spread evenly over [min, max), as many rows as Input has.", kBatchInput,
                with_batch_axes(uniform_attrs({"shape", std::vector<int32_t>{}, "extents"})),
                infer_batch_like, uniform_kernels);
  define_random_over("uniform_random_inplace",
                     "Numbers spread evenly over [min, max), in the place of X.",
                     {.name = "X", .doc = "gives the shape", .shape_only = true}, spread,
                     infer_like_x, uniform_kernels);
  return true;
}();

}  // namespace
}  // namespace flotilla::ops

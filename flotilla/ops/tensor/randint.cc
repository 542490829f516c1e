// randint: whole numbers from [low, high).

#include "flotilla/ops/tensor/random.h"

namespace flotilla::ops {
namespace {

constexpr auto integers = []<typename T>(PrepareContext& c) -> Step {
  const int64_t low = c.attr<int64_t>("low"), high = c.attr<int64_t>("high");
  require(low < high, "randint needs low < high, but they are {} and {}", low, high);
  return [low, range = static_cast<uint64_t>(high - low), n = c.shape("Out").numel(),
          source = c.random(c.attr<int64_t>("seed")), out = c.out<T>("Out")] {
    generate(source.draw(), out.data(), n, [=](uint32_t word) {
      return static_cast<T>(low + static_cast<int64_t>(word * range >> 32));
    });
  };
};

const OpDef& randint =
    define_random("randint", "Whole numbers from [low, high).", with_slots_of({kNewShape}),
                  {{"shape", std::vector<int64_t>{}, "extents"},
                   {"low", int32_t{0}, "least value"},
                   {"high", int32_t{0}, "values stay below"},
                   dtype_spec(3),
                   kSeed},
                  infer_new, kernels_for<int32_t, int64_t>(integers));

}  // namespace
}  // namespace flotilla::ops

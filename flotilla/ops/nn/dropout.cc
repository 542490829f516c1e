// flotilla/ops/nn/dropout.cc
//
// dropout: leaves out elements of X at random, each with probability dropout_prob.
//
//                        training                    test
//   downgrade_in_infer   Out = X * Mask              Out = X * (1 - dropout_prob)
//   upscale_in_train     Out = X * Mask / (1 - p)    Out = X

#include "flotilla/ops/nn/dropout.h"

#include <algorithm>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/device/cpu/simd.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const float p = c.attr<float>("dropout_prob");
  require(0 <= p && p <= 1, "dropout_prob must lie in [0, 1], but is {}", p);
  const auto how = c.attr<std::string>("dropout_implementation");
  require(how == "downgrade_in_infer" || how == "upscale_in_train",
          "dropout_implementation must be downgrade_in_infer or upscale_in_train, but is \"{}\"",
          how);
  c.out("Out") = c.in("X");
  c.out("Mask") = c.in("X");
  c.out("Mask").dtype = u8;
}

void draw_mask(const RandomStream& stream, const DropoutDraws& draws, int64_t begin, int64_t end,
               uint8_t* mask) {
  for (int64_t i = begin; i < end; i += 4) {
    const DropoutDraws::Four four = draws.of(stream, i / 4);
    for (int64_t j = i; j < std::min(i + 4, end); ++j) mask[j] = four.stays[j - i];
  }
}

template <typename T>
Step test(PrepareContext& c) {
  const int64_t n = c.shape("X").numel();
  c.in_place("X", "Out");
  return [n, scale = dropout_scale<T>(c), in = c.in<T>("X"), out = c.out<T>("Out"),
          mask = c.has("Mask") ? c.out<uint8_t>("Mask") : Out<uint8_t>()] {
    parallel_ranges(n, kGrainOperations, [&](int64_t begin, int64_t end) {
      const T* x = in.data();
      T* y = out.data();
      for (int64_t i = begin; i < end; ++i) y[i] = x[i] * scale;
      if (mask) std::fill(mask.data() + begin, mask.data() + end, uint8_t{1});
    });
  };
}

template <typename T>
Step train(PrepareContext& c) {
  const int64_t n = c.shape("X").numel();
  const bool fixed = c.attr<bool>("fix_seed");
  const RandomSource random = c.random(fixed ? c.attr<int64_t>("seed") : 0);
  c.in_place("X", "Out");
  return [=, draws = DropoutDraws(c.attr<float>("dropout_prob")), scale = dropout_scale<T>(c),
          seed = c.has("Seed") ? c.in<int32_t>("Seed") : In<int32_t>(), in = c.in<T>("X"),
          out = c.out<T>("Out"),
          mask = c.has("Mask") ? c.out<uint8_t>("Mask") : c.workspace<uint8_t>(n),
          runs = uint64_t{0}]() mutable {
    const RandomStream stream =
        seed ? RandomStream{static_cast<uint64_t>(*seed.data()), 0} : random.draw(runs++);
    const T* x = in.data();
    T* y = out.data();
    uint8_t* m = mask.data();
    const T factor = scale;
    // In groups of 64, so that a range begins where a draw does.
    parallel_ranges((n + 63) / 64, 16, [=](int64_t first, int64_t last) {
      const int64_t begin = first * 64, end = std::min(last * 64, n);
      draw_mask(stream, draws, begin, end, m);
      simd([=] {
        for (int64_t i = begin; i < end; ++i) y[i] = m[i] != 0 ? x[i] * factor : T{0};
      });
    });
  };
}

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const int64_t n = c.shape("Out@GRAD").numel();
  const bool is_test = c.attr<bool>("is_test");
  c.in_place("Out@GRAD", "X@GRAD");
  return [n, scale = dropout_scale<T>(c), mask = is_test ? In<uint8_t>() : c.in<uint8_t>("Mask"),
          dout = c.in<T>("Out@GRAD"), din = c.out<T>("X@GRAD")] {
    const T* dy = dout.data();
    const uint8_t* m = mask ? mask.data() : nullptr;
    T* dx = din.data();
    const T factor = scale;
    parallel_ranges(n, kGrainOperations, [=](int64_t begin, int64_t end) {
      simd([=] {
        if (m == nullptr) {
          for (int64_t i = begin; i < end; ++i) dx[i] = dy[i] * factor;
        } else {
          for (int64_t i = begin; i < end; ++i) dx[i] = m[i] != 0 ? dy[i] * factor : T{0};
        }
      });
    });
  };
};

const OpDef& dropout = define_op({
    .type = "dropout",
    .doc = "Leaves out elements at random while training.",
    .inputs = {{"X", "any tensor"},
               single(optional_constant("Seed", "one i32 in the place of `seed`"))},
    .outputs =
        {{.name = "Out", .doc = "like X", .like = "X"},
         {.name = "Mask", .doc = "1 where an element stayed, u8", .no_grad = true, .like = "X"}},
    .attrs = {{"dropout_prob", 0.5f, "how probable it is that an element is left out"},
              {"is_test", false, "whether nothing is left out"},
              {"fix_seed", false, "whether `seed` counts"},
              {"seed", 0, "repeats the masks of a program from run to run"},
              {"dropout_implementation", "downgrade_in_infer", "or upscale_in_train"}},
    .infer = infer,
    .grad = grad_op({"Mask"}, {.kernels = kernels_for<float, double>(backward)}),
    .kernels = kernels_for<float, double>([]<typename T>(PrepareContext& c) {
      return c.attr<bool>("is_test") ? test<T>(c) : train<T>(c);
    }),
});

}  // namespace
}  // namespace flotilla::ops

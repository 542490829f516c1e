// flotilla/ops/nn/dropout.cc
//
// dropout: in training each element is kept with probability 1 - p (Mask 1) or becomes zero (Mask
// 0).
//
//                         training              inference
//   downgrade_in_infer    x * mask              x * (1 - p)
//   upscale_in_train      x * mask / (1 - p)    x

#include <algorithm>
#include <cstring>
#include <memory>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"

namespace flotilla::ops {
namespace {

struct Rates {
  float p = 0;
  bool upscale = false;
  bool test = false;

  double kept() const { return upscale ? (p < 1 ? 1 / (1 - static_cast<double>(p)) : 0) : 1; }
  double inference() const { return upscale ? 1 : 1 - static_cast<double>(p); }
};

template <typename Context>
Rates rates_of(const Context& c) {
  return {c.template attr<float>("dropout_prob"),
          c.template attr<std::string>("dropout_implementation") == "upscale_in_train",
          c.template attr<bool>("is_test")};
}

void infer(InferContext& c) {
  const float p = c.attr<float>("dropout_prob");
  require(0 <= p && p <= 1, "dropout_prob must lie in [0, 1], but is {}", p);
  const std::string implementation = c.attr<std::string>("dropout_implementation");
  require(implementation == "downgrade_in_infer" || implementation == "upscale_in_train",
          "dropout_implementation must be \"downgrade_in_infer\" or \"upscale_in_train\", but is "
          "\"{}\"",
          implementation);
  c.out("Out") = c.in("X");
  c.out("Mask") = VarMeta::tensor(u8, c.in("X").shape);
}

void infer_grad(InferContext& c) { c.out("X@GRAD") = c.in("Out@GRAD"); }

template <typename T>
Step scaled(PrepareContext& c, std::string_view from, std::string_view to, T factor) {
  const int64_t n = c.shape(from).numel();
  c.in_place(from, to);
  return [n, factor, in = c.in<T>(from), out = c.out<T>(to)] {
    const T* x = in.data();
    T* y = out.data();
    parallel_ranges(n, kGrainOperations, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) y[i] = x[i] * factor;
    });
  };
}

template <typename T>
Step forward(PrepareContext& c) {
  const Rates r = rates_of(c);
  if (r.test) return scaled<T>(c, "X", "Out", static_cast<T>(r.inference()));
  const int64_t n = c.shape("X").numel();
  const RandomSource source = c.random(c.attr<bool>("fix_seed") ? c.attr<int64_t>("seed") : 0);
  // Kept where a uniform 32-bit number lies at or above p * 2^32.
  const auto threshold = static_cast<uint64_t>(static_cast<double>(r.p) * 4294967296.0);
  const auto runs = std::make_shared<uint64_t>(0);
  return [=, kept = static_cast<T>(r.kept()), in = c.in<T>("X"), out = c.out<T>("Out"),
          mask = c.out<uint8_t>("Mask")] {
    const RandomStream stream = source.draw((*runs)++);
    const T* x = in.data();
    T* y = out.data();
    uint8_t* m = mask.data();
    parallel_ranges((n + 3) / 4, kGrainOperations / 32, [=](int64_t begin, int64_t end) {
      for (int64_t block = begin; block < end; ++block) {
        const auto bits = stream.at(static_cast<uint64_t>(block));
        for (int64_t i = block * 4; i < std::min(n, block * 4 + 4); ++i) {
          m[i] = bits[static_cast<size_t>(i % 4)] >= threshold;
          y[i] = m[i] ? x[i] * kept : T{0};
        }
      }
    });
  };
}

template <typename T>
Step backward(PrepareContext& c) {
  const Rates r = rates_of(c);
  if (r.test) return scaled<T>(c, "Out@GRAD", "X@GRAD", static_cast<T>(r.inference()));
  const int64_t n = c.shape("Out@GRAD").numel();
  c.in_place("Out@GRAD", "X@GRAD");
  return [n, kept = static_cast<T>(r.kept()), mask = c.in<uint8_t>("Mask"),
          dout = c.in<T>("Out@GRAD"), dx = c.out<T>("X@GRAD")] {
    const uint8_t* m = mask.data();
    const T* d = dout.data();
    T* out = dx.data();
    parallel_ranges(n, kGrainOperations, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) out[i] = m[i] ? d[i] * kept : T{0};
    });
  };
}

const std::vector<AttrSpec> kAttrs = {
    {"dropout_prob", 0.5f, "share of the elements that become zero"},
    {"is_test", false, "inference"},
    {"dropout_implementation", std::string("downgrade_in_infer"), "or upscale_in_train"},
    {"fix_seed", false, "use `seed`"},
    {"seed", int32_t{0}, "of the mask, with fix_seed"},
};

const OpDef& dropout = define_op({
    .type = "dropout",
    .doc = "Sets each element of X to zero with probability `dropout_prob`.",
    .inputs = {{"X", "any shape"},
               {.name = "Seed", .doc = "unused", .optional = true, .no_grad = true}},
    .outputs =
        {{"Out", "as X"},
         {.name = "Mask", .doc = "1 where an element was kept", .optional = true, .no_grad = true}},
    .attrs = kAttrs,
    .infer = infer,
    .grad = grad_op({"Mask"}),
    .kernels = {{kCpu, f32, forward<float>}, {kCpu, f64, forward<double>}},
});

const OpDef& dropout_grad = define_op({
    .type = "dropout_grad",
    .doc = "Gradient of dropout.",
    .inputs = {{.name = "Mask", .doc = "what was kept; not needed in inference", .optional = true},
               {"Out@GRAD", "gradient of Out"}},
    .outputs = {{"X@GRAD", "gradient of X"}},
    .attrs = kAttrs,
    .infer = infer_grad,
    .kernels = {{kCpu, f32, backward<float>}, {kCpu, f64, backward<double>}},
    .dtype_slot = "Out@GRAD",
});

}  // namespace
}  // namespace flotilla::ops

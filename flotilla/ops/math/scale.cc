// flotilla/ops/math/scale.cc
//
// scale: Out = scale X + bias, or scale (X + bias). For whole numbers scale and bias are cut off to
// whole numbers first. Sparse rows stay sparse.

#include "flotilla/op/grad_context.h"
#include "flotilla/ops/common/slots.h"
#include "flotilla/ops/math/scaling.h"
#include "flotilla/ops/math/unary.h"

namespace flotilla::ops {
namespace {

template <typename T>
Step sparse_forward(PrepareContext& c) {
  return [scaling = Scaling<T>(c), x = c.sparse_in<T>("X"), out = c.sparse_out<T>("Out")] {
    copy_bytes(out.rows.data(), x.rows.data(), x.count * static_cast<int64_t>(sizeof(int64_t)));
    map(x.count * x.width, kGrainOperations, scaling.get(), out.value.data(), x.value.data());
  };
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  if constexpr (std::is_floating_point_v<T>) {
    if (c.is_sparse("X")) return sparse_forward<T>(c);
  }
  const Scaling<T> scaling(c);
  const Layout layout = layout_for(c.layout("X"), c.shape("X"), scaling.bias == 0);
  if (scaling.does_nothing()) return pass_through(c, "X", "Out", layout);
  c.in_place("X", "Out");
  return [n = layout.physical_numel(c.shape("X")), scaling, in = c.in<T>("X", 0, layout),
          out = c.out<T>("Out", 0, layout)] {
    map(n, kGrainOperations, scaling.get(), out.data(), in.data());
  };
};

void infer(InferContext& c) {
  const VarMeta& x = c.in("X");
  VarMeta out = like(x);
  if (!c.has_in("ScaleTensor")) {
    const auto scale = static_cast<int64_t>(c.attr<float>("scale"));
    const auto bias = static_cast<int64_t>(c.attr<float>("bias"));
    const bool after = c.attr<bool>("bias_after_scale");
    remember_binary(out, x, x, [=](int64_t value, int64_t) {
      return after ? value * scale + bias : (value + bias) * scale;
    });
  }
  c.out("Out") = std::move(out);
}

void grad(GradContext& g) {
  const std::string dout = g.output_grad("Out"), dx = g.input_grad("X");
  if (dx.empty()) return;
  Slots inputs = {{"X", {dout}}};
  if (g.op().has_input("ScaleTensor")) inputs["ScaleTensor"] = {g.op().input("ScaleTensor")};
  g.emit("scale", std::move(inputs), {{"Out", {dx}}},
         {{"scale", g.op().attr_or("scale", 1.0f)}, {"bias", 0.0f}, {"bias_after_scale", true}});
}

const OpDef& scale = define_op({
    .type = "scale",
    .doc = "Out = scale * X + bias.",
    .inputs = {{.name = "X", .doc = "tensor or sparse rows"},
               single(optional_constant("ScaleTensor", "one element, instead of `scale`"))},
    .outputs = {{.name = "Out", .doc = "same shape and dtype as X"}},
    .attrs = {{"scale", 1.0f, "factor"},
              {"bias", 0.0f, "summand"},
              {"bias_after_scale", true, "bias is added after scaling, not before"}},
    .infer = infer,
    .grad = custom_grad(grad),
    .kernels =
        kernels_for<float, double, Half, BFloat16, int32_t, int64_t, uint8_t, int8_t, int16_t>(
            forward),
    .dtype_slot = "X",
});

}  // namespace
}  // namespace flotilla::ops

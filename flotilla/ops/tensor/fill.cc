// flotilla/ops/tensor/fill.cc
//
// The operators that give every element the same value: fill_constant and its forms that take
// their shape or dtype from another tensor.

#include <algorithm>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/tensor/new_tensor.h"
#include "flotilla/ops/tensor/written_constant.h"

namespace flotilla::ops {
namespace {

template <typename T>
void fill(T* to, int64_t n, T value) {
  parallel_ranges(n, kGrainOperations, [=](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) to[i] = value;
  });
}

template <typename T>
Step fill_step(PrepareContext& c, T value) {
  return [n = c.shape("Out").numel(), value, out = c.out<T>("Out")] { fill(out.data(), n, value); };
}

// `remember` keeps small tensors only, so the elements of a large one need not all be there.
Ints repeated(int64_t value, const Shape& shape) {
  return Ints(static_cast<size_t>(std::min<int64_t>(shape.numel(), 1024)), value);
}

// ---- fill_constant ------------------------------------------------------------------------------

void infer_constant(InferContext& c) {
  VarMeta out = VarMeta::tensor(dtype_attr(c), scalar_or(extents_of(c, kNewShape)));
  if (c.has_in("ValueTensor")) {
    require(c.in("ValueTensor").shape.numel() == 1,
            "ValueTensor of fill_constant must hold one element, but has shape {}",
            c.in("ValueTensor").shape);
    if (const std::optional<Ints>& value = c.in("ValueTensor").value; value && out.shape.known()) {
      remember(out, repeated(value->front(), out.shape));
    }
  } else if (const Constant constant = constant_in(c); constant.is_whole && out.shape.known()) {
    remember(out, repeated(constant.whole, out.shape));
  }
  c.out("Out") = std::move(out);
}

constexpr auto prepare_constant = []<typename T>(PrepareContext& c) -> Step {
  if (!c.has("ValueTensor")) return fill_step(c, constant_in(c).as<T>());
  return visit_dtype(c.dtype("ValueTensor"), [&](auto from) -> Step {
    return [n = c.shape("Out").numel(), value = c.in<decltype(from)>("ValueTensor"),
            out = c.out<T>("Out")] { fill(out.data(), n, static_cast<T>(*value.data())); };
  });
};

const AttrSpec kValue = {"value", 0.0f, "the value of every element"};
const AttrSpec kStrValue = {"str_value", std::string(), "the value as text, instead of `value`"};
const AttrSpec kForceCpu = {"force_cpu", false, "whether Out lies in the host's memory"};

const OpDef& fill_constant = define_op({
    .type = "fill_constant",
    .doc = "A tensor whose elements have all the same value.",
    .inputs = with_slots_of({{.tensor = "ValueTensor", .attr = "value"}, kNewShape}),
    .outputs = {{.name = "Out", .doc = "of shape `shape` and dtype `dtype`"}},
    .attrs = {dtype_spec(),
              {"shape", std::vector<int64_t>{}, "extents"},
              kValue,
              kStrValue,
              kForceCpu,
              {"place_type", int32_t{-1}, "which kind of memory Out lies in"}},
    .infer = infer_constant,
    .kernels = kernels_for_all(prepare_constant),
    .dtype_slot = "Out",
});

// ---- fill_constant_batch_size_like --------------------------------------------------------------

constexpr auto prepare_batch_like = []<typename T>(PrepareContext& c) -> Step {
  return fill_step(c, constant_in(c).as<T>());
};

const OpDef& fill_constant_batch_size_like = define_op({
    .type = "fill_constant_batch_size_like",
    .doc = "A tensor whose elements have all the same value, as many rows as Input has.",
    .inputs = kBatchInput,
    .outputs = {{.name = "Out", .doc = "of shape `shape` but for that extent"}},
    .attrs = {{"shape", std::vector<int32_t>{}, "extents"},
              kInputAxis,
              kOutputAxis,
              dtype_spec(),
              kValue,
              kStrValue,
              kForceCpu},
    .infer = infer_batch_like,
    .kernels = kernels_for_all(prepare_batch_like),
    .dtype_slot = "Out",
});

// ---- fill_any_like, fill_zeros_like -------------------------------------------------------------

void infer_any_like(InferContext& c) {
  c.out("Out") = like(c.in("X"));
  c.out("Out").dtype = dtype_attr_or(c, c.dtype("X"));
}

constexpr auto prepare_any_like = []<typename T>(PrepareContext& c) -> Step {
  return fill_step(c, constant_of(c.attr<float>("value")).as<T>());
};

Step prepare_zeros(PrepareContext& c) {
  return [bytes = c.shape("Out").numel() * size_of(c.dtype("Out")), out = c.out_bytes("Out")] {
    zero_bytes(out.data(), bytes);
  };
}

void define_like(const std::string& type, const std::string& doc, std::vector<AttrSpec> attrs,
                 void (*infer)(InferContext&), std::vector<Kernel> kernels,
                 GradRule grad = no_grad()) {
  const bool flat = grad.kind != GradRule::kNone;
  define_op(
      {.type = type,
       .doc = doc,
       .inputs =
           {{.name = "X", .doc = "gives shape and dtype", .no_grad = !flat, .shape_only = true}},
       .outputs = {{.name = "Out", .doc = "same shape as X", .like = "X"}},
       .attrs = std::move(attrs),
       .infer = infer,
       .grad = std::move(grad),
       .kernels = std::move(kernels),
       .dtype_slot = "Out"});
}

const bool kDefined = [] {
  const AttrSpec dtype = {"dtype", int32_t{-1}, "code of the dtype of Out; -1: that of X"};
  define_like("fill_any", "A tensor like X whose elements have all the same value.", {kValue},
              infer_like_x, kernels_for_all(prepare_any_like), zero_gradient());
  define_like("fill_any_like", "A tensor of the shape of X whose elements have all the same value.",
              {kValue, dtype}, infer_any_like, kernels_for_all(prepare_any_like));
  define_like("fill_zeros_like", "Zeros in the shape of X.", {}, infer_like_x,
              every_dtype(prepare_zeros));
  define_like("fill_zeros_like2", "Zeros in the shape of X.", {dtype}, infer_any_like,
              every_dtype(prepare_zeros));
  return true;
}();

const OpDef& empty = define_op({
    .type = "empty",
    .doc = "An uninitialized tensor; here its elements are zeros.",
    .inputs = with_slots_of({kNewShape}),
    .outputs = {{.name = "Out", .doc = "of shape `shape` and dtype `dtype`"}},
    .attrs = {{"shape", std::vector<int64_t>{}, "extents"}, dtype_spec()},
    .infer = infer_new,
    .kernels = every_dtype(prepare_zeros),
    .dtype_slot = "Out",
});

}  // namespace
}  // namespace flotilla::ops

// flotilla/ops/tensor/fill.cc
//
// The operators that give every element the same value: fill_constant and its forms that take
// their shape or dtype from another tensor.

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/move.h"
#include "flotilla/ops/tensor/shape_slots.h"

namespace flotilla::ops {
namespace {

// A constant as it was written: `value` is a float, whose 24 bits are too few for large integers
// and doubles, so `str_value` stands before it where it is there.
struct Constant {
  double number = 0;
  int64_t whole = 0;  // the same where it is a whole number that fits
  bool is_whole = false;

  template <typename T>
  T as() const {
    if constexpr (std::is_same_v<T, bool>) return number != 0;
    if constexpr (std::is_integral_v<T>) {
      require(is_whole || std::abs(number) < 0x1p63, "{} is no whole number of 64 bits", number);
      return static_cast<T>(is_whole ? whole : static_cast<int64_t>(number));
    }
    return static_cast<T>(number);
  }
};

Constant constant_of(double number) {
  const bool whole = std::trunc(number) == number && std::abs(number) < 0x1p62;
  return {number, whole ? static_cast<int64_t>(number) : 0, whole};
}

Constant parse_constant(const std::string& text) {
  if (text == "inf") return constant_of(std::numeric_limits<double>::infinity());
  if (text == "-inf") return constant_of(-std::numeric_limits<double>::infinity());
  if (text == "nan") return constant_of(std::numeric_limits<double>::quiet_NaN());
  const char *begin = text.data(), *end = begin + text.size();
  Constant made;
  const std::from_chars_result whole = std::from_chars(begin, end, made.whole);
  if (whole.ptr == end && whole.ec == std::errc()) {
    made.number = static_cast<double>(made.whole);
    made.is_whole = true;
    return made;
  }
  const std::from_chars_result read = std::from_chars(begin, end, made.number);
  require(read.ptr == end && !text.empty(), "str_value must be a number, but is \"{}\"", text);
  return constant_of(made.number);
}

template <typename Context>
Constant constant_in(const Context& c) {
  const std::string text = c.template attr<std::string>("str_value");
  return text.empty() ? constant_of(c.template attr<float>("value")) : parse_constant(text);
}

DType dtype_attr(const InferContext& c) {
  const int code = static_cast<int>(c.attr<int64_t>("dtype"));
  require(is_paddle_dtype(code), "dtype of {} must name a dtype, but is {}", c.op().type(), code);
  return from_paddle(code);
}

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

// A scalar has one axis here; programs of later releases of Paddle give it none.
Shape scalar_or(Ints extents) {
  if (extents.empty()) return {1};
  return Shape(std::move(extents));
}

// `remember` keeps small tensors only, so the elements of a large one need not all be there.
Ints repeated(int64_t value, const Shape& shape) {
  return Ints(static_cast<size_t>(std::min<int64_t>(shape.numel(), 1024)), value);
}

// ---- fill_constant ------------------------------------------------------------------------------

void infer_constant(InferContext& c) {
  VarMeta out = VarMeta::tensor(
      dtype_attr(c), scalar_or(extents_of(c, {"ShapeTensor", "ShapeTensorList", "shape"})));
  if (c.has_in("ValueTensor")) {
    require(c.in("ValueTensor").shape.numel() == 1,
            "ValueTensor of fill_constant must hold one element, but has shape {}",
            c.in("ValueTensor").shape);
    if (const std::optional<Ints>& value = c.in("ValueTensor").value; value && out.shape.known()) {
      remember(out, repeated(value->front(), out.shape));
    }
  } else if (const Constant constant = constant_in(c); constant.is_whole && out.shape.known()) {
    if (out.shape.numel() <= 64) {
      remember(out, repeated(constant.whole, out.shape));
    }
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

const AttrSpec kDType = {"dtype", int32_t{5}, "code of the dtype of Out"};
const AttrSpec kValue = {"value", 0.0f, "the value of every element"};
const AttrSpec kStrValue = {"str_value", std::string(), "the value as text, instead of `value`"};
const AttrSpec kForceCpu = {"force_cpu", false, "whether Out lies in the host's memory"};

const OpDef& fill_constant = define_op({
    .type = "fill_constant",
    .doc = "A tensor whose elements have all the same value.",
    .inputs = with_shape_slots({{.name = "ValueTensor",
                                 .doc = "the value, instead of the attribute",
                                 .optional = true,
                                 .no_grad = true}}),
    .outputs = {{.name = "Out", .doc = "of shape `shape` and dtype `dtype`"}},
    .attrs = {kDType,
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

void infer_batch_like(InferContext& c) {
  Shape shape(c.attr<Ints>("shape"));
  const Shape& input = c.in("Input").shape;
  const int64_t from = input.axis(c.attr<int64_t>("input_dim_idx"));
  const int64_t to = shape.axis(c.attr<int64_t>("output_dim_idx"));
  shape[to] = input[from];
  c.out("Out") = VarMeta::tensor(dtype_attr(c), std::move(shape));
}

constexpr auto prepare_batch_like = []<typename T>(PrepareContext& c) -> Step {
  return fill_step(c, constant_in(c).as<T>());
};

const OpDef& fill_constant_batch_size_like = define_op({
    .type = "fill_constant_batch_size_like",
    .doc = "A tensor whose elements have all the same value, as many rows as Input has.",
    .inputs = {{.name = "Input", .doc = "gives one extent", .no_grad = true, .shape_only = true}},
    .outputs = {{.name = "Out", .doc = "of shape `shape` but for that extent"}},
    .attrs = {{"shape", std::vector<int32_t>{}, "extents"},
              {"input_dim_idx", int32_t{0}, "the axis of Input whose extent is taken"},
              {"output_dim_idx", int32_t{0}, "the axis of Out that gets it"},
              kDType,
              kValue,
              kStrValue,
              kForceCpu},
    .infer = infer_batch_like,
    .kernels = kernels_for_all(prepare_batch_like),
    .dtype_slot = "Out",
});

// ---- fill_any_like, fill_zeros_like -------------------------------------------------------------

void infer_any_like(InferContext& c) {
  VarMeta out = like(c.in("X"));
  if (c.attr<int64_t>("dtype") >= 0) out.dtype = dtype_attr(c);
  c.out("Out") = std::move(out);
}

void infer_zeros_like(InferContext& c) { c.out("Out") = like(c.in("X")); }

constexpr auto prepare_any_like = []<typename T>(PrepareContext& c) -> Step {
  return fill_step(c, constant_of(c.attr<float>("value")).as<T>());
};

Step prepare_zeros(PrepareContext& c) {
  return [bytes = c.shape("Out").numel() * size_of(c.dtype("Out")), out = c.out_bytes("Out")] {
    zero_bytes(out.data(), bytes);
  };
}

const Slot kLike = {
    .name = "X", .doc = "gives shape and dtype", .no_grad = true, .shape_only = true};

const OpDef& fill_any_like = define_op({
    .type = "fill_any_like",
    .doc = "A tensor of the shape of X whose elements have all the same value.",
    .inputs = {kLike},
    .outputs = {{.name = "Out", .doc = "same shape as X"}},
    .attrs = {kValue, {"dtype", int32_t{-1}, "code of the dtype of Out; -1: that of X"}},
    .infer = infer_any_like,
    .kernels = kernels_for_all(prepare_any_like),
    .dtype_slot = "Out",
});

const OpDef& fill_zeros_like = define_op({
    .type = "fill_zeros_like",
    .doc = "Zeros in the shape of X.",
    .inputs = {kLike},
    .outputs = {{.name = "Out", .doc = "same shape and dtype as X"}},
    .infer = infer_zeros_like,
    .kernels = every_dtype(prepare_zeros),
    .dtype_slot = "Out",
});

const OpDef& fill_zeros_like2 = define_op({
    .type = "fill_zeros_like2",
    .doc = "Zeros in the shape of X.",
    .inputs = {kLike},
    .outputs = {{.name = "Out", .doc = "same shape as X"}},
    .attrs = {{"dtype", int32_t{-1}, "code of the dtype of Out; -1: that of X"}},
    .infer = infer_any_like,
    .kernels = every_dtype(prepare_zeros),
    .dtype_slot = "Out",
});

// ---- assign_value -------------------------------------------------------------------------------

void infer_values(InferContext& c) {
  VarMeta out = VarMeta::tensor(dtype_attr(c), scalar_or(c.attr<Ints>("shape")));
  if (out.dtype == i32) remember(out, c.attr<Ints>("int32_values"));
  if (out.dtype == i64) remember(out, c.attr<Ints>("int64_values"));
  c.out("Out") = std::move(out);
}

template <typename T, typename Stored>
Step prepare_values(PrepareContext& c, std::string_view attr) {
  const std::vector<Stored> stored = c.attr<std::vector<Stored>>(attr);
  const int64_t n = c.shape("Out").numel();
  require(static_cast<int64_t>(stored.size()) == n,
          "assign_value needs {} values in {} for shape {}, but has {}", n, attr, c.shape("Out"),
          stored.size());
  return [stored, out = c.out<T>("Out")] {
    T* to = out.data();
    for (size_t i = 0; i < stored.size(); ++i) to[i] = static_cast<T>(stored[i]);
  };
}

Step prepare_f32(PrepareContext& c) { return prepare_values<float, float>(c, "fp32_values"); }
Step prepare_f64(PrepareContext& c) { return prepare_values<double, double>(c, "fp64_values"); }
Step prepare_i32(PrepareContext& c) { return prepare_values<int32_t, int32_t>(c, "int32_values"); }
Step prepare_i64(PrepareContext& c) { return prepare_values<int64_t, int64_t>(c, "int64_values"); }
Step prepare_bool(PrepareContext& c) { return prepare_values<bool, int32_t>(c, "bool_values"); }

const OpDef& assign_value = define_op({
    .type = "assign_value",
    .doc = "A tensor with the elements of an attribute.",
    .outputs = {{.name = "Out", .doc = "of shape `shape` and dtype `dtype`"}},
    .attrs = {{"shape", std::vector<int32_t>{}, "extents"},
              kDType,
              {"bool_values", std::vector<int32_t>{}, "elements of a bool tensor"},
              {"fp32_values", std::vector<float>{}, "elements of a float32 tensor"},
              {"fp64_values", std::vector<double>{}, "elements of a float64 tensor"},
              {"int32_values", std::vector<int32_t>{}, "elements of an int32 tensor"},
              {"int64_values", std::vector<int64_t>{}, "elements of an int64 tensor"}},
    .infer = infer_values,
    .kernels = {{kCpu, f32, prepare_f32},
                {kCpu, f64, prepare_f64},
                {kCpu, i32, prepare_i32},
                {kCpu, i64, prepare_i64},
                {kCpu, boolean, prepare_bool}},
});

}  // namespace
}  // namespace flotilla::ops

// set_value: a tensor with ranges of some axes replaced by a value, which is repeated as numpy
// does it. Python's x[1:3, 0] = v.

#include "flotilla/ops/common/known_value.h"
#include "flotilla/ops/common/optional_slots.h"
#include "flotilla/ops/tensor/gpu_fold.h"
#include "flotilla/ops/tensor/slice_range.h"

namespace flotilla::ops {
namespace {

const IntSource kStarts = {"", "StartsTensorList", "starts"};
const IntSource kEnds = {"", "EndsTensorList", "ends"};
const IntSource kSteps = {"", "StepsTensorList", "steps"};

bool holds(const Ints& axes, int64_t axis) {
  return std::find(axes.begin(), axes.end(), axis) != axes.end();
}

// Where the value goes: a box of the tensor, and along each of its axes the stride of the value.
struct Target {
  Box box = {};
  Ints value_strides = {};

  // Axes that an integer chose are none of the value's, and it may have new ones.
  Target(const PrepareContext& c, const Shape& whole, const Shape& value)
      : box(sliced(whole, c.attr<Ints>("axes"), known_ints(c, kStarts), known_ints(c, kEnds),
                   known_ints(c, kSteps))),
        value_strides(box.extents.size()) {
    const Ints chosen = c.attr<Ints>("decrease_axes");
    Ints places;  // the axis of the box where an axis of the value stands; -1: a new one
    for (size_t a = 0; a < box.extents.size(); ++a) {
      const bool stays = !holds(chosen, static_cast<int64_t>(a));
      require(stays || box.extents[a] == 1,
              "the element that was named along axis {} is none of shape {}", a, whole);
      if (stays) places.push_back(static_cast<int64_t>(a));
    }
    for (const int64_t axis : c.attr<Ints>("none_axes")) {
      require(0 <= axis && axis <= std::ssize(places), "none_axes names axis {} of {}", axis,
              places.size());
      places.insert(places.begin() + axis, -1);
    }
    const Ints strides = dense_strides(value);
    const int64_t shift = std::ssize(places) - value.rank();
    for (int64_t v = 0; v < value.rank(); ++v) {
      const int64_t place = v + shift < 0 ? -1 : places[static_cast<size_t>(v + shift)];
      const size_t axis = static_cast<size_t>(place);
      require(value[v] == 1 || (place >= 0 && value[v] == box.extents[axis]),
              "a value of shape {} cannot be repeated to the extents {} that it is set to", value,
              fmt::join(box.extents, "x"));
      if (value[v] != 1) value_strides[axis] = strides[static_cast<size_t>(v)];
    }
  }

  // How the value is copied into the box.
  BoxCopy copy(int64_t size) const { return {box.extents, box.strides, value_strides, size}; }
};

// The attributes that hold the elements of a value, by release of Paddle.
constexpr const char* kValues[] = {"values",      "bool_values", "int32_values", "int64_values",
                                   "fp32_values", "fp64_values", "fp16_values"};

template <typename T>
std::vector<T> elements_of(const Attr& attr) {
  std::vector<T> elements;
  const auto add = [&]<typename N>(const N& number) {
    if constexpr (std::is_arithmetic_v<N>) elements.push_back(static_cast<T>(number));
  };
  std::visit(
      [&]<typename A>(const A& list) {
        if constexpr (std::is_same_v<A, std::vector<Scalar>>) {
          for (const Scalar& one : list) std::visit(add, one.value);
        } else if constexpr (std::is_same_v<A, std::vector<int32_t>> || std::is_same_v<A, Ints> ||
                             std::is_same_v<A, std::vector<float>> ||
                             std::is_same_v<A, std::vector<double>>) {
          for (const auto number : list) add(number);
        }
      },
      attr);
  return elements;
}

// Elements as they lie in memory: a std::vector<bool> packs them.
template <typename T>
using Stored = std::conditional_t<std::is_same_v<T, bool>, uint8_t, T>;

// The value of an op that has no tensor of it.
template <typename T, typename Context>
std::vector<Stored<T>> value_in_attrs(const Context& c) {
  std::vector<Stored<T>> found;
  for (size_t i = 0; found.empty() && i < std::size(kValues); ++i) {
    found = elements_of<Stored<T>>(attr_or_default(c.op(), op_def("set_value"), kValues[i]));
  }
  const Shape shape(c.template attr<Ints>("shape"));
  require(shape.known() && shape.numel() == std::ssize(found),
          "set_value needs a ValueTensor, or as many values as shape {} has elements, but has {}",
          shape, found.size());
  return found;
}

void infer(InferContext& c) {
  const VarMeta& in = c.in("Input");
  const size_t axes = c.attr<Ints>("axes").size();
  for (const IntSource* source : {&kStarts, &kEnds, &kSteps}) {
    const size_t count = ints_of(c, *source).size();
    require(count == axes, "set_value of {} axes needs as many {}, but has {}", axes, source->attr,
            count);
    if (c.running()) known_ints(c, *source);
  }
  if (c.has_in("ValueTensor")) {
    const DType dtype = c.in("ValueTensor").dtype;  // its size is compared by Target
    require(dtype == in.dtype, "ValueTensor must be {} like Input, but is {}", in.dtype, dtype);
  } else {
    value_in_attrs<double>(c);
  }
  c.out("Out") = like(in);
}

// Left to the run where the ranges are not known.
void infer_grad(InferContext& c) {
  for (const IntSource* source : {&kStarts, &kEnds, &kSteps}) {
    if (c.running()) known_ints(c, *source);
  }
  if (c.has_out("Input@GRAD")) c.out("Input@GRAD") = like(c.in("Out@GRAD"));
  if (c.has_out("ValueTensor@GRAD")) c.out("ValueTensor@GRAD") = like(c.in("ValueTensor"));
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const bool given = c.has("ValueTensor");
  const Shape value = given ? c.shape("ValueTensor") : Shape(c.attr<Ints>("shape"));
  const Target target(c, c.shape("Input"), value);
  std::vector<Stored<T>> kept;
  if (!given) kept = value_in_attrs<T>(c);
  const bool of_itself = given && c.op().input("ValueTensor") == c.op().input("Input");
  if (!of_itself) c.in_place("Input", "Out");
  if (on_gpu(c)) {
    const auto* const bytes = reinterpret_cast<const char*>(kept.data());
    return gpu_set_value.forward(c, target.box, target.value_strides,
                                 {bytes, bytes + kept.size() * sizeof(T)});
  }
  return [target, copy = target.copy(sizeof(T)), kept = std::move(kept),
          bytes = c.shape("Input").numel() * static_cast<int64_t>(sizeof(T)),
          from = given ? c.in<T>("ValueTensor") : In<T>(), x = c.in<T>("Input"),
          out = c.out<T>("Out")] {
    copy_bytes(out.data(), x.data(), bytes);
    if (target.box.empty()) return;
    const void* const values = from ? static_cast<const void*>(from.data()) : kept.data();
    copy.run(reinterpret_cast<char*>(out.data() + target.box.first),
             static_cast<const char*>(values));
  };
};

// What was replaced has no gradient; the value has that of the places it was set to, summed up.
constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const bool of_value = c.has("ValueTensor@GRAD");
  const Shape& whole = c.shape("Out@GRAD");
  const Shape value = of_value ? c.shape("ValueTensor@GRAD") : Shape{1};
  const Target target(c, whole, value);
  if (on_gpu(c)) return gpu_set_value_backward<T>(c, target.box, target.value_strides);
  const BoxCopy clear(target.box.extents, target.box.strides, Ints(target.box.extents.size()),
                      sizeof(T));
  return [target, clear, n = whole.numel(), values = value.numel(), dout = c.in<T>("Out@GRAD"),
          dx = wanted<T>(c, "Input@GRAD"), dv = wanted<T>(c, "ValueTensor@GRAD")] {
    const Box& box = target.box;
    if (dv) {
      std::fill_n(dv.data(), values, T{0});
      const int64_t count = Shape(box.extents).numel();
      for (int64_t i = 0; i < count; ++i) {
        const int64_t from = box.first + place_in(box.extents, box.strides, i);
        dv.data()[place_in(box.extents, target.value_strides, i)] += dout.data()[from];
      }
    }
    if (!dx) return;
    copy_bytes(dx.data(), dout.data(), n * static_cast<int64_t>(sizeof(T)));
    const T zero{0};
    if (!box.empty()) {
      clear.run(reinterpret_cast<char*>(dx.data() + box.first),
                reinterpret_cast<const char*>(&zero));
    }
  };
};

using Longs = std::vector<int64_t>;

const OpDef& set_value = define_op({
    .type = "set_value",
    .doc = "Input with ranges of some axes replaced by a value.",
    .inputs = with_slots_of({kStarts, kEnds, kSteps},
                            {{.name = "Input", .doc = "tensor"},
                             {.name = "ValueTensor", .doc = "the value", .optional = true}}),
    .outputs = {{.name = "Out", .doc = "same shape as Input", .like = "Input"}},
    .attrs = {{"dtype", 5, "ignored: that of Input"},
              {"axes", Longs{}, "the axes of the ranges"},
              {"starts", Longs{}, "first element along each of them"},
              {"ends", Longs{}, "element along each of them to stop before"},
              {"steps", Longs{}, "step along each of them"},
              {"decrease_axes", Longs{}, "axes that the value does not have"},
              {"none_axes", Longs{}, "axes that the value has besides"},
              {"shape", Longs{}, "extents of the value, without ValueTensor"},
              {"values", std::vector<Scalar>{}, "its elements"},
              {"bool_values", std::vector<int32_t>{}, "the same, before 2.5"},
              {"int32_values", std::vector<int32_t>{}, "the same, before 2.5"},
              {"int64_values", Longs{}, "the same, before 2.5"},
              {"fp32_values", std::vector<float>{}, "the same, before 2.5"},
              {"fp64_values", std::vector<double>{}, "the same, before 2.5"},
              {"fp16_values", std::vector<float>{}, "the same, before 2.5"}},
    .infer = infer,
    .grad =
        grad_op({shape_of("ValueTensor"), "StartsTensorList", "EndsTensorList", "StepsTensorList"},
                {.kernels = kernels_for<float, double>(backward), .infer = infer_grad}),
    .kernels = kernels_for_all(forward),
    .dtype_slot = "Input",
});

}  // namespace
}  // namespace flotilla::ops

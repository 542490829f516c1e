// flotilla/ops/tensor/make.cc
//
// Operators that make tensors by a rule: range, linspace, logspace, eye, one_hot; and where, which
// chooses elements by one.

#include <algorithm>
#include <cmath>

#include "flotilla/base/element_count.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/op/lower.h"
#include "flotilla/ops/common/dtype_attr.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/move.h"
#include "flotilla/ops/tensor/optional_slots.h"

namespace flotilla::ops {
namespace {

Slot number(std::string name, std::string doc) {
  return {.name = std::move(name), .doc = std::move(doc), .no_grad = true, .one = true};
}

// ---- range --------------------------------------------------------------------------------------

// Numbers from `first` up to and without `last`.
template <typename T>
int64_t range_count(T first, T last, T step) {
  require(step != 0, "Step of range must not be 0");
  require(first == last || (step > 0) == (last > first),
          "range cannot go from {} to {} in steps of {}", first, last, step);
  if constexpr (std::is_integral_v<T>) {
    // Without a sign the difference of any two numbers fits.
    const auto wide = [](int64_t number) { return static_cast<uint64_t>(number); };
    const uint64_t span = last > first ? wide(last) - wide(first) : wide(first) - wide(last);
    const uint64_t stride = step > 0 ? wide(step) : -wide(step);
    return checked_extent(static_cast<double>(span / stride + (span % stride != 0)));
  } else {
    return checked_extent(std::ceil((last - first) / step));
  }
}

// Where a number is not known, the size waits for the run.
void infer_range(InferContext& c) {
  VarMeta out = VarMeta::tensor(c.dtype("Start"), {-1});
  const std::optional<Ints>&start = c.in("Start").value, &end = c.in("End").value,
        &step = c.in("Step").value;
  if (start && end && step) {
    const int64_t first = start->at(0), by = step->at(0);
    out.shape = {range_count(first, end->at(0), by)};
    Ints values;
    for (int64_t i = 0; i < std::min<int64_t>(out.shape[0], 64); ++i) {
      values.push_back(first + i * by);  // between Start and End, so that it fits
    }
    remember(out, std::move(values));
  }
  c.out("Out") = std::move(out);
}

template <typename T>
void write_range(T* to, int64_t n, T first, T step) {
  for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(first + static_cast<T>(i) * step);
}

constexpr auto range = []<typename T>(PrepareContext& c) -> Step {
  const In<T> start = c.in<T>("Start"), step = c.in<T>("Step");
  if (c.shape("Out").known()) {
    return [n = c.shape("Out").numel(), start, step, out = c.out<T>("Out")] {
      write_range(out.data(), n, *start.data(), *step.data());
    };
  }
  return [start, step, end = c.in<T>("End"), out = c.dynamic_out<T>("Out")] {
    const T first = *start.data(), by = *step.data();
    const int64_t n = range_count(first, *end.data(), by);
    write_range(out.resize({n}), n, first, by);
  };
};

const OpDef& range_op = define_op({
    .type = "range",
    .doc = "The numbers from Start up to and without End, in steps of Step.",
    .inputs = {number("Start", "first number"), number("End", "where to stop before"),
               number("Step", "from one number to the next")},
    .outputs = {{.name = "Out", .doc = "a vector"}},
    .infer = infer_range,
    .kernels = kernels_for<float, double, int32_t, int64_t>(range),
});

// ---- linspace -----------------------------------------------------------------------------------

void infer_linspace(InferContext& c) {
  const std::optional<Ints> count = known_ints(c, {"Num"});
  require(!count || count->at(0) > 0, "Num of linspace must be positive, but is {}",
          count ? count->at(0) : 0);
  c.out("Out") = VarMeta::tensor(dtype_attr_or(c, c.dtype("Start")), {count ? count->at(0) : -1});
}

// From both ends towards the middle, so that the last number is Stop to the bit.
constexpr auto linspace = []<typename From>(PrepareContext& c) -> Step {
  return visit_dtype(c.dtype("Out"), [&](auto type) -> Step {
    using To = decltype(type);
    return [n = c.shape("Out").numel(), start = c.in<From>("Start"), stop = c.in<From>("Stop"),
            out = c.out<To>("Out")] {
      const double first = static_cast<double>(*start.data());
      const double last = static_cast<double>(*stop.data());
      const double step = n > 1 ? (last - first) / static_cast<double>(n - 1) : 0;
      for (int64_t i = 0; i < n; ++i) {
        const bool front = n == 1 || i < n / 2;
        const double value = front ? first + step * static_cast<double>(i)
                                   : last - step * static_cast<double>(n - 1 - i);
        out.data()[i] = static_cast<To>(value);
      }
    };
  });
};

const OpDef& linspace_op = define_op({
    .type = "linspace",
    .doc = "Num numbers from Start to Stop, evenly spaced.",
    .inputs = {number("Start", "first number"), number("Stop", "last number"),
               number("Num", "how many")},
    .outputs = {{.name = "Out", .doc = "a vector"}},
    .attrs = {{"dtype", int32_t{-1}, "code of the dtype of Out; -1: that of Start"}},
    .infer = infer_linspace,
    .kernels = kernels_for<float, double, int32_t, int64_t>(linspace),
});

// ---- logspace -----------------------------------------------------------------------------------

void infer_logspace(InferContext& c) {
  infer_linspace(c);
  c.in("Base");
}

// Powers of Base, worked out in f64 whatever their dtype is.
void lower_logspace(LowerContext& c) {
  const int32_t wide = to_paddle(f64), code = c.attr<int32_t>("dtype");
  const auto widened = [&](const char* slot) {
    return c.apply("cast", c.in(slot), {{"out_dtype", wide}});
  };
  const Slots ends = {
      {"Start", {widened("Start")}}, {"Stop", {widened("Stop")}}, {"Num", {c.in("Num")}}};
  const std::string exponents = c.append("linspace", ends, {{"dtype", wide}});
  const std::string powers = c.apply("elementwise_pow", widened("Base"), exponents);
  const int32_t own = to_paddle(c.var(c.in("Start")).dtype);
  c.result("Out", c.apply("cast", powers, {{"out_dtype", code < 0 ? own : code}}));
}

const OpDef& logspace = define_op({
    .type = "logspace",
    .doc = "Base to the power of Num numbers from Start to Stop, evenly spaced.",
    .inputs = {number("Start", "first exponent"), number("Stop", "last exponent"),
               number("Num", "how many"), number("Base", "what is raised")},
    .outputs = {{.name = "Out", .doc = "a vector"}},
    .attrs = {{"dtype", int32_t{-1}, "code of the dtype of Out; -1: that of Start"}},
    .infer = infer_logspace,
    .lower = lower_logspace,
});

// ---- eye ----------------------------------------------------------------------------------------

void infer_eye(InferContext& c) {
  const int64_t rows = c.attr<int64_t>("num_rows"), columns = c.attr<int64_t>("num_columns");
  require(rows >= 0, "num_rows of eye must not be negative, but is {}", rows);
  c.out("Out") = VarMeta::tensor(dtype_attr(c), {rows, columns < 0 ? rows : columns});
}

constexpr auto eye = []<typename T>(PrepareContext& c) -> Step {
  return [rows = c.shape("Out")[0], columns = c.shape("Out")[1], out = c.out<T>("Out")] {
    std::fill_n(out.data(), rows * columns, T{0});
    for (int64_t i = 0; i < std::min(rows, columns); ++i) out.data()[i * columns + i] = T{1};
  };
};

const OpDef& eye_op = define_op({
    .type = "eye",
    .doc = "A matrix with ones on its diagonal and zeros elsewhere.",
    .outputs = {{.name = "Out", .doc = "a matrix"}},
    .attrs = {{"num_rows", int64_t{0}, "rows"},
              {"num_columns", int64_t{-1}, "columns; -1: as many as rows"},
              dtype_spec()},
    .infer = infer_eye,
    .kernels = kernels_for_all(eye),
});

// ---- one_hot_v2, one_hot ------------------------------------------------------------------------

const IntSource kDepth = {.tensor = "depth_tensor", .attr = "depth"};

// one_hot replaces a last axis of extent 1, one_hot_v2 adds an axis.
void infer_one_hot(InferContext& c) {
  const Shape& x = c.in("X").shape;
  Ints dims = x.dims();
  if (c.op().type() == "one_hot") {
    require(x.rank() > 0 && (dims.back() == 1 || dims.back() == -1),
            "the last axis of X must have extent 1, but X has shape {}", x);
    dims.pop_back();
  }
  const std::optional<int64_t> depth = known_int(c, kDepth);
  require(!depth || *depth > 0, "depth must be positive, but is {}", depth.value_or(0));
  dims.push_back(depth.value_or(-1));
  c.out("Out") = like(c.in("X"), Shape(std::move(dims)));
  c.out("Out").dtype = dtype_attr(c);
}

template <typename From, typename To>
Step one_hot_as(PrepareContext& c) {
  return
      [n = c.shape("X").numel(), depth = known_int(c, kDepth),
       lenient = c.attr<bool>("allow_out_of_range"), in = c.in<From>("X"), out = c.out<To>("Out")] {
        const From* x = in.data();
        To* to = out.data();
        zero_bytes(to, n * depth * static_cast<int64_t>(sizeof(To)));
        for (int64_t i = 0; i < n; ++i) {
          const bool inside = 0 <= x[i] && x[i] < depth;
          require(inside || lenient, "the class at place {} must lie in [0, {}), but is {}", i,
                  depth, x[i]);
          if (inside) to[i * depth + x[i]] = To{1};
        }
      };
}

constexpr auto one_hot = []<typename From>(PrepareContext& c) -> Step {
  return visit_dtype(c.dtype("Out"), [&](auto to) { return one_hot_as<From, decltype(to)>(c); });
};

const OpDef& define_one_hot(const std::string& type) {
  return define_op({
      .type = type,
      .doc = "Each number of X as a row of zeros with a one at its place.",
      .inputs = with_slots_of({kDepth}, {{.name = "X", .doc = "whole numbers", .no_grad = true}}),
      .outputs = {{.name = "Out", .doc = "rows of `depth` elements"}},
      .attrs = {{"depth", int32_t{-1}, "length of a row"},
                dtype_spec(),
                {"allow_out_of_range", false, "a number outside [0, depth) gives zeros"}},
      .infer = infer_one_hot,
      .kernels = kernels_for<int32_t, int64_t>(one_hot),
      .dtype_slot = "X",
  });
}

const OpDef& one_hot_v2_op = define_one_hot("one_hot_v2");
const OpDef& one_hot_op = define_one_hot("one_hot");

// ---- where --------------------------------------------------------------------------------------

void infer_where(InferContext& c) {
  const VarMeta &x = c.in("X"), &y = c.in("Y"), &condition = c.in("Condition");
  require(condition.dtype == boolean, "Condition must hold bool, but holds {}", condition.dtype);
  const bool fit =
      fits(x.shape, y.shape) && fits(x.shape, condition.shape) && fits(y.shape, condition.shape);
  require(fit && x.dtype == y.dtype,
          "Condition, X and Y must be alike, but have shapes {}, {} and {} and hold {} and {}",
          condition.shape, x.shape, y.shape, x.dtype, y.dtype);
  c.out("Out") = like(x);
}

constexpr auto where_forward = []<typename T>(PrepareContext& c) -> Step {
  c.in_place("X", "Out");
  c.in_place("Y", "Out");
  return [n = c.shape("X").numel(), condition = c.in<bool>("Condition"), x = c.in<T>("X"),
          y = c.in<T>("Y"), out = c.out<T>("Out")] {
    const bool* chosen = condition.data();
    const T *a = x.data(), *b = y.data();
    T* to = out.data();
    parallel_ranges(n, kGrainOperations, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) to[i] = chosen[i] ? a[i] : b[i];
    });
  };
};

constexpr auto where_backward = []<typename T>(PrepareContext& c) -> Step {
  return [n = c.shape("Out@GRAD").numel(), condition = c.in<bool>("Condition"),
          dout = c.in<T>("Out@GRAD"), dx = wanted<T>(c, "X@GRAD"), dy = wanted<T>(c, "Y@GRAD")] {
    const bool* chosen = condition.data();
    const T* g = dout.data();
    T* x = dx ? dx.data() : nullptr;
    T* y = dy ? dy.data() : nullptr;
    parallel_ranges(n, kGrainOperations, [=](int64_t begin, int64_t end) {
      for (int64_t i = begin; x != nullptr && i < end; ++i) x[i] = chosen[i] ? g[i] : T{0};
      for (int64_t i = begin; y != nullptr && i < end; ++i) y[i] = chosen[i] ? T{0} : g[i];
    });
  };
};

const OpDef& where = define_op({
    .type = "where",
    .doc = "X where Condition holds, Y elsewhere.",
    .inputs = {{.name = "Condition", .doc = "bool", .no_grad = true},
               {.name = "X", .doc = "tensor"},
               {.name = "Y", .doc = "tensor"}},
    .outputs = {{.name = "Out", .doc = "same shape and dtype as X"}},
    .infer = infer_where,
    .grad = grad_op({"Condition", shape_of("X"), shape_of("Y")},
                    {.kernels = kernels_for<float, double>(where_backward)}),
    .kernels = kernels_for_all(where_forward),
    .dtype_slot = "X",
});

}  // namespace
}  // namespace flotilla::ops

// one_hot, one_hot_v2: each number of X as a row of zeros with a one at its place.

#include "flotilla/ops/common/dtype_attr.h"
#include "flotilla/ops/common/known_value.h"

namespace flotilla::ops {
namespace {

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

}  // namespace
}  // namespace flotilla::ops

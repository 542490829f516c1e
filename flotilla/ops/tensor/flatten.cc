// flatten makes a matrix of a tensor, flatten_contiguous_range one axis of several; see reshape.h.

#include "flotilla/ops/tensor/reshape.h"

namespace flotilla::ops {
namespace {

void infer_flatten(InferContext& c) {
  const Shape& x = c.in("X").shape;
  const int64_t axis = c.attr<int64_t>("axis");
  require(0 <= axis && axis <= x.rank(),
          "axis must lie in [0, {}] because X has shape {}, but is {}", x.rank(), x, axis);
  set_outputs(c, {x.numel(0, axis), x.numel(axis, x.rank())});
}

void infer_flatten_range(InferContext& c) {
  const Shape& x = c.in("X").shape;
  if (x.rank() == 0) return set_outputs(c, {1});
  const int64_t start = x.axis(c.attr<int64_t>("start_axis"));
  const int64_t stop = x.axis(c.attr<int64_t>("stop_axis"));
  require(start <= stop, "start_axis must not come after stop_axis, but they are {} and {}", start,
          stop);
  Ints dims(x.begin(), x.begin() + start);
  dims.push_back(x.numel(start, stop + 1));
  dims.insert(dims.end(), x.begin() + stop + 1, x.end());
  set_outputs(c, Shape(std::move(dims)));
}

const bool flatten = define_reshapings(
    {"flatten",
     "Makes a matrix of X: the axes before `axis` become its rows, the others its columns.",
     {{.name = "X", .doc = "tensor"}},
     {{"axis", int32_t{1}, "the first axis of the columns"}},
     infer_flatten});

const bool flatten_contiguous_range =
    define_reshaping({.doc = "Makes one axis of the axes from `start_axis` to `stop_axis`.",
                      .attrs = {{"start_axis", int32_t{1}, "first axis to merge"},
                                {"stop_axis", int32_t{1}, "last axis to merge"}},
                      .infer = infer_flatten_range},
                     "flatten_contiguous_range", true);

}  // namespace
}  // namespace flotilla::ops

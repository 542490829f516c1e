// flotilla/ops/tensor/repeat_interleave.cc
//
// repeat_interleave: each row along an axis `Repeats` times, one behind the other.

#include "flotilla/base/element_count.h"
#include "flotilla/op/lower.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const VarMeta& x = c.in("X");
  const int64_t repeats = c.attr<int64_t>("Repeats"), axis = x.shape.axis(c.attr<int64_t>("dim"));
  require(!c.has_in("RepeatsTensor"), "a tensor of repeats is not implemented");
  require(repeats > 0, "Repeats must be positive, but is {}", repeats);
  Shape out = x.shape;
  out[axis] = checked_multiple(out[axis], repeats);
  c.out("Out") = VarMeta::tensor(x.dtype, std::move(out));
}

// Copies along a new axis behind the one that is meant, which then becomes a part of it.
void lower(LowerContext& c) {
  const Shape x = c.shape("X");
  const int32_t axis = static_cast<int32_t>(x.axis(c.attr<int64_t>("dim")));
  std::vector<int32_t> times(x.dims().size() + 1, 1);
  times[static_cast<size_t>(axis) + 1] = c.attr<int32_t>("Repeats");
  const std::vector<int32_t> behind = {axis + 1};
  const std::string rows = c.apply("unsqueeze", c.in("X"), {{"axes", behind}});
  const std::string copies = c.apply("tile", rows, {{"repeat_times", times}});
  c.result("Out", c.flatten(copies, axis, axis + 1));
}

const OpDef& repeat_interleave = define_op({
    .type = "repeat_interleave",
    .doc = "Repeats each row along an axis.",
    .inputs = {{.name = "X", .doc = "tensor"},
               {.name = "RepeatsTensor", .doc = "refused", .optional = true, .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "the rows, repeated"}},
    .attrs = {{"Repeats", 0, "how often each row is there"}, {"dim", 0, "direction of the rows"}},
    .infer = infer,
    .grad = grad_of_body(),
    .lower = lower,
    .dtype_slot = "X",
});

}  // namespace
}  // namespace flotilla::ops

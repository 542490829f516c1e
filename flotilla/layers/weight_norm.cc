#include "flotilla/layers/weight_norm.h"

#include "flotilla/layers/functions.h"

namespace flotilla::layers {
namespace {

// The length of v at each place of `axis`, as an axis of ones elsewhere.
Variable length_of(Variable v, int64_t axis, const Shape& shape) {
  std::vector<int64_t> others;
  for (int64_t a = 0; a < shape.rank(); ++a) {
    if (a != axis) others.push_back(a);
  }
  // Of a vector along its axis, each element by itself.
  if (others.empty()) return abs(v);
  return sqrt(reduce("reduce_sum", square(v), {.axes = others, .keep_dim = true}));
}

}  // namespace

Var& weight_normed(LayerHelper& helper, const ParamAttr& attr, const Shape& shape, DType dtype,
                   const Initializer& otherwise, std::string_view kind) {
  const int64_t axis = *attr.weight_norm;
  require(axis == kOneLength || (0 <= axis && axis < shape.rank()),
          "dim of a WeightNormParamAttr must be None or an axis of the parameter, but it is {} and "
          "the parameter has shape {}",
          axis, shape);
  const std::string name = attr.name.empty()
                               ? context().names.generate(fmt::format("{}.{}", helper.name(), kind))
                               : attr.name;
  Shape lengths(std::vector<int64_t>(static_cast<size_t>(shape.rank()), 1));
  if (axis != kOneLength) lengths[axis] = shape[axis];
  const bool is_new = context().startup->global_block().find_var(name + "_g") == nullptr;

  ParamAttr part = attr;
  part.weight_norm.reset();
  part.name = name + "_g";
  part.initializer = constant(1);
  const Variable g = helper.parameter(part, lengths, dtype, otherwise, kind);
  part.name = name + "_v";
  part.initializer = attr.initializer;
  const Variable v = helper.parameter(part, shape, dtype, otherwise, kind);
  if (is_new) {
    Block& startup = context().startup->global_block();
    const ProgramGuard guard(context().startup, context().startup);
    const Variable start = length_of(startup.var(v.name()), axis, shape);
    append_op(startup, "assign", {{"X", {start.name()}}}, {{"Out", {g.name()}}});
  }
  return v * (g / length_of(v, axis, shape));
}

}  // namespace flotilla::layers

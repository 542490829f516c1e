#include "flotilla/layers/forms.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "flotilla/layers/functions.h"

namespace flotilla::layers {
namespace {

using Ints = std::vector<int64_t>;

// The axis counted from the front; what is no axis is left to the op to refuse.
int64_t from_front(Variable x, int64_t axis) { return axis < 0 ? axis + x.shape().rank() : axis; }

Variable flip(Variable x, int64_t axis) { return op("flip", {{"X", x}}, {{"axis", Ints{axis}}}); }

Variable repeated(Variable x, const Shape& shape) {
  if (x.shape() == shape) return x;
  return op("expand_v2", {{"X", x}}, {{"shape", shape.dims()}}, {.layer = "expand"});
}

// One number for each axis.
std::vector<Operand> same(Variable x, int64_t number) {
  return std::vector<Operand>(static_cast<size_t>(x.shape().rank()), number);
}

// The bounds of ranges: attributes and inputs of slice and strided_slice.
class Ranges {
 public:
  Ranges(Variable x, const Ints& axes) {
    inputs_["Input"] = x;
    Ints counted;
    for (const int64_t axis : axes) counted.push_back(from_front(x, axis));
    attrs_["axes"] = counted;
  }

  void take(const char* attr, const std::string& slot, const Numbers& bounds) {
    attrs_[attr] =
        put_numbers(inputs_, bounds, (slot + "Tensor").c_str(), (slot + "TensorList").c_str());
    // An axis has -1 where one of its bounds is a variable.
    Ints known;
    for (const Operand& bound : bounds.each) known.push_back(bound.var() != nullptr ? -1 : 1);
    if (first_) flags_.assign(known.size(), 1);
    first_ = false;
    flags_.resize(std::min(flags_.size(), known.size()));
    for (size_t i = 0; i < flags_.size(); ++i) flags_[i] = std::min(flags_[i], known[i]);
  }

  Variable append(const char* type, const std::string& name = {}) {
    attrs_["infer_flags"] = flags_;
    return op(type, inputs_, attrs_, {.name = name});
  }

 private:
  Inputs inputs_;
  Attrs attrs_;
  Ints flags_;
  bool first_ = true;
};

// What was asked for beside the first of the variables.
Variables chosen(const Variables& made, const std::vector<bool>& asked) {
  Variables found = made.front();
  for (size_t i = 0; i < asked.size(); ++i) {
    if (asked[i]) found.push_back(made[i + 1]);
  }
  return found;
}

// Both repeated to one shape but for `axis`.
void meet(Variable& x, Variable& indices, int64_t axis, bool broadcast) {
  require(x.shape().rank() == indices.shape().rank(),
          "arr has {} axes and indices {}, but must have as many", x.shape().rank(),
          indices.shape().rank());
  if (!broadcast) return;
  Shape common = x.shape();
  for (int64_t i = 0; i < common.rank(); ++i) {
    if (common[i] == 1) common[i] = indices.shape()[i];
  }
  const int64_t own = x.shape()[axis];
  common[axis] = indices.shape()[axis];
  indices = repeated(indices, common);
  common[axis] = own;
  x = repeated(x, common);
}

}  // namespace

Variable reshape_to(Variable x, const Numbers& shape, std::optional<Variable> actual,
                    const std::string& act, const std::string& name) {
  Inputs inputs;
  const Ints extents = put_numbers(inputs, shape, "Shape", "ShapeTensor");
  if (actual) inputs = {{"Shape", *actual}};
  inputs["X"] = x;
  return op("reshape2", inputs, {{"shape", extents}},
            {.name = name, .act = act, .outputs = {"Out", "XShape"}});
}

Variable unflatten(Variable x, int64_t axis, const Numbers& shape) {
  require(!shape.all, "unflatten takes the extents one by one");
  axis = x.shape().axis(axis);
  std::vector<Operand> extents(x.shape().begin(), x.shape().begin() + axis);
  extents.insert(extents.end(), shape.each.begin(), shape.each.end());
  extents.insert(extents.end(), x.shape().begin() + axis + 1, x.shape().end());
  return reshape_to(x, extents);
}

Variable view_as(Variable x, Variable other) { return reshape_to(x, other.shape()); }

Variable flatten(Variable x, int64_t begin, int64_t end) {
  return op("flatten_contiguous_range", {{"X", x}}, {{"start_axis", begin}, {"stop_axis", end}},
            {.layer = "flatten", .outputs = {"Out", "XShape"}});
}

Variables at_least(int64_t rank, Variables inputs) {
  for (Variable& x : inputs) {
    if (x.shape().rank() >= rank) continue;
    Ints extents = x.shape().dims();
    const int64_t in_front = std::min(rank, int64_t{2}) - x.shape().rank();
    extents.insert(extents.begin(), static_cast<size_t>(std::max(in_front, int64_t{0})), 1);
    extents.resize(static_cast<size_t>(rank), 1);
    x = reshape(x, extents);
  }
  return inputs;
}

Variable transpose(Variable x, const Ints& order, const std::string& layer,
                   const std::string& name) {
  return op("transpose2", {{"X", x}}, {{"axis", order}},
            {.name = name, .layer = layer, .outputs = {"Out", "XShape"}});
}

Variable moveaxis(Variable x, const Ints& from, const Ints& to, const std::string& name) {
  require(from.size() == to.size(), "{} axes cannot go to {} places", from.size(), to.size());
  std::map<int64_t, int64_t> moved;  // what comes to a place
  for (size_t i = 0; i < from.size(); ++i) {
    moved[x.shape().axis(to[i])] = x.shape().axis(from[i]);
  }
  Ints order;
  for (int64_t axis = 0; axis < x.shape().rank(); ++axis) {
    const auto is_axis = [&](const auto& one) { return one.second == axis; };
    if (std::none_of(moved.begin(), moved.end(), is_axis)) order.push_back(axis);
  }
  for (const auto& [place, axis] : moved) order.insert(order.begin() + place, axis);
  return transpose(x, order, "moveaxis", name);
}

Variable transposed(Variable x, const std::string& name) {
  return x.shape().rank() < 2 ? x : transpose(x, {1, 0}, "t", name);
}

Variable rot90(Variable x, int64_t times, const Ints& axes) {
  require(axes.size() == 2, "a plane has two axes, but {} were given", axes.size());
  const int64_t first = x.shape().axis(axes[0]), second = x.shape().axis(axes[1]);
  const int64_t turns = (times % 4 + 4) % 4;
  if (turns == 0) return x;
  if (turns == 2) return flip(flip(x, first), second);
  Ints order(static_cast<size_t>(x.shape().rank()));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[static_cast<size_t>(first)], order[static_cast<size_t>(second)]);
  return turns == 1 ? transpose(flip(x, second), order) : flip(transpose(x, order), second);
}

Variable diagflat(Variable x, int64_t offset) {
  return op("diag_v2", {{"X", x.shape().rank() > 1 ? flatten(x) : x}},
            {{"offset", offset}, {"padding_value", 0.0f}}, {.stop_gradient = true});
}

Variables unstack(Variable x, int64_t axis, std::optional<int64_t> count) {
  const int64_t num = count ? *count : x.shape()[x.shape().axis(axis)];
  return op_outputs("unstack", {{"X", x}}, {{"axis", axis}, {"num", num}},
                    {.outputs = {{"Y", num}}});
}

Variables unbind(Variable x, int64_t axis) {
  return op_outputs("unbind", {{"X", x}}, {{"axis", axis}},
                    {.outputs = {{"Out", x.shape()[x.shape().axis(axis)]}}});
}

Variables split(Variable x, const Parts& parts, int64_t axis, const std::string& name) {
  const int64_t* equal = std::get_if<int64_t>(&parts);
  const Ints sections = equal != nullptr ? Ints{} : std::get<Ints>(parts);
  const auto count = static_cast<int64_t>(sections.size());
  return op_outputs("split", {{"X", x}},
                    {{"num", equal != nullptr ? *equal : 0},
                     {"sections", sections},
                     {"axis", from_front(x, axis)}},
                    {.name = name, .outputs = {{"Out", equal != nullptr ? *equal : count}}});
}

Variable slice(Variable x, const Ints& axes, const Numbers& starts, const Numbers& ends) {
  Ranges ranges(x, axes);
  ranges.take("starts", "Starts", starts);
  ranges.take("ends", "Ends", ends);
  return ranges.append("slice");
}

Variable strided_slice(Variable x, const Ints& axes, const Numbers& starts, const Numbers& ends,
                       const Numbers& steps, const std::string& name) {
  Ranges ranges(x, axes);
  ranges.take("starts", "Starts", starts);
  ranges.take("ends", "Ends", ends);
  ranges.take("strides", "Strides", steps);
  return ranges.append("strided_slice", name);
}

Variable crop(Variable x, const std::optional<Numbers>& shape,
              const std::optional<Numbers>& offsets, const std::string& name) {
  Inputs inputs = {{"X", x}};
  Attrs attrs;
  attrs["shape"] = put_numbers(inputs, shape.value_or(same(x, -1)), "Shape", "ShapeTensor");
  attrs["offsets"] = put_numbers(inputs, offsets.value_or(same(x, 0)), "Offsets", "OffsetsTensor");
  return op("crop_tensor", inputs, std::move(attrs), {.name = name});
}

Variable crop_of_old(Variable x, const Numbers& shape, const std::optional<Numbers>& offsets,
                     const std::string& name) {
  Inputs inputs = {{"X", x}};
  const Ints extents = put_numbers(inputs, shape, "Y", "Y");
  const Numbers from = offsets.value_or(same(x, 0));
  const Ints places = put_numbers(inputs, from, "Offsets", "Offsets");
  Attrs attrs;
  if (!shape.all) attrs["shape"] = extents;
  if (!from.all) attrs["offsets"] = places;
  return op("crop", inputs, std::move(attrs), {.name = name});
}

Variable diff(Variable x, int64_t times, int64_t axis, std::optional<Variable> before,
              std::optional<Variable> behind) {
  axis = x.shape().axis(axis);
  Variables parts;
  if (before) parts.push_back(*before);
  parts.push_back(x);
  if (behind) parts.push_back(*behind);
  if (parts.size() > 1) x = concat(parts, axis);
  for (int64_t i = 0; i < times; ++i) {
    const int64_t extent = x.shape()[axis];
    const Variable after = cut(x, axis, 1, extent);
    x = elementwise("elementwise_sub", after, cut(x, axis, 0, extent - 1));
  }
  return x;
}

Variables unique(Variable x, const UniqueOptions& options) {
  const Variables made = op_outputs("unique", {{"X", x}},
                                    {{"dtype", to_paddle(options.dtype)},
                                     {"axis", options.axis},
                                     {"is_sorted", true},
                                     {"return_index", options.indices},
                                     {"return_inverse", options.inverse},
                                     {"return_counts", options.counts}},
                                    {.name = options.name,
                                     .outputs = {"Out", "Indices", "Index", "Counts"},
                                     .stop_gradient = true});
  return chosen(made, {options.indices, options.inverse, options.counts});
}

Variables unique_consecutive(Variable x, const UniqueOptions& options) {
  const Variables made = op_outputs(
      "unique_consecutive", {{"X", x}},
      {{"dtype", to_paddle(options.dtype)},
       {"axis", options.axis},
       {"return_inverse", options.inverse},
       {"return_counts", options.counts}},
      {.name = options.name, .outputs = {"Out", "Index", "Counts"}, .stop_gradient = true});
  return chosen(made, {options.inverse, options.counts});
}

Shape broadcast_shape(const Shape& x, const Shape& y) {
  const int64_t rank = std::max(x.rank(), y.rank());
  const auto extent = [rank](const Shape& shape, int64_t place) {
    const int64_t axis = place - (rank - shape.rank());
    return axis < 0 ? 1 : shape[axis];
  };
  Shape made;
  for (int64_t place = 0; place < rank; ++place) {
    const int64_t a = extent(x, place), b = extent(y, place);
    require(a == b || a == 1 || b == 1 || a == -1 || b == -1,
            "{} and {} do not go together: {}, {}", x, y, a, b);
    made.push_back(a == 1 ? b : b == 1 ? a : std::max(a, b));
  }
  return made;
}

Variables broadcast_tensors(const Variables& inputs, const std::string& name) {
  const OutSlot out("Out", static_cast<int64_t>(inputs.size()));
  return op_outputs("broadcast_tensors", {{"X", inputs}}, {}, {.name = name, .outputs = {out}});
}

Variable expand_as(Variable x, Variable y, const std::string& name) {
  return op("expand_as_v2", {{"X", x}, {"Y", y}}, {{"target_shape", y.shape().dims()}},
            {.name = name, .layer = "expand_as"});
}

Variable repeat_interleave(Variable x, const Operand& repeats, std::optional<int64_t> axis,
                           const std::string& name) {
  Inputs inputs = {{"X", axis ? x : reshape(x, {-1})}};
  Attrs attrs = {{"dim", axis.value_or(0)}};
  if (repeats.var() != nullptr) {
    inputs["RepeatsTensor"] = Variable(*repeats.var());
  } else {
    const double number = repeats.number();
    require(number == std::trunc(number), "repeats must be a whole number, but is {}", number);
    attrs["Repeats"] = static_cast<int64_t>(number);
  }
  return op("repeat_interleave", inputs, std::move(attrs), {.name = name});
}

Variable take_along_axis(Variable x, Variable indices, int64_t axis, bool broadcast) {
  axis = from_front(x, axis);
  meet(x, indices, axis, broadcast);
  return op("take_along_axis", {{"Input", x}, {"Index", indices}}, {{"Axis", axis}});
}

Variable put_along_axis(Variable x, Variable indices, const Operand& values, int64_t axis,
                        const std::string& reduce, bool include_self, bool broadcast) {
  axis = from_front(x, axis);
  meet(x, indices, axis, broadcast);
  const Variable put = values.var() != nullptr ? Variable(*values.var())
                                               : fill_constant(indices.shape(), values, x.dtype());
  return op("put_along_axis",
            {{"Input", x}, {"Index", indices}, {"Value", repeated(put, indices.shape())}},
            {{"Axis", axis}, {"Reduce", reduce}, {"Include_self", include_self}});
}

Variable scatter_nd(Variable index, Variable updates, const Numbers& shape,
                    const std::string& name) {
  const Variable zeros = fill_constant(shape, 0, updates.dtype());
  return op("scatter_nd_add", {{"X", zeros}, {"Index", index}, {"Updates", updates}}, {},
            {.name = name});
}

}  // namespace flotilla::layers

#include "flotilla/layers/indexing.h"

#include <algorithm>
#include <numeric>

#include "flotilla/layers/context.h"
#include "flotilla/layers/functions.h"
#include "flotilla/layers/op.h"

namespace flotilla::layers {
namespace {

using Longs = std::vector<int64_t>;
using Ints = std::vector<int32_t>;

// What an index means for the axes of x: ranges that are cut, axes that go, axes that come, and
// tensors that pick.
struct Cuts {
  Longs axes, starts, ends, steps, decrease;
  Longs new_axes;  // in the result of the cuts
  std::vector<Index> ranges;
  bool strided = false;

  struct Pick {
    Variable tensor;
    int64_t axis;  // the first that it picks along, in the result of the cuts
  };
  std::vector<Pick> picks;
  // Axes of that result in front of what the tensors pick, unless other axes lie between them.
  int64_t before_picked = 0;
  bool apart = false;

  bool by_variables() const {
    return std::any_of(ranges.begin(), ranges.end(), [](const Index& range) {
      return range.begin_var != nullptr || range.end_var != nullptr;
    });
  }
};

int64_t axes_of(const Index& place) {
  const bool mask = place.kind == Index::kTensor && place.tensor->dtype == boolean;
  if (mask) return place.along_new_axis ? 0 : place.tensor->shape.rank();
  return place.kind == Index::kNewAxis || place.kind == Index::kEllipsis ? 0 : 1;
}

void cut(Cuts& cuts, int64_t axis, const Index& place) {
  const bool at = place.kind == Index::kAt;
  const bool variable = place.begin_var != nullptr || place.end_var != nullptr;
  if (!at && !variable && place.begin == 0 && place.end == Index::kEnd && place.step == 1) return;
  // The element before the end has no end of its own, and -1 says that a variable tells.
  const int64_t end = !at ? place.end : place.begin == -1 ? Index::kEnd : place.begin + 1;
  const bool told = place.end_var != nullptr || (at && place.begin_var != nullptr);
  cuts.axes.push_back(axis);
  cuts.starts.push_back(place.begin_var != nullptr ? -1 : place.begin);
  cuts.ends.push_back(told ? -1 : end);
  cuts.steps.push_back(at ? 1 : place.step);
  if (at) cuts.decrease.push_back(axis);
  cuts.ranges.push_back(place);
  cuts.strided = cuts.strided || (!at && place.step != 1);
}

void check_element(const Var& x, int64_t axis, const Index& place) {
  const int64_t extent = x.shape[axis];
  require(
      place.begin_var != nullptr || extent < 0 || (-extent <= place.begin && place.begin < extent),
      "element {} of axis {} was asked for, but \"{}\" has shape {}", place.begin, axis, x.name,
      x.shape);
}

Variable with_axis(Variable x, int32_t axis) {
  return op("unsqueeze2", {{"X", x}}, {{"axes", Ints{axis}}}, {.outputs = {"Out", "XShape"}});
}

void check_mask(const Var& x, int64_t axis, const Shape& mask) {
  for (int64_t a = 0; a < mask.rank(); ++a) {
    const int64_t extent = x.shape[axis + a];
    require(extent < 0 || mask[a] < 0 || extent == mask[a],
            "a mask of shape {} stands for axis {} and those after it, but \"{}\" has shape {}",
            mask, axis, x.name, x.shape);
  }
}

Cuts read_index(const Var& x, const std::vector<Index>& places) {
  Cuts cuts;
  int64_t named = 0;
  for (const Index& place : places) named += axes_of(place);
  require(named <= x.shape.rank(), "{} axes are indexed, but \"{}\" has shape {}", named, x.name,
          x.shape);
  const int64_t others = x.shape.rank() - named;
  int64_t axis = 0, result = 0, kept = 0;  // the next axis of x, of the cut, of it without picks
  bool picked = false, passed = false;
  const auto pick = [&] {
    if (!picked) cuts.before_picked = kept;
    cuts.apart = cuts.apart || passed;
    picked = true;
  };
  const auto pass = [&](int64_t axes) {
    result += axes;
    kept += axes;
    passed = passed || (picked && axes > 0);
  };
  for (const Index& place : places) {
    switch (place.kind) {
      case Index::kNewAxis:
        cuts.new_axes.push_back(result);
        pass(1);
        break;
      case Index::kEllipsis:
        axis += others;
        pass(others);
        break;
      case Index::kAt:
        check_element(x, axis, place);
        cut(cuts, axis++, place);
        pick();
        break;
      case Index::kRange:
        cut(cuts, axis++, place);
        pass(1);
        break;
      case Index::kTensor: {
        Variable tensor = *place.tensor;
        const bool mask = tensor.dtype() == boolean;
        if (mask && axes_of(place) == 0) {
          cuts.new_axes.push_back(result);
          if (tensor.shape().rank() == 0) tensor = with_axis(tensor, 0);
        } else if (mask) {
          check_mask(x, axis, tensor.shape());
        }
        cuts.picks.push_back({tensor, result});
        axis += axes_of(place);
        result += mask ? tensor.shape().rank() : 1;
        pick();
        break;
      }
    }
  }
  return cuts;
}

Ints narrow(const Longs& numbers) { return {numbers.begin(), numbers.end()}; }

// The slots of the numbers that variables stand for, with the others as constants; none where all
// are numbers.
Inputs variable_bounds(const Cuts& cuts, Attrs& attrs) {
  if (!cuts.by_variables()) return {};
  Variables starts, ends;
  // Paddle 1.8 takes bounds of int32 alone, but int64 may be too large for that; and what has one
  // axis here may have none in 2.6.
  const auto constant = [](int64_t number, DType dtype) {
    return full({1}, static_cast<double>(number), dtype);
  };
  const auto bound = [&](Var* var, int64_t number) {
    if (var == nullptr) return constant(number, i32);
    const bool as_it_is = var->dtype == i32 || var->dtype == i64;
    return reshape(as_it_is ? Variable(*var) : cast(*var, i64), {1});
  };
  for (size_t i = 0; i < cuts.ranges.size(); ++i) {
    const Index& range = cuts.ranges[i];
    starts.push_back(bound(range.begin_var, cuts.starts[i]));
    if (range.kind == Index::kAt && range.begin_var != nullptr) {
      // The element before the end has no end of its own.
      const Variable after = starts.back() + 1;
      const Variable last = binary("equal", after, 0);
      const Variable whole = constant(Index::kEnd, after.dtype());
      ends.push_back(op("where", {{"Condition", last}, {"X", whole}, {"Y", after}}));
    } else {
      ends.push_back(bound(range.end_var, cuts.ends[i]));
    }
  }
  attrs["infer_flags"] = Ints(cuts.axes.size(), -1);
  return {{"StartsTensorList", starts}, {"EndsTensorList", ends}};
}

// x[...] without what tensors pick.
Variable cut_out(Variable x, const Cuts& cuts) {
  Variable out = x;
  if (!cuts.axes.empty()) {
    Attrs attrs = {{"axes", narrow(cuts.axes)},
                   {"starts", narrow(cuts.starts)},
                   {"ends", narrow(cuts.ends)},
                   {"infer_flags", Ints(cuts.axes.size(), 1)},
                   {"decrease_axis", narrow(cuts.decrease)}};
    if (cuts.strided) attrs["strides"] = narrow(cuts.steps);
    Inputs inputs = variable_bounds(cuts, attrs);
    inputs["Input"] = x;
    out = op(cuts.strided ? "strided_slice" : "slice", inputs, std::move(attrs),
             {.out = context().names.generate(x.name() + "_slice")});
  }
  Longs new_axes = cuts.new_axes;
  // A single element has one axis already.
  const bool single = std::ssize(cuts.decrease) == x.shape().rank() && !cuts.decrease.empty();
  if (single && !new_axes.empty()) new_axes.pop_back();
  if (new_axes.empty()) return out;
  return op("unsqueeze2", {{"X", out}}, {{"axes", narrow(new_axes)}},
            {.outputs = {"Out", "XShape"}});
}

Variable transposed(Variable x, const Longs& order) {
  if (std::is_sorted(order.begin(), order.end())) return x;
  return op("transpose2", {{"X", x}}, {{"axis", narrow(order)}}, {.outputs = {"Out", "XShape"}});
}

Longs inverse(const Longs& order) {
  Longs back(order.size());
  for (int64_t i = 0; i < std::ssize(order); ++i) {
    back[static_cast<size_t>(order[static_cast<size_t>(i)])] = i;
  }
  return back;
}

bool is_mask(const Cuts::Pick& pick) { return pick.tensor.dtype() == boolean; }

// The axes of a cut, those along which tensors pick in front.
Longs picked_first(const Cuts& cuts, int64_t rank) {
  Longs first, rest;
  for (const Cuts::Pick& pick : cuts.picks) {
    const int64_t axes = is_mask(pick) ? pick.tensor.shape().rank() : 1;
    for (int64_t a = 0; a < axes; ++a) first.push_back(pick.axis + a);
  }
  for (int64_t a = 0; a < rank; ++a) {
    if (std::find(first.begin(), first.end(), a) == first.end()) rest.push_back(a);
  }
  first.insert(first.end(), rest.begin(), rest.end());
  return first;
}

// The places that tensors pick, one behind the other in the last axis, as gather_nd takes them.
Variable places_of(const Cuts& cuts) {
  const auto where = [](Variable mask) { return op("where_index", {{"Condition", mask}}); };
  if (cuts.picks.size() == 1) {
    const Variable tensor = cuts.picks[0].tensor;
    if (is_mask(cuts.picks[0])) return where(tensor);
    return with_axis(tensor, -1);
  }
  Variables numbers;
  for (const Cuts::Pick& pick : cuts.picks) {
    if (!is_mask(pick)) {
      const bool narrow = pick.tensor.dtype() == i32;
      numbers.push_back(narrow ? cast(pick.tensor, i64) : pick.tensor);
      continue;
    }
    const Variable places = where(pick.tensor);
    for (int64_t a = 0; a < pick.tensor.shape().rank(); ++a) {
      numbers.push_back(index(places, {all(), at(a)}));
    }
  }
  const Variables repeated = op_outputs("broadcast_tensors", {{"X", numbers}}, {},
                                        {.outputs = {OutSlot("Out", std::ssize(numbers))}});
  return op("stack", {{"X", repeated}}, {{"axis", -1}}, {.outputs = {OutSlot("Y")}});
}

// How many axes what tensors pick has.
int64_t picked_rank(const Cuts& cuts) {
  int64_t rank = 1;
  for (const Cuts::Pick& pick : cuts.picks) {
    if (!is_mask(pick)) rank = std::max(rank, pick.tensor.shape().rank());
  }
  return rank;
}

// From the axes of the result, in numpy's order, to those of what was gathered: picked ones first.
Longs gathered_order(const Cuts& cuts, int64_t rank) {
  const int64_t picked = picked_rank(cuts), before = cuts.apart ? 0 : cuts.before_picked;
  Longs order;
  for (int64_t a = 0; a < before; ++a) order.push_back(picked + a);
  for (int64_t a = 0; a < picked; ++a) order.push_back(a);
  for (int64_t a = picked + before; a < rank; ++a) order.push_back(a);
  return order;
}

// `value` with the axes of what x[...] gives, in the order in which they are gathered.
Variable as_gathered(Variable value, const Cuts& cuts, int64_t rank) {
  const Longs order = gathered_order(cuts, rank);
  if (std::is_sorted(order.begin(), order.end())) return value;
  if (value.shape().known() && value.shape().numel() == 1) return value;
  const int64_t missing = rank - value.shape().rank();
  if (missing > 0) {
    Ints front(static_cast<size_t>(missing));
    std::iota(front.begin(), front.end(), 0);
    value = op("unsqueeze2", {{"X", value}}, {{"axes", front}}, {.outputs = {"Out", "XShape"}});
  }
  return transposed(value, inverse(order));
}

Variable as_variable(const Operand& value, DType dtype) {
  if (value.var() == nullptr) return full({1}, value.number(), dtype);
  return value.var()->dtype == dtype ? Variable(*value.var()) : cast(*value.var(), dtype);
}

// What is set backwards up to a place in front of an axis has its first element, too; what is taken
// so does not, as in Paddle.
void set_first_elements(const Var& x, Cuts& cuts) {
  for (size_t i = 0; i < cuts.axes.size(); ++i) {
    const int64_t extent = x.shape[cuts.axes[i]];
    if (cuts.steps[i] < 0 && cuts.ranges[i].end_var == nullptr && extent >= 0 &&
        cuts.ends[i] < -extent) {
      cuts.ends[i] = -1;
    }
  }
}

// set_value: the ranges of x become `value`.
Variable set_ranges(Variable x, const Cuts& cuts, const Operand& value, bool in_place) {
  Attrs attrs = {{"dtype", to_paddle(x.dtype())},
                 {"axes", cuts.axes},
                 {"steps", cuts.steps},
                 {"decrease_axes", cuts.decrease},
                 {"none_axes", cuts.new_axes}};
  Attrs ignored;
  Inputs inputs = variable_bounds(cuts, ignored);
  const bool variable = !inputs.empty();
  attrs["starts"] = variable ? Longs{} : cuts.starts;
  attrs["ends"] = variable ? Longs{} : cuts.ends;
  inputs["Input"] = x;
  if (value.var() != nullptr) {
    inputs["ValueTensor"] = as_variable(value, x.dtype());
  } else {
    const bool whole = value.whole() && !is_floating(x.dtype());
    const Scalar number =
        whole ? Scalar{static_cast<int64_t>(value.number())} : Scalar{value.number()};
    attrs["values"] = std::vector<Scalar>{number};
    attrs["shape"] = Longs{1};
  }
  OpOptions options;
  if (in_place) options.out = x.name();
  return op("set_value", inputs, std::move(attrs), options);
}

}  // namespace

Variable index(Variable x, const std::vector<Index>& places) {
  const Cuts cuts = read_index(x, places);
  const Variable taken = cut_out(x, cuts);
  if (cuts.picks.empty()) return taken;
  const Variable front = transposed(taken, picked_first(cuts, taken.shape().rank()));
  const Variable picked = op("gather_nd", {{"X", front}, {"Index", places_of(cuts)}});
  return transposed(picked, gathered_order(cuts, picked.shape().rank()));
}

Variable set(Variable x, const std::vector<Index>& places, const Operand& value, bool in_place) {
  Cuts cuts = read_index(x, places);
  set_first_elements(x, cuts);
  if (cuts.picks.empty()) return set_ranges(x, cuts, value, in_place);
  const Variable taken = cut_out(x, cuts);
  const Longs order = picked_first(cuts, taken.shape().rank());
  Variables tensors;
  int64_t axes = 0;
  for (const Cuts::Pick& pick : cuts.picks) {
    tensors.push_back(pick.tensor);
    axes += is_mask(pick) ? pick.tensor.shape().rank() : 1;
  }
  const int64_t rank = taken.shape().rank() - axes + picked_rank(cuts);
  const Variable given = as_gathered(as_variable(value, x.dtype()), cuts, rank);
  const Variable put =
      op("index_put", {{"x", transposed(taken, order)}, {"indices", tensors}, {"value", given}});
  const Variable back = transposed(put, inverse(order));
  const bool is_all = cuts.axes.empty() && cuts.new_axes.empty() && !in_place;
  return is_all ? back : set_ranges(x, cuts, back, in_place);
}

Variable constant(const Tensor& tensor) {
  const Tensor plain = tensor.plain();
  const Shape& shape = plain.shape();
  Attrs attrs = {{"shape", Ints(shape.begin(), shape.end())}, {"dtype", to_paddle(plain.dtype())}};
  const auto keep = [&]<typename Stored>(const char* name, Stored) {
    visit_dtype(plain.dtype(), [&](auto zero) {
      const auto elements = plain.span<decltype(zero)>();
      attrs[name] = std::vector<Stored>(elements.begin(), elements.end());
    });
  };
  switch (plain.dtype()) {
    case boolean:
      keep("bool_values", int32_t{});
      break;
    case f32:
      keep("fp32_values", float{});
      break;
    case f64:
      keep("fp64_values", double{});
      break;
    case i32:
      keep("int32_values", int32_t{});
      break;
    default:
      require(plain.dtype() == i64, "a constant of {} cannot stand in a program", plain.dtype());
      keep("int64_values", int64_t{});
  }
  return op("assign_value", {}, std::move(attrs), {.layer = "assign", .stop_gradient = true});
}

}  // namespace flotilla::layers

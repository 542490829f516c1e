// Rows of the API: functions that only turn their arguments over, as the tables beside the modules
// of `paddle` write them (*.api; their grammar stands in paddle/_tables.py). What a row calls is
// read when it is called for the first time.

#include "flotilla/layers/context.h"
#include "layers_convert.h"
#include "row_target.h"

namespace flotilla::python {
namespace {

using namespace nb::literals;

nb::object cast_to(nb::handle x, nb::handle dtype) {
  const layers::Variables vars = to_variables(x);
  require(vars.size() == 1, "one variable is expected, but {} were given", vars.size());
  const DType from = static_cast<Var&>(vars.front()).dtype;
  if (dtype.is_none() || to_dtype(dtype) == from) return nb::borrow(x);
  return wrap(
      layers::op("cast", {{"X", vars}},
                 {{"in_dtype", to_paddle(from)}, {"out_dtype", to_paddle(to_dtype(dtype))}}));
}

bool is_variable(nb::handle value) { return nb::isinstance<Var>(value); }

// The number of an element type, of that of a variable, or of the default one.
nb::object dtype_code(nb::handle value) {
  if (value.is_none()) return nb::cast(to_paddle(layers::context().default_dtype));
  return nb::cast(to_paddle(is_variable(value) ? nb::cast<Var&>(value).dtype : to_dtype(value)));
}

// One call of an operator, while its arguments are handed out.
class OpCall {
 public:
  OpCall(const std::string& function, const RowTarget& target)
      : function_(function), target_(target) {
    options_.layer = target.layer;
    options_.outputs = target.outputs;
    options_.stop_gradient = target.stop_gradient;
  }

  void take(const std::vector<Place>& places, nb::handle value) {
    if (value.is_none()) return;
    for (const Place& place : places) {
      if (place.kind == Place::kInput && places.size() > 1 && !is_variable(value)) continue;
      if (place.kind == Place::kExtents) {
        extents_for_ = place.name;
      } else {
        put(place, value);
        if (place.kind == Place::kInput) state_attrs(places);
        return;
      }
    }
  }

  nb::object append() {
    const std::string& type = target_.def->type;
    if (target_.outputs.empty())
      return wrap(layers::op(type, inputs_, std::move(attrs_), options_));
    const layers::Variables made = layers::op_outputs(type, inputs_, std::move(attrs_), options_);
    nb::list chosen;
    for (const size_t i : target_.returned) chosen.append(wrap(static_cast<Var&>(made[i])));
    return target_.returned.size() == 1 ? chosen[0] : nb::object(nb::tuple(chosen));
  }

 private:
  // Paddle 1.8 wants some attributes, such as those of pad2d, also where a tensor has the value.
  void state_attrs(const std::vector<Place>& places) {
    for (const Place& place : places) {
      if (place.kind != Place::kAttr) continue;
      attrs_[place.name] = target_.def->find_attr(place.name)->initial;
    }
  }

  void put(const Place& place, nb::handle value) {
    if (place.kind == Place::kInput) {
      inputs_[place.name] = to_variables(value);
    } else if (place.kind == Place::kAttr) {
      put_attr(place.name, value);
    } else if (place.kind == Place::kOut) {
      const std::vector<std::string> names = to_names(value);
      if (!names.empty()) options_.out = names.front();
    } else {
      const bool is_name = place.kind == Place::kName;
      if (!nb::isinstance<nb::str>(value)) {
        throw nb::type_error(fmt::format("{}(): {} must be a string or None, but is {} of type {}",
                                         function_, is_name ? "name" : "act",
                                         nb::cast<std::string>(nb::repr(value)),
                                         nb::cast<std::string>(value.type().attr("__name__")))
                                 .c_str());
      }
      (is_name ? options_.name : options_.act) = nb::cast<std::string>(value);
    }
  }

  void put_attr(const std::string& name, nb::handle value) {
    const bool many = PyList_Check(value.ptr()) || PyTuple_Check(value.ptr());
    if (!extents_for_.empty()) {
      const layers::ShapeArgument made = layers::shape_argument(to_operands(value));
      if (!made.tensors.empty()) inputs_[extents_for_] = made.tensors;
      attrs_[name] = made.extents;
      extents_for_.clear();
      return;
    }
    const AttrSpec* spec = target_.def->find_attr(name);
    const bool listed = spec != nullptr && kind_of(spec->initial).ends_with('s') && !many &&
                        !nb::isinstance<nb::iterable>(value);
    attrs_[name] = to_attr(listed ? nb::handle(nb::make_tuple(value)) : value);
  }

  const std::string& function_;
  const RowTarget& target_;
  layers::Inputs inputs_ = {};
  Attrs attrs_ = {};
  layers::OpOptions options_ = {};
  std::string extents_for_ = {};
};

class Row {
 public:
  Row(std::string name, std::vector<std::string> parameters, std::string text)
      : name_(std::move(name)), parameters_(std::move(parameters)), text_(std::move(text)) {}

  nb::object call(const nb::args& given) {
    const RowTarget& target = this->target();
    nb::object made = target.def == nullptr ? call_function(target, given) : append(target, given);
    if (target.stops) made.attr("stop_gradient") = make(*target.stops, given);
    const nb::object into = target.into ? make(*target.into, given) : nb::none();
    if (into.is_none()) return made;
    mark_user_line();
    return wrap(
        layers::op("assign", {{"X", to_variables(made)}}, {}, {.out = to_names(into).at(0)}));
  }

  // What it calls; read by the first who asks.
  const RowTarget& target() {
    if (!target_) {
      try {
        target_ = read_target(parameters_, text_);
      } catch (Error& error) {
        error.note("row", fmt::format("{} = {}", name_, text_));
        throw;
      }
    }
    return *target_;
  }

 private:
  nb::object append(const RowTarget& target, const nb::args& given) const {
    mark_user_line();
    if (target.takes_numbers && !(is_variable(given[0]) && is_variable(given[1]))) {
      return wrap(layers::binary(target.def->type, to_operand(given[0]), to_operand(given[1])));
    }
    OpCall call(name_, target);
    for (const Entry& entry : target.entries) call.take(entry.places, make(entry.value, given));
    return call.append();
  }

  static nb::object make(const Given& one, const nb::args& given) {
    return one.argument < 0 ? one.constant : nb::borrow(given[static_cast<size_t>(one.argument)]);
  }

  static nb::object make(const Value& value, const nb::args& given) {
    nb::object made = make(value.given, given);
    if (value.form == Value::kMissing) return nb::bool_(made.is_none());
    if (value.form == Value::kNot) return nb::bool_(PyObject_IsTrue(made.ptr()) == 0);
    if (value.form == Value::kCast) return cast_to(made, make(*value.dtype, given));
    if (made.is_none() && value.otherwise) made = make(*value.otherwise, given);
    return value.form == Value::kDtype ? dtype_code(made) : made;
  }

  static nb::object call_function(const RowTarget& target, const nb::args& given) {
    nb::list positional;
    nb::dict keywords;
    for (const Entry& entry : target.entries) {
      const nb::object value = make(entry.value, given);
      const Place& place = entry.places.front();
      if (place.kind == Place::kPositional) {
        positional.append(value);
      } else {
        keywords[place.name.c_str()] = value;
      }
    }
    nb::object made = nb::steal(
        PyObject_Call(target.function.ptr(), nb::tuple(positional).ptr(), keywords.ptr()));
    if (!made.is_valid()) throw nb::python_error();
    return made;
  }

  std::string name_;
  std::vector<std::string> parameters_;
  std::string text_;
  std::optional<RowTarget> target_ = {};
};

}  // namespace

void bind_rows(nb::module_& m) {
  nb::class_<Row>(m, "Row", "A function of the API that only turns its arguments over.")
      .def(nb::init<std::string, std::vector<std::string>, std::string>(), "name"_a, "parameters"_a,
           "target"_a)
      .def("__call__", &Row::call, "arguments"_a)
      .def_prop_ro(
          "op", [](Row& row) { return row.target().def ? row.target().def->type : ""; },
          "The type of the operator that it appends; empty where it calls a function.")
      .def_prop_ro(
          "doc",
          [](Row& row) -> nb::object {
            const RowTarget& target = row.target();
            return target.def ? nb::cast(target.def->doc) : target.function.attr("__doc__");
          },
          "What that says of itself.");
}

}  // namespace flotilla::python

// Rows of the API: functions that only turn their arguments over, as the tables beside the modules
// of `paddle` write them (*.api; their grammar stands in paddle/_tables.py). What a row calls is
// read when it is called for the first time.

#include <algorithm>
#include <cctype>

#include "flotilla/layers/context.h"
#include "flotilla/op/op_def.h"
#include "layers_convert.h"

namespace flotilla::python {
namespace {

using namespace nb::literals;

// Where a value goes.
struct Place {
  enum Kind { kInput, kExtents, kAttr, kName, kAct, kOut, kPositional, kKeyword };
  Kind kind = kAttr;
  std::string name = {};
};

// An argument or a constant.
struct Given {
  int argument = -1;
  nb::object constant = {};
};

// What is handed on: one of these, or something made of it.
struct Value {
  enum Form { kAsIs, kDtype, kCast, kNot, kMissing };
  Form form = kAsIs;
  Given given = {};
  std::optional<Given> otherwise = {};  // where that is None
  std::optional<Given> dtype = {};      // of kCast
};

struct Entry {
  std::vector<Place> places = {};  // the first that takes the value
  Value value = {};
};

struct Target {
  nb::object function = {};    // a function of Python; null: an operator
  const OpDef* def = nullptr;  // the operator
  std::vector<Entry> entries = {};
  std::vector<layers::OutSlot> outputs = {};
  std::vector<size_t> returned = {};  // which of the outputs
  std::string layer = {};
  bool stop_gradient = false;
  bool takes_numbers = false;  // one of the first two arguments may be a number
};

std::string_view trim(std::string_view text) {
  const size_t first = text.find_first_not_of(" \n");
  if (first == text.npos) return {};
  return text.substr(first, text.find_last_not_of(" \n") - first + 1);
}

// The parts of `text` between the separators that stand in no bracket and no quotes.
std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  int depth = 0;
  char quote = 0;
  size_t begin = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != 0) {
      if (c == quote) quote = 0;
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == separator && depth == 0) {
      parts.push_back(trim(text.substr(begin, i - begin)));
      begin = i + 1;
    } else {
      depth += (c == '(' || c == '[') - (c == ')' || c == ']');
    }
  }
  if (!trim(text.substr(begin)).empty()) parts.push_back(trim(text.substr(begin)));
  return parts;
}

// "dtype(x)" is what stands between the brackets of the word "dtype"; nothing if it does not.
std::optional<std::string_view> inside(std::string_view text, std::string_view word) {
  if (!text.starts_with(word) || !text.substr(word.size()).starts_with('(')) return {};
  const size_t end = text.rfind(')');
  return text.substr(word.size() + 1, end - word.size() - 1);
}

// Reads the text of a target with the names of the parameters before it.
class Reader {
 public:
  Reader(const std::vector<std::string>& parameters, std::string_view text)
      : parameters_(parameters), used_(parameters.size(), false) {
    const std::vector<std::string_view> parts = split(text, ';');
    for (size_t i = 1; i < parts.size(); ++i) read_option(parts[i]);
    const size_t arrow = parts.front().find("->");
    const std::string_view call = trim(parts.front().substr(0, arrow));
    if (arrow != parts.front().npos) read_outputs(parts.front().substr(arrow + 2));
    const std::string_view callee = call.substr(0, call.find('('));
    const auto arguments = split(inside(call, callee).value_or(""), ',');
    if (callee.find('.') != callee.npos) {
      read_function(callee, arguments);
    } else {
      read_op(callee, arguments);
    }
    for (size_t i = 0; i < used_.size(); ++i) {
      require(used_[i], "nothing takes the argument {}", parameters_[i]);
    }
  }

  Target target() && { return std::move(target_); }

 private:
  void read_option(std::string_view option) {
    if (option == "stop_gradient") {
      target_.stop_gradient = true;
    } else if (option == "number") {
      target_.takes_numbers = true;
    } else if (option.starts_with("layer=")) {
      target_.layer = option.substr(option.find('=') + 1);
    } else {
      require(option.starts_with("unused "), "there is no option \"{}\"", option);
      for (const std::string_view name : split(option.substr(7), ',')) argument(name);
    }
  }

  void read_outputs(std::string_view text) {
    for (std::string_view out : split(text, ',')) {
      const bool dropped = out.starts_with('[');
      if (dropped) out = out.substr(1, out.size() - 2);
      if (!dropped) target_.returned.push_back(target_.outputs.size());
      target_.outputs.emplace_back(std::string(out));
    }
  }

  void read_function(std::string_view callee, const std::vector<std::string_view>& arguments) {
    const size_t dot = callee.rfind('.');
    const std::string module(callee.substr(0, dot));
    target_.function = nb::module_::import_(module == "core" ? "_flotilla" : module.c_str())
                           .attr(std::string(callee.substr(dot + 1)).c_str());
    for (const std::string_view part : arguments) {
      const size_t equals = split(part, '=').size() == 2 ? part.find('=') : part.npos;
      if (equals == part.npos) {
        target_.entries.push_back({{{Place::kPositional}}, value(part)});
      } else {
        const std::string name(trim(part.substr(0, equals)));
        target_.entries.push_back(
            {{{Place::kKeyword, name}}, value(trim(part.substr(equals + 1)))});
      }
    }
  }

  void read_op(std::string_view type, const std::vector<std::string_view>& arguments) {
    target_.def = &op_def(type);
    for (const std::string_view part : arguments) {
      const size_t equals = part.find('=');
      require(equals != part.npos, "\"{}\" is not PLACE=VALUE", part);
      Entry entry;
      for (const std::string_view name : split(part.substr(0, equals), '|')) {
        entry.places.push_back(place(name));
      }
      entry.value = value(trim(part.substr(equals + 1)));
      target_.entries.push_back(std::move(entry));
    }
    for (const std::string& parameter : parameters_) {
      const std::optional<Place> found = find_place(parameter);
      if (found && !is_given(*found)) target_.entries.push_back({{*found}, value(parameter)});
    }
  }

  bool is_given(const Place& place) const {
    for (const Entry& entry : target_.entries) {
      for (const Place& one : entry.places) {
        if (one.kind == place.kind && one.name == place.name) return true;
      }
    }
    return false;
  }

  Place place(std::string_view name) const {
    if (name.ends_with("[]")) {
      return {Place::kExtents, std::string(name.substr(0, name.size() - 2))};
    }
    const std::optional<Place> found = find_place(name);
    require(found.has_value(), "{} has neither an input nor an attribute \"{}\"", target_.def->type,
            name);
    return *found;
  }

  std::optional<Place> find_place(std::string_view name) const {
    if (target_.def->find_attr(name) != nullptr) return Place{Place::kAttr, std::string(name)};
    const auto same = [](unsigned char a, unsigned char b) {
      return std::tolower(a) == std::tolower(b);
    };
    for (const Slot& slot : target_.def->inputs) {
      if (std::equal(slot.name.begin(), slot.name.end(), name.begin(), name.end(), same)) {
        return Place{Place::kInput, slot.name};
      }
    }
    if (name == "name") return Place{Place::kName};
    if (name == "act") return Place{Place::kAct};
    if (name == "out") return Place{Place::kOut};
    return {};
  }

  int argument(std::string_view name) {
    const auto found = std::find(parameters_.begin(), parameters_.end(), name);
    require(found != parameters_.end(), "there is no argument \"{}\"", name);
    used_[static_cast<size_t>(found - parameters_.begin())] = true;
    return static_cast<int>(found - parameters_.begin());
  }

  Given given(std::string_view text) {
    if (std::find(parameters_.begin(), parameters_.end(), text) != parameters_.end()) {
      return {argument(text)};
    }
    return {.constant = nb::module_::import_("ast").attr("literal_eval")(std::string(text))};
  }

  Value value(std::string_view text, Value::Form form = Value::kAsIs) {
    if (const auto inner = inside(text, "dtype")) return value(*inner, Value::kDtype);
    if (const auto inner = inside(text, "missing")) return value(*inner, Value::kMissing);
    if (text.starts_with("not ")) return value(text.substr(4), Value::kNot);
    if (const auto inner = inside(text, "cast")) {
      const std::vector<std::string_view> both = split(*inner, ',');
      return {Value::kCast, given(both.at(0)), {}, given(both.at(1))};
    }
    const size_t either = text.find(" or ");
    Value made = {form, given(trim(text.substr(0, either)))};
    if (either != text.npos) made.otherwise = given(trim(text.substr(either + 4)));
    return made;
  }

  const std::vector<std::string>& parameters_;
  std::vector<bool> used_;
  Target target_ = {};
};

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
  OpCall(const std::string& function, const Target& target) : function_(function), target_(target) {
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
  const Target& target_;
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
    const Target& target = this->target();
    if (target.def == nullptr) return call_function(target, given);
    mark_user_line();
    if (target.takes_numbers && !(is_variable(given[0]) && is_variable(given[1]))) {
      return wrap(layers::binary(target.def->type, to_operand(given[0]), to_operand(given[1])));
    }
    OpCall call(name_, target);
    for (const Entry& entry : target.entries) call.take(entry.places, make(entry.value, given));
    return call.append();
  }

  // What it calls; read by the first who asks.
  const Target& target() {
    if (!target_) {
      try {
        target_ = Reader(parameters_, text_).target();
      } catch (Error& error) {
        error.note("row", fmt::format("{} = {}", name_, text_));
        throw;
      }
    }
    return *target_;
  }

 private:
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

  static nb::object call_function(const Target& target, const nb::args& given) {
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
  std::optional<Target> target_ = {};
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
            const Target& target = row.target();
            return target.def ? nb::cast(target.def->doc) : target.function.attr("__doc__");
          },
          "What that says of itself.");
}

}  // namespace flotilla::python

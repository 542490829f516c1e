#include <algorithm>

#include "bind.h"
#include "flotilla/ir/text.h"
#include "flotilla/op/build.h"
#include "flotilla/op/op_def.h"
#include "flotilla/runtime/model_io.h"

namespace flotilla::python {
namespace {

nb::list slot_names(const Slots& slots) {
  nb::list names;
  for (const auto& [slot, vars] : slots) names.append(slot);
  return names;
}

std::vector<std::string> to_list(std::span<const std::string> names) {
  return {names.begin(), names.end()};
}

nb::object attr_of(const Op& op, std::string_view name) {
  if (const Attr* found = op.find_attr(name)) return from_attr(*found);
  const OpDef* def = find_op(op.type());
  if (const AttrSpec* spec = def == nullptr ? nullptr : def->find_attr(name)) {
    return from_attr(spec->initial);
  }
  const BuildState unmarked;
  if (name == "op_role") return nb::cast(unmarked.op_role);
  if (name == "op_role_var") return nb::cast(unmarked.op_role_var);
  if (name == "op_namescope") return nb::cast(unmarked.name_scope);
  if (name == "op_device") return nb::cast(unmarked.device);
  return nb::none();
}

int64_t position_of(const Op& op) {
  const auto& ops = op.block()->ops();
  const auto found = std::find_if(ops.begin(), ops.end(),
                                  [&](const std::unique_ptr<Op>& one) { return one.get() == &op; });
  require(found != ops.end(), "the op was taken out of its block: {}", print(op));
  return found - ops.begin();
}

// A description as keyword arguments give it: what is None stays as it is.
void describe(Var& var, nb::kwargs kwargs) {
  for (auto [key, value] : kwargs) {
    const std::string name = nb::cast<std::string>(key);
    if (value.is_none()) continue;
    if (name == "shape") var.shape = to_shape(value);
    if (name == "dtype") var.dtype = to_dtype(value);
    if (name == "lod_level") var.lod_level = nb::cast<int32_t>(value);
    if (name == "persistable") var.persistable = nb::cast<bool>(value);
    if (name == "stop_gradient") var.stop_gradient = nb::cast<bool>(value);
    if (name == "is_data") var.is_data = nb::cast<bool>(value);
    if (name == "need_check_feed") var.need_check_feed = nb::cast<bool>(value);
    if (name == "type") var.kind = static_cast<VarKind>(nb::cast<int32_t>(value));
  }
}

// `more`: what Paddle's signature takes besides and an op has no use for, such as stop_gradient.
nb::object append(Block& block, std::string type, nb::object inputs, nb::object outputs,
                  nb::object attrs, nb::kwargs) {
  mark_user_line(block.program());
  return wrap(append_op(block, std::move(type), to_slots(inputs), to_slots(outputs),
                        attrs.is_none() ? Attrs{} : to_attrs(nb::cast<nb::dict>(attrs))));
}

nb::object insert(Block& block, int64_t position, std::string type, nb::object inputs,
                  nb::object outputs, nb::object attrs, nb::kwargs) {
  const auto size = static_cast<int64_t>(block.size());
  if (position < 0) position += size;
  require(0 <= position && position <= size, "there is no position {} in a block of {} ops",
          position, size);
  mark_user_line(block.program());
  return wrap(insert_op(block, static_cast<size_t>(position), std::move(type), to_slots(inputs),
                        to_slots(outputs),
                        attrs.is_none() ? Attrs{} : to_attrs(nb::cast<nb::dict>(attrs))));
}

void remove_op(Block& block, int64_t position, bool) {
  const auto size = static_cast<int64_t>(block.size());
  if (position < 0) position += size;
  require(0 <= position && position < size, "there is no op {} in a block of {} ops", position,
          size);
  block.erase(static_cast<size_t>(position));
}

// In the inputs alone, or in the outputs.
template <auto side, auto set>
void rename_side(Op& op, const std::string& from, const std::string& to) {
  const Slots slots = (op.*side)();
  for (auto [slot, vars] : slots) {
    std::replace(vars.begin(), vars.end(), from, to);
    (op.*set)(slot, std::move(vars));
  }
}

void bind_op(nb::module_& m) {
  nb::class_<Op>(m, "Operator", nb::dynamic_attr(), "One operator of a block.")
      .def_prop_ro("type", &Op::type)
      .def_prop_ro("input_arg_names", [](const Op& op) { return names_in(op.inputs()); })
      .def_prop_ro("output_arg_names", [](const Op& op) { return names_in(op.outputs()); })
      .def_prop_ro("input_names", [](const Op& op) { return slot_names(op.inputs()); })
      .def_prop_ro("output_names", [](const Op& op) { return slot_names(op.outputs()); })
      .def_prop_ro("attr_names",
                   [](const Op& op) {
                     nb::list names;
                     for (const auto& [name, value] : op.attrs()) names.append(name);
                     return names;
                   })
      .def("input",
           [](const Op& op, std::string_view slot) { return to_list(op.input_list(slot)); })
      .def("output",
           [](const Op& op, std::string_view slot) { return to_list(op.output_list(slot)); })
      .def_prop_ro("_role", &Op::role)
      .def("has_attr",
           [](const Op& op, std::string_view name) { return op.attrs().contains(name); })
      .def("attr", &attr_of, nb::arg("name"), "The attribute, or what it is where nothing is said.")
      .def("all_attrs",
           [](const Op& op) {
             nb::dict attrs;
             for (const auto& [name, value] : op.attrs()) attrs[name.c_str()] = from_attr(value);
             return attrs;
           })
      .def("_set_attr",
           [](Op& op, std::string_view name, nb::object value) {
             const Attr* now = op.find_attr(name);
             const OpDef* def = find_op(op.type());
             const AttrSpec* spec = def == nullptr ? nullptr : def->find_attr(name);
             Attr given = to_attr(value);
             if (spec != nullptr)
               given = convert(given, spec->initial, name);
             else if (now != nullptr)
               given = convert(given, *now, name);
             op.set_attr(name, std::move(given));
           })
      .def("_remove_attr", &Op::remove_attr)
      .def("_rename_input", &rename_side<&Op::inputs, &Op::set_input>)
      .def("_rename_output", &rename_side<&Op::outputs, &Op::set_output>)
      .def("_set_input", &Op::set_input)
      .def("_set_output", &Op::set_output)
      .def_prop_ro("block", [](Op& op) { return wrap(*op.block()); })
      .def_prop_ro("idx", &position_of, "The position in its block.")
      .def(
          "to_string", [](const Op& op, bool) { return print(op); },
          nb::arg("throw_on_error") = false)
      .def("__str__", [](const Op& op) { return print(op); })
      .def("__repr__", [](const Op& op) { return print(op); });
}

void bind_var(nb::module_& m) {
  nb::class_<Var>(m, "Variable", nb::dynamic_attr(), "A named variable of a program.")
      .def_prop_rw(
          "name", [](const Var& v) { return v.name; },
          [](Var& v, const std::string& name) { v.block->rename_var(v.name, name); })
      .def_prop_ro("shape", [](const Var& v) { return from_shape(v.shape); })
      .def("_set_shape",
           [](Var& v, nb::object shape) {
             v.shape = to_shape(shape);
             v.block->program().touch();
           })
      .def_prop_ro("dtype_name", [](const Var& v) { return std::string(long_name_of(v.dtype)); })
      .def("_set_dtype", [](Var& v, nb::object dtype) { v.dtype = to_dtype(dtype); })
      .def_prop_ro("_dtype_code", [](const Var& v) { return to_paddle(v.dtype); })
      .def_prop_rw(
          "lod_level", [](const Var& v) { return v.lod_level; },
          [](Var& v, int32_t level) { v.lod_level = level; })
      .def_prop_rw(
          "persistable", [](const Var& v) { return v.persistable; },
          [](Var& v, bool persistable) {
            v.persistable = persistable;
            v.block->program().touch();
          })
      .def_rw("stop_gradient", &Var::stop_gradient)
      .def_rw("is_data", &Var::is_data)
      .def_rw("need_check_feed", &Var::need_check_feed)
      .def_prop_ro("_kind", [](const Var& v) { return static_cast<int32_t>(v.kind); })
      .def_prop_ro("is_parameter", &Var::is_parameter)
      .def_prop_rw(
          "trainable", [](const Var& v) { return v.parameter && v.parameter->trainable; },
          [](Var& v, bool trainable) {
            if (!v.parameter) v.parameter.emplace();
            v.parameter->trainable = trainable;
            v.stop_gradient = !trainable;
          })
      .def_prop_rw(
          "_learning_rate",
          [](const Var& v) { return v.parameter ? v.parameter->learning_rate : 1; },
          [](Var& v, float rate) {
            if (!v.parameter) v.parameter.emplace();
            v.parameter->learning_rate = rate;
          })
      .def_prop_rw(
          "regularizer",
          [](const Var& v) { return v.parameter ? v.parameter->regularizer : std::nullopt; },
          [](Var& v, std::optional<Regularizer> regularizer) {
            if (!v.parameter) v.parameter.emplace();
            v.parameter->regularizer = regularizer;
          },
          nb::for_setter(nb::arg().none()))
      .def_prop_rw(
          "do_model_average",
          [](const Var& v) { return !v.parameter || v.parameter->do_model_average; },
          [](Var& v, bool average) {
            if (v.parameter) v.parameter->do_model_average = average;
          })
      .def_prop_rw(
          "need_clip", [](const Var& v) { return !v.parameter || v.parameter->need_clip; },
          [](Var& v, bool need_clip) {
            if (v.parameter) v.parameter->need_clip = need_clip;
          })
      .def_prop_ro("block", [](Var& v) { return wrap(*v.block); })
      .def("_describe", &describe)
      .def("__hash__", [](const Var& v) { return reinterpret_cast<std::intptr_t>(&v) >> 4; })
      .def(
          "to_string", [](const Var& v, bool, bool) { return print(v); },
          nb::arg("throw_on_error") = false, nb::arg("with_details") = false)
      .def("__str__", [](const Var& v) { return print(v); })
      .def("__repr__", [](const Var& v) { return print(v); });
}

void bind_block(nb::module_& m) {
  nb::class_<Block>(m, "Block", nb::dynamic_attr(), "Operators in order, and their variables.")
      .def_prop_ro("idx", &Block::index)
      .def_prop_ro("parent_idx", &Block::parent)
      .def_prop_ro("forward_block_idx", &Block::forward_block)
      .def_prop_ro("program", [](Block& b) { return b.program().shared_from_this(); })
      .def("_find",
           [](Block& b, std::string_view name) -> nb::object {
             Var* found = b.find_var(name);
             return found == nullptr ? nb::none() : wrap(*found);
           })
      .def("_find_recursive",
           [](Block& b, std::string_view name) -> nb::object {
             Var* found = b.find_var_recursive(name);
             return found == nullptr ? nb::none() : wrap(*found);
           })
      .def("has_var", [](Block& b, std::string_view name) { return b.find_var(name) != nullptr; })
      .def("var", [](Block& b, std::string_view name) { return wrap(b.var(name)); })
      .def("_var_recursive", [](Block& b, std::string_view name) { return wrap(b.var(name)); })
      .def("_vars",
           [](Block& b) {
             nb::list vars;
             for (const auto& var : b.vars()) vars.append(wrap(*var));
             return vars;
           })
      .def("all_parameters",
           [](Block& b) {
             nb::list vars;
             for (Var* var : b.parameters()) vars.append(wrap(*var));
             return vars;
           })
      .def_prop_ro("ops",
                   [](Block& b) {
                     nb::list ops;
                     for (const auto& op : b.ops()) ops.append(wrap(*op));
                     return ops;
                   })
      .def("_create_var",
           [](Block& b, std::string name, nb::kwargs kwargs) {
             Var var{.name = std::move(name)};
             if (const Var* existing = b.find_var(var.name)) var = *existing;
             describe(var, kwargs);
             return wrap(b.add_var(std::move(var)));
           })
      .def("_make_parameter",
           [](Block& b, std::string_view name, bool trainable, float learning_rate) {
             Var& var = b.var(name);
             var.persistable = true;
             var.parameter = ParameterInfo{.trainable = trainable, .learning_rate = learning_rate};
           })
      .def("_remove_var", &Block::remove_var)
      .def("_rename_var",
           [](Block& b, std::string_view from, std::string_view to) {
             b.rename_var(from, to);
             return wrap(b.var(to));
           })
      .def("append_op", &append, nb::arg("type"), nb::arg("inputs") = nb::none(),
           nb::arg("outputs") = nb::none(), nb::arg("attrs") = nb::none(), nb::arg("more"),
           "Append an operator: variables or names by slot, attributes by name.")
      .def("_insert_op", &insert, nb::arg("index"), nb::arg("type"), nb::arg("inputs") = nb::none(),
           nb::arg("outputs") = nb::none(), nb::arg("attrs") = nb::none(), nb::arg("more"))
      .def("_remove_op", &remove_op, nb::arg("index"), nb::arg("sync") = true);
}

void bind_program(nb::module_& m) {
  nb::class_<Program>(m, "Program", nb::dynamic_attr(), "Blocks of operators.")
      .def(nb::new_([] { return std::make_shared<Program>(); }))
      .def("global_block", [](Program& p) { return wrap(p.global_block()); })
      .def("block", [](Program& p, int32_t index) { return wrap(p.block(index)); })
      .def("current_block", [](Program& p) { return wrap(p.current_block()); })
      .def_prop_ro("num_blocks", &Program::num_blocks)
      .def("_create_block", [](Program& p) { return wrap(p.enter_block()); })
      .def("_rollback", &Program::leave_block)
      .def_prop_rw("random_seed", &Program::random_seed, &Program::set_random_seed)
      .def_prop_ro("_id", &Program::id)
      .def_prop_ro("_version", &Program::version)
      .def_prop_rw(
          "_op_role", [](Program& p) { return p.build().op_role; },
          [](Program& p, int32_t role) { p.build().op_role = role; },
          "What the ops that are appended now are for.")
      .def_prop_rw(
          "_op_role_var", [](Program& p) { return p.build().op_role_var; },
          [](Program& p, std::vector<std::string> vars) {
            p.build().op_role_var = std::move(vars);
          })
      .def_prop_rw(
          "_name_scope", [](Program& p) { return p.build().name_scope; },
          [](Program& p, std::string scope) { p.build().name_scope = std::move(scope); })
      .def_prop_rw(
          "_device", [](Program& p) { return p.build().device; },
          [](Program& p, std::string device) { p.build().device = std::move(device); })
      .def("_clone", &Program::clone, nb::arg("for_test") = false)
      .def("_prune_to", &Program::prune)
      .def("all_parameters",
           [](Program& p) {
             nb::list vars;
             for (Var* var : p.parameters()) vars.append(wrap(*var));
             return vars;
           })
      .def("_serialize",
           [](const Program& p) {
             const std::string bytes = serialize_program(p);
             return nb::bytes(bytes.data(), bytes.size());
           })
      .def_static("parse_from_string",
                  [](nb::bytes bytes) {
                    return deserialize_program(std::string_view(bytes.c_str(), bytes.size()));
                  })
      .def_static("_parse_text", [](std::string_view text) { return parse(text); })
      .def("__str__", [](const Program& p) { return print(p); })
      .def(
          "to_string", [](const Program& p, bool, bool) { return print(p); },
          nb::arg("throw_on_error") = false, nb::arg("with_details") = false);
}

}  // namespace

void bind_ir(nb::module_& m) {
  bind_op(m);
  bind_var(m);
  bind_block(m);
  bind_program(m);
  m.attr("kForwardRole") = static_cast<int32_t>(kForwardRole);
  m.attr("kBackwardRole") = static_cast<int32_t>(kBackwardRole);
  m.attr("kOptimizeRole") = static_cast<int32_t>(kOptimizeRole);
  m.attr("kLrSchedRole") = static_cast<int32_t>(kLrSchedRole);
  m.def("op_types", &op_types, "The types of all operators, sorted.");
  m.def(
      "op_attr_kinds",
      [](std::string_view type) {
        std::map<std::string, std::string> kinds;
        for (const AttrSpec& spec : op_def(type).attrs) kinds[spec.name] = kind_of(spec.initial);
        return kinds;
      },
      "The attributes of an operator and their kinds, as error messages name them.");
  m.def("op_doc", [](std::string_view type) { return op_def(type).doc; });
  m.def(
      "op_inputs",
      [](std::string_view type) {
        std::map<std::string, bool> needed;
        for (const Slot& slot : op_def(type).inputs) needed[slot.name] = !slot.optional;
        return needed;
      },
      "The input slots of an operator, and whether it needs each.");
  m.def(
      "op_outputs",
      [](std::string_view type) {
        std::vector<std::string> names;
        for (const Slot& slot : op_def(type).outputs) names.push_back(slot.name);
        return names;
      },
      "The output slots of an operator.");
  m.def("dtype_name", [](nb::object dtype) { return std::string(long_name_of(to_dtype(dtype))); });
  m.def("dtype_code", [](nb::object dtype) { return to_paddle(to_dtype(dtype)); });
  m.def(
      "names_of", [](nb::object vars) { return to_names(vars); }, nb::arg("vars").none(),
      "The names of a variable, of a list of variables or names, or of nothing.");
  m.def("nearest", &nearest, "The candidate nearest to a word, or an empty text.");
}

}  // namespace flotilla::python

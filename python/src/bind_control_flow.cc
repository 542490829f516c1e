// Branches and loops. The functions of Python take nothing and return flat lists: what they return
// to the user, and what they are given, is nested in Python.

#include "flotilla/layers/control_flow.h"
#include "layers_convert.h"

namespace flotilla::python {
namespace {

using namespace nb::literals;
using layers::GuardedBlock;

// One bool for an op of `type`; its shape and dtype are checked by the layer.
layers::Variable to_condition(const char* type, nb::handle value) {
  if (nb::isinstance<Var>(value)) return nb::cast<Var&>(value);
  const std::string kind = nb::cast<std::string>(value.type().attr("__name__"));
  throw nb::type_error(
      fmt::format("the condition of {} must be a variable, but is of type {}", type, kind).c_str());
}

layers::Value to_value(nb::handle value) {
  if (nb::isinstance<Var>(value)) return nb::cast<Var&>(value);
  if (PyBool_Check(value.ptr())) return value.ptr() == Py_True;
  if (PyLong_Check(value.ptr())) return nb::cast<int64_t>(value);
  return nb::cast<double>(nb::float_(value));
}

// The functions of one call. What they return is kept until its end: variables keep their programs.
class Functions {
 public:
  // What a function of the user's appends carries its lines; what follows, the line of the call.
  nb::object call(const nb::object& function) {
    nb::object made = function();
    returned_.append(made);
    mark_user_line();
    return made;
  }

  layers::Values values_of(const nb::object& function) {
    layers::Values values;
    for (nb::handle value : call(function)) values.push_back(to_value(value));
    return values;
  }

  // REQUIRES: lives as long as what is returned
  layers::Branch branch(const nb::object& function) {
    if (function.is_none()) return {};
    return [this, function] { return values_of(function); };
  }

 private:
  nb::list returned_;
};

// Always a list.
nb::list wrap_list(const layers::Variables& vars) {
  nb::list list;
  for (const layers::Variable& var : vars) list.append(wrap(static_cast<Var&>(var)));
  return list;
}

nb::list cond(nb::object pred, nb::object true_fn, nb::object false_fn) {
  mark_user_line();
  Functions functions;
  try {
    return wrap_list(layers::cond(to_condition("conditional_block", pred),
                                  functions.branch(true_fn), functions.branch(false_fn)));
  } catch (const layers::DTypesDiffer& error) {
    throw nb::type_error(error.what());
  }
}

void bind_branches(nb::module_& m) {
  m.def("cond", &cond, "pred"_a, "true_fn"_a.none(), "false_fn"_a.none());
  m.def(
      "case",
      [](const std::vector<std::pair<nb::object, nb::object>>& pairs, nb::object otherwise) {
        mark_user_line();
        Functions functions;
        std::vector<layers::Case> cases;
        for (const auto& [condition, function] : pairs) {
          cases.push_back({to_condition("case", condition), functions.branch(function)});
        }
        return wrap_list(layers::case_(std::move(cases), functions.branch(otherwise)));
      },
      "pairs"_a, "otherwise"_a.none());
  m.def(
      "switch_case",
      [](Var& index, const std::vector<std::pair<int64_t, nb::object>>& pairs,
         nb::object otherwise) {
        mark_user_line();
        Functions functions;
        std::vector<layers::NumberedCase> cases;
        for (const auto& [number, function] : pairs) {
          cases.push_back({number, functions.branch(function)});
        }
        return wrap_list(layers::switch_case(index, std::move(cases), functions.branch(otherwise)));
      },
      "index"_a, "pairs"_a, "otherwise"_a.none());
  m.def(
      "while_loop",
      [](nb::object cond, nb::object body, nb::object loop_vars, bool is_test) {
        mark_user_line();
        Functions functions;
        layers::while_loop(
            [&](const layers::Variables&) { return to_condition("while", functions.call(cond)); },
            [&](const layers::Variables&) { return functions.values_of(body); },
            to_variables(loop_vars), is_test);
      },
      "cond"_a, "body"_a, "loop_vars"_a, "is_test"_a = false);
}

// A block, and a Switch, keep the variables of their conditions, which keep their programs.
void bind_blocks(nb::module_& m) {
  nb::class_<GuardedBlock>(m, "GuardedBlock", "A block that an op runs, for a `with`.")
      .def("__enter__", &GuardedBlock::enter)
      .def(
          "__exit__",
          [](GuardedBlock& block, nb::handle failed, nb::handle, nb::handle) {
            if (!failed.is_none()) return block.give_up();
            mark_user_line();
            block.leave();
          },
          "failed"_a.none(), "error"_a.none(), "traceback"_a.none());
  m.def(
      "while_block",
      [](nb::object condition, bool is_test) {
        return layers::while_block(to_condition("while", condition), is_test);
      },
      "condition"_a, "is_test"_a = false, nb::keep_alive<0, 1>(),
      "A block that runs as long as the condition is true; it must change the condition.");
  nb::class_<layers::Switch>(m, "Switch", nb::dynamic_attr(),
                             "Branches of which the first true one runs.")
      .def(nb::init<>())
      .def("__enter__", [](nb::object self) { return self; })
      .def(
          "__exit__", [](layers::Switch&, nb::handle, nb::handle, nb::handle) { return false; },
          "failed"_a.none(), "error"_a.none(), "traceback"_a.none())
      .def(
          "case",
          [](layers::Switch& self, nb::object condition) {
            mark_user_line();
            return self.case_(to_condition("conditional_block", condition));
          },
          "condition"_a, nb::keep_alive<0, 2>(), nb::keep_alive<1, 2>(),
          "A branch, for a ``with``.")
      .def("default", &layers::Switch::default_, nb::keep_alive<0, 1>(),
           "The branch that runs if no other does.");
}

}  // namespace

void bind_control_flow(nb::module_& m) {
  bind_branches(m);
  bind_blocks(m);
}

}  // namespace flotilla::python

// Recurrent layers, over sequences and step by step.

#include "flotilla/layers/recurrent.h"
#include "layers_convert.h"

namespace flotilla::python {
namespace {

using namespace nb::literals;

void bind_sequences(nb::module_& m) {
  m.def(
      "dynamic_lstm",
      [](Var& x, int64_t size, nb::object h_0, nb::object c_0, nb::object weight, nb::object bias,
         bool use_peepholes, bool is_reverse, const std::string& gate_activation,
         const std::string& cell_activation, const std::string& candidate_activation,
         nb::object dtype, Text name) {
        mark_user_line();
        const std::optional<layers::ParamAttr> made = to_param_attr(bias);
        require(made.has_value(), "dynamic_lstm always has a bias: bias_attr must not be False");
        const layers::HiddenAndCell state =
            layers::dynamic_lstm(x, size,
                                 {.h_0 = to_variables(h_0),
                                  .c_0 = to_variables(c_0),
                                  .weight = to_needed_attr(weight, "the weight of dynamic_lstm"),
                                  .bias = *made,
                                  .use_peepholes = use_peepholes,
                                  .is_reverse = is_reverse,
                                  .gate_activation = gate_activation,
                                  .cell_activation = cell_activation,
                                  .candidate_activation = candidate_activation,
                                  .dtype = to_dtype(dtype),
                                  .name = text(name)});
        return nb::make_tuple(wrap(state.hidden), wrap(state.cell));
      },
      "x"_a, "size"_a, "h_0"_a.none(), "c_0"_a.none(), "weight"_a.none(), "bias"_a.none(),
      "use_peepholes"_a, "is_reverse"_a, "gate_activation"_a, "cell_activation"_a,
      "candidate_activation"_a, "dtype"_a, "name"_a.none(), "(hidden, cell)");
  m.def(
      "dynamic_gru",
      [](Var& x, int64_t size, nb::object weight, nb::object bias, bool is_reverse,
         const std::string& gate_activation, const std::string& candidate_activation,
         nb::object h_0, bool origin_mode) {
        mark_user_line();
        return wrap(
            layers::dynamic_gru(x, size,
                                {.h_0 = to_variables(h_0),
                                 .weight = to_needed_attr(weight, "the weight of dynamic_gru"),
                                 .bias = to_param_attr(bias),
                                 .is_reverse = is_reverse,
                                 .gate_activation = gate_activation,
                                 .candidate_activation = candidate_activation,
                                 .origin_mode = origin_mode}));
      },
      "x"_a, "size"_a, "weight"_a.none(), "bias"_a.none(), "is_reverse"_a, "gate_activation"_a,
      "candidate_activation"_a, "h_0"_a.none(), "origin_mode"_a);
}

void bind_units(nb::module_& m) {
  m.def(
      "lstm_unit",
      [](Var& x, Var& hidden, Var& cell, float forget_bias, nb::object weight, nb::object bias,
         Text name) {
        mark_user_line();
        const layers::HiddenAndCell state =
            layers::lstm_unit(x, hidden, cell,
                              {.forget_bias = forget_bias,
                               .weight = to_needed_attr(weight, "the weight of lstm_unit"),
                               .bias = to_param_attr(bias),
                               .name = text(name)});
        return nb::make_tuple(wrap(state.hidden), wrap(state.cell));
      },
      "x"_a, "hidden"_a, "cell"_a, "forget_bias"_a, "weight"_a.none(), "bias"_a.none(),
      "name"_a.none(), "(hidden, cell)");
  m.def(
      "gru_unit",
      [](Var& x, Var& hidden, int64_t size, nb::object weight, nb::object bias,
         const std::string& activation, const std::string& gate_activation, bool origin_mode) {
        mark_user_line();
        const layers::GruUnit made =
            layers::gru_unit(x, hidden, size,
                             {.weight = to_needed_attr(weight, "the weight of gru_unit"),
                              .bias = to_param_attr(bias),
                              .activation = activation,
                              .gate_activation = gate_activation,
                              .origin_mode = origin_mode});
        return nb::make_tuple(wrap(made.hidden), wrap(made.reset_hidden), wrap(made.gates));
      },
      "x"_a, "hidden"_a, "size"_a, "weight"_a.none(), "bias"_a.none(), "activation"_a,
      "gate_activation"_a, "origin_mode"_a, "(hidden, reset_hidden, gates)");
}

}  // namespace

void bind_recurrent(nb::module_& m) {
  bind_sequences(m);
  bind_units(m);
}

}  // namespace flotilla::python

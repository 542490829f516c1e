#include "flotilla/layers/recurrent.h"

#include <algorithm>
#include <array>

#include "flotilla/layers/functions.h"
#include "flotilla/layers/nn.h"

namespace flotilla::layers {
namespace {

// As the op numbers them.
constexpr std::array<std::string_view, 4> kUnitActivations = {"identity", "sigmoid", "tanh",
                                                              "relu"};

int32_t unit_activation(std::string_view name) {
  const auto found = std::find(kUnitActivations.begin(), kUnitActivations.end(), name);
  require(found != kUnitActivations.end(), "an activation must be one of ('{}'), but is '{}'",
          fmt::join(kUnitActivations, "', '"), name);
  return static_cast<int32_t>(found - kUnitActivations.begin());
}

Variable weight(LayerHelper& helper, const ParamAttr& attr, Shape shape, DType dtype) {
  return helper.parameter(attr, std::move(shape), dtype, xavier(), "w");
}

// One row, or no variable.
Variables bias(LayerHelper& helper, const std::optional<ParamAttr>& attr, int64_t width,
               DType dtype) {
  if (!attr) return {};
  return helper.parameter(*attr, {1, width}, dtype, constant(0), "b");
}

}  // namespace

HiddenAndCell dynamic_lstm(Variable x, int64_t size, const DynamicLstmOptions& options) {
  LayerHelper helper("lstm", options.name);
  const int64_t width = size / 4;
  Inputs inputs = {{"Input", x}, {"H0", options.h_0}, {"C0", options.c_0}};
  inputs["Weight"] = weight(helper, options.weight, {width, 4 * width}, options.dtype);
  inputs["Bias"] =
      bias(helper, options.bias, (options.use_peepholes ? 7 : 4) * width, options.dtype);
  const Variables made = op_outputs(
      "lstm", inputs,
      {{"use_peepholes", options.use_peepholes},
       {"is_reverse", options.is_reverse},
       {"gate_activation", options.gate_activation},
       {"cell_activation", options.cell_activation},
       {"candidate_activation", options.candidate_activation}},
      {.layer = helper.name(), .outputs = {"Hidden", "Cell", "BatchGate", "BatchCellPreAct"}});
  return {.hidden = made[0], .cell = made[1]};
}

Variable dynamic_gru(Variable x, int64_t size, const DynamicGruOptions& options) {
  LayerHelper helper("gru");
  Inputs inputs = {{"Input", x}, {"H0", options.h_0}};
  inputs["Weight"] = weight(helper, options.weight, {size, 3 * size}, x.dtype());
  inputs["Bias"] = bias(helper, options.bias, 3 * size, x.dtype());
  return op("gru", inputs,
            {{"is_reverse", options.is_reverse},
             {"gate_activation", options.gate_activation},
             {"activation", options.candidate_activation},
             {"origin_mode", options.origin_mode}},
            {.layer = helper.name(),
             .outputs = {"Hidden", "BatchGate", "BatchResetHiddenPrev", "BatchHidden"}});
}

HiddenAndCell lstm_unit(Variable x, Variable hidden, Variable cell,
                        const LstmUnitOptions& options) {
  require(cell.shape().rank() > 1, "the cells of lstm_unit must be [rows, width], but \"{}\" is {}",
          cell.name(), cell.shape());
  const Variable gates = fc(concat({x, hidden}, 1), 4 * cell.shape()[1],
                            {.weight = options.weight, .bias = options.bias});
  const Variables made = op_outputs("lstm_unit", {{"X", gates}, {"C_prev", cell}},
                                    {{"forget_bias", options.forget_bias}},
                                    {.name = options.name, .outputs = {"C", "H"}});
  return {.hidden = made[1], .cell = made[0]};
}

GruUnit gru_unit(Variable x, Variable hidden, int64_t size, const GruUnitOptions& options) {
  const int32_t activation = unit_activation(options.activation);
  const int32_t gate_activation = unit_activation(options.gate_activation);
  LayerHelper helper("gru_unit");
  const int64_t width = size / 3;
  Inputs inputs = {{"Input", x}, {"HiddenPrev", hidden}};
  inputs["Weight"] = weight(helper, options.weight, {width, 3 * width}, x.dtype());
  inputs["Bias"] = bias(helper, options.bias, 3 * width, x.dtype());
  const Variables made =
      op_outputs("gru_unit", inputs,
                 {{"activation", activation},
                  {"gate_activation", gate_activation},
                  {"origin_mode", options.origin_mode}},
                 {.layer = helper.name(), .outputs = {"Hidden", "ResetHiddenPrev", "Gate"}});
  return {.hidden = made[0], .reset_hidden = made[1], .gates = made[2]};
}

}  // namespace flotilla::layers

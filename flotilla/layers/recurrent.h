// flotilla/layers/recurrent.h
//
// Recurrent layers: over whole sequences, which their input's LoD tells apart, and single steps for
// loops. `size` is that of what they take, as in fluid: a multiple of the width of the state but
// for dynamic_gru.

#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "flotilla/layers/op.h"

namespace flotilla::layers {

struct HiddenAndCell {
  Variable hidden;
  Variable cell;
};

struct DynamicLstmOptions {
  Variables h_0 = {};  // what stands before each sequence: one variable, or none for zeros
  Variables c_0 = {};
  ParamAttr weight = {};
  ParamAttr bias = {};
  bool use_peepholes = true;
  bool is_reverse = false;
  std::string gate_activation = "sigmoid";
  std::string cell_activation = "tanh";
  std::string candidate_activation = "tanh";
  DType dtype = f32;
  std::string name = {};
};
// Long short-term memory. `x` is [rows, size], what a layer without activation made of the steps;
// the width of both results is size / 4.
HiddenAndCell dynamic_lstm(Variable x, int64_t size, const DynamicLstmOptions& options = {});

struct DynamicGruOptions {
  Variables h_0 = {};
  ParamAttr weight = {};
  std::optional<ParamAttr> bias = ParamAttr{};
  bool is_reverse = false;
  std::string gate_activation = "sigmoid";
  std::string candidate_activation = "tanh";
  bool origin_mode = false;  // the update gate keeps the old state, as in the paper
};
// Hidden states of gated recurrent units, of width `size`. `x` is [rows, 3 size].
Variable dynamic_gru(Variable x, int64_t size, const DynamicGruOptions& options = {});

struct LstmUnitOptions {
  float forget_bias = 0;
  ParamAttr weight = {};
  std::optional<ParamAttr> bias = ParamAttr{};
  std::string name = {};
};
// One step of long short-term memory from `x` and the state before.
HiddenAndCell lstm_unit(Variable x, Variable hidden, Variable cell,
                        const LstmUnitOptions& options = {});

struct GruUnitOptions {
  ParamAttr weight = {};
  std::optional<ParamAttr> bias = ParamAttr{};
  std::string activation = "tanh";  // identity, sigmoid, tanh or relu
  std::string gate_activation = "sigmoid";
  bool origin_mode = false;
};
struct GruUnit {
  Variable hidden;
  Variable reset_hidden;  // what the reset gate leaves of the state before
  Variable gates;         // all three
};
// One step of a gated recurrent unit. `size` is three times its width.
GruUnit gru_unit(Variable x, Variable hidden, int64_t size, const GruUnitOptions& options = {});

}  // namespace flotilla::layers

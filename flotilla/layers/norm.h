// flotilla/layers/norm.h
//
// Normalizations: elements scaled to mean 0 and variance 1, over the batch, over each sample or
// over what all batches summed up, then by learnt numbers.

#pragma once

#include <optional>
#include <string>

#include "flotilla/layers/op.h"

namespace flotilla::layers {

struct BatchNormOptions {
  std::string act = {};
  bool is_test = false;
  Operand momentum = 0.9f;  // a number, or one float32
  float epsilon = 1e-5f;
  ParamAttr scale = {};
  ParamAttr bias = {};
  std::string name = {};
  std::string moving_mean_name = {};      // empty: <name>.w_1
  std::string moving_variance_name = {};  // empty: <name>.w_2
  bool do_model_average = true;           // of the moving statistics
  bool use_global_stats = false;
  std::string data_layout = "NCHW";
};
// Each channel, over the batch.
Variable batch_norm(Variable x, const BatchNormOptions& options = {});

// What batch_norm_with reads and moves.
struct BatchNormVariables {
  Variable mean;
  Variable variance;
  Variables scale = {};  // one, or none
  Variables bias = {};
};
// The same with variables that exist. `type`: batch_norm, or sync_batch_norm, over the batches of
// all processes; `attrs`: its attributes. `options.outputs`: Y, SavedMean, SavedVariance and, where
// it is wanted, ReserveSpace, in the order of their names; `options.act` follows on Y.
Variable batch_norm_with(const std::string& type, Variable x, const BatchNormVariables& vars,
                         Attrs attrs, const OpOptions& options);

struct LayerNormOptions {
  int64_t begin_norm_axis = 1;
  float epsilon = 1e-5f;
  std::optional<ParamAttr> scale = ParamAttr{};
  std::optional<ParamAttr> bias = ParamAttr{};
  std::string act = {};
  std::string name = {};
};
// Each sample, over its axes from `begin_norm_axis` on.
Variable layer_norm(Variable x, const LayerNormOptions& options = {});

struct GroupNormOptions {
  float epsilon = 1e-5f;
  std::optional<ParamAttr> scale = {};  // of each channel; learnt only where it is asked for
  std::optional<ParamAttr> bias = {};
  std::string act = {};
  std::string name = {};
  std::string data_layout = "NCHW";
};
// Groups of channels of each image.
Variable group_norm(Variable x, int64_t groups, const GroupNormOptions& options = {});

struct InstanceNormOptions {
  float epsilon = 1e-5f;
  std::optional<ParamAttr> scale = {};  // learnt only where both are asked for
  std::optional<ParamAttr> bias = {};
  std::string name = {};
};
// Each channel of each image.
Variable instance_norm(Variable x, const InstanceNormOptions& options = {});

struct DataNormOptions {
  std::string act = {};
  float epsilon = 1e-5f;
  // First values of the summaries: the parameters <name>.batch_size, .batch_sum, .batch_square_sum.
  double batch_size = 1e4;
  double batch_sum = 0;
  double batch_square = 1e4;
  // Learnt after it: <name>.scale_w, .bias.
  bool enable_scale_and_shift = false;
  double scale_w = 1;
  double bias = 0;
  // Columns of a slot, whose first one says how often it was shown; slots never shown give zeros.
  int64_t slot_dim = -1;
  bool sync_stats = false;
  float summary_decay_rate = 0.9999999f;
  std::string name = {};  // empty: dn, one for all calls
  std::string data_layout = "NCHW";
};
// Each column less its mean, times one over its deviation, both from summaries of all batches. The
// gradients of the summaries are what a batch adds to them.
Variable data_norm(Variable x, const DataNormOptions& options = {});

}  // namespace flotilla::layers

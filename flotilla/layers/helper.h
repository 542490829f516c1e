// flotilla/layers/helper.h
//
// What a layer is made with: a unique name, parameters with their initial values, temporaries, ops,
// an activation at the end. A layer is a function that uses one helper.

#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/layers/context.h"
#include "flotilla/layers/initializer.h"
#include "flotilla/op/build.h"

namespace flotilla::layers {

// How a parameter is made and trained.
struct ParamAttr {
  std::string name = {};  // empty: <layer>.w_0
  std::optional<Initializer> initializer = {};
  float learning_rate = 1;
  std::optional<Regularizer> regularizer = {};
  bool trainable = true;
  bool do_model_average = true;
  bool need_clip = true;
  // The parameter is g v / |v|, and g, a length, and v, a direction, are learnt: <name>_g and
  // <name>_v (weight_norm.h). The axis of which each place has a length of its own; kOneLength: one
  // for all together.
  std::optional<int64_t> weight_norm = {};
};
inline constexpr int64_t kOneLength = -1;
// No bias at all: .bias = kNoBias.
inline constexpr std::nullopt_t kNoBias = std::nullopt;

class LayerHelper {
 public:
  // `name`: the user's, or empty for <type>_<n>.
  explicit LayerHelper(std::string_view type, std::string_view name = {});

  const std::string& name() const { return name_; }
  Program& main() const { return *context().main; }
  Block& block() const { return main().current_block(); }

  // A parameter of the main program and its initial value in the startup program. One that exists
  // under the given name is shared. `kind`: "w" or "b", for the default name.
  Var& parameter(const ParamAttr& attr, Shape shape, DType dtype, const Initializer& otherwise,
                 std::string_view kind);
  // A name for a variable that an op is going to write: <name>.tmp_<n>.
  std::string temporary() const { return context().names.generate(name_ + ".tmp"); }
  // A persistable variable of both programs with an initial value: statistics, counters.
  Var& global_var(std::string name, Shape shape, DType dtype, const Initializer& initializer);

  // Variables that do not exist are made; nothing is left behind where the op is refused.
  Op& append(std::string type, Slots inputs, Slots outputs, Attrs attrs = {}) {
    return append_op(block(), std::move(type), std::move(inputs), std::move(outputs),
                     std::move(attrs));
  }
  // Appends an op with one output in slot `out` and returns it.
  Var& result(std::string type, Slots inputs, Attrs attrs = {}, std::string_view out = "Out");
  // x plus a parameter with a number for each place of its axis `axis`.
  Var& add_bias(Var& x, const ParamAttr& attr, int64_t axis);
  // act(x), or x itself where `act` is empty.
  Var& activate(Var& x, const std::string& act);

 private:
  std::string name_;
};

// A persistable variable that is no parameter: create_global_var of Paddle.
Var& create_global_var(Shape shape, double value, DType dtype, bool persistable,
                       std::string name = {});
// A parameter by itself. `layer`: whose it is, for the default name <layer>.w_0.
Var& create_parameter(Shape shape, DType dtype, const ParamAttr& attr = {}, bool is_bias = false,
                      const std::optional<Initializer>& initializer = {},
                      std::string_view layer = {});

}  // namespace flotilla::layers

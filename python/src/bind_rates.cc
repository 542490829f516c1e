// Learning rates: by epoch, by how a metric goes, and inside the program.

#include "flotilla/layers/lr.h"
#include "flotilla/layers/lr_ops.h"
#include "layers_convert.h"

namespace flotilla::python {
namespace {

using namespace nb::literals;

// A rate at an epoch, with the arguments of the schedule by the names of its attributes.
template <typename... T, typename... Names>
void def_rate(nb::module_& m, const char* name, layers::LrRate (*rate)(T...),
              const Names&... names) {
  m.def(
      name, [rate](int64_t epoch, T... values) { return rate(std::move(values)...)(epoch); },
      "epoch"_a, names...);
}

std::function<double(int64_t)> to_factor(nb::object function) {
  if (!nb::isinstance<nb::callable>(function)) {
    throw nb::type_error(fmt::format("lr_lambda must be a function of the epoch, but is {}",
                                     nb::cast<std::string>(nb::repr(function)))
                             .c_str());
  }
  return [=](int64_t epoch) { return nb::cast<double>(nb::float_(function(epoch))); };
}

// A function of Python takes the number of a cycle, or the epoch.
layers::lr::CycleScale to_cycle_scale(const std::string& mode, double gamma, nb::object function,
                                      const std::string& of) {
  require(of == "cycle" || of == "iterations",
          "scale_mode must be \"cycle\" or \"iterations\", but is '{}'", of);
  if (function.is_none()) return layers::lr::cycle_scale(mode, gamma);
  const bool of_epoch = of == "iterations";
  const auto at = [=](double number) {
    const nb::object given = of_epoch ? nb::object(nb::int_(static_cast<int64_t>(number)))
                                      : nb::object(nb::float_(number));
    return nb::cast<double>(nb::float_(function(given)));
  };
  return {at, of_epoch};
}

void bind_epochs(nb::module_& parent) {
  namespace lr = layers::lr;
  nb::module_ m = parent.def_submodule("lr", "Learning rates by epoch.");
  def_rate(m, "piecewise", &lr::piecewise, "boundaries"_a, "values"_a);
  def_rate(m, "natural_exp", &lr::natural_exp, "base_lr"_a, "gamma"_a);
  def_rate(m, "inverse_time", &lr::inverse_time, "base_lr"_a, "gamma"_a);
  def_rate(m, "exponential", &lr::exponential, "base_lr"_a, "gamma"_a);
  def_rate(m, "polynomial", &lr::polynomial, "base_lr"_a, "decay_steps"_a, "end_lr"_a, "power"_a,
           "cycle"_a);
  def_rate(m, "multi_step", &lr::multi_step, "base_lr"_a, "milestones"_a, "gamma"_a);
  def_rate(m, "step", &lr::step, "base_lr"_a, "step_size"_a, "gamma"_a);
  def_rate(m, "cosine_annealing", &lr::cosine_annealing, "base_lr"_a, "T_max"_a, "eta_min"_a);
  def_rate(m, "linear", &lr::linear, "base_lr"_a, "total_steps"_a, "start_factor"_a,
           "end_factor"_a);
  def_rate(m, "cosine_warm_restarts", &lr::cosine_warm_restarts, "base_lr"_a, "T_0"_a, "T_mult"_a,
           "eta_min"_a);
  def_rate(m, "noam", &lr::noam, "d_model"_a, "warmup_steps"_a, "base_lr"_a);
  m.def(
      "times",
      [](int64_t epoch, double rate, nb::object lr_lambda) {
        return lr::times(rate, to_factor(std::move(lr_lambda)))(epoch);
      },
      "epoch"_a, "base_lr"_a, "lr_lambda"_a.none());
  m.def(
      "times_each",
      [](int64_t epoch, double rate, nb::object lr_lambda) {
        return lr::times_each(rate, to_factor(std::move(lr_lambda)))(epoch);
      },
      "epoch"_a, "base_lr"_a, "lr_lambda"_a.none());
  m.def(
      "linear_warmup",
      [](int64_t epoch, int64_t steps, double start, double end) {
        return lr::linear_warmup(lr::constant(end), steps, start, end)(epoch);
      },
      "epoch"_a, "steps"_a, "start"_a, "end"_a, "The rate while epoch < steps; `end` after.");
  m.def(
      "cyclic",
      [](int64_t epoch, double low, double high, double up, std::optional<double> down,
         const std::string& mode, double gamma, nb::object scale, const std::string& scale_mode) {
        return lr::cyclic(low, high, up, down.value_or(up),
                          to_cycle_scale(mode, gamma, scale, scale_mode))(epoch);
      },
      "epoch"_a, "base_lr"_a, "max_lr"_a, "step_size_up"_a, "step_size_down"_a.none(), "mode"_a,
      "exp_gamma"_a, "scale_fn"_a.none(), "scale_mode"_a);
  m.def(
      "one_cycle",
      [](int64_t epoch, double high, double steps, double divide_factor, double end, double share,
         const std::string& strategy, bool three_phase) {
        return lr::one_cycle(high, steps,
                             {.divide_factor = divide_factor,
                              .end = end,
                              .share = share,
                              .strategy = strategy,
                              .three_phase = three_phase})(epoch);
      },
      "epoch"_a, "max_learning_rate"_a, "total_steps"_a, "divide_factor"_a, "end_learning_rate"_a,
      "phase_pct"_a, "anneal_strategy"_a, "three_phase"_a);
}

void bind_plateau(nb::module_& m) {
  using layers::ReduceOnPlateau;
  nb::class_<ReduceOnPlateau>(m, "ReduceOnPlateau", nb::dynamic_attr(),
                              "Reduces the rate when a metric stops getting better.")
      .def(
          "__init__",
          [](ReduceOnPlateau* self, double rate, bool larger_is_better, double factor,
             int64_t patience, double threshold, bool relative, int64_t cooldown, double min_lr,
             double epsilon) {
            new (self) ReduceOnPlateau(rate, {.larger_is_better = larger_is_better,
                                              .factor = factor,
                                              .patience = patience,
                                              .threshold = threshold,
                                              .relative = relative,
                                              .cooldown = cooldown,
                                              .min_lr = min_lr,
                                              .epsilon = epsilon});
          },
          "rate"_a, "larger_is_better"_a = false, "factor"_a = 0.1, "patience"_a = 10,
          "threshold"_a = 1e-4, "relative"_a = true, "cooldown"_a = 0, "min_lr"_a = 0.0,
          "epsilon"_a = 1e-8)
      .def("get_lr", &ReduceOnPlateau::get_lr)
      .def("step", &ReduceOnPlateau::step, "metric"_a, "epoch"_a = nb::none(),
           "An epoch ended with this metric. Whether the rate was reduced.")
      .def("state",
           [](const ReduceOnPlateau& self) {
             const ReduceOnPlateau::State& s = self.state();
             nb::dict d;
             d["cooldown_counter"] = s.cooldown_counter;
             d["best"] = s.best;
             d["num_bad_epochs"] = s.num_bad_epochs;
             d["last_epoch"] = s.last_epoch;
             d["last_lr"] = s.last_lr;
             return d;
           })
      .def("set_state", [](ReduceOnPlateau& self, nb::dict d) {
        self.set_state({.last_epoch = nb::cast<int64_t>(d["last_epoch"]),
                        .last_lr = nb::cast<double>(d["last_lr"]),
                        .best = nb::cast<std::optional<double>>(d["best"]),
                        .cooldown_counter = nb::cast<int64_t>(d["cooldown_counter"]),
                        .num_bad_epochs = nb::cast<int64_t>(d["num_bad_epochs"])});
      });
}

// The schedules of fluid.layers, inside the program.
void bind_schedules(nb::module_& m) {
  m.def(
      "noam_decay",
      [](double d_model, double warmup_steps, double learning_rate) {
        mark_user_line();
        return wrap(layers::noam_decay(d_model, warmup_steps, learning_rate));
      },
      "d_model"_a, "warmup_steps"_a, "learning_rate"_a = 1.0);
  const auto decay = [&m](const char* name,
                          layers::Variable (*make)(double, double, double, bool)) {
    m.def(
        name,
        [make](double learning_rate, double decay_steps, double decay_rate, bool staircase) {
          mark_user_line();
          return wrap(make(learning_rate, decay_steps, decay_rate, staircase));
        },
        "learning_rate"_a, "decay_steps"_a, "decay_rate"_a, "staircase"_a = false);
  };
  decay("exponential_decay", &layers::exponential_decay);
  decay("natural_exp_decay", &layers::natural_exp_decay);
  decay("inverse_time_decay", &layers::inverse_time_decay);
  m.def(
      "polynomial_decay",
      [](double learning_rate, double decay_steps, double end_learning_rate, double power,
         bool cycle) {
        mark_user_line();
        return wrap(
            layers::polynomial_decay(learning_rate, decay_steps, end_learning_rate, power, cycle));
      },
      "learning_rate"_a, "decay_steps"_a, "end_learning_rate"_a = 0.0001, "power"_a = 1.0,
      "cycle"_a = false);
  m.def(
      "piecewise_decay",
      [](std::vector<double> boundaries, std::vector<double> values) {
        mark_user_line();
        return wrap(layers::piecewise_decay(boundaries, values));
      },
      "boundaries"_a, "values"_a);
  m.def(
      "cosine_decay",
      [](double learning_rate, double step_each_epoch, double epochs) {
        mark_user_line();
        return wrap(layers::cosine_decay(learning_rate, step_each_epoch, epochs));
      },
      "learning_rate"_a, "step_each_epoch"_a, "epochs"_a);
  m.def(
      "linear_lr_warmup",
      [](nb::object learning_rate, double warmup_steps, double start_lr, double end_lr) {
        mark_user_line();
        return wrap(
            layers::linear_lr_warmup(to_operand(learning_rate), warmup_steps, start_lr, end_lr));
      },
      "learning_rate"_a, "warmup_steps"_a, "start_lr"_a, "end_lr"_a);
}

}  // namespace

void bind_rates(nb::module_& m) {
  bind_epochs(m);
  bind_plateau(m);
  bind_schedules(m);
}

}  // namespace flotilla::python

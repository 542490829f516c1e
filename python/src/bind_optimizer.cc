// Gradients, optimizers and learning rates.

#include "flotilla/autodiff/backward.h"
#include "flotilla/job/fleet.h"
#include "flotilla/layers/grad_clip.h"
#include "flotilla/layers/lr.h"
#include "flotilla/layers/lr_ops.h"
#include "flotilla/layers/optimizer.h"
#include "flotilla/runtime/scope.h"
#include "gil.h"
#include "layers_convert.h"

namespace flotilla::python {
namespace {

using namespace nb::literals;
using layers::Optimizer;

nb::list wrap_ops(const std::vector<Op*>& ops) {
  nb::list list;
  for (Op* op : ops) list.append(wrap(*op));
  return list;
}

// [(parameter, gradient)], both variables.
nb::list wrap_pairs(Block& block, const std::vector<ParamGrad>& pairs) {
  nb::list list;
  for (const ParamGrad& pair : pairs) {
    list.append(nb::make_tuple(wrap(block.var(pair.param)), wrap(block.var(pair.grad))));
  }
  return list;
}

// Parameters without a gradient, as frozen ones, are left out.
std::vector<ParamGrad> to_pairs(nb::handle list) {
  std::vector<ParamGrad> pairs;
  for (nb::handle pair : list) {
    const std::vector<std::string> param = to_names(pair[0]), grad = to_names(pair[1]);
    require(param.size() == 1, "gradients are given as pairs of a parameter and its gradient");
    if (grad.size() == 1) pairs.push_back({param.front(), grad.front()});
  }
  return pairs;
}

// Python may hand over sets.
std::vector<std::string> to_name_list(nb::handle value) {
  if (value.is_none()) return {};
  if (PyAnySet_Check(value.ptr())) return to_names(nb::list(nb::borrow(value)));
  return to_names(value);
}

void bind_backward(nb::module_& m) {
  m.def(
      "append_backward",
      [](Var& loss, nb::object parameter_list, nb::object no_grad_set) {
        mark_user_line();
        return wrap_pairs(*loss.block,
                          append_backward(loss, {.parameter_list = to_name_list(parameter_list),
                                                 .no_grad_set = to_name_list(no_grad_set)}));
      },
      "loss"_a, "parameter_list"_a = nb::none(), "no_grad_set"_a = nb::none(),
      "Append the gradient of `loss`; returns [(parameter, gradient)].");
  m.def(
      "gradients",
      [](nb::object targets, nb::object inputs, nb::object target_gradients,
         nb::object no_grad_set) {
        mark_user_line();
        std::vector<Var*> to, from, seeds;
        for (Var& var : to_variables(targets)) to.push_back(&var);
        for (Var& var : to_variables(inputs)) from.push_back(&var);
        if (PyList_Check(target_gradients.ptr()) || PyTuple_Check(target_gradients.ptr())) {
          for (nb::handle seed : target_gradients) {
            seeds.push_back(seed.is_none() ? nullptr : &nb::cast<Var&>(seed));
          }
        } else if (!target_gradients.is_none()) {
          seeds.push_back(&nb::cast<Var&>(target_gradients));
        }
        require(!to.empty(), "gradients needs a target");
        nb::list list;
        for (const std::string& name : gradients(to, from, seeds, to_name_list(no_grad_set))) {
          list.append(name.empty() ? nb::none() : wrap(to.front()->block->var(name)));
        }
        return list;
      },
      "targets"_a, "inputs"_a, "target_gradients"_a = nb::none(), "no_grad_set"_a = nb::none(),
      "Append the gradient of the sum of `targets`; None for an input that leads to none.");
}

layers::GradClip make_clip(const std::string& kind, float max, float min) {
  using layers::GradClip;
  require(kind == "value" || kind == "norm" || kind == "global_norm",
          "gradients can be clipped by value, norm or global_norm, but not by {}", kind);
  return {kind == "value"  ? GradClip::kByValue
          : kind == "norm" ? GradClip::kByNorm
                           : GradClip::kByGlobalNorm,
          max, min};
}

void bind_clip(nb::module_& m) {
  nb::class_<layers::GradClip>(m, "GradClip", nb::dynamic_attr(),
                               "What keeps gradients within bounds.")
      .def(
          "__init__",
          [](layers::GradClip* self, const std::string& kind, float max, float min) {
            new (self) layers::GradClip(make_clip(kind, max, min));
          },
          "kind"_a, "max"_a, "min"_a = 0.0f, "kind: value, norm or global_norm.")
      .def_rw("max", &layers::GradClip::max)
      .def_rw("min", &layers::GradClip::min)
      .def_rw("in_place", &layers::GradClip::in_place);
  m.def(
      "append_grad_clip",
      [](const layers::GradClip& clip, nb::object params_grads) {
        mark_user_line();
        std::vector<ParamGrad> pairs = to_pairs(params_grads);
        Block& block = layers::context().main->global_block();
        layers::append_grad_clip(block, clip, pairs);
        return wrap_pairs(block, pairs);
      },
      "clip"_a, "params_grads"_a, "Append the ops; returns [(parameter, clipped gradient)].");
}

void make_optimizer(Optimizer* self, std::string type, double learning_rate,
                    nb::object learning_rate_var, std::optional<Regularizer> regularization,
                    std::optional<layers::GradClip> clip, nb::object parameters, Text name,
                    nb::object attrs, nb::object decays) {
  const std::vector<std::string> rate = to_names(learning_rate_var);
  layers::OptimizerOptions options = {
      .learning_rate = learning_rate,
      .learning_rate_var = rate.empty() ? "" : rate.front(),
      .regularization = regularization.value_or(Regularizer{}),
      .clip = clip.value_or(layers::GradClip{}),
      .parameters = to_name_list(parameters),
      .name = text(name),
      .attrs = attrs.is_none() ? Attrs{} : to_attrs(nb::cast<nb::dict>(attrs))};
  if (!decays.is_none()) {
    options.decays = [decays](const Var& param) {
      return nb::cast<bool>(nb::bool_(decays(wrap(const_cast<Var&>(param)))));
    };
  }
  new (self) Optimizer(std::move(type), std::move(options));
}

layers::MinimizeOptions to_minimize_options(std::shared_ptr<Program> startup, nb::handle parameters,
                                            nb::handle no_grad_set) {
  return {.startup = std::move(startup),
          .parameters = to_name_list(parameters),
          .no_grad_set = to_name_list(no_grad_set)};
}

// Lets the learning rate of a program follow `rate`, a function, unless it is None. The variable is
// there from now on.
void follow(job::Fleet& fleet, Optimizer& o, const std::shared_ptr<Program>& program,
            nb::handle rate) {
  if (!o.options().learning_rate_var.empty()) return;
  const std::string name = o.learning_rate_var(program).name;
  if (rate.is_none()) return;
  fleet.follow(*program, name, [held = hold(rate)] {
    const GilHeld gil;
    return unless_the_end([&] { return nb::cast<double>(nb::handle(held.get())()); });
  });
}

void bind_optimizers(nb::module_& m, job::Fleet& fleet) {
  nb::class_<Optimizer>(m, "Optimizer", nb::dynamic_attr(),
                        "The gradient of a loss, clipped and regularised, and updates.")
      .def("__init__", &make_optimizer, "type"_a, "learning_rate"_a = 0.001,
           "learning_rate_var"_a = nb::none(), "regularization"_a = nb::none(),
           "clip"_a = nb::none(), "parameters"_a = nb::none(), "name"_a = nb::none(),
           "attrs"_a = nb::none(), "decays"_a = nb::none(),
           "type: sgd, momentum, adam, ... with its settings in `attrs`. `decays` tells for a "
           "parameter whether the decay of adamw, lamb and lars applies to it.")
      .def_prop_ro("type", &Optimizer::type)
      .def_prop_rw(
          "clip", [](const Optimizer& o) { return o.options().clip; },
          [](Optimizer& o, const layers::GradClip& clip) { o.options().clip = clip; },
          "What keeps gradients within bounds.")
      .def(
          "minimize",
          [&fleet](Optimizer& o, Var& loss, std::shared_ptr<Program> startup, nb::object parameters,
                   nb::object no_grad_set, nb::object rate) {
            mark_user_line(loss.block->program());
            const Optimizer::Result result =
                o.minimize(loss, to_minimize_options(startup, parameters, no_grad_set));
            follow(fleet, o, loss.block->program().shared_from_this(), rate);
            return std::make_pair(wrap_ops(result.ops),
                                  wrap_pairs(*loss.block, result.params_grads));
          },
          "loss"_a, "startup"_a = nb::none(), "parameters"_a = nb::none(),
          "no_grad_set"_a = nb::none(), "rate"_a = nb::none(),
          "(update ops, [(parameter, gradient)]). `rate`: what gives the learning rate of each "
          "run.")
      .def(
          "backward",
          [](Optimizer& o, Var& loss, std::shared_ptr<Program> startup, nb::object parameters,
             nb::object no_grad_set) {
            mark_user_line(loss.block->program());
            return wrap_pairs(*loss.block, o.backward(loss, to_minimize_options(startup, parameters,
                                                                                no_grad_set)));
          },
          "loss"_a, "startup"_a = nb::none(), "parameters"_a = nb::none(),
          "no_grad_set"_a = nb::none())
      .def(
          "apply_gradients",
          [&fleet](Optimizer& o, nb::object params_grads, std::shared_ptr<Program> main,
                   std::shared_ptr<Program> startup, nb::object rate) {
            const std::shared_ptr<Program> program = main ? main : layers::context().main;
            nb::list ops;
            {
              const layers::ProgramGuard guard(program, startup);
              mark_user_line();
              ops = wrap_ops(o.apply_gradients(to_pairs(params_grads)));
            }
            follow(fleet, o, program, rate);
            return ops;
          },
          "params_grads"_a, "main"_a = nb::none(), "startup"_a = nb::none(), "rate"_a = nb::none())
      .def(
          "learning_rate_in",
          [](const Optimizer& o, const Program& program) {
            const auto found = o.learning_rates().find(program.id());
            return found == o.learning_rates().end() ? std::optional<std::string>() : found->second;
          },
          "program"_a, "The name of the variable with the learning rate; None where it has none.")
      .def(
          "set_rate",
          [](Optimizer& o, double rate, Scope& scope) {
            o.options().learning_rate = rate;
            const auto value = static_cast<float>(rate);
            for (const auto& [program, name] : o.learning_rates()) {
              if (Tensor* found = scope.find(name)) *found = Tensor::of<float>({&value, 1}, {1});
            }
          },
          "rate"_a, "scope"_a, "Another learning rate, from now on.")
      .def("accumulators", &Optimizer::accumulators, "Names of accumulators by (kind, parameter).");
}

void bind_rates(nb::module_& parent) {
  namespace lr = layers::lr;
  nb::module_ m = parent.def_submodule("lr", "Learning rates by epoch.");
  m.def(
      "noam",
      [](int64_t epoch, double d_model, double warmup_steps, double rate) {
        return lr::noam(d_model, warmup_steps, rate)(epoch);
      },
      "epoch"_a, "d_model"_a, "warmup_steps"_a, "rate"_a = 1.0);
  m.def(
      "piecewise",
      [](int64_t epoch, std::vector<int64_t> boundaries, std::vector<double> values) {
        return lr::piecewise(std::move(boundaries), std::move(values))(epoch);
      },
      "epoch"_a, "boundaries"_a, "values"_a);
  m.def(
      "natural_exp",
      [](int64_t epoch, double rate, double gamma) { return lr::natural_exp(rate, gamma)(epoch); },
      "epoch"_a, "rate"_a, "gamma"_a);
  m.def(
      "inverse_time",
      [](int64_t epoch, double rate, double gamma) { return lr::inverse_time(rate, gamma)(epoch); },
      "epoch"_a, "rate"_a, "gamma"_a);
  m.def(
      "exponential",
      [](int64_t epoch, double rate, double gamma) { return lr::exponential(rate, gamma)(epoch); },
      "epoch"_a, "rate"_a, "gamma"_a);
  m.def(
      "polynomial",
      [](int64_t epoch, double rate, int64_t steps, double end, double power, bool cycle) {
        return lr::polynomial(rate, steps, end, power, cycle)(epoch);
      },
      "epoch"_a, "rate"_a, "steps"_a, "end"_a = 0.0001, "power"_a = 1.0, "cycle"_a = false);
  m.def(
      "linear_warmup",
      [](int64_t epoch, int64_t steps, double start, double end) {
        return lr::linear_warmup(lr::constant(end), steps, start, end)(epoch);
      },
      "epoch"_a, "steps"_a, "start"_a, "end"_a, "The rate while epoch < steps; `end` after.");
  m.def(
      "multi_step",
      [](int64_t epoch, double rate, std::vector<int64_t> milestones, double gamma) {
        return lr::multi_step(rate, std::move(milestones), gamma)(epoch);
      },
      "epoch"_a, "rate"_a, "milestones"_a, "gamma"_a = 0.1);
  m.def(
      "step",
      [](int64_t epoch, double rate, int64_t step_size, double gamma) {
        return lr::step(rate, step_size, gamma)(epoch);
      },
      "epoch"_a, "rate"_a, "step_size"_a, "gamma"_a = 0.1);
  m.def(
      "cosine_annealing",
      [](int64_t epoch, double rate, int64_t t_max, double end) {
        return lr::cosine_annealing(rate, t_max, end)(epoch);
      },
      "epoch"_a, "rate"_a, "t_max"_a, "end"_a = 0.0);
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

void bind_optimizer(nb::module_& m, job::Fleet& fleet) {
  bind_backward(m);
  bind_clip(m);
  bind_optimizers(m, fleet);
  bind_rates(m);
  bind_plateau(m);
  bind_schedules(m);
}

}  // namespace flotilla::python

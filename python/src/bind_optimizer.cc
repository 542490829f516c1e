// Gradients and optimizers.

#include "flotilla/autodiff/backward.h"
#include "flotilla/job/fleet.h"
#include "flotilla/layers/grad_clip.h"
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

}  // namespace

void bind_optimizer(nb::module_& m, job::Fleet& fleet) {
  bind_backward(m);
  bind_clip(m);
  bind_optimizers(m, fleet);
  bind_rates(m);
}

}  // namespace flotilla::python

#include <nanobind/stl/variant.h>

#include "bind_job.h"
#include "flotilla/base/error.h"
#include "flotilla/fleet/role.h"
#include "flotilla/layers/context.h"
#include "flotilla/passes/gradient_merge.h"
#include "flotilla/passes/strategy.h"
#include "flotilla/runtime/scope.h"
#include "gil.h"
#include "interrupts.h"

namespace flotilla::python {
namespace {

using fleet::Role;
using job::Fleet;
using passes::NamedSetting;
using passes::Setting;

Setting to_setting(nb::handle value) {
  if (value.is_none()) return {};
  if (PyBool_Check(value.ptr())) return nb::cast<bool>(value);
  if (nb::isinstance<nb::str>(value)) return nb::cast<std::string>(value);
  if (nb::isinstance<nb::dict>(value)) {
    std::vector<NamedSetting> options;
    for (const auto& [name, one] : nb::borrow<nb::dict>(value)) {
      options.push_back({nb::cast<std::string>(nb::str(name)), to_setting(one)});
    }
    return options;
  }
  // What numpy computes is a flag or a number like any other.
  if (nb::hasattr(value, "dtype") && nb::hasattr(value, "item") &&
      nb::cast<int>(value.attr("ndim")) == 0) {
    return to_setting(value.attr("item")());
  }
  if (PyIndex_Check(value.ptr())) {
    int64_t number = 0;
    require(nb::try_cast(nb::int_(value), number), "{} does not fit into 64 bits",
            nb::cast<std::string>(nb::str(value)));
    return number;
  }
  if (PyFloat_Check(value.ptr()) || nb::hasattr(value, "__float__")) {
    return nb::cast<double>(nb::float_(value));
  }
  std::vector<Setting> list;
  for (const nb::handle one : nb::iter(value)) list.push_back(to_setting(one));
  return list;
}

nb::object from_setting(const Setting& setting) {
  const auto plain = [](const auto& value) -> nb::object {
    using T = std::decay_t<decltype(value)>;
    if constexpr (std::same_as<T, std::monostate>) {
      return nb::none();
    } else if constexpr (std::same_as<T, std::vector<Setting>>) {
      nb::list list;
      for (const Setting& one : value) list.append(from_setting(one));
      return list;
    } else if constexpr (std::same_as<T, std::vector<NamedSetting>>) {
      nb::dict options;
      for (const NamedSetting& one : value) options[one.name.c_str()] = from_setting(one.value);
      return options;
    } else {
      return nb::cast(value);
    }
  };
  return std::visit(plain, setting.value);
}

void bind_strategy(nb::module_& m) {
  using passes::Strategy;
  nb::class_<Strategy>(m, "Strategy", "Options of a distributed job, by name.")
      .def("get",
           [](const Strategy& s, const std::string& name) { return from_setting(s.get(name)); })
      .def(
          "set",
          [](Strategy& s, const std::string& name, nb::handle value) {
            s.set(name, to_setting(value));
          },
          nb::arg("name"), nb::arg("value").none())
      .def("is_set", &Strategy::is_set)
      .def("names", &Strategy::names)
      .def("prototxt", &Strategy::prototxt)
      .def("merge_prototxt", &Strategy::merge_prototxt, nb::arg("text"), nb::arg("file"))
      .def("__eq__", [](const Strategy& a, const Strategy& b) { return a == b; });
  nb::class_<passes::DistributedStrategy, Strategy>(m, "DistributedStrategy")
      .def(nb::init<>())
      .def(nb::init<const passes::DistributedStrategy&>())
      .def("overview", &passes::DistributedStrategy::overview);
  nb::class_<passes::FluidStrategy, Strategy>(m, "FluidStrategy")
      .def(nb::init<>())
      .def(nb::init<const passes::FluidStrategy&>());
}

void bind_role(nb::module_& m) {
  nb::class_<Role>(m, "Role", "Who this process is in a job.")
      .def(
          "__init__",
          [](Role* made, bool collective, int kind, int64_t index, int64_t workers,
             std::vector<std::string> worker_endpoints, std::vector<std::string> server_endpoints,
             const std::string& source) {
            Role role = {.kind = static_cast<fleet::RoleKind>(kind),
                         .collective = collective,
                         .index = index,
                         .workers = workers,
                         .worker_endpoints = std::move(worker_endpoints),
                         .server_endpoints = std::move(server_endpoints)};
            fleet::check(role, source);
            const auto& own = role.is_server() ? role.server_endpoints : role.worker_endpoints;
            if (!own.empty()) role.endpoint = own[static_cast<size_t>(index)];
            new (made) Role(std::move(role));
          },
          nb::kw_only(), nb::arg("collective"), nb::arg("kind"), nb::arg("index"),
          nb::arg("workers"), nb::arg("worker_endpoints"), nb::arg("server_endpoints"),
          nb::arg("source"))
      .def_prop_ro("kind", [](const Role& role) { return static_cast<int>(role.kind); })
      .def_ro("collective", &Role::collective)
      .def_ro("index", &Role::index)
      .def_ro("workers", &Role::workers)
      .def_ro("worker_endpoints", &Role::worker_endpoints)
      .def_ro("server_endpoints", &Role::server_endpoints)
      .def_ro("endpoint", &Role::endpoint)
      .def_ro("local_rank", &Role::local_rank)
      .def_ro("local_devices", &Role::local_devices)
      .def_ro("world_devices", &Role::world_devices)
      .def_prop_ro("servers", &Role::servers)
      .def_prop_ro("nodes", &Role::nodes)
      .def_prop_ro("distributed", &Role::distributed)
      .def("is_worker", &Role::is_worker)
      .def("is_server", &Role::is_server)
      .def("is_first_worker", &Role::is_first_worker)
      .def("__str__", &Role::text);
  m.def("role_from_environment", &fleet::role_from_environment, nb::arg("collective"),
        "The role that the variables of a launcher give to this process.");
  m.def("data_role_from_environment", &fleet::data_role_from_environment,
        "Rank and size of the workers, whatever the mode of the job.");
}

// Calls `minimize` of an optimizer, whatever it does; what it returned, and what to warn of.
nb::tuple minimize(Fleet& f, nb::callable minimize, Var& loss, std::shared_ptr<Program> startup,
                   nb::object parameters, nb::object no_grad_set, const Role& role,
                   const Fleet::Strategy& strategy) {
  nb::object made;
  const std::shared_ptr<Program> with = startup ? startup : layers::context().startup;
  const auto append = [&] { made = minimize(wrap(loss), startup, parameters, no_grad_set); };
  const fleet::Applied applied =
      f.minimize_by(append, loss.block->program(), *with, role, strategy);
  return nb::make_tuple(made, applied.notices);
}

}  // namespace

void bind_programs(FleetClass& fleet) {
  fleet
      .def("minimize", &minimize, nb::arg("minimize"), nb::arg("loss"),
           nb::arg("startup_program").none(), nb::arg("parameters").none(),
           nb::arg("no_grad_set").none(), nb::arg("role"), nb::arg("strategy"),
           "Calls minimize() with the passes of a strategy around its backward pass, and makes the "
           "programs those of a worker; (what it returned, what to warn of).")
      .def(
          "distribute",
          [](Fleet& f, Program& main, Program& startup, const Role& role,
             const Fleet::Strategy& strategy) {
            if (role.servers() > 0 && role.is_worker()) {
              const InterruptibleRelease released;
              f.begin_worker(role);
            }
            return f.distribute(main, startup, role, strategy).notices;
          },
          nb::arg("main"), nb::arg("startup"), nb::arg("role"), nb::arg("strategy"),
          "Makes the programs of minimize() those of a worker; what to warn of.")
      .def(
          "on_run",
          [](Fleet& f, const Program& program, nb::callable hook) {
            f.on_run(program, [held = hold(hook)](Scope& scope) {
              const GilHeld gil;
              unless_the_end([&] { nb::handle(held.get())(nb::cast(scope.shared_from_this())); });
            });
          },
          nb::arg("program"), nb::arg("hook"), "Calls hook(scope) before each run of the program.")
      .def("copied", &Fleet::copied, nb::arg("program"), nb::arg("copy"),
           "The copy has the hooks of the program.")
      .def("serve_by", &Fleet::serve_by, nb::arg("program"), nb::arg("role"),
           "To run the program is to serve until all workers have left.");
}

void bind_fleet(nb::module_& m) {
  bind_strategy(m);
  bind_role(m);
  m.def(
      "gradient_merge",
      [](Program& main, Program& startup, int64_t steps, bool average) {
        passes::gradient_merge(main, startup, {.steps = steps, .average = average});
      },
      nb::arg("main"), nb::arg("startup"), nb::arg("steps"), nb::arg("average"),
      "One update for the gradients of several steps.");
}

}  // namespace flotilla::python

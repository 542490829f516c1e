#include <nanobind/stl/unique_ptr.h>

#include "bind.h"
#include "flotilla/device/allocator.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/random.h"
#include "flotilla/runtime/executor.h"
#include "flotilla/runtime/scope.h"

namespace flotilla::python {
namespace {

// A variable of a scope, as find_var gives it.
struct ScopeVar {
  Tensor* tensor = nullptr;
};

nb::object wrap_var(Tensor* tensor, nb::handle scope) {
  if (tensor == nullptr) return nb::none();
  nb::object object = nb::cast(ScopeVar{tensor});
  nb::detail::keep_alive(object.ptr(), scope.ptr());
  return object;
}

std::vector<Feed> to_feeds(nb::dict feed) {
  std::vector<Feed> feeds;
  feeds.reserve(nb::len(feed));
  for (auto [name, value] : feed) {
    Feed made{.name = nb::cast<std::string>(name)};
    if (nb::isinstance<Tensor>(value)) {
      const Tensor& tensor = nb::cast<Tensor&>(value);
      made.tensor = tensor.plain();
      made.tensor.set_lod(tensor.lod());
    } else {
      made.tensor = from_numpy(value);
    }
    feeds.push_back(std::move(made));
  }
  return feeds;
}

nb::object from_fetched(FetchedValue& value, bool as_numpy) {
  if (auto* rows = std::get_if<SelectedRows>(&value)) return nb::cast(std::move(*rows));
  Tensor& tensor = std::get<Tensor>(value);
  return as_numpy ? to_numpy(tensor) : nb::cast(std::move(tensor));
}

nb::list run(Executor& executor, const Program& program, nb::dict feed,
             const std::vector<std::string>& fetches, Scope& scope, bool as_numpy) {
  const std::vector<Feed> feeds = to_feeds(feed);
  std::vector<FetchedValue> values;
  {
    const nb::gil_scoped_release released;
    values = executor.run(program, feeds, fetches, scope);
  }
  nb::list results;
  for (FetchedValue& value : values) results.append(from_fetched(value, as_numpy));
  return results;
}

nb::dict stats_of(const PlanStats& stats) {
  nb::dict d;
  d["steps"] = stats.steps;
  d["reorders"] = stats.reorders;
  d["arena_bytes"] = stats.arena_bytes;
  d["no_reuse_bytes"] = stats.no_reuse_bytes;
  return d;
}

}  // namespace

void bind_runtime(nb::module_& m) {
  nb::class_<ScopeVar>(m, "ScopeVariable", "A variable of a scope.")
      .def(
          "get_tensor", [](ScopeVar& v) -> Tensor& { return *v.tensor; },
          nb::rv_policy::reference_internal)
      .def("set_tensor", [](ScopeVar& v, const Tensor& tensor) { *v.tensor = tensor; })
      .def("is_initialized", [](const ScopeVar& v) { return v.tensor->defined(); });

  nb::class_<Scope>(m, "Scope", nb::dynamic_attr(), "Where variables live between runs.")
      .def(nb::init<>())
      .def(
          "find_var",
          [](nb::object self, std::string_view name) {
            return wrap_var(nb::cast<Scope&>(self).find(name), self);
          },
          "The variable here or in a parent, None where there is none.")
      .def("var",
           [](nb::object self, std::string_view name) {
             return wrap_var(&nb::cast<Scope&>(self).var(name), self);
           })
      .def("local_var_names", &Scope::names)
      .def("erase",
           [](Scope& s, const std::vector<std::string>& names) {
             for (const std::string& name : names) s.erase(name);
           })
      .def("new_scope", &Scope::new_scope, nb::rv_policy::reference_internal)
      .def("drop_kids", &Scope::drop_kids)
      .def("_clear", &Scope::clear);

  nb::class_<Generator>(m, "Generator", "The source of random streams.")
      .def(nb::init<uint64_t>(), nb::arg("seed") = 0)
      .def("manual_seed", &Generator::seed)
      .def("initial_seed", &Generator::initial_seed);

  nb::class_<Executor>(m, "Executor", "Runs programs; plans are made once and looked up later.")
      .def(
          "__init__",
          [](Executor* self, Generator& generator) {
            new (self) Executor({.generator = &generator});
          },
          nb::arg("generator"), nb::keep_alive<1, 2>())
      .def("run", &run, nb::arg("program"), nb::arg("feed"), nb::arg("fetches"), nb::arg("scope"),
           nb::arg("as_numpy"))
      .def(
          "plan",
          [](Executor& e, const Program& program, nb::dict feed,
             const std::vector<std::string>& fetches,
             Scope& scope) { return e.plan(program, to_feeds(feed), fetches, scope).print(); },
          "The plan of a program as text.")
      .def("plan_stats",
           [](Executor& e, const Program& program, nb::dict feed,
              const std::vector<std::string>& fetches, Scope& scope) {
             return stats_of(e.plan(program, to_feeds(feed), fetches, scope).stats());
           })
      .def_prop_ro("plans_made", &Executor::plans_made);

  m.def("set_threads", [](int n) { set_threads(n); });
  m.def("threads", [] { return threads(); });
  m.def("memory_use", [] {
    const MemoryUse use = memory_use();
    return std::make_pair(use.live, use.peak);
  });
}

}  // namespace flotilla::python

#include "bind_job.h"

#include <csignal>
#include <optional>

#include "gil.h"
#include "interruptibly.h"
#include "interrupts.h"
#include "running.h"

namespace flotilla::python {
namespace {

// What a thread waits for outside of the core, as a `with` block.
struct InputWait {
  std::optional<Progress::Span> span = {};
};

// What atexit calls: says goodbye, as a process that fails where an exception ends it.
void leave(job::Fleet& fleet) {
  if (runs_go_on()) return;
  const nb::module_ system = nb::module_::import_("sys");
  const bool failed = nb::hasattr(system, "last_value");
  const bool interrupted =
      failed && PyErr_GivenExceptionMatches(nb::object(system.attr("last_value")).ptr(),
                                            PyExc_KeyboardInterrupt) != 0;
  const GilReleased released;
  fleet.leave(failed, interrupted ? SIGINT : 0);
}

}  // namespace

void wait_for_servers(job::FleetOfServers& fleet, const std::function<void()>& work) {
  const GilHeld gil;
  interruptibly([&] { fleet.give_up(); }, work);
}

job::Fleet& make_fleet() {
  const auto print = [](const std::string& line) {
    const GilHeld gil;
    nb::module_::import_("builtins").attr("print")(line, nb::arg("flush") = true);
  };
  return *new job::Fleet(job::Fleet::Options{.while_waiting = listen,
                                             .interrupted = interrupt_is_due,
                                             .listening = wait_for_servers,
                                             .print = print});
}

void warn_if_alone(job::Fleet& fleet, const Program& program) {
  std::string text;
  {
    const GilReleased released;
    text = fleet.trains_alone(program);
  }
  if (text.empty()) return;
  if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 2) != 0) throw nb::python_error();
}

FleetClass bind_job(nb::module_& m, job::Fleet& fleet) {
  using Waits = nb::call_guard<InterruptibleRelease>;
  fleet.progress().reach(Progress::Mark::kImported);
  FleetClass bound(m, "Fleet", "This process in its job, from joining to leaving.");
  bound
      .def("init", &job::Fleet::init, nb::arg("role"), Waits(),
           "Joins the job, and waits for the other workers where it has no servers.")
      .def("join", &job::Fleet::join, nb::arg("role"), Waits(),
           "Connects to the store of the job. False: the process is on its own.")
      .def("stopped", &job::Fleet::stopped, nb::call_guard<GilReleased>(),
           "Why the job stopped; \"\": it goes on.")
      .def("interrupted", &job::Fleet::interrupted, "Whether somebody has interrupted the job.");
  m.attr("fleet") = nb::cast(&fleet, nb::rv_policy::reference);

  nb::class_<InputWait>(m, "InputWait", "A `with` block that waits for input.")
      .def(nb::init<>())
      .def("__enter__",
           [&fleet](InputWait& wait) {
             wait.span.emplace(&fleet.progress(), Progress::Kind::kInput, kWaitsForBatch);
           })
      .def(
          "__exit__", [](InputWait& wait, nb::args) { wait.span.reset(); }, nb::arg("error"));
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([&fleet] { leave(fleet); }));
  return bound;
}

}  // namespace flotilla::python

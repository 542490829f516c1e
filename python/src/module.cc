#include "bind.h"
#include "bind_job.h"
#include "running.h"

NB_MODULE(_flotilla, m) {
  m.doc() = "The C++ core behind `paddle`. One bind_* function per folder of flotilla/.";
  // The default programs and the global scope live until the interpreter ends.
  nb::set_leak_warnings(false);
  flotilla::job::Fleet& fleet = flotilla::python::make_fleet();
  flotilla::python::bind_error(m, fleet);
  flotilla::python::bind_tensor(m);
  flotilla::python::bind_ir(m);
  flotilla::python::bind_layers(m, fleet);
  flotilla::python::bind_control_flow(m);
  flotilla::python::bind_recurrent(m);
  flotilla::python::FleetClass bound = flotilla::python::bind_job(m, fleet);
  flotilla::python::bind_runtime(m);
  flotilla::python::bind_function(m);
  flotilla::python::bind_data(m);
  flotilla::python::bind_generate(m);
  flotilla::python::bind_check(m);
  flotilla::python::bind_image(m);
  flotilla::python::bind_loader(m, fleet.progress());
  flotilla::python::bind_dataset(m, fleet.progress());
  flotilla::python::bind_shard(m);
  flotilla::python::bind_fleet(m);
  flotilla::python::bind_programs(bound);
  flotilla::python::bind_comm(m, bound);
  flotilla::python::bind_servers(m, bound);
  // The last to be registered is the first to be called.
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(flotilla::python::end_runs));
}

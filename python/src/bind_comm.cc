#include "bind_comm.h"

#include <nanobind/ndarray.h>
#include <unistd.h>

#include "bind.h"
#include "bind_job.h"
#include "bind_servers.h"
#include "flotilla/base/env.h"
#include "flotilla/base/error.h"
#include "flotilla/job/workers.h"
#include "flotilla/runtime/same_parameters.h"
#include "gil.h"
#include "interrupts.h"
#include "python_caller.h"
#include "running.h"

namespace flotilla::python {
namespace {

using comm::Reduce;
using Array = nb::ndarray<nb::c_contig, nb::device::cpu>;

// The workers of this process' job; null before it has met them.
std::unique_ptr<job::Workers>& workers() {
  static auto& made = *new std::unique_ptr<job::Workers>;
  static pid_t owner = getpid();
  if (owner != getpid()) {
    // A fork has met nobody. What it has a copy of belongs to its parent, and is left alone.
    static_cast<void>(made.release());
    owner = getpid();
  }
  return made;
}

comm::World& met() {
  require(workers() != nullptr,
          "this process has not joined the other workers of its job: call fleet.init() or "
          "paddle.distributed.init_parallel_env() first");
  return workers()->world();
}

Reduce reduce_of(const std::string& name) {
  if (name == "sum") return Reduce::kSum;
  if (name == "max") return Reduce::kMax;
  if (name == "min") return Reduce::kMin;
  if (name == "prod") return Reduce::kProd;
  if (name == "avg") return Reduce::kAverage;
  refuse("values are reduced by sum, max, min, prod or avg, but not by \"{}\"", name);
}

int64_t count_of(const Array& array) { return static_cast<int64_t>(array.size()); }
int64_t bytes_of(const Array& array) { return static_cast<int64_t>(array.nbytes()); }

// What it consists of, for the other workers to compare with theirs.
comm::Element element_of(const Array& array) {
  using nb::dlpack::dtype_code;
  const auto kind = [&] {
    switch (static_cast<dtype_code>(array.dtype().code)) {
      case dtype_code::Int:
        return 'i';
      case dtype_code::UInt:
        return 'u';
      case dtype_code::Float:
        return 'f';
      case dtype_code::Bfloat:
        return 'r';
      case dtype_code::Complex:
        return 'c';
      case dtype_code::Bool:
        return 'b';
      default:
        return '?';  // numpy has none
    }
  };
  return {kind(), static_cast<uint8_t>(array.itemsize())};
}

// Runs a collective call after all that were started, without the lock of the interpreter.
template <typename F>
void exchange(int64_t ring, F call) {
  comm::World& world = met();
  const InterruptibleRelease released;
  const Running running;
  const Progress::Span span(progress(), Progress::Kind::kCommunication, "talks to other workers");
  world.queue().run([&] { call(world.ring(ring)); });
}

void bind_groups(nb::module_& m) {
  m.def(
      "meet_workers",
      [](const fleet::Role& role) {
        if (workers() != nullptr) return;
        job::Membership* membership = role.workers > 1 ? join_job(role) : nullptr;
        const InterruptibleRelease released;
        workers() = std::make_unique<job::Workers>(role, membership);
      },
      nb::arg("role"), "Waits until all workers of the job are here.");
  m.def(
      "workers_exchange", []() -> Exchange& { return met().exchange(); }, nb::rv_policy::reference,
      "Agreement of all workers, for data sets.");
  m.def(
      "first_is_done",
      [] {
        if (workers() != nullptr) workers()->first_is_done();
      },
      nb::call_guard<GilReleased>(), "Worker 0 has done what the others wait for.");
  m.def(
      "wait_for_first",
      [] {
        const Progress::Span span(progress(), Progress::Kind::kBarrier, "waits for worker 0");
        if (workers() != nullptr) workers()->wait_for_first();
      },
      nb::call_guard<InterruptibleRelease>(), "The other side of first_is_done().");
  m.def("workers_met", [] { return workers() != nullptr; });
  m.def(
      "leave_workers", [] { workers().reset(); }, nb::call_guard<GilReleased>());
  m.def(
      "make_ring",
      [](int64_t id, const std::vector<int>& ranks) {
        comm::World& world = met();
        const InterruptibleRelease released;
        world.make_ring(id, ranks);
      },
      nb::arg("id"), nb::arg("ranks"), "A group of some workers; each of them calls this.");
  m.def(
      "ring", [](int64_t id) { return std::pair(met().ring(id).rank(), met().ring(id).size()); },
      nb::arg("id"), "This worker's rank in a group, and the group's size.");
}

void bind_calls(nb::module_& m) {
  m.def("all_reduce",
        [](Array data, const std::string& dtype, const std::string& how, int64_t ring) {
          exchange(ring, [&](comm::Group& group) {
            group.all_reduce(data.data(), data.data(), static_cast<int64_t>(data.size()),
                             parse_dtype(dtype), reduce_of(how));
          });
        });
  m.def("reduce_to",
        [](Array data, const std::string& dtype, const std::string& how, int root, int64_t ring) {
          exchange(ring, [&](comm::Group& group) {
            group.reduce(data.data(), data.data(), static_cast<int64_t>(data.size()),
                         parse_dtype(dtype), reduce_of(how), root);
          });
        });
  m.def("reduce_scatter",
        [](Array in, Array out, const std::string& dtype, const std::string& how, int64_t ring) {
          exchange(ring, [&](comm::Group& group) {
            require(in.size() == out.size() * static_cast<size_t>(group.size()),
                    "reduce_scatter: {} workers divide {} elements, but the result has {}",
                    group.size(), in.size(), out.size());
            group.reduce_scatter(in.data(), out.data(), static_cast<int64_t>(out.size()),
                                 parse_dtype(dtype), reduce_of(how));
          });
        });
  m.def("broadcast", [](Array data, int root, int64_t ring) {
    exchange(ring, [&](comm::Group& group) {
      group.broadcast(data.data(), count_of(data), element_of(data), root);
    });
  });
  // `out` and `in` of these hold a part for each worker, one behind the other.
  m.def("all_gather", [](Array in, Array out, int64_t ring) {
    exchange(ring, [&](comm::Group& group) {
      require(bytes_of(out) == bytes_of(in) * group.size(),
              "all_gather: {} workers give {} bytes each, but the result has {}", group.size(),
              bytes_of(in), bytes_of(out));
      group.all_gather(in.data(), out.data(), count_of(in), element_of(in));
    });
  });
  m.def("all_to_all", [](Array in, Array out, int64_t ring) {
    exchange(ring, [&](comm::Group& group) {
      require(bytes_of(out) == bytes_of(in) && bytes_of(in) % group.size() == 0,
              "all_to_all: {} workers trade {} bytes for {}", group.size(), bytes_of(in),
              bytes_of(out));
      group.all_to_all(in.data(), out.data(), count_of(in) / group.size(), element_of(in));
    });
  });
  m.def("scatter", [](Array in, Array out, int root, int64_t ring) {
    exchange(ring, [&](comm::Group& group) {
      require(group.rank() != root || bytes_of(in) == bytes_of(out) * group.size(),
              "scatter: {} workers get {} bytes each, but there are {}", group.size(),
              bytes_of(out), bytes_of(in));
      group.scatter(in.data(), out.data(), count_of(out), element_of(out), root);
    });
  });
  m.def("send", [](Array data, int to, int64_t ring) {
    exchange(ring, [&](comm::Group& group) {
      group.send(data.data(), count_of(data), element_of(data), to);
    });
  });
  m.def("recv", [](Array data, int from, int64_t ring) {
    exchange(ring, [&](comm::Group& group) {
      group.recv(data.data(), count_of(data), element_of(data), from);
    });
  });
  m.def("barrier", [](int64_t ring) {
    comm::World& world = met();
    const InterruptibleRelease released;
    const Progress::Span span(progress(), Progress::Kind::kBarrier, "waits for other workers");
    world.queue().run([&] { world.ring(ring).barrier(); });
  });
  m.def(
      "ask_workers",
      [](bool mine) {
        comm::World& world = met();
        const auto all = std::make_unique<bool[]>(static_cast<size_t>(world.size()));
        {
          const InterruptibleRelease released;
          const Progress::Span span(progress(), Progress::Kind::kInput,
                                    "waits for the batches of other workers");
          world.queue().run([&] { world.ring(0).all_gather(&mine, all.get(), 1, boolean); });
        }
        return std::vector<bool>(all.get(), all.get() + world.size());
      },
      nb::arg("mine"), "What every worker answers, in the order of ranks.");
  m.def(
      "set_has_data", [](bool has_data) { met().set_has_data(has_data); }, nb::arg("has_data"),
      "Whether what this worker computes counts where samples are weighed.");
  m.def("exchanged_parameters", &exchanged_parameters, nb::arg("program"),
        "The names of the parameters that all workers hold alike.");
  m.def(
      "compare_parameters",
      [](const std::vector<std::string>& names, Scope& scope) {
        comm::World& world = met();
        const InterruptibleRelease released;
        const Progress::Span span(progress(), Progress::Kind::kCommunication,
                                  "compares parameters with other workers");
        compare_parameters(world, names, scope);
      },
      nb::arg("names"), nb::arg("scope"), "Refuses parameters that differ between workers.");
  m.def("all_gather_bytes", [](nb::bytes mine, int64_t ring) {
    std::vector<std::string> all;
    exchange(ring, [&, bytes = std::string(mine.c_str(), mine.size())](comm::Group& group) mutable {
      all = comm::all_gather(group, std::move(bytes));
    });
    nb::list list;
    for (const std::string& one : all) list.append(nb::bytes(one.data(), one.size()));
    return list;
  });
}

}  // namespace

comm::World* world() { return workers() == nullptr ? nullptr : &workers()->world(); }

std::atomic<bool>& check_numbers() {
  static std::atomic<bool> on = env::flag_or("FLAGS_check_nan_inf", false);
  return on;
}

Executor& WorkersExecutor::get() {
  if (!made_ || world_ != world() || servers_ != servers()) {
    world_ = world();
    servers_ = servers();
    made_.emplace(Executor::Options{.generator = &generator_,
                                    .progress = progress(),
                                    .world = world_,
                                    .servers = servers_,
                                    .caller = &python_caller()});
  }
  made_->check_numbers(check_numbers());
  return *made_;
}

void bind_comm(nb::module_& m) {
  bind_groups(m);
  bind_calls(m);
  // Runs before the process leaves its job, which was registered earlier.
  nb::module_::import_("atexit").attr("register")(nb::cpp_function([] {
    if (runs_go_on()) return static_cast<void>(workers().release());
    const bool failed = nb::hasattr(nb::module_::import_("sys"), "last_value");
    const GilReleased released;
    if (workers() != nullptr) workers()->leave(failed);
    workers().reset();
  }));
}

}  // namespace flotilla::python

#include "bind_comm.h"

#include <nanobind/ndarray.h>

#include "bind.h"
#include "bind_gpu.h"
#include "bind_job.h"
#include "flotilla/base/env.h"
#include "flotilla/base/error.h"
#include "flotilla/job/even_loader.h"
#include "gil.h"
#include "interrupts.h"
#include "python_caller.h"
#include "running.h"

namespace flotilla::python {
namespace {

using comm::Reduce;
using Array = nb::ndarray<nb::c_contig, nb::device::cpu>;

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
void exchange(job::Fleet& fleet, int64_t ring, F call) {
  comm::World& world = fleet.world();
  const InterruptibleRelease released;
  const Running running;
  const Progress::Span span(&fleet.progress(), Progress::Kind::kCommunication,
                            "talks to other workers");
  world.queue().run([&] { call(world.ring(ring)); });
}

void bind_groups(FleetClass& fleet) {
  using job::Fleet;
  using Waits = nb::call_guard<InterruptibleRelease>;
  fleet
      .def(
          "meet",
          [](Fleet& f, const fleet::Role* role) {
            return (role != nullptr ? f.meet(*role) : f.meet(fleet::data_role_from_environment()))
                .size();
          },
          nb::arg("role").none() = nb::none(), Waits(),
          "Waits until all workers of the job are here; how many.")
      .def(
          "met", [](const Fleet& f) { return f.met() == nullptr ? 0 : f.met()->size(); },
          "How many workers have met; 0: they have not.")
      .def("leave_workers", &Fleet::leave_workers, nb::call_guard<GilReleased>())
      .def("after_first", &Fleet::after_first, Waits(),
           "Worker 0 has done what the others wait for.")
      .def(
          "exchange", [](Fleet& f) -> Exchange& { return f.exchange(); }, Waits(),
          nb::rv_policy::reference, "Agreement of all workers, for data sets.")
      .def(
          "make_ring",
          [](Fleet& f, int64_t id, const std::vector<int>& ranks) {
            comm::World& world = f.world();
            const InterruptibleRelease released;
            world.make_ring(id, ranks);
          },
          nb::arg("id"), nb::arg("ranks"), "A group of some workers; each of them calls this.")
      .def(
          "rank", [](const Fleet& f) { return f.world().rank(); }, "This worker's, among all.");
}

void bind_calls(FleetClass& fleet) {
  using job::Fleet;
  fleet.def("all_reduce", [](Fleet& f, Array data, const std::string& dtype, const std::string& how,
                             int64_t ring) {
    exchange(f, ring, [&](comm::Group& group) {
      group.all_reduce(data.data(), data.data(), static_cast<int64_t>(data.size()),
                       parse_dtype(dtype), reduce_of(how));
    });
  });
  fleet.def("reduce_to", [](Fleet& f, Array data, const std::string& dtype, const std::string& how,
                            int root, int64_t ring) {
    exchange(f, ring, [&](comm::Group& group) {
      group.reduce(data.data(), data.data(), static_cast<int64_t>(data.size()), parse_dtype(dtype),
                   reduce_of(how), root);
    });
  });
  fleet.def("reduce_scatter", [](Fleet& f, Array in, Array out, const std::string& dtype,
                                 const std::string& how, int64_t ring) {
    exchange(f, ring, [&](comm::Group& group) {
      require(in.size() == out.size() * static_cast<size_t>(group.size()),
              "reduce_scatter: {} workers divide {} elements, but the result has {}", group.size(),
              in.size(), out.size());
      group.reduce_scatter(in.data(), out.data(), static_cast<int64_t>(out.size()),
                           parse_dtype(dtype), reduce_of(how));
    });
  });
  fleet.def("broadcast", [](Fleet& f, Array data, int root, int64_t ring) {
    exchange(f, ring, [&](comm::Group& group) {
      group.broadcast(data.data(), count_of(data), element_of(data), root);
    });
  });
  // `out` and `in` of these hold a part for each worker, one behind the other.
  fleet.def("all_gather", [](Fleet& f, Array in, Array out, int64_t ring) {
    exchange(f, ring, [&](comm::Group& group) {
      require(bytes_of(out) == bytes_of(in) * group.size(),
              "all_gather: {} workers give {} bytes each, but the result has {}", group.size(),
              bytes_of(in), bytes_of(out));
      group.all_gather(in.data(), out.data(), count_of(in), element_of(in));
    });
  });
  fleet.def("all_to_all", [](Fleet& f, Array in, Array out, int64_t ring) {
    exchange(f, ring, [&](comm::Group& group) {
      require(bytes_of(out) == bytes_of(in) && bytes_of(in) % group.size() == 0,
              "all_to_all: {} workers trade {} bytes for {}", group.size(), bytes_of(in),
              bytes_of(out));
      group.all_to_all(in.data(), out.data(), count_of(in) / group.size(), element_of(in));
    });
  });
  fleet.def("scatter", [](Fleet& f, Array in, Array out, int root, int64_t ring) {
    exchange(f, ring, [&](comm::Group& group) {
      require(group.rank() != root || bytes_of(in) == bytes_of(out) * group.size(),
              "scatter: {} workers get {} bytes each, but there are {}", group.size(),
              bytes_of(out), bytes_of(in));
      group.scatter(in.data(), out.data(), count_of(out), element_of(out), root);
    });
  });
  fleet.def("send", [](Fleet& f, Array data, int to, int64_t ring) {
    exchange(f, ring, [&](comm::Group& group) {
      group.send(data.data(), count_of(data), element_of(data), to);
    });
  });
  fleet.def("recv", [](Fleet& f, Array data, int from, int64_t ring) {
    exchange(f, ring, [&](comm::Group& group) {
      group.recv(data.data(), count_of(data), element_of(data), from);
    });
  });
  fleet.def("barrier", [](Fleet& f, int64_t ring) {
    comm::World& world = f.world();
    const InterruptibleRelease released;
    const Progress::Span span(&f.progress(), Progress::Kind::kBarrier, "waits for other workers");
    world.queue().run([&] { world.ring(ring).barrier(); });
  });
  fleet.def("compare_parameters", &Fleet::compare_parameters, nb::arg("program"), nb::arg("scope"),
            nb::call_guard<InterruptibleRelease>(),
            "Refuses parameters of the program that differ between workers.");
  fleet.def("all_gather_bytes", [](Fleet& f, nb::bytes mine, int64_t ring) {
    std::vector<std::string> all;
    exchange(f, ring,
             [&, bytes = std::string(mine.c_str(), mine.size())](comm::Group& group) mutable {
               all = comm::all_gather(group, std::move(bytes));
             });
    nb::list list;
    for (const std::string& one : all) list.append(nb::bytes(one.data(), one.size()));
    return list;
  });
}

// A loader of this worker, and the batch that it may have to repeat.
struct Even {
  job::Fleet& fleet;
  std::shared_ptr<job::EvenLoader> loader;
  nb::object last = nb::none();

  nb::object next(nb::object batch) {
    const bool has_batch = !batch.is_none();
    Executor::Next next = {};
    {
      const InterruptibleRelease released;
      next = fleet.next_batch(loader, has_batch);
    }
    if (next == Executor::Next::kEnd) throw nb::stop_iteration();
    if (!has_batch) return last;
    last = loader->repeats() ? batch : nb::none();
    return batch;
  }
};

void bind_even(nb::module_& m, FleetClass& fleet) {
  nb::class_<Even>(m, "EvenLoader", "A loader whose passes end for all workers together.")
      .def(
          "begin", [](Even& even) { even.loader->begin(); }, "A pass begins.")
      .def("next", &Even::next, nb::arg("batch").none(),
           "The batch to run with: this one; without one, perhaps the last.");
  fleet.def("even_loader", [](job::Fleet& f) { return Even{f, f.even_loader()}; });
}

}  // namespace

std::atomic<bool>& check_numbers() {
  static std::atomic<bool> on = env::flag_or("FLAGS_check_nan_inf", false);
  return on;
}

WorkersExecutor::WorkersExecutor(Generator& generator, job::Fleet& fleet, std::optional<int> gpu)
    : generator_(generator), gpu_(gpu ? shared_gpu(*gpu) : nullptr), fleet_(fleet) {}

Executor& WorkersExecutor::get() {
  if (!made_ || world_ != fleet_.met() || servers_ != fleet_.servers()) {
    world_ = fleet_.met();
    servers_ = fleet_.servers();
    made_.emplace(Executor::Options{.device = gpu_.get(),
                                    .generator = &generator_,
                                    .progress = &fleet_.progress(),
                                    .world = world_,
                                    .servers = servers_,
                                    .caller = &python_caller()});
  }
  made_->check_numbers(check_numbers());
  return *made_;
}

void bind_comm(nb::module_& m, FleetClass& fleet) {
  bind_even(m, fleet);
  bind_groups(fleet);
  bind_calls(fleet);
}

}  // namespace flotilla::python

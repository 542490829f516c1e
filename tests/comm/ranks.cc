// A rank of a job that does nothing but collective calls, and checks what comes back:
//
//   fleetrun --nproc_per_node=2 test_comm_ranks STEPS [RANK STEP FAULT]
//
// STEPS 0: until somebody ends it. Lengths and kinds of memory change with the step. RANK does
// FAULT at STEP: kill, stop, throw, or halve (it gives half of what the others do). A rank that is
// through prints "done"; one that goes wrong, or is ended, prints when and why.

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/base/progress.h"
#include "flotilla/fleet/role.h"
#include "flotilla/job/membership.h"
#include "flotilla/job/workers.h"

namespace flotilla {
namespace {

struct Fault {
  int rank = -1;
  int64_t step = 0;
  std::string kind = {};
};

void print_with_time(const char* what, const char* why = "") {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  fmt::print("{} at {:.3f} {}\n", what, std::chrono::duration<double>(since).count(), why);
  std::fflush(stdout);
}

void commit(const Fault& fault) {
  print_with_time("goes wrong");
  if (fault.kind == "kill") ::raise(SIGKILL);
  if (fault.kind == "stop") ::raise(SIGSTOP);
  if (fault.kind == "throw") throw Error(ErrorKind::kInternal, "rank has had enough");
}

// The sum of what all ranks give is a small integer: exact in whatever order.
float value(int rank, int64_t step, int64_t i) {
  return static_cast<float>((i + step + 3 * rank) % 1000);
}

void run_step(comm::World& world, int64_t step, bool halve, float* shared,
              std::vector<float>& own) {
  const int64_t counts[] = {2, 700, 9000, 70000};
  const int64_t count = counts[step % 4] / (halve ? 2 : 1);
  float* data = step % 8 < 4 ? shared : own.data();
  for (int64_t i = 0; i < count; ++i) data[i] = value(world.rank(), step, i);
  world.queue().start(
      [=, &world] { world.ring(0).all_reduce(data, data, count, f32, comm::Reduce::kSum); });
  world.queue().finish();
  for (int64_t i = 0; i < count; ++i) {
    float expected = 0;
    for (int r = 0; r < world.size(); ++r) expected += value(r, step, i);
    invariant(data[i] == expected, "step {}: element {} is {}, not {}", step, i, data[i], expected);
  }
  if (step % 16 == 0) {
    int64_t root_says = world.rank() == 0 ? step : -1;
    world.ring(0).broadcast(&root_says, 1, i64, 0);
    invariant(root_says == step, "rank 0 is at step {}, not {}", root_says, step);
  }
}

void run(int64_t steps, const Fault& fault) {
  Progress progress;
  const fleet::Role role = fleet::role_from_environment(true);
  const auto membership = job::Membership::join(role, &progress);
  require(membership != nullptr, "start it with fleetrun");
  try {
    job::Workers workers(role, membership.get());
    comm::World& world = workers.world();
    const auto shared = world.allocate(400000);
    std::vector<float> own(100000);
    for (int64_t step = 0; steps == 0 || step < steps; ++step) {
      const bool now = world.rank() == fault.rank && step == fault.step;
      if (now) commit(fault);
      const Progress::Span span(&progress, Progress::Kind::kCommunication, "all-reduce", step);
      run_step(world, step, now && fault.kind == "halve", static_cast<float*>(shared->data()), own);
      progress.step_done();
      if (step == 3) fmt::print("runs\n"), std::fflush(stdout);
    }
    fmt::print("done\n");
  } catch (const std::exception& error) {
    print_with_time("ended", error.what());
    membership->abandon(error.what());
    throw;
  }
}

}  // namespace
}  // namespace flotilla

int main(int argc, char** argv) {
  try {
    flotilla::Fault fault;
    if (argc > 4) {
      fault = {std::atoi(argv[2]), std::atoll(argv[3]), argv[4]};
      // A rank shall say how its call ended, before the launcher ends the rank.
      ::signal(SIGTERM, SIG_IGN);
    }
    flotilla::run(argc > 1 ? std::atoll(argv[1]) : 0, fault);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

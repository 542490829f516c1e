// What an all-reduce costs, measured by ranks that are real processes of one job:
//
//   fleetrun --nproc_per_node=2 build/dev/bin/bench_comm [SECONDS]
//
// Rank 0 prints one JSON line for each size and kind of memory: microseconds of the best batch.
// SECONDS is how long it measures each of them.

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <string>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/fleet/role.h"
#include "flotilla/job/membership.h"
#include "flotilla/job/workers.h"

namespace flotilla {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int64_t kBytes[] = {4 << 10, 16 << 10, 64 << 10, 256 << 10,
                              1 << 20, 4 << 20,  16 << 20, 100 << 20};
constexpr double kBatchSeconds = 0.0001;
constexpr int64_t kLeastBatches = 5;
constexpr int64_t kFreshTurns = 100;

double seconds_since(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

// Seconds of one call, from the best batch of several. Batches are short, so that some of them meet
// no other process; rank 0 says how many calls the next one has.
double best_of(comm::World& world, double seconds, const std::function<void()>& call) {
  comm::Group& group = world.ring(0);
  call();
  const Clock::time_point begin = Clock::now();
  double best = 1;
  for (int64_t batch = 0;; ++batch) {
    int64_t calls = std::max(int64_t{1}, static_cast<int64_t>(kBatchSeconds / best));
    if (batch >= kLeastBatches && seconds_since(begin) > seconds) calls = 0;
    group.broadcast(&calls, 1, i64, 0);
    if (calls == 0) return best;
    const Clock::time_point start = Clock::now();
    for (int64_t i = 0; i < calls; ++i) call();
    best = std::min(best, seconds_since(start) / static_cast<double>(calls));
  }
}

void check(comm::World& world, float* data, int64_t count) {
  for (int64_t i = 0; i < count; ++i) data[i] = static_cast<float>(world.rank() + i % 7);
  world.ring(0).all_reduce(data, data, count, f32, comm::Reduce::kSum);
  const int n = world.size();
  for (int64_t i = 0; i < count; ++i) {
    const float expected = static_cast<float>(n * (n - 1) / 2 + n * (i % 7));
    invariant(data[i] == expected, "element {} is {}, not {}", i, data[i], expected);
  }
  std::fill_n(data, count, 0.0f);  // stays 0, however often it is summed
}

void print(const comm::World& world, const char* what, int64_t bytes, double seconds) {
  if (world.rank() != 0) return;
  fmt::print("{{\"what\": \"{}\", \"bytes\": {}, \"us\": {:.3f}}}\n", what, bytes, seconds * 1e6);
}

void measure(comm::World& world, double seconds, int64_t bytes) {
  const int64_t count = bytes / 4;
  const auto shared = world.allocate(bytes);
  std::vector<float> own(static_cast<size_t>(count));
  const auto tell = [&](const char* what, const std::function<void()>& call) {
    print(world, what, bytes, best_of(world, seconds, call));
  };
  const auto all_reduce = [&](float* data) {
    world.ring(0).all_reduce(data, data, count, f32, comm::Reduce::kSum);
  };
  auto* data = static_cast<float*>(shared->data());
  // As in training: every rank has just written its values, which no other core holds.
  const auto tell_fresh = [&] {
    std::vector<double> taken;  // the median: in the best turn the values have left the core
    for (int64_t turn = 0; turn < kFreshTurns; ++turn) {
      std::iota(data, data + count, 0.0f);
      world.ring(0).barrier();
      const Clock::time_point start = Clock::now();
      all_reduce(data);
      taken.push_back(seconds_since(start));
    }
    std::nth_element(taken.begin(), taken.begin() + kFreshTurns / 2, taken.end());
    print(world, "fresh", bytes, taken[kFreshTurns / 2]);
  };
  check(world, data, count);
  check(world, own.data(), count);
  tell("shared", [&] { all_reduce(data); });
  tell("own", [&] { all_reduce(own.data()); });
  tell_fresh();
  // All ranks at once, as they do above.
  tell("memcpy", [&] { std::memcpy(own.data(), data, static_cast<size_t>(bytes)); });
}

void run(double seconds) {
  const fleet::Role role = fleet::role_from_environment(true);
  const auto membership = job::Membership::join(role, nullptr);
  require(membership != nullptr, "start it with fleetrun");
  job::Workers workers(role, membership.get());
  for (const int64_t bytes : kBytes) measure(workers.world(), seconds, bytes);
}

}  // namespace
}  // namespace flotilla

int main(int argc, char** argv) {
  try {
    flotilla::run(argc > 1 ? std::strtod(argv[1], nullptr) : 0.3);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "{}\n", error.what());
    return 1;
  }
}

#include "running.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <thread>

#include "gil.h"

namespace flotilla::python {
namespace {

// A step takes less; one that waits for others does not.
constexpr std::chrono::milliseconds kPatience{1000};
constexpr std::chrono::milliseconds kLook{1};

std::atomic<int> runs = 0;
std::atomic<bool> ending = false;
pthread_t ending_thread = {};  // valid once `ending` is true

// The last function to be registered is the first that exit() calls: before any destructor.
void leave_at_once() {
  on_exit(
      [](int status, void*) {
        std::fflush(nullptr);
        _exit(status);
      },
      nullptr);
}

}  // namespace

Running::Running() {
  ++runs;
  if (!ending || pthread_equal(pthread_self(), ending_thread) != 0) return;
  --runs;
  wait_for_the_end();
}

Running::~Running() { --runs; }

void end_runs() {
  ending_thread = pthread_self();
  ending = true;
  const GilReleased released;  // those that end need it
  const auto until = std::chrono::steady_clock::now() + kPatience;
  while (runs > 0 && std::chrono::steady_clock::now() < until) std::this_thread::sleep_for(kLook);
  if (runs > 0) leave_at_once();
}

bool runs_go_on() { return ending && runs > 0; }

}  // namespace flotilla::python

#include "flotilla/job/stop_signals.h"

#include <atomic>

namespace flotilla::job {
namespace {

// Handlers reach nothing but globals.
std::atomic<int> first = 0;
static_assert(std::atomic<int>::is_always_lock_free);

void note(int signal) {
  int none = 0;
  first.compare_exchange_strong(none, signal);
}

}  // namespace

StopSignals::StopSignals(std::initializer_list<int> signals) {
  first = 0;
  for (const int signal : signals) {
    struct sigaction before = {};
    sigaction(signal, nullptr, &before);
    if (before.sa_handler != SIG_DFL) continue;
    struct sigaction ours = {};
    ours.sa_handler = note;
    ours.sa_flags = SA_RESTART;
    sigaction(signal, &ours, nullptr);
    before_.emplace_back(signal, before);
  }
}

StopSignals::~StopSignals() {
  for (const auto& [signal, before] : before_) sigaction(signal, &before, nullptr);
}

int StopSignals::seen() const { return first; }

}  // namespace flotilla::job

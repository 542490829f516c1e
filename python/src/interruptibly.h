// python/src/interruptibly.h
//
// Waits of the core that end with Ctrl-C.

#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <thread>

#include "bind.h"
#include "flotilla/base/thread.h"
#include "gil.h"

namespace flotilla::python {

inline constexpr std::chrono::microseconds kLongestWait(50000);

// Throws KeyboardInterrupt where Ctrl-C was pressed.
inline void listen() {
  const GilHeld gil;
  if (unless_the_end(PyErr_CheckSignals) != 0) throw nb::python_error();
}

// Waits until a channel or a pass has a batch, or has ended. REQUIRES: the GIL is not held.
template <typename Source>
void wait_for_batch(Source& source) {
  while (!source.wait_until(std::chrono::steady_clock::now() + kLongestWait)) listen();
}

// Runs f in a thread of its own while this one listens; `stop` ends it.
// REQUIRES: the GIL is held; f does not need it.
template <typename Stop, typename F>
void interruptibly(Stop stop, F f) {
  const GilReleased released;
  std::exception_ptr error;
  std::atomic<bool> done = false;
  std::thread thread = start_thread<std::thread>("waits while this one listens for Ctrl-C", [&] {
    try {
      f();
    } catch (...) {
      error = std::current_exception();
    }
    done = true;
  });
  try {
    // Most calls are short: the first looks come soon.
    for (std::chrono::microseconds wait(50); !done; wait = std::min(wait * 2, kLongestWait)) {
      std::this_thread::sleep_for(wait);
      listen();
    }
  } catch (...) {
    stop();
    thread.join();
    throw;
  }
  thread.join();
  if (error != nullptr) std::rethrow_exception(error);
}

}  // namespace flotilla::python

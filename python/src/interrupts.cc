#include "interrupts.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <optional>

namespace flotilla::python {
namespace {

using Clock = std::chrono::steady_clock;

// A step that is nearly done shall be done.
constexpr std::chrono::milliseconds kPatience(300);

// Handlers reach nothing but globals.
std::atomic<bool> pressed = false;
std::atomic<void (*)(int)> pythons = nullptr;
std::atomic<int64_t> inside = 0;  // how deep the main thread is inside of the core

bool main_thread() {
  thread_local const bool main = ::getpid() == static_cast<pid_t>(::syscall(SYS_gettid));
  return main;
}

// Python's note comes first: whoever sees ours finds it.
void note(int signal) {
  if (auto* const handler = pythons.load()) handler(signal);
  pressed = true;
}

// Python sets its handler anew whenever a program asks for another.
void stand_before_python() {
  struct sigaction now = {};
  ::sigaction(SIGINT, nullptr, &now);
  const bool plain = (now.sa_flags & SA_SIGINFO) == 0;
  if (!plain || now.sa_handler == note || now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN) {
    return;
  }
  pythons = now.sa_handler;
  now.sa_handler = note;
  ::sigaction(SIGINT, &now, nullptr);
}

// A handler of the user's own may do anything, and its program goes on. The main thread may ask
// too: a line of Python, of which `signal` has some, would answer Ctrl-C in the middle of the
// question.
bool raises_keyboard_interrupt() {
  const GilHeld gil;
  const nb::module_ signals = nb::module_::import_("_signal");
  return signals.attr("getsignal")(SIGINT).is(signals.attr("default_int_handler"));
}

}  // namespace

InterruptibleRelease::Inside::Inside() {
  if (!main_thread()) return;
  stand_before_python();
  pressed = false;
  if (PyErr_CheckSignals() != 0) throw nb::python_error();
  ++inside;
}

InterruptibleRelease::Inside::~Inside() {
  if (main_thread()) --inside;
}

InterruptibleRelease::InterruptibleRelease() = default;
InterruptibleRelease::~InterruptibleRelease() = default;

bool interrupt_is_due() {
  static std::optional<Clock::time_point> since;  // one thread asks
  if (!pressed || inside == 0) {
    since.reset();
    return false;
  }
  if (!since) since = Clock::now();
  if (Clock::now() - *since < kPatience) return false;
  if (raises_keyboard_interrupt()) return true;
  pressed = false;
  return false;
}

}  // namespace flotilla::python

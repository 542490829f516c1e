// python/src/gil.h
//
// The lock of the interpreter, as nanobind's guards have it, for threads that may outlive the
// interpreter. When such a thread asks for the lock, CPython ends it by unwinding its stack, which
// C++ turns into an abort: destructors may not be left that way, and need the lock besides. Here it
// waits for the end of the process instead.

#pragma once

#include <cxxabi.h>
#include <unistd.h>

#include <memory>

#include "bind.h"

namespace flotilla::python {

[[noreturn]] inline void wait_for_the_end() {
  for (;;) pause();
}

// Runs f, which asks for the lock or calls Python.
template <typename F>
auto unless_the_end(F&& f) {
  try {
    return f();
  } catch (const abi::__forced_unwind&) {
    wait_for_the_end();
  }
}

// The calling thread does without the lock.
class GilReleased {
 public:
  GilReleased() : state_(PyEval_SaveThread()) {}
  ~GilReleased() {
    unless_the_end([this] { PyEval_RestoreThread(state_); });
  }
  GilReleased(const GilReleased&) = delete;
  GilReleased& operator=(const GilReleased&) = delete;

 private:
  PyThreadState* const state_;
};

// The calling thread has the lock, also one that Python does not know.
class GilHeld {
 public:
  GilHeld() : state_(unless_the_end([] { return PyGILState_Ensure(); })) {}
  ~GilHeld() { PyGILState_Release(state_); }
  GilHeld(const GilHeld&) = delete;
  GilHeld& operator=(const GilHeld&) = delete;

 private:
  const PyGILState_STATE state_;
};

// A Python object that threads may let go of which do not hold the lock.
using Held = std::shared_ptr<PyObject>;
inline Held hold(nb::handle object) {
  return Held(object.inc_ref().ptr(), [](PyObject* held) {
    const GilHeld gil;
    Py_DECREF(held);
  });
}

}  // namespace flotilla::python

// python/src/interrupts.h
//
// Ctrl-C while the main thread is inside of the core. Python's handler makes a note that only the
// interpreter reads; here the note is seen as well, and what the core waits for is given up.

#pragma once

#include "gil.h"

namespace flotilla::python {

// Gives the lock of the interpreter back while the core works or waits for other processes. Ctrl-C
// from before is answered first. Where it is pressed meanwhile and the core does not return soon,
// interrupt_is_due() says so, and the job is left: what waits ends with an error, which reaches
// Python as KeyboardInterrupt.
class InterruptibleRelease {
 public:
  InterruptibleRelease();
  ~InterruptibleRelease();
  InterruptibleRelease(const InterruptibleRelease&) = delete;
  InterruptibleRelease& operator=(const InterruptibleRelease&) = delete;

 private:
  struct Inside {
    Inside();
    ~Inside();
  };
  const Inside inside_;  // the first: it needs the lock
  const GilReleased released_;
};

// To be asked now and then by another thread: whether Ctrl-C was pressed a moment ago, will end the
// program, and the main thread is still inside of the core.
bool interrupt_is_due();

}  // namespace flotilla::python

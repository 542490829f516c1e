// python/src/running.h
//
// Threads that run programs or exchange values while the interpreter ends. Its end waits for them a
// moment; where one is still at work then, nothing that it uses is torn down, and the process
// leaves with its exit code and without the destructors of globals.

#pragma once

namespace flotilla::python {

// Stands for a run while it lives. Once the interpreter ends, another thread than the one that ends
// it goes no further than this.
// REQUIRES: the lock of the interpreter is not held.
class Running {
 public:
  Running();
  ~Running();
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;
};

// What atexit calls before anything is torn down.
// REQUIRES: the lock of the interpreter is held.
void end_runs();

// Whether a run went on beyond that: what it uses must be left alone.
bool runs_go_on();

}  // namespace flotilla::python

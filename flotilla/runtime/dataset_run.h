// flotilla/runtime/dataset_run.h
//
// Training from a data set: the loop over its batches.
//
//   BatchPass --next()--> the calling thread: executor, scope --+
//             --next()--> thread 1:           executor, scope --+--> the parameters of one scope
//
// With one thread every batch goes through Executor::run in order: the same bits as a loop written
// by hand. With several, each thread runs whole batches in a scope of its own, and all read and
// write the parameters without a lock (Hogwild: Niu et al., "A Lock-Free Approach to Parallelizing
// Stochastic Gradient Descent", NIPS 2011): updates may be lost where they meet, and results differ
// from run to run.

#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "flotilla/data/batch_pass.h"
#include "flotilla/runtime/executor.h"

namespace flotilla {

struct DatasetRun {
  const Program& program;

  // The variable of each tensor of a batch.
  std::vector<std::string> feeds = {};

  // What is printed every `print_period` batches of thread 0, under these labels.
  std::vector<std::string> fetches = {};
  std::vector<std::string> labels = {};
  int64_t print_period = 100;

  // What `watch` is given every `watch_seconds`: their latest values in thread 0.
  std::vector<std::string> watched = {};
  double watch_seconds = 60;
  std::function<void(const std::vector<FetchedValue>&)> watch = nullptr;

  // The calling thread is the first of them. They share out the cores. Where several ranks exchange
  // something it is the only one: threads that overtake each other would do it in any order.
  int64_t threads = 1;

  // Prints at the end what each thread has done.
  bool debug = false;

  // Both are called by the thread that called run_from_dataset, as is `watch`; what they throw ends
  // the run. `tick` comes about twenty times a second, or after each batch where that is seldomer.
  std::function<void(const std::string& line)> print = nullptr;
  std::function<void()> tick = nullptr;
};

struct DatasetRunReport {
  struct Thread {
    int64_t batches = 0;
    int64_t samples = 0;
    double read_seconds = 0;  // waiting for batches
    double run_seconds = 0;
  };
  std::vector<Thread> threads = {};

  int64_t batches() const;
  int64_t samples() const;
};

// Runs the program once for each batch. Returns when all is done and no thread is left; an error of
// any thread, or of the data set, ends the others after their batch and is thrown.
DatasetRunReport run_from_dataset(const DatasetRun& run, data::BatchPass& batches,
                                  Executor& executor, Scope& scope);

// A copy that changes no parameter: without the ops of optimizers and of learning-rate schedules.
std::shared_ptr<Program> without_updates(const Program& program);

// "time: [2026-11-15 03:09:45], batch: [11], loss[1]:[0.694989]", as Paddle prints it.
std::string fetch_line(int64_t batch, const std::vector<std::string>& labels,
                       const std::vector<FetchedValue>& values);

}  // namespace flotilla

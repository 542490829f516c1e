// flotilla/ps/worker.h
//
// Parameter servers as the steps of a worker's program see them: what op kernels call.
//
//   lookup(ids)             rows of a sparse table, pulled now
//   push_rows, push_dense   noted: sent as one request to each server when the step ends
//   end_step                sync: waits until the round is over; async: leaves the rest to a thread
//   refresh                 the dense parameters as the servers have them
//   geo_step                Geo: every k steps, what has changed goes out and comes in
//
// Thread safety: one thread runs steps; abort() may come from any.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/progress.h"
#include "flotilla/base/random_stream.h"
#include "flotilla/ps/table.h"

namespace flotilla::ps {

class Client;

enum class Mode {
  kSync,       // all workers' gradients of a step make one update
  kAsync,      // each push is an update; a thread may send them while the next steps run
  kHalfAsync,  // each push is an update; the step waits for it and takes the values after it
  kGeo,        // workers update their own copies and exchange what has changed
};

struct WorkerOptions {
  Mode mode = Mode::kAsync;
  int rank = 0;
  int workers = 1;
  // Steps that may be under way to the servers when the next one begins (async). So many updates,
  // of each worker, are missing in the parameters that a step sees: Adam learns slower with one
  // already, and diverges with many.
  int send_queue = 0;
  // So many steps that wait may become one push (async): their sum under SGD, else their mean.
  int max_merge = 1;
  // Dense values are asked for with every n-th push (async).
  int pushes_per_refresh = 1;
  Progress* progress = nullptr;
};

// One slot of a lookup: n ids, and n rows to fill.
struct Lookup {
  std::span<const int64_t> ids = {};
  float* rows = nullptr;
};

// The ids of a table's lookup, slot by slot.
struct TableIds {
  uint32_t table = 0;
  std::vector<std::span<const int64_t>> slots = {};
  int64_t padding = -1;
};

// Where ids of this step lie, and those that the next step has in their place. Holds them.
struct ComingIds {
  const int64_t* now = nullptr;
  std::span<const int64_t> next = {};
  std::shared_ptr<const void> holder = {};
};

// One slot's gradients: n ids, and a row for each.
struct RowGradients {
  std::span<const int64_t> ids = {};
  const float* rows = nullptr;
};

class Worker {
 public:
  explicit Worker(WorkerOptions options);
  ~Worker();
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  const WorkerOptions& options() const { return options_; }

  // ---- Start ------------------------------------------------------------------------------------

  // The stream that the startup program drew for a sparse table, by the table's name: its rows are
  // drawn from it, as one process would have drawn them.
  void drew(const std::string& table, const RandomStream& stream);
  const RandomStream* drawn(const std::string& table) const;

  // From now on steps can run. The tables are on the servers.
  void connect(std::shared_ptr<Client> client, const std::vector<TableSpec>& tables);
  bool connected() const { return client_ != nullptr; }
  // Called by the first step if connect() has not been called; must connect.
  void connect_by(std::function<void()> connect) { connect_by_ = std::move(connect); }
  // For what is not a step: saving, statistics.
  Client& client();
  // For another thread of this process: the same servers and tables, steps of its own. Not for
  // steps that workers take together.
  std::unique_ptr<Worker> twin();

  // The first values of a table: worker 0 gives them, the others take them. Dense: its parameters.
  // Sparse (Geo, where workers hold it): all its rows, from row 0 on.
  void give(uint32_t table, std::span<const std::span<const float>> parts);
  void take(uint32_t table, std::span<const std::span<float>> parts);

  // ---- A step -----------------------------------------------------------------------------------

  // Ids equal to `padding` read as zeros; kNoPadding: none does. Rows that do not exist are made,
  // unless the program only looks (`test`).
  static constexpr int64_t kNoPadding = -1;
  void lookup(uint32_t table, std::span<const Lookup> slots, int64_t padding, bool test);
  // Asks for the rows of several tables with one request to each server; the lookups of the same
  // ids that follow in this step find them.
  void prefetch(std::span<const TableIds> tables, bool test);

  // Whether expect() is of use: steps look up rows, and wait for the answer to what they push.
  bool looks_ahead() const;
  // What the next step will look up, as far as it is known: the rows come with the answer to this
  // step's push, and the lookups of the same ids find them. Replaces what was expected before.
  void expect(std::vector<ComingIds> coming);

  // What they are given is used in end_step(), and must be there until then.
  void push_rows(uint32_t table, std::vector<RowGradients> slots, int64_t padding, float lr);
  // The gradients of a dense table's parameters, in its order.
  void push_dense(uint32_t table, std::vector<std::span<const float>> parts, float lr);
  void end_step();
  // Writes nothing where nothing new has come.
  void refresh(uint32_t table, std::span<const std::span<float>> parts);

  // Geo. Called after every step with the worker's own parameters; does something every k-th time.
  void geo_dense(uint32_t table, std::span<const std::span<float>> parts, int64_t k);
  // `ids`: those that the step looked up.
  void geo_rows(uint32_t table, std::span<const std::span<const int64_t>> ids,
                std::span<float> rows, int64_t k);

  // ---- End --------------------------------------------------------------------------------------

  // Returns when all that was pushed is applied. What was pulled ahead is pulled again.
  void flush();
  // Ends all waits, now and later; the first reason counts.
  void abort(const std::string& reason);

 private:
  class State;

  State& state();

  const WorkerOptions options_;
  std::map<std::string, RandomStream> drawn_;
  std::shared_ptr<Client> client_;
  std::vector<TableSpec> tables_;
  std::function<void()> connect_by_;
  std::unique_ptr<State> state_;
};

}  // namespace flotilla::ps

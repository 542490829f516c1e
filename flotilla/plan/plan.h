// flotilla/plan/plan.h
//
// What a program becomes when the shapes of its feeds are known: steps that only compute, in order,
// over one arena whose offsets follow from liveness. A plan can be printed.
//
// Thread safety: none; a plan is run by one thread at a time.

#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "flotilla/device/backend.h"
#include "flotilla/ir/program.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/tensor/tensor.h"

namespace flotilla::plan {

using FetchedValue = std::variant<Tensor, SelectedRows>;

// Where persistable variables live; runtime's Scope.
class VariableStore {
 public:
  virtual ~VariableStore() = default;
  virtual Tensor* find(std::string_view name) = 0;  // null: unknown
  virtual Tensor& make(std::string_view name) = 0;  // known from now on, undefined at first
};

struct FeedSpec {
  std::string name = {};
  DType dtype = f32;
  Shape shape = {};
  int32_t lod_levels = 0;
  int64_t sequences = -1;  // of the last LoD level; -1: no LoD
  bool operator==(const FeedSpec&) const = default;
};

// In which layout the variables are that processes exchange, by name: the same for all of them.
using ExchangeLayouts = std::map<std::string, Layout, std::less<>>;

struct PlanRequest {
  const Program& program;
  std::vector<FeedSpec> feeds = {};
  std::vector<std::string> fetches = {};
  VariableStore& store;
  Generator& generator;
  // The device that runs what it has kernels for, beside the CPU, which runs the rest; null: the
  // CPU runs all. It outlives the plan.
  Backend* device = nullptr;
  // The processes that run the program together; null: this one is alone.
  comm::World* world = nullptr;
  // Where parameters live that the program pulls and pushes; null: nowhere.
  ps::Worker* servers = nullptr;
  // Given as far as the processes have agreed; a variable that is not here keeps what it has.
  ExchangeLayouts exchange_layouts = {};
  Progress* progress = nullptr;
  // Whom the program may ask something; null: nobody. It outlives the plan.
  Caller* caller = nullptr;
  // Every value has memory for itself, between guards (base/guard.h): slow, for fuzzers.
  bool guarded = false;
};

struct PlanStats {
  int64_t steps = 0;
  int64_t reorders = 0;        // steps that only change a layout
  int64_t arena_bytes = 0;     // what is allocated
  int64_t no_reuse_bytes = 0;  // what it would be if every value had memory of its own
  int64_t persistable_bytes = 0;
  int64_t exchanged_bytes = 0;           // beside the arena, where peers can see them
  int64_t device_bytes = 0;              // of the arena on the device
  int64_t copies = 0;                    // steps that only take a value to another device
  int64_t kept_there = 0;                // persistable variables that live on the device
  int64_t segments = 0;                  // runs of its steps that are recorded, and run as one
  std::vector<std::string> on_cpu = {};  // op types that the device does not run
};

// The memory that plans of one executor share: only one of them runs at a time.
class Arena {
 public:
  using Allocate = std::function<std::shared_ptr<Buffer>(int64_t bytes)>;

  explicit Arena(Allocate allocate = Buffer::make) : allocate_(std::move(allocate)) {}
  // At least `bytes`; the address changes when it grows.
  void* reserve(int64_t bytes);

 private:
  Allocate allocate_;
  std::shared_ptr<Buffer> buffer_;
};

// Where a plan keeps what lives within a run.
struct PlanMemory {
  Arena& arena;
  Arena& exchanged;         // peers can see it
  Arena* device = nullptr;  // REQUIRES: there is one where the plan has a device
};

class Plan {
 public:
  static std::unique_ptr<Plan> make(const PlanRequest& request);
  virtual ~Plan() = default;

  // Whether the plan can run feeds of these shapes. Feeds with a LoD change their number of rows
  // from batch to batch: a plan with such a feed has memory for a capacity class (the next power of
  // two of each leading extent), and within it only the steps whose shapes changed are prepared
  // anew.
  virtual bool adapt(const std::vector<FeedSpec>& feeds) = 0;
  // Whether the persistable variables are still as they were when the plan was made. One that was
  // replaced by a tensor of another shape, dtype or layout makes a plan useless.
  virtual bool fits(VariableStore& store) = 0;
  // Whether run() leaves the memory of every variable where it is. Before its first run a plan may
  // have to make some, or bring them into another layout: then nobody else may use them meanwhile.
  // REQUIRES: fits()
  virtual bool settled() const = 0;
  // Runs the steps once. With `check_numbers`, a step that writes NaN or an infinite value is
  // refused, with its op and the variable. REQUIRES: fits(); feeds[i] is as request.feeds[i] said.
  virtual std::vector<FetchedValue> run(VariableStore& store, PlanMemory memory,
                                        const std::vector<Tensor>& feeds,
                                        bool check_numbers = false) = 0;

  virtual const PlanStats& stats() const = 0;
  // What the plan exchanges, and how it lies.
  virtual const ExchangeLayouts& exchange_layouts() const = 0;
  // Steps, layouts, addresses.
  virtual std::string print() const = 0;
};

}  // namespace flotilla::plan

namespace flotilla {
using plan::Arena;
using plan::ExchangeLayouts;
using plan::FeedSpec;
using plan::FetchedValue;
using plan::Plan;
using plan::PlanMemory;
using plan::PlanRequest;
using plan::PlanStats;
using plan::VariableStore;
}  // namespace flotilla

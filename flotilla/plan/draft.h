// flotilla/plan/draft.h
//
// Everything a plan is made of. Drafting fills it (drafter.h), memory.h gives it addresses,
// adapting and steps with dynamic shapes change it (again.h, dynamic.h), a run goes through its
// nodes (plan.cc).

#pragma once

#include <deque>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/device/backend.h"
#include "flotilla/plan/node.h"
#include "flotilla/plan/plan.h"

namespace flotilla::plan {

// A persistable variable (or one that the user put into the scope) as this plan sees it.
struct StoreVar {
  std::string name = {};
  int32_t value = -1;
  Tensor* tensor = nullptr;    // in the store
  Tensor held = {};            // what a run uses, as long as it lasts
  bool written_first = false;  // the plan may give it another shape
  int32_t lod_levels = 0;
  int64_t sequences = -1;  // of the last LoD level; -1: no LoD
  Layout layout_before = {};
};

using Ports = std::map<std::string, std::vector<int32_t>, std::less<>>;  // values by slot

// An op as it was prepared, so that it can be prepared again for other shapes.
struct Prepared {
  const Op* op = nullptr;
  const OpDef* def = nullptr;
  const Kernel* kernel = nullptr;
  int32_t device = kHost;
  Ports inputs = {};
  Ports outputs = {};
  SlotVars looked_at = {};  // inputs whose sizes were compared
  size_t node = 0;
  bool dynamic = false;  // prepared when it is its turn to run, not before
};

// An op that can be prepared only when it is its turn to run: the shape of an input or an output is
// not known before.
struct DynamicOp {
  Prepared op = {};
  Step step = {};
  InferContext::Metas inputs = {};  // what `step` was prepared for
  std::vector<Layout> layouts = {};
  std::deque<Workspace> workspaces = {};  // addresses stay
  std::vector<Pool::Block> blocks = {};   // their memory

  // Between a value and memory beside it, in another layout: before `step`, or after it.
  struct Move {
    int32_t value = -1;
    bool writes = false;  // the value
    Reorder reorder = {};
    const Cell* memory = nullptr;
    const Cell* scratch = nullptr;  // null: none
  };
  std::vector<Move> moves = {};
};

// What the rounds of a loop computed, for a loop that goes backward. A loop inside another runs
// several times before its gradient does, which takes the times back from the last one on.
struct Rounds {
  struct Recorded {
    std::string name = {};
    const Value* from = nullptr;
    std::vector<std::vector<char>> rounds = {};
  };
  std::vector<int64_t> counts = {};  // for each time, those that are still there
  int64_t bytes = 0;  // recorded since the system was last asked for what it has left
  std::deque<Recorded> recorded = {};

  // Of the last time.
  int64_t left() const { return counts.empty() ? 0 : counts.back(); }
};

// What kernels of the device draw from: the host draws for all of them before the first one runs,
// one behind the other, as they would themselves.
struct DeviceDraws {
  int32_t host = -1, device = -1;  // values with a RandomStream for each
  std::vector<RandomSource> sources = {};
  std::deque<Cell> cells = {};  // where each lies on the device; addresses stay
  uint64_t runs = 0;
};

struct Draft {
  // `other` is the device that programs run on beside the host; null: none.
  explicit Draft(Backend& cpu, Backend* other = nullptr) : host(cpu), device(other) {}

  Backend& host;
  Backend* const device;
  std::set<std::string> on_cpu = {};  // op types that the device does not run
  Pool pool = {};                 // before the values and the dynamic ops, which hold blocks of it
  std::deque<Value> values = {};  // addresses stay
  std::deque<Workspace> workspaces = {};
  std::vector<Node> nodes = {};  // in order of execution; bodies inline
  std::vector<int32_t> fetched = {};
  std::vector<Share> granted = {};  // those that assign_memory agreed to
  std::vector<Bundle> bundles = {};
  Step finish = {};  // ends asynchronous work when all nodes are done; usually none

  std::vector<StoreVar> store_vars = {};
  ExchangeLayouts exchange_layouts = {};  // of what is exchanged, and how it lies
  std::vector<Prepared> prepared = {};
  std::deque<DynamicOp> dynamic_ops = {};
  std::map<int32_t, Rounds> rounds = {};  // by the index of a block of gradients
  std::deque<Op> own_ops = {};            // that stand in no program
  std::deque<DeviceDraws> draws = {};     // for the whole plan, then for ops in bodies
  bool adaptive = false;  // there is room for other shapes than those of the first feeds

  Backend& backend(int32_t index) const { return index == kHost ? host : *device; }
  Value& at(int32_t value) { return values[static_cast<size_t>(value)]; }
  const Value& at(int32_t value) const { return values[static_cast<size_t>(value)]; }
  int32_t add(Value value);
};

// Calls f(value) for each that is there.
template <typename F>
void for_each_value(const Ports& ports, F f) {
  for (const auto& [slot, values] : ports) {
    for (const int32_t v : values) {
      if (v >= 0) f(v);
    }
  }
}

// How many sequences the last level holds; -1: no LoD.
inline int64_t sequences_of(const LoD& lod) {
  return lod.empty() ? -1 : std::ssize(lod.back()) - 1;
}
// Whether the size is known only when the program runs.
bool size_unknown(const VarMeta& meta);

enum class Extents { kNow, kCapacity };
InferContext::Metas metas_of(const Draft& draft, const Ports& ports,
                             Extents extents = Extents::kNow);
// What `infer` says of the outputs, compared with the rules of the definition: what a kernel may
// rely on. Not `running`: before the program runs, where it need not know the values of inputs.
InferContext::Metas infer(const Draft& draft, Prepared& op, const InferContext::Metas& declared,
                          bool running = true);

}  // namespace flotilla::plan

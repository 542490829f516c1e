// flotilla/plan/planner.h
//
// Program → Draft: walks the ops once, in order; infers shapes, picks and prepares kernels, inserts
// reorders where a kernel wants another layout than a value has.

#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/device/cpu/onednn.h"
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

// An op as it was prepared, so that it can be prepared again for other shapes.
using Ports = std::map<std::string, std::vector<int32_t>, std::less<>>;  // values by slot

struct Prepared {
  const Op* op = nullptr;
  const OpDef* def = nullptr;
  const Kernel* kernel = nullptr;
  Ports inputs = {};
  Ports outputs = {};
  SlotVars looked_at = {};  // inputs whose sizes were compared
  size_t node = 0;
  bool late = false;  // prepared when it is its turn to run, not before
};

// An op that can be prepared only when it is its turn to run: the shape of an input or an output is
// not known before.
struct LateOp {
  Prepared op = {};
  Step step = {};
  InferContext::Metas inputs = {};  // what `step` was prepared for
  std::vector<std::pair<int64_t, std::unique_ptr<Cell>>> workspaces = {};
  std::vector<Pool::Block> workspace_blocks = {};
};

// What the rounds of a loop computed, for the loop that goes backward.
struct Rounds {
  struct Recorded {
    std::string name = {};
    const Value* from = nullptr;
    std::vector<std::vector<char>> rounds = {};
  };
  int64_t count = 0;  // those that are still there
  int64_t bytes = 0;  // recorded since the system was last asked for what it has left
  std::deque<Recorded> recorded = {};
};

// How many sequences the last level holds; -1: no LoD.
inline int64_t sequences_of(const LoD& lod) {
  return lod.empty() ? -1 : std::ssize(lod.back()) - 1;
}
// The capacity class of an extent or of a size in bytes: the next power of two.
int64_t capacity_of(int64_t extent);
// Whether the size is known only when the program runs.
bool size_unknown(const VarMeta& meta);
// Whether the plan may still choose the neighbours of a value.
inline bool may_bundle(const Value& value) {
  return value.home == Home::kArena && !value.pinned && value.bundle < 0 && !value.follows;
}

// Lets nodes wait for work that others have left to go on, where they touch the same values.
// REQUIRES: assign_memory was run
void guard_work_that_goes_on(Draft& draft);

class Planner final : public PrepareHost {
 public:
  // `program` is the program after the passes and outlives the planner.
  Planner(const Program& program, const PlanRequest& request);

  void run();
  // Gives the feeds other shapes within the capacity class. False: a new plan is needed, this one
  // is of no use any more. REQUIRES: assign_memory was run.
  bool adapt(const std::vector<FeedSpec>& feeds);
  // Whether the plan has room for other shapes than those it was made for.
  bool adaptive() const { return adaptive_; }

  Draft& draft() { return draft_; }
  std::vector<StoreVar>& store_vars() { return store_vars_; }
  int64_t reorders() const { return reorders_; }
  const ExchangeLayouts& exchange_layouts() const { return exchange_layouts_; }

  // PrepareHost
  const Layout& layout_of(int32_t value) const override;
  const Cell* read(int32_t value, const Layout& layout) override;
  const Cell* read_rows(int32_t value) override;
  const Cell* write(int32_t value, const Layout& layout) override;
  const Cell* write_rows(int32_t value) override;
  const Cell* lod_of(int32_t value) override;
  void share(int32_t from, int32_t to, bool view) override;
  void keep_together(const std::vector<int32_t>& values) override;
  const Cell* workspace(int64_t bytes) override;
  RandomSource random(int64_t op_seed) override;
  void* resize(int32_t value, const Shape& shape) override;
  comm::World* world() const override { return world_; }
  ps::Worker* servers() const override { return servers_; }
  Progress* progress() const override { return progress_; }
  Caller* caller() const override { return caller_; }
  void resize_rows(int32_t value, int64_t count) override;
  void set_lod(int32_t value, LoD lod) override;
  std::vector<Exchanged> exchange(const std::vector<int32_t>& ins,
                                  const std::vector<int32_t>& outs) override;
  bool goes_on(Step wait) override;

 private:
  void copy_feeds_that_are_written();
  void plan_block(const Block& block);
  void plan_op(const Block& block, const Op& op);
  void plan_sub_block(const Block& block, const Op& op);
  // The value of a bool that an op names.
  int32_t condition_of(const Block& block, const Op& op, std::string_view slot);
  // A step that runs what `plan_body` plans if, or as long as, a bool is true.
  void plan_conditional(const Op& op, int32_t condition, bool loop,
                        const std::function<void()>& plan_body);

  // Gradients of blocks (gradients.cc).
  using Names = std::set<std::string, std::less<>>;
  using Values = std::map<std::string, int32_t, std::less<>>;
  void plan_conditional_grad(const Block& block, const Op& op);
  void plan_while_grad(const Block& block, const Op& op);
  void plan_recorded_while(const Block& block, const Op& op, const Block& backward);
  Values plan_own_block(const Block& block);
  void record(Rounds& rounds, const std::string& name, int32_t value);
  void zero_gradients(const Block& block, const Op& op, const std::string& slot,
                      const Names& carried);
  void take_gradients_out(const Block& block, const Op& op, const std::string& slot,
                          const Values& own);
  // Nodes that belong to no op.
  void add_node(Step step, std::vector<int32_t> reads, std::vector<int32_t> writes);
  // For an op that stands in no program.
  void prepare_own(const Block& block, std::string type, std::vector<std::string> x,
                   const std::string& out);
  void prepare(const Block& block, const Op& op, const OpDef& def);
  void check_places(const Prepared& op, const InferContext::Metas& inputs,
                    const InferContext::Metas& outputs) const;
  InferContext::Metas metas_of(const Ports& ports, bool capacity) const;
  // What `infer` says of the outputs, compared with the rules of the definition: what a kernel may
  // rely on.
  InferContext::Metas infer(Prepared& op, const InferContext::Metas& declared) const;
  Step run_kernel(const Prepared& op);

  // Sizes known only at run time (late.cc).
  bool is_late(const Prepared& op, const InferContext::Metas& outputs) const;
  void prepare_late(Prepared op);
  void run_late(LateOp& op);
  void read_values(const Ports& ports);
  void read_sequences(const Ports& ports);
  // What is computed from rows of unknown number has an unknown number of rows.
  void forget_rows(const Prepared& op, InferContext::Metas& outputs) const;
  const Cell* late_cell(int32_t value, const Layout& layout, bool writes);

  // What other processes see (exchange.cc).
  Layout exchange_layout(int32_t value);
  void place_together(int32_t from, int32_t to, Bundle& bundle);

  // Adapting (adapt.cc).
  void give_capacity();
  void infer_capacity(const Prepared& op, const InferContext::Metas& declared);
  void forget_late_sizes();
  bool prepare_again(Prepared& op, std::vector<bool>& changed);
  bool resize_outputs(Prepared& op, std::vector<bool>& changed);
  const Cell* again(int32_t value, const Layout& layout);
  const Cell* workspace_again(int64_t bytes);
  void finish_fetches();

  Value& at(int32_t value) { return draft_.values[static_cast<size_t>(value)]; }
  const Value& at(int32_t value) const { return draft_.values[static_cast<size_t>(value)]; }
  int32_t add_value(Value value);
  // The version of a variable that an op reads now; refuses one that nobody wrote.
  int32_t reading(const Block& block, const std::string& name);
  // The version that an op writes now.
  int32_t writing(const Block& block, const std::string& name, const VarMeta& meta);
  int32_t lod_source_of(const std::string& name, const VarMeta& meta) const;
  int32_t store_value(const std::string& name, Tensor* tensor, const Var* var, bool writes);
  // The variable is new or a plan may still choose how its memory is laid out.
  bool may_fix_layout(const Value& value) const;
  int32_t reordered(int32_t value, const Layout& layout);
  void emit_reorder(std::vector<Node>& nodes, int32_t from, int32_t to);

  const Program& program_;
  const PlanRequest& request_;  // gone after run()
  Generator& generator_;
  comm::World* const world_;
  ps::Worker* const servers_;
  Progress* const progress_;
  Caller* const caller_;
  ExchangeLayouts exchange_layouts_;
  Pool pool_;  // before the draft, whose values hold blocks of it
  Draft draft_;
  std::vector<StoreVar> store_vars_;
  Values current_;  // variable to its latest version
  Names pinned_;
  std::map<std::pair<int32_t, std::string>, int32_t>
      copies_;  // (value, layout) to its reordered copy
  int64_t reorders_ = 0;
  int depth_ = 0;  // of sub-blocks

  std::deque<Op> own_ops_;            // that stand in no program
  std::map<int32_t, Rounds> rounds_;  // of the loops that run these blocks
  int loops_ = 0;                     // around what is planned
  std::deque<LateOp> late_ops_;
  LateOp* late_ = nullptr;  // the one that is being prepared
  bool adaptive_ = false;
  std::vector<Prepared> prepared_;
  // Set while an op is prepared again: nothing may be added to the draft.
  bool again_ = false;
  size_t next_workspace_ = 0;

  // The node that is being prepared, and the reorders that follow it.
  Node* node_ = nullptr;
  std::vector<Node> after_;
};

}  // namespace flotilla::plan

// flotilla/plan/again.h
//
// Plans for feeds whose number of rows changes from batch to batch.
//
// A plan is made for exact shapes, but with memory for the largest shapes of its capacity class: a
// second inference, with the leading extent of every feed rounded up, tells how large each value
// may become. When feeds of the same class come with other extents, only the ops that see a changed
// shape are inferred and prepared again, into the same values and places. What cannot be done that
// way (another layout, more workspace, memory that two values may no longer share) needs a new
// plan.

#pragma once

#include <vector>

#include "flotilla/plan/host.h"

namespace flotilla::plan {

class AgainHost final : public Host {
 public:
  using Host::Host;

  // Gives the feeds other shapes within the capacity class. False: a new plan is needed, this one
  // is of no use any more. REQUIRES: assign_memory was run.
  bool adapt(const std::vector<FeedSpec>& feeds);

  const Cell* read(int32_t value, const Layout& layout) override;
  const Cell* read_rows(int32_t value) override;
  const Cell* write(int32_t value, const Layout& layout) override { return cell(value, layout); }
  const Cell* workspace(int64_t bytes) override;
  const Cell* random_stream(int64_t op_seed) override;
  bool run_async(Step /*wait*/) override { return static_cast<bool>(node_->wait); }

 private:
  bool prepare(Prepared& op);
  bool resize_outputs(Prepared& op);
  bool memory_fits() const;
  bool changed(int32_t value) const { return changed_[static_cast<size_t>(value)]; }
  bool any_changed(const Ports& ports) const;
  // What the node reads of a value: the value itself, or its copy on the device of the node.
  int32_t copy_of(int32_t value, const Layout& layout);
  const Cell* cell(int32_t value, const Layout& layout);

  std::vector<bool> changed_;  // by value
  Node* node_ = nullptr;       // that is being prepared
  size_t next_workspace_ = 0;
};

// Gives values room for the capacity class of the feeds, where one of them has sequences.
void give_capacity(Draft& draft, const std::vector<FeedSpec>& feeds);
// And the outputs of an op, by what its inputs have room for.
void infer_capacity(Draft& draft, const Prepared& op, const InferContext::Metas& declared);

}  // namespace flotilla::plan

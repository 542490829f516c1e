// flotilla/plan/late.h
//
// Ops with dynamic shapes: what a mask selects, what a sequence expands to, and everything computed
// from it until a size is known again. Their nodes infer, prepare and run in one go; what was
// prepared is kept as long as the shapes stay the same. Memory comes from a pool, also that of
// inputs and outputs that a kernel wants in another layout than they have.

#pragma once

#include <vector>

#include "flotilla/plan/host.h"

namespace flotilla::plan {

class LateHost final : public Host {
 public:
  using Host::Host;

  // Appends the node of an op that is_late().
  void add(Prepared op);

  const Cell* read(int32_t value, const Layout& layout) override;
  const Cell* write(int32_t value, const Layout& layout) override;
  const Cell* workspace(int64_t bytes) override;

 private:
  // The size of a late value is news to the others, so they cannot have agreed on more than that it
  // is plain.
  Layout exchange_layout(int32_t /*value*/) override { return {}; }

  void run(LateOp& late);
  void prepare(LateOp& late);
  void size_outputs(LateOp& late);
  void read_values(const Ports& ports);
  void read_sequences(const Ports& ports);
  void take_memory(LateOp& late);
  // Memory for elements of `value` in `layout`, beside its own.
  const Cell* beside(int32_t value, const Layout& layout, bool writes);

  LateOp* late_ = nullptr;  // that is being prepared
};

// Whether the op can be prepared only when it is its turn, given what is known of its outputs.
bool is_late(const Draft& draft, const Prepared& op, const InferContext::Metas& outputs);
// What is computed from rows of unknown number has an unknown number of rows.
void forget_rows(const Draft& draft, const Prepared& op, InferContext::Metas& outputs);
// What the last run found out is as unknown again as it was when the plan was made.
void forget_late_sizes(Draft& draft);

}  // namespace flotilla::plan

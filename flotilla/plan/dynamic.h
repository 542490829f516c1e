// flotilla/plan/dynamic.h
//
// Ops with dynamic shapes: what a mask selects, what a sequence expands to, and everything computed
// from it until a size is known again. Their nodes infer, prepare and run in one go; what was
// prepared is kept as long as the shapes stay the same. Memory comes from a pool, also that of
// inputs and outputs that a kernel wants in another layout than they have.

#pragma once

#include <vector>

#include "flotilla/plan/host.h"

namespace flotilla::plan {

class DynamicHost final : public Host {
 public:
  using Host::Host;

  // Appends the node of an op that is_dynamic().
  void add(Prepared op);

  const Cell* read(int32_t value, const Layout& layout) override;
  const Cell* write(int32_t value, const Layout& layout) override;
  const Cell* workspace(int64_t bytes) override;

 private:
  // The size of a dynamic value is news to the others, so they cannot have agreed on more than that
  // it is plain.
  Layout exchange_layout(int32_t /*value*/) override { return {}; }

  void run(DynamicOp& dynamic);
  void prepare(DynamicOp& dynamic);
  void size_outputs(DynamicOp& dynamic);
  void read_values(const Ports& ports);
  void read_sequences(const Ports& ports);
  void take_memory(DynamicOp& dynamic);
  // Memory for elements of `value` in `layout`, beside its own.
  const Cell* beside(int32_t value, const Layout& layout, bool writes);

  DynamicOp* op_ = nullptr;  // that is being prepared
};

// Whether the op can be prepared only when it is its turn, given what is known of its outputs.
bool is_dynamic(const Draft& draft, const Prepared& op, const InferContext::Metas& outputs);
// What is computed from rows of unknown number has an unknown number of rows.
void forget_rows(const Draft& draft, const Prepared& op, InferContext::Metas& outputs);
// What the last run found out is as unknown again as it was when the plan was made.
void forget_dynamic_sizes(Draft& draft);

}  // namespace flotilla::plan

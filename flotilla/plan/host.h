// flotilla/plan/host.h
//
// What the three hosts of kernels share: DraftHost prepares the ops of a new plan, AgainHost those
// whose shapes changed within a capacity class, DynamicHost those whose shapes are known only when
// it is their turn. Steps may keep the host that prepared them, so hosts live as long as the draft.

#pragma once

#include <vector>

#include "flotilla/plan/draft.h"

namespace flotilla::plan {

// What steps draw from and are surrounded by, which differs between processes.
struct Process {
  Generator& generator;
  int64_t seed = 0;  // of the program; 0: none
  Surroundings around = {};
};

class Host : public PrepareHost {
 public:
  Host(Draft& draft, const Process& process) : draft_(draft), process_(process) {}

  // Prepares the kernel of `op`, which asks this host for what it needs. The step has around it
  // what its device needs.
  Step run_kernel(const Prepared& op);

  const Layout& layout_of(int32_t value) const override { return at(value).layout; }
  const Cell* read_rows(int32_t value) override { return &at(value).rows; }
  const Cell* write_rows(int32_t value) override { return &at(value).rows; }
  const Cell* lod_of(int32_t value) override;
  void share(int32_t /*from*/, int32_t /*to*/, bool /*view*/) override {}
  void keep_together(const std::vector<int32_t>& /*values*/) override {}
  RandomSource random(int64_t op_seed) override;
  std::vector<Exchanged> exchange(const std::vector<int32_t>& ins,
                                  const std::vector<int32_t>& outs) override;
  Surroundings around() const override;

  // Called by steps.
  void* resize(int32_t value, const Shape& shape) override;
  void resize_rows(int32_t value, int64_t count) override;
  void set_lod(int32_t value, LoD lod) override;

 protected:
  // In which layout a variable is exchanged.
  virtual Layout exchange_layout(int32_t value);

  Value& at(int32_t value) { return draft_.at(value); }
  const Value& at(int32_t value) const { return draft_.at(value); }

  Draft& draft_;

 private:
  const Process process_;
  int32_t device_ = kHost;  // of the op that is being prepared
};

}  // namespace flotilla::plan

// flotilla/ops/ps/servers.h
//
// What the operators of a worker of parameter servers share (passes/ps_split.h puts them into
// programs).

#pragma once

#include <memory>
#include <span>
#include <vector>

#include "flotilla/kernel/prepare.h"
#include "flotilla/ps/worker.h"

namespace flotilla::ops {

inline const AttrSpec kTableId = {"table_id", 0, "which table of the servers"};
inline const AttrSpec kPadding = {"padding_idx", int64_t{-1},
                                  "the id of padding, whose row is zeros; -1: none"};

// The servers that the op talks to. Refuses a process that has none.
ps::Worker& servers_of(const PrepareContext& c);
uint32_t table_of(const PrepareContext& c);

// Refuses a variable i of slot Ids that holds no ids.
void check_ids(const InferContext& c, size_t i);

// Ids of variable i of slot Ids, which may be i32.
class IdsIn {
 public:
  IdsIn(PrepareContext& c, size_t i);
  // Valid until the next call.
  std::span<const int64_t> get() const;

 private:
  In<int64_t> wide_;
  In<int32_t> narrow_;
  std::shared_ptr<std::vector<int64_t>> widened_;  // of `narrow_`; the Step that holds it is copied
  size_t count_ = 0;
};

// Parameters that a Step changes where they lie: X before, Out after.
class Parameters {
 public:
  explicit Parameters(PrepareContext& c);
  // To be changed in place.
  std::vector<std::span<float>> get() const;

 private:
  struct Part {
    In<float> before = {};
    Out<float> after = {};
    size_t count = 0;
  };
  std::vector<Part> parts_;
};

// Out is as X, variable by variable.
void infer_parameters(InferContext& c);

}  // namespace flotilla::ops

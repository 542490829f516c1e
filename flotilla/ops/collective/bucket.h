// flotilla/ops/collective/bucket.h
//
// Variables that are exchanged in one call. The plan lays them one behind the other where peers can
// see them, and then nothing is copied; where it could not, they travel by way of a buffer with the
// same gaps, so that every rank makes the same call whatever its plan looks like.

#pragma once

#include <memory>
#include <vector>

#include "flotilla/comm/group.h"
#include "flotilla/device/allocator.h"
#include "flotilla/kernel/prepare.h"

namespace flotilla::ops {

class Bucket {
 public:
  // Slot X before and slot Out after the exchange.
  explicit Bucket(PrepareContext& c);

  int64_t bytes() const { return bytes_; }
  // Whether all lie in one piece, and stay where they are.
  bool in_one_piece() const;

  void all_reduce(comm::Group& group, comm::Reduce how);
  void broadcast(comm::Group& group, int root);
  // Leaves Out as X; where both lie at the same address there is nothing to do.
  void keep();

 private:
  // Calls f(memory of all variables) and leaves what it makes of them in Out.
  template <typename F>
  void work_on(F f);

  std::vector<Exchanged> parts_;
  std::vector<int64_t> offsets_;  // in bytes, from the first variable
  std::vector<int64_t> sizes_;    // in bytes
  DType dtype_;
  comm::Element element_;  // bytes where they have several types
  int64_t bytes_ = 0;
  std::shared_ptr<Buffer> buffer_;  // only where they are not in one piece
};

}  // namespace flotilla::ops

// flotilla/data/batch_buffers.h
//
// Memory for batches that is used again and again. A tensor made here gives its memory back when
// the last holder, a run or Python, lets go of it; so a loop over batches soon allocates nothing,
// and touches pages that are there already.
//
// Thread safety: all calls, from any thread. Tensors may outlive the BatchBuffers.

#pragma once

#include <memory>

#include "flotilla/tensor/tensor.h"

namespace flotilla::data {

class BatchBuffers {
 public:
  BatchBuffers();
  ~BatchBuffers();
  BatchBuffers(const BatchBuffers&) = delete;
  BatchBuffers& operator=(const BatchBuffers&) = delete;

  // A tensor that holds anything, aligned to 64 bytes.
  Tensor make(DType dtype, Shape shape);

  // Bytes that wait to be used again.
  int64_t idle_bytes() const;

 private:
  struct Idle;
  std::shared_ptr<Idle> idle_;
};

}  // namespace flotilla::data

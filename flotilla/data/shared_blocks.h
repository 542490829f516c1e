// flotilla/data/shared_blocks.h
//
// Memory that worker processes write batches into and that this process reads in place: blocks,
// each a memfd of a worker, mapped once and used again when no tensor of the last batch is left.
//
//   worker                                    here
//   writes a batch into a free block  ──►     map(), where the block is new or has grown
//                                             tensor() for each array: views, nothing is copied
//   writes the next batch into it     ◄──     returned(): nobody uses the block any more
//
// Thread safety: all calls, from any thread. Tensors may outlive the SharedBlocks.

#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "flotilla/tensor/tensor.h"

namespace flotilla::data {

class SharedBlocks {
 public:
  SharedBlocks();
  ~SharedBlocks();
  SharedBlocks(const SharedBlocks&) = delete;
  SharedBlocks& operator=(const SharedBlocks&) = delete;

  // Maps the first `bytes` bytes of `fd` as `block`, in place of what it was before. Does not keep
  // the descriptor.
  void map(int64_t block, int fd, int64_t bytes);

  // One array of a batch.
  struct Array {
    DType dtype = f32;
    Shape shape = {};
    int64_t offset = 0;  // in bytes
  };
  // The arrays of the batch that lies in `block`. The block is in use until the last of them dies;
  // at once where there are none. Refuses arrays that go beyond the block.
  std::vector<Tensor> take(int64_t block, const std::vector<Array>& arrays);

  // Blocks that came out of use since the last call.
  std::vector<int64_t> returned();

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace flotilla::data

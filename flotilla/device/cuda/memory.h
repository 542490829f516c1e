// flotilla/device/cuda/memory.h
//
// Memory of a GPU, and of the host where a GPU can reach it. Allocating and freeing wait for the
// GPU: both belong to the making of a plan, never into a Step.

#pragma once

#include <cstdint>
#include <memory>

#include "flotilla/device/allocator.h"
#include "flotilla/device/stream.h"

namespace flotilla::cuda {

// On the current GPU, from a multiple of 256 bytes on; holds anything. Only kernels and copy() may
// touch the elements. Refuses where the GPU has not enough left.
std::shared_ptr<Buffer> device_buffer(int64_t bytes);

// On the host, never paged out: the GPU copies from and to it while the host goes on.
std::shared_ptr<Buffer> pinned_buffer(int64_t bytes);

// Enqueues a copy, in any direction. Memory of the host that is not pinned makes the call wait,
// and breaks a capture.
void copy(void* to, const void* from, int64_t bytes, Stream stream);

// Enqueues `bytes` times the byte `value`.
void fill(void* to, uint8_t value, int64_t bytes, Stream stream);

}  // namespace flotilla::cuda

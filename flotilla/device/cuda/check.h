// flotilla/device/cuda/check.h
//
// Every call into CUDA goes through check(): an error becomes one sentence.
//
//   check(cudaMalloc(&data, bytes), "allocate {} bytes", bytes);
//   // CUDA could not allocate 64 bytes: out of memory (cudaErrorMemoryAllocation)

#pragma once

#include <cuda_runtime_api.h>

#include <string>

#include "flotilla/base/error.h"

namespace flotilla::cuda {

// Throws; `doing` completes "CUDA could not ...".
[[noreturn]] void fail(cudaError_t status, const std::string& doing, std::source_location where);

template <typename... Args>
void check(cudaError_t status, Sentence<std::type_identity_t<Args>...> doing, Args&&... args) {
  if (status != cudaSuccess) [[unlikely]] {
    fail(status, fmt::format(doing.text, std::forward<Args>(args)...), doing.where);
  }
}

}  // namespace flotilla::cuda

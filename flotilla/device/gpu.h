// flotilla/device/gpu.h
//
// GPUs, for code that includes nothing of CUDA. A build with CUDA registers what opens them; in any
// other there are none.

#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "flotilla/device/backend.h"

namespace flotilla {

namespace cuda {
class Libraries;  // device/cuda/libraries.h
}

// What kernels may ask of a GPU while a plan is made: a description serves as well as the real one.
struct GpuInfo {
  std::string name = {};
  int major = 0, minor = 0;  // compute capability
  int processors = 0;
  int64_t shared_bytes = 0;  // that a block may use
  int64_t l2_bytes = 0;
  int64_t memory_bytes = 0;
};

// One GPU with one queue of its own.
class Gpu : public Backend {
 public:
  Gpu* gpu() final { return this; }
  virtual int number() const = 0;
  virtual const GpuInfo& info() const = 0;
  // For the queue; null: this is only a description.
  virtual cuda::Libraries* libraries() = 0;
  // Bytes that this process has taken of it.
  virtual MemoryUse memory() const = 0;
};

struct GpuDriver {
  int (*count)() = nullptr;  // that this process can use; 0 where there is no driver
  std::shared_ptr<Gpu> (*open)(int number) = nullptr;
};
// Called once, before main().
bool register_gpus(GpuDriver driver);

bool built_with_gpus();
int gpu_count();
// Refuses a number that is not there, with how many there are.
std::shared_ptr<Gpu> open_gpu(int number);

}  // namespace flotilla

#include "flotilla/device/gpu.h"

#include "flotilla/base/error.h"

namespace flotilla {
namespace {

// Of the process: kernels for GPUs register themselves likewise (op/op_def.h).
GpuDriver& driver() {
  static GpuDriver registered;
  return registered;
}

}  // namespace

bool register_gpus(GpuDriver registered) {
  driver() = registered;
  return true;
}

bool built_with_gpus() { return driver().open != nullptr; }

int gpu_count() { return built_with_gpus() ? driver().count() : 0; }

std::shared_ptr<Gpu> open_gpu(int number) {
  require(built_with_gpus(), "GPU {} was asked for, but this build has no CUDA kernels", number);
  const int count = gpu_count();
  require(0 <= number && number < count,
          "GPU {} was asked for, but this process can use {}; CUDA_VISIBLE_DEVICES says which",
          number, count == 0 ? "none" : fmt::format("only {}", count));
  return driver().open(number);
}

}  // namespace flotilla

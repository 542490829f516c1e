// A GPU as a Backend, over the CUDA runtime.

#include "flotilla/device/gpu.h"

#include <cuda_runtime_api.h>

#include <atomic>
#include <utility>

#include "flotilla/base/env.h"
#include "flotilla/device/cpu/backend.h"
#include "flotilla/device/cuda/check.h"
#include "flotilla/device/cuda/graph.h"
#include "flotilla/device/cuda/libraries.h"
#include "flotilla/device/cuda/memory.h"
#include "flotilla/device/cuda/reorder.h"
#include "flotilla/device/cuda/stream.h"

namespace flotilla::cuda {
namespace {

GpuInfo describe(int number) {
  cudaDeviceProp found = {};
  check(cudaGetDeviceProperties(&found, number), "ask GPU {} what it is", number);
  return {.name = found.name,
          .major = found.major,
          .minor = found.minor,
          .processors = found.multiProcessorCount,
          .shared_bytes = static_cast<int64_t>(found.sharedMemPerBlockOptin),
          .l2_bytes = found.l2CacheSize,
          .memory_bytes = static_cast<int64_t>(found.totalGlobalMem)};
}

// Buffers may outlive their GPU.
class Taken {
 public:
  void count(int64_t bytes) {
    const int64_t live = live_.fetch_add(bytes) + bytes;
    int64_t peak = peak_.load();
    while (live > peak && !peak_.compare_exchange_weak(peak, live)) {
    }
  }
  MemoryUse use() const { return {live_.load(), peak_.load()}; }

 private:
  std::atomic<int64_t> live_ = 0;
  std::atomic<int64_t> peak_ = 0;
};

class CudaGpu final : public Gpu {
 public:
  explicit CudaGpu(int number)
      : number_(number),
        info_((check(cudaSetDevice(number), "use GPU {}", number), describe(number))),
        name_(fmt::format("gpu:{}", number)) {}

  int number() const override { return number_; }
  const GpuInfo& info() const override { return info_; }
  MemoryUse memory() const override { return taken_->use(); }

  std::string_view name() const override { return name_; }
  Device kernels() const override { return kCuda; }
  Libraries* libraries() override { return &libraries_; }

  Turn enter() override {
    Turn turn = Backend::enter();
    check(cudaSetDevice(number_), "use {}", name_);
    return turn;
  }

  std::shared_ptr<Buffer> allocate(int64_t bytes) override;
  std::shared_ptr<Buffer> allocate_host(int64_t bytes) override { return pinned_buffer(bytes); }
  void write(void* to, const void* from, int64_t bytes) override {
    cuda::copy(to, from, bytes, stream_);
  }
  void read(void* to, const void* from, int64_t bytes) override {
    cuda::copy(to, from, bytes, stream_);
    stream_.wait();
  }
  void read_later(void* to, const void* from, int64_t bytes) override {
    cuda::copy(to, from, bytes, stream_);
  }
  void copy(void* to, const void* from, int64_t bytes) override {
    cuda::copy(to, from, bytes, stream_);
  }
  void fill(void* to, uint8_t byte, int64_t bytes) override {
    cuda::fill(to, byte, bytes, stream_);
  }
  Reorder reorder(const Shape& shape, DType dtype, const Layout& from, const Layout& to) override {
    return cuda::reorder(info_, stream_, shape, dtype, from, to);
  }
  Stream stream() const override { return stream_; }
  void wait() override { stream_.wait(); }
  std::unique_ptr<Recording> make_recording() override;

 private:
  const int number_;
  const GpuInfo info_;
  const std::string name_;
  const std::shared_ptr<Taken> taken_ = std::make_shared<Taken>();
  const OwnedStream stream_;
  Libraries libraries_{stream_};
};

std::shared_ptr<Buffer> CudaGpu::allocate(int64_t bytes) {
  constexpr int64_t kMega = int64_t{1} << 20;
  const int64_t limit = env::number_or("FLAGS_gpu_memory_limit_mb", 0, 0, kMega) * kMega;
  const int64_t live = memory().live;
  size_t left = 0, all = 0;
  check(cudaMemGetInfo(&left, &all), "ask {} for its memory", name_);
  require(bytes <= static_cast<int64_t>(left),
          "cannot allocate {} bytes on {}: {} of its {} bytes are free, this process has {}", bytes,
          name_, left, all, live);
  require(limit == 0 || bytes <= limit - live,
          "cannot allocate {} bytes on {}: this process has {} bytes, and "
          "FLAGS_gpu_memory_limit_mb allows {}",
          bytes, name_, live, limit);
  const std::shared_ptr<Buffer> memory = device_buffer(bytes);
  taken_->count(bytes);
  const std::shared_ptr<void> owner(
      memory->data(), [memory, taken = taken_, bytes](void*) { taken->count(-bytes); });
  return Buffer::borrow(memory->data(), bytes, owner);
}

class Recorded final : public Recording {
 public:
  explicit Recorded(Stream stream) : stream_(stream) {}
  void record(std::span<const std::function<void()>> steps) override {
    graph_.capture(stream_, steps);
  }
  void replay() override { graph_.replay(stream_); }

 private:
  const Stream stream_;
  Graph graph_;
};

std::unique_ptr<Recording> CudaGpu::make_recording() { return std::make_unique<Recorded>(stream_); }

[[maybe_unused]] const bool kRegistered =
    register_gpus({.count = device_count, .open = [](int number) -> std::shared_ptr<Gpu> {
                     return std::make_shared<CudaGpu>(number);
                   }});

}  // namespace
}  // namespace flotilla::cuda

// flotilla/device/backend.h
//
// What a device does for plans: it has memory, moves bytes into it, out of it and within it,
// changes layouts, and runs the kernels that were written for it. Plans know devices by this alone.
//
// Order: what is asked for is done in the order of the calls, after the steps that came before and
// before those that follow. Only read() and wait() are done when they return.
//
// Thread safety: one thread at a time, which holds enter().

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string_view>

#include "flotilla/base/device.h"
#include "flotilla/base/dtype.h"
#include "flotilla/base/layout.h"
#include "flotilla/base/shape.h"
#include "flotilla/device/allocator.h"
#include "flotilla/device/stream.h"

namespace flotilla {

class Gpu;  // device/gpu.h

// A change of layout within a device, prepared: running it only moves elements.
struct Reorder {
  int64_t scratch_bytes = 0;
  // `scratch` is that many bytes of the device, from a multiple of 64 on; null where that is 0.
  std::function<void(const void* from, void* to, void* scratch)> run = {};
};

// Steps that only enqueue, recorded and run as one.
class Recording {
 public:
  virtual ~Recording() = default;
  // Calls each step once; nothing of it is done yet. Again, where addresses have changed.
  virtual void record(std::span<const std::function<void()>> steps) = 0;
  // Enqueues what was recorded.
  virtual void replay() = 0;
};

class Backend : public std::enable_shared_from_this<Backend> {
 public:
  virtual ~Backend() = default;

  // Held by a thread that prepares or runs steps, or moves bytes, for as long as it does.
  using Turn = std::unique_lock<std::recursive_mutex>;
  virtual Turn enter() { return Turn(turn_); }

  // As plans print it.
  virtual std::string_view name() const = 0;
  // Whose kernels it runs, and whether it runs those of this operator.
  virtual Device kernels() const = 0;
  virtual bool runs(std::string_view /*op_type*/) const { return true; }
  // `step` with whatever the device needs around each run of it.
  virtual std::function<void()> around(std::function<void()> step) const { return step; }

  // Memory of the device, aligned to 64 bytes. Refuses with the number of bytes where there is not
  // enough.
  virtual std::shared_ptr<Buffer> allocate(int64_t bytes) = 0;
  // Memory of the host for values that are copied often.
  virtual std::shared_ptr<Buffer> allocate_host(int64_t bytes) { return Buffer::make(bytes); }
  // From the host's memory to the device's; from the device's to the host's; within the device's.
  virtual void write(void* to, const void* from, int64_t bytes) = 0;
  virtual void read(void* to, const void* from, int64_t bytes) = 0;
  // As read(), but done only when wait() returns.
  virtual void read_later(void* to, const void* from, int64_t bytes) { read(to, from, bytes); }
  virtual void copy(void* to, const void* from, int64_t bytes) = 0;
  virtual void fill(void* to, uint8_t byte, int64_t bytes) = 0;
  virtual Reorder reorder(const Shape& shape, DType dtype, const Layout& from,
                          const Layout& to) = 0;

  // Itself, for its kernels; null: it is no GPU.
  virtual Gpu* gpu() { return nullptr; }
  // Where its steps put their work; see docs/cuda.md.
  virtual Stream stream() const { return {}; }
  // Returns when all that was asked for is done.
  virtual void wait() {}
  // Null: its steps cannot be recorded.
  virtual std::unique_ptr<Recording> make_recording() { return nullptr; }

 private:
  std::recursive_mutex turn_;  // a step may ask for what another device wrote
};

}  // namespace flotilla

// flotilla/kernel/host.h
//
// What stands behind a PrepareContext: whoever makes a plan, or runs a kernel by itself.

#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "flotilla/device/stream.h"
#include "flotilla/kernel/handles.h"
#include "flotilla/op/op_def.h"

namespace flotilla {

class Gpu;       // device/gpu.h
class Caller;    // kernel/caller.h
class Progress;  // base/progress.h
namespace comm {
class World;  // comm/world.h
}
namespace ps {
class Worker;  // ps/worker.h
}

// What a process offers to steps; all of it outlives them.
struct Surroundings {
  // The processes that run this program together; null: this one is alone.
  comm::World* world = nullptr;
  // The parameter servers that this process works with; null: there are none.
  ps::Worker* servers = nullptr;
  // Where a Step that waits says so; may be null.
  Progress* progress = nullptr;
  // Whoever runs the program, where a Step may ask them something; may be null.
  Caller* caller = nullptr;
  // Where a GPU's Step puts its work; it only enqueues, and never waits. See docs/cuda.md.
  Stream stream = {};
  // The GPU (device/gpu.h), for what a kernel may ask of it while it is prepared; null: none.
  Gpu* gpu = nullptr;
};

// What the planner does for a kernel. Values are its numbers for versions of variables.
class PrepareHost {
 public:
  virtual ~PrepareHost() = default;
  virtual const Layout& layout_of(int32_t value) const = 0;
  virtual const Cell* read(int32_t value, const Layout& layout) = 0;
  virtual const Cell* read_rows(int32_t value) = 0;
  virtual const Cell* write(int32_t value, const Layout& layout) = 0;
  virtual const Cell* write_rows(int32_t value) = 0;
  virtual const Cell* lod_of(int32_t value) = 0;
  virtual void share(int32_t from, int32_t to, bool view) = 0;
  virtual void keep_together(const std::vector<int32_t>& values) = 0;
  virtual const Cell* workspace(int64_t bytes) = 0;
  virtual RandomSource random(int64_t op_seed) = 0;
  // Where on the device the RandomStream lies that the kernel draws from in a run.
  virtual const Cell* random_stream(int64_t op_seed);
  virtual void* resize(int32_t value, const Shape& shape) = 0;
  virtual Surroundings around() const { return {}; }
  // What a host without other processes need not offer.
  virtual void resize_rows(int32_t value, int64_t count);
  virtual void set_lod(int32_t value, LoD lod);
  virtual std::vector<Exchanged> exchange(const std::vector<int32_t>& ins,
                                          const std::vector<int32_t>& outs);
  virtual bool run_async(Step /*wait*/) { return false; }
};

template <typename T>
T* DynamicOut<T>::resize(const Shape& shape) const {
  return static_cast<T*>(host_->resize(value_, shape));
}

template <typename T>
void DynamicSparseOut<T>::resize(int64_t count) const {
  host_->resize_rows(value_, count);
}

inline void LodOut::set(LoD lod) const { host_->set_lod(value_, std::move(lod)); }

}  // namespace flotilla

// flotilla/kernel/prepare.h
//
// What a kernel sees when a plan is made. It asks for handles to the memory of its inputs and
// outputs, in the layout it wants, and returns a Step that uses them. What it does not ask for is
// not kept alive: an operator that needs only the shape of an input calls shape().
//
//   template <typename T>
//   Step forward(PrepareContext& c) {
//     const int64_t n = c.shape("X").numel();
//     c.in_place("X", "Out");
//     return [n, x = c.in<T>("X"), y = c.out<T>("Out")] { relu(x.data(), y.data(), n); };
//   }

#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flotilla/base/element_count.h"
#include "flotilla/device/stream.h"
#include "flotilla/kernel/random.h"
#include "flotilla/op/infer.h"
#include "flotilla/op/op_def.h"
#include "flotilla/tensor/tensor.h"

namespace flotilla {

class Caller;    // kernel/caller.h
class Progress;  // base/progress.h
namespace comm {
class World;  // comm/world.h
}
namespace ps {
class Worker;  // ps/worker.h
}

// Where a value lies while a plan runs. The plan owns cells; their addresses never change.
struct Cell {
  void* data = nullptr;
  const LoD* lod = nullptr;  // null: none
};

// A tensor to read, in the layout that was asked for.
template <typename T>
class In {
 public:
  In() = default;
  explicit In(const Cell* cell) : cell_(cell) {}
  const T* data() const { return static_cast<const T*>(cell_->data); }
  explicit operator bool() const { return cell_ != nullptr; }

 private:
  const Cell* cell_ = nullptr;
};

// A tensor to write: every element must be written, unless it is in place. Memory is not zeroed.
template <typename T>
class Out {
 public:
  Out() = default;
  explicit Out(const Cell* cell) : cell_(cell) {}
  T* data() const { return static_cast<T*>(cell_->data); }
  explicit operator bool() const { return cell_ != nullptr; }

 private:
  const Cell* cell_ = nullptr;
};

// Rows of a tall tensor; row numbers may repeat.
template <typename T>
struct SparseIn {
  In<int64_t> rows = {};
  In<T> value = {};
  int64_t count = 0;   // rows
  int64_t width = 0;   // elements in a row
  int64_t height = 0;  // rows of the dense tensor
};
template <typename T>
struct SparseOut {
  Out<int64_t> rows = {};
  Out<T> value = {};
  int64_t count = 0;
  int64_t width = 0;
  int64_t height = 0;
};

class PrepareHost;

// A tensor to write whose extents the Step itself finds out: memory comes when it asks for it.
template <typename T>
class LateOut {
 public:
  LateOut() = default;
  LateOut(PrepareHost* host, int32_t value) : host_(host), value_(value) {}
  // Called once in each run of the Step.
  T* resize(const Shape& shape) const;

 private:
  PrepareHost* host_ = nullptr;
  int32_t value_ = -1;
};

// Sparse rows to write whose number the Step itself finds out.
template <typename T>
class LateSparseOut {
 public:
  LateSparseOut() = default;
  LateSparseOut(PrepareHost* host, int32_t value, Out<int64_t> rows, Out<T> elements)
      : host_(host), value_(value), rows_(rows), elements_(elements) {}
  // Called once in each run of the Step, before the memory is asked for.
  void resize(int64_t count) const;
  int64_t* rows() const { return rows_.data(); }
  T* value() const { return elements_.data(); }

 private:
  PrepareHost* host_ = nullptr;
  int32_t value_ = -1;
  Out<int64_t> rows_;
  Out<T> elements_;
};

// A variable that processes exchange: `in` before, `out` after.
struct Exchanged {
  In<char> in = {};
  Out<char> out = {};
  int64_t count = 0;  // elements, padding included
};

// The offsets of the sequences in a tensor's rows, as they are in this run.
class LodHandle {
 public:
  LodHandle() = default;
  // Of a tensor with so many rows and sequences; -1: not known.
  LodHandle(const Cell* cell, int64_t rows, int64_t sequences)
      : cell_(cell), rows_(rows), sequences_(sequences) {}
  // Null where the tensor was fed without. Refuses sequences of other rows than the tensor has, as
  // of one that only took over those of another, and another number than the kernel was made for.
  const LoD* get() const {
    const LoD* lod = cell_ == nullptr ? nullptr : cell_->lod;
    if (lod != nullptr && !lod->empty()) {
      const std::vector<int64_t>& last = lod->back();
      require(rows_ < 0 || last.back() == rows_,
              "a tensor of {} rows is given sequences that end at row {}", rows_, last.back());
      require(sequences_ < 0 || std::ssize(last) == sequences_ + 1,
              "a tensor of {} sequences is given {}", sequences_, std::ssize(last) - 1);
    }
    return lod;
  }

 private:
  const Cell* cell_ = nullptr;
  int64_t rows_ = -1;
  int64_t sequences_ = -1;
};

// The offsets of the sequences in an output's rows, which the Step itself finds out; `infer` named
// kOwnLod as their source.
class LodOut {
 public:
  LodOut() = default;
  LodOut(PrepareHost* host, int32_t value) : host_(host), value_(value) {}
  // Called once in each run of the Step.
  void set(LoD lod) const;

 private:
  PrepareHost* host_ = nullptr;
  int32_t value_ = -1;
};

// Draws a stream for one run.
class RandomSource {
 public:
  RandomSource() = default;
  RandomSource(Generator* generator, uint64_t fixed_seed)
      : generator_(generator), fixed_seed_(fixed_seed) {}
  // With a seed of its own the same stream each time: an initializer repeats. `count` tells the
  // runs of an operator apart that must not repeat (dropout).
  RandomStream draw(uint64_t count = 0) const {
    return fixed_seed_ != 0 ? RandomStream{fixed_seed_, count} : generator_->next();
  }

 private:
  Generator* generator_ = nullptr;
  uint64_t fixed_seed_ = 0;
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
  virtual void* resize(int32_t value, const Shape& shape) = 0;
  virtual Stream stream() const { return {}; }
  virtual comm::World* world() const { return nullptr; }
  virtual ps::Worker* servers() const { return nullptr; }
  virtual Progress* progress() const { return nullptr; }
  virtual Caller* caller() const { return nullptr; }
  // What a host without other processes need not offer.
  virtual void resize_rows(int32_t value, int64_t count);
  virtual void set_lod(int32_t value, LoD lod);
  virtual std::vector<Exchanged> exchange(const std::vector<int32_t>& ins,
                                          const std::vector<int32_t>& outs);
  virtual bool goes_on(Step /*wait*/) { return false; }
};

template <typename T>
T* LateOut<T>::resize(const Shape& shape) const {
  return static_cast<T*>(host_->resize(value_, shape));
}

template <typename T>
void LateSparseOut<T>::resize(int64_t count) const {
  host_->resize_rows(value_, count);
}

inline void LodOut::set(LoD lod) const { host_->set_lod(value_, std::move(lod)); }

class PrepareContext {
 public:
  struct Port {
    int32_t value = -1;  // -1: nobody needs it (@EMPTY@)
    VarMeta meta = {};
  };
  using Ports = std::map<std::string, std::vector<Port>, std::less<>>;

  // `looked_at`: the inputs whose sizes something has compared already.
  PrepareContext(const Op& op, const OpDef& def, Ports inputs, Ports outputs, PrepareHost& host,
                 SlotVars looked_at = {});

  const Op& op() const { return op_; }
  template <typename T>
  T attr(std::string_view name) const {
    return attr_as<T>(attr_or_default(op_, def_, name), name);
  }

  // Input slots and output slots; an input hides an output of the same name.
  bool has(std::string_view slot, size_t i = 0) const;
  size_t count(std::string_view slot) const;
  const VarMeta& meta(std::string_view slot, size_t i = 0) const;
  const Shape& shape(std::string_view slot, size_t i = 0) const { return meta(slot, i).shape; }
  DType dtype(std::string_view slot, size_t i = 0) const {
    return check_there(port(slot, i), slot).meta.dtype;
  }
  bool is_sparse(std::string_view slot, size_t i = 0) const {
    return check_there(port(slot, i), slot).meta.kind == VarKind::kSelectedRows;
  }

  // The layout an input has now: take it as it is to avoid a reorder.
  const Layout& layout(std::string_view slot, size_t i = 0) const;
  // The input in `layout`; the plan reorders where it has another one. A parameter that is read in
  // a blocked layout for the first time is kept in it from then on.
  template <typename T>
  In<T> in(std::string_view slot, size_t i = 0, const Layout& layout = {}) {
    return In<T>(read(slot, i, dtype_of<T>, layout));
  }
  template <typename T>
  Out<T> out(std::string_view slot, size_t i = 0, const Layout& layout = {}) {
    return Out<T>(write(slot, i, dtype_of<T>, layout));
  }
  // An output of which `infer` left an extent unknown even when the plan was made.
  template <typename T>
  LateOut<T> late_out(std::string_view slot, size_t i = 0) {
    return LateOut<T>(&host_, written_port(slot, i).value);
  }
  // For kernels that only move bytes, from one variable to another: all have one dtype, unless
  // bytes_of_any_dtype() was called before.
  void bytes_of_any_dtype() { moves_any_ = true; }
  In<char> in_bytes(std::string_view slot, size_t i = 0, const Layout& layout = {});
  Out<char> out_bytes(std::string_view slot, size_t i = 0, const Layout& layout = {});

  template <typename T>
  SparseIn<T> sparse_in(std::string_view slot, size_t i = 0) {
    const VarMeta& m = sparse_meta(slot, i, dtype_of<T>);
    return {In<int64_t>(read_rows(slot, i)), In<T>(host_.read(port(slot, i).value, {})), m.rows,
            m.shape.numel(1, m.shape.rank()), m.shape[0]};
  }
  template <typename T>
  SparseOut<T> sparse_out(std::string_view slot, size_t i = 0) {
    const VarMeta& m = sparse_meta(slot, i, dtype_of<T>);
    check_size(m, slot);
    return {Out<int64_t>(write_rows(slot, i)), Out<T>(host_.write(output_port(slot, i).value, {})),
            m.rows, m.shape.numel(1, m.shape.rank()), m.shape[0]};
  }

  // An output of which `infer` left the number of rows unknown.
  template <typename T>
  LateSparseOut<T> late_sparse_out(std::string_view slot, size_t i = 0) {
    const int32_t value = output_port(slot, i).value;
    sparse_meta(slot, i, dtype_of<T>);
    return {&host_, value, Out<int64_t>(write_rows(slot, i)), Out<T>(host_.write(value, {}))};
  }

  LodHandle lod(std::string_view slot, size_t i = 0);
  LodOut lod_out(std::string_view slot, size_t i = 0) {
    return LodOut(&host_, written_port(slot, i).value);
  }

  // `out` may overwrite `in` element by element, if nobody reads `in` afterwards. The kernel must
  // be right either way.
  void in_place(std::string_view in, std::string_view out, size_t i = 0, size_t j = 0);
  // `out` holds the same bytes as `in` (a reshape, a gradient passed through). Where the plan can,
  // both lie at the same address, and the Step, which must compare the addresses, copies nothing.
  void view(std::string_view in, std::string_view out, size_t i = 0, size_t j = 0);
  // The variables of a list slot should lie one behind the other, each at a multiple of 64 bytes.
  void keep_together(std::string_view slot);

  // The processes that run this program together; null: this one is alone.
  comm::World* world() const { return host_.world(); }
  // The parameter servers that this process works with; null: there are none.
  ps::Worker* servers() const { return host_.servers(); }
  // Where a Step that waits says so; may be null.
  Progress* progress() const { return host_.progress(); }
  // Whoever runs the program, where a Step may ask them something; may be null.
  Caller* caller() const { return host_.caller(); }
  // The variables of list slot `in`, to be exchanged with other processes and left in `out`, in a
  // layout that is the same for all. Where the plan can, they lie one behind the other, each at a
  // multiple of 64 bytes, in memory that peers can see, `out` where `in` lies; the Step, which must
  // compare the addresses, copies nothing then.
  std::vector<Exchanged> exchanged(std::string_view in, std::string_view out);
  // The Step leaves work behind that goes on beside the Steps after it. What it reads and writes is
  // left alone meanwhile: `wait`, which ends all such work, runs before the first Step that touches
  // it, and before the run ends. False: not here (in a sub-block), the Step must end its work
  // itself.
  bool goes_on(Step wait) { return host_.goes_on(std::move(wait)); }

  // Memory for the Step alone, from a multiple of 64 bytes on; its contents do not last.
  template <typename T = char>
  Out<T> workspace(int64_t count) {
    require(0 <= count && count <= kMaxElements,
            "a kernel of {} needs a workspace of {} elements, more than any memory has", op_.type(),
            count);
    return Out<T>(host_.workspace(count * static_cast<int64_t>(sizeof(T))));
  }
  // `seed`: the op's own, 0 where it has none.
  RandomSource random(int64_t seed) { return host_.random(seed); }
  // Where a GPU's Step puts its work; it only enqueues, and never waits. See docs/cuda.md.
  Stream stream() const { return host_.stream(); }

  // Called when the kernel is prepared. Refuses one that reads the elements of an input of which
  // neither `infer` nor the kernel nor a rule of the definition ever looked at the size: nothing
  // then says that they are as many as the kernel takes for granted.
  void check_reads() const;

 private:
  const Port& port(std::string_view slot, size_t i) const;
  const Port& output_port(std::string_view slot, size_t i) const;
  // Refuses @EMPTY@ where a kernel needs a variable.
  const Port& check_there(const Port& port, std::string_view slot) const;
  // Refuses a size that is not even known when the kernel runs.
  void check_size(const VarMeta& meta, std::string_view slot) const;
  // Refuses another dtype than that of what in_bytes() and out_bytes() were asked for before.
  void check_moved(std::string_view slot, const VarMeta& meta);
  // Refuses sparse rows, whose memory has not the extents of their shape.
  void check_dense(const Port& port, std::string_view slot) const;
  // Refuses an output of which the definition says that its elements are never written.
  const Port& written_port(std::string_view slot, size_t i) const;
  // The values of a list slot.
  static std::vector<int32_t> values_of(const Ports& ports, std::string_view slot);
  const Cell* read(std::string_view slot, size_t i, DType dtype, const Layout& layout);
  const Cell* write(std::string_view slot, size_t i, DType dtype, const Layout& layout);
  const Cell* read_rows(std::string_view slot, size_t i);
  const Cell* write_rows(std::string_view slot, size_t i);
  const VarMeta& sparse_meta(std::string_view slot, size_t i, DType dtype) const;

  const Op& op_;
  const OpDef& def_;
  Ports inputs_;
  Ports outputs_;
  PrepareHost& host_;
  mutable SlotVars looked_at_;
  SlotVars read_;
  bool moves_any_ = false;
  std::optional<std::pair<std::string, DType>> moved_;  // the first slot whose bytes are moved
};

}  // namespace flotilla

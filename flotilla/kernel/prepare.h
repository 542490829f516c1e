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

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "flotilla/base/element_count.h"
#include "flotilla/kernel/host.h"
#include "flotilla/kernel/ports.h"

namespace flotilla {

class PrepareContext : public OpPorts {
 public:
  PrepareContext(const Op& op, const OpDef& def, Ports inputs, Ports outputs, PrepareHost& host,
                 SlotVars looked_at = {})
      : OpPorts(op, def, std::move(inputs), std::move(outputs), std::move(looked_at)),
        host_(host) {}

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
  DynamicOut<T> dynamic_out(std::string_view slot, size_t i = 0) {
    return DynamicOut<T>(&host_, written_port(slot, i).value);
  }
  // For kernels that only move bytes, from one variable to another: all have one dtype, unless
  // bytes_of_any_dtype() was called before.
  void bytes_of_any_dtype() { moves_any_ = true; }
  In<char> in_bytes(std::string_view slot, size_t i = 0, const Layout& layout = {});
  Out<char> out_bytes(std::string_view slot, size_t i = 0, const Layout& layout = {});

  template <typename T>
  SparseIn<T> sparse_in(std::string_view slot, size_t i = 0) {
    const VarMeta& m = sparse_meta(slot, i, dtype_of<T>);
    const int32_t value = port(slot, i).value;
    return {In<int64_t>(host_.read_rows(value)), In<T>(host_.read(value, {})), m.rows,
            m.shape.numel(1, m.shape.rank()), m.shape[0]};
  }
  template <typename T>
  SparseOut<T> sparse_out(std::string_view slot, size_t i = 0) {
    const VarMeta& m = sparse_meta(slot, i, dtype_of<T>);
    check_size(m, slot);
    const int32_t value = output_port(slot, i).value;
    return {Out<int64_t>(host_.write_rows(value)), Out<T>(host_.write(value, {})), m.rows,
            m.shape.numel(1, m.shape.rank()), m.shape[0]};
  }

  // An output of which `infer` left the number of rows unknown.
  template <typename T>
  DynamicSparseOut<T> dynamic_sparse_out(std::string_view slot, size_t i = 0) {
    const int32_t value = output_port(slot, i).value;
    sparse_meta(slot, i, dtype_of<T>);
    return {&host_, value, Out<int64_t>(host_.write_rows(value)), Out<T>(host_.write(value, {}))};
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

  Surroundings around() const { return host_.around(); }
  // The variables of list slot `in`, to be exchanged with other processes and left in `out`, in a
  // layout that is the same for all. Where the plan can, they lie one behind the other, each at a
  // multiple of 64 bytes, in memory that peers can see, `out` where `in` lies; the Step, which must
  // compare the addresses, copies nothing then.
  std::vector<Exchanged> exchanged(std::string_view in, std::string_view out);
  // The Step leaves work behind that runs asynchronously, beside the Steps after it. What it reads
  // and writes is left alone meanwhile: `wait`, which ends all such work, runs before the first
  // Step that touches it, and before the run ends. False: not here (in a sub-block), the Step must
  // end its work itself.
  bool run_async(Step wait) { return host_.run_async(std::move(wait)); }

  // Memory for the Step alone, from a multiple of 64 bytes on; its contents do not last.
  template <typename T = char>
  Out<T> workspace(int64_t count) {
    require(0 <= count && count <= kMaxElements,
            "a kernel of {} needs a workspace of {} elements, more than any memory has",
            op().type(), count);
    return Out<T>(host_.workspace(count * static_cast<int64_t>(sizeof(T))));
  }
  // `seed`: the op's own, 0 where it has none.
  RandomSource random(int64_t seed) { return host_.random(seed); }
  // The same for a GPU's kernel: in each run it finds another stream there, the one that the CPU's
  // would draw.
  In<RandomStream> random_stream(int64_t seed) {
    return In<RandomStream>(host_.random_stream(seed));
  }

  // Called when the kernel is prepared. Refuses one that reads the elements of an input of which
  // neither `infer` nor the kernel nor a rule of the definition ever looked at the size: nothing
  // then says that they are as many as the kernel takes for granted.
  void check_reads() const;

 private:
  const Cell* read(std::string_view slot, size_t i, DType dtype, const Layout& layout);
  const Cell* write(std::string_view slot, size_t i, DType dtype, const Layout& layout);
  // Refuses another dtype than that of what in_bytes() and out_bytes() were asked for before.
  void check_moved(std::string_view slot, const VarMeta& meta);

  PrepareHost& host_;
  SlotVars read_;
  bool moves_any_ = false;
  std::optional<std::pair<std::string, DType>> moved_;  // the first slot whose bytes are moved
};

}  // namespace flotilla

// flotilla/ops/sequence/rows.h
//
// Operators that only pick rows: row i of the result is row rows[i] of X. What differs between them
// is a function that says which:
//
//   Picker reversed(PrepareContext& c);  // also of the gradient op, which has the same inputs
//   const OpDef& reverse = define_op(picking_op<reversed>({.type = "sequence_reverse", ...}));
//
// The gradient of a row of X is the sum over all places it was picked for.

#pragma once

#include <algorithm>
#include <cstring>
#include <functional>
#include <string>
#include <vector>

#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/sequences.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {

struct Picked {
  std::vector<int64_t> rows = {};
  LoD lod = {};  // of the result, where it has one of its own

  // What was picked since the last one is a sequence.
  void end_sequence() { lod.back().push_back(std::ssize(rows)); }
};

// Picks in every run.
using Picker = std::function<Picked()>;
using MakePicker = Picker (*)(PrepareContext&);

// Elements of one row: X's axes from `axes` on, of which the first `axes` number the rows.
inline int64_t row_width(const Shape& x, int64_t axes) { return x.numel(axes, x.rank()); }

inline void copy_rows(const Picked& picked, const char* from, int64_t bytes, char* to) {
  for (size_t i = 0; i < picked.rows.size(); ++i) {
    std::memcpy(to + static_cast<int64_t>(i) * bytes, from + picked.rows[i] * bytes,
                static_cast<size_t>(bytes));
  }
}

// Refuses another number of elements than the rows that were picked have.
inline void check_picked(const Picked& picked, int64_t width, int64_t found) {
  const int64_t count = std::ssize(picked.rows) * width;
  require(count == found, "{} rows of {} elements are picked, but there is room for {} elements",
          picked.rows.size(), width, found);
}

// The slot of the only output.
inline std::string picked_slot(const PrepareContext& c) {
  return c.op().has_output("Y") ? "Y" : "Out";
}

// `kAxes` of X number its rows: more than one where rows are padded.
template <MakePicker kPick, int64_t kAxes = 1>
Step pick_forward(PrepareContext& c) {
  const std::string slot = picked_slot(c);
  const Shape shape = c.shape(slot);
  const bool dynamic = !shape.known();
  return [pick = kPick(c), bytes = row_width(c.shape("X"), kAxes) * size_of(c.dtype("X")), shape,
          dynamic, room = shape.numel() * size_of(c.dtype(slot)), x = c.in_bytes("X"),
          out = dynamic ? Out<char>() : c.out_bytes(slot),
          made = dynamic ? c.dynamic_out<char>(slot) : DynamicOut<char>(), lod = c.lod_out(slot)] {
    Picked picked = pick();
    if (!dynamic) check_picked(picked, bytes, room);
    copy_rows(picked, x.data(), bytes,
              dynamic ? made.resize(with_rows(shape, std::ssize(picked.rows))) : out.data());
    if (!picked.lod.empty()) lod.set(std::move(picked.lod));
  };
}

template <MakePicker kPick, int64_t kAxes, typename T>
Step pick_backward(PrepareContext& c) {
  const std::string slot = c.has("Y@GRAD") ? "Y@GRAD" : "Out@GRAD";
  return [pick = kPick(c), width = row_width(c.shape("X"), kAxes), n = c.shape("X").numel(),
          given = c.shape(slot).numel(), dout = c.in<T>(slot), dx = c.out<T>("X@GRAD")] {
    const Picked picked = pick();
    check_picked(picked, width, given);
    std::fill_n(dx.data(), n, T{0});
    for (size_t i = 0; i < picked.rows.size(); ++i) {
      const T* from = dout.data() + static_cast<int64_t>(i) * width;
      T* to = dx.data() + picked.rows[i] * width;
      for (int64_t j = 0; j < width; ++j) to[j] += from[j];
    }
  };
}

// `def` without kernels and gradient; `gradient` without kernels.
template <MakePicker kPick, int64_t kAxes = 1>
OpDef picking_op(OpDef def, GradOp gradient = {}) {
  std::vector<Use> uses;
  for (const Slot& slot : def.inputs) {
    uses.push_back(slot.name == "X" ? shape_of(slot.name) : Use(slot.name));
  }
  gradient.kernels = kernels_for<float, double>(
      []<typename T>(PrepareContext& c) { return pick_backward<kPick, kAxes, T>(c); });
  def.grad = grad_op(std::move(uses), std::move(gradient));
  def.kernels =
      kernels_for_all([]<typename T>(PrepareContext& c) { return pick_forward<kPick, kAxes>(c); });
  def.dtype_slot = "X";
  return def;
}

}  // namespace flotilla::ops

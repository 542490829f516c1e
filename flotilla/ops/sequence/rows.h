// flotilla/ops/sequence/rows.h
//
// Operators that only pick rows: row i of the result is row rows[i] of X. What differs between them
// is a class that says which:
//
//   struct Reversed {
//     static constexpr bool kMakesLod = false;
//     explicit Reversed(PrepareContext& c);  // also of the gradient op, which has the same inputs
//     Picked operator()() const;             // in every run
//   };
//   const OpDef& reverse = define_op(picking_op<Reversed>({.type = "sequence_reverse", ...}));
//
// The gradient of a row of X is the sum over all places it was picked for.

#pragma once

#include <algorithm>
#include <cstring>
#include <string>
#include <vector>

#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"
#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/sequences.h"

namespace flotilla::ops {

struct Picked {
  std::vector<int64_t> rows = {};
  LoD lod = {};  // of the result, where it has one of its own
};

// Elements of one row: X's axes from `axes` on, of which the first `axes` number the rows.
inline int64_t row_width(const Shape& x, int64_t axes) { return x.numel(axes, x.rank()); }

// The axes of X that number rows: more than one where rows are padded.
template <typename Pick>
constexpr int64_t row_axes() {
  if constexpr (requires { Pick::kRowAxes; }) return Pick::kRowAxes;
  return 1;
}

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

template <typename Pick>
Step pick_forward(PrepareContext& c) {
  const std::string slot = picked_slot(c);
  const int64_t bytes = row_width(c.shape("X"), row_axes<Pick>()) * size_of(c.dtype("X"));
  const Shape shape = c.shape(slot);
  if (shape.known()) {
    const bool own = Pick::kMakesLod;
    return [pick = Pick(c), bytes, room = shape.numel() * size_of(c.dtype(slot)),
            x = c.in_bytes("X"), out = c.out_bytes(slot), lod = own ? c.lod_out(slot) : LodOut()] {
      const Picked picked = pick();
      check_picked(picked, bytes, room);
      copy_rows(picked, x.data(), bytes, out.data());
      if (Pick::kMakesLod) lod.set(picked.lod);
    };
  }
  return [pick = Pick(c), bytes, shape, x = c.in_bytes("X"), out = c.late_out<char>(slot),
          lod = c.lod_out(slot)] {
    Picked picked = pick();
    Shape found = shape;
    found[0] = std::ssize(picked.rows);
    copy_rows(picked, x.data(), bytes, out.resize(found));
    if (!picked.lod.empty()) lod.set(std::move(picked.lod));
  };
}

template <typename Pick, typename T>
Step pick_backward(PrepareContext& c) {
  const std::string slot = c.has("Y@GRAD") ? "Y@GRAD" : "Out@GRAD";
  return
      [pick = Pick(c), width = row_width(c.shape("X"), row_axes<Pick>()), n = c.shape("X").numel(),
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
template <typename Pick>
OpDef picking_op(OpDef def, GradOp gradient = {}) {
  std::vector<Use> uses;
  for (const Slot& slot : def.inputs) {
    uses.push_back(slot.name == "X" ? shape_of(slot.name) : Use(slot.name));
  }
  gradient.kernels = kernels_for<float, double>(
      []<typename T>(PrepareContext& c) { return pick_backward<Pick, T>(c); });
  def.grad = grad_op(std::move(uses), std::move(gradient));
  def.kernels =
      kernels_for_all([]<typename T>(PrepareContext& c) { return pick_forward<Pick>(c); });
  def.dtype_slot = "X";
  return def;
}

}  // namespace flotilla::ops

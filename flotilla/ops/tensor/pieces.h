// Several tensors that lie side by side along an axis of one: concat and stack join them, split,
// unstack and unbind cut them. The gradient of one kind is the other.
//
//     whole    row 0: [ piece 0 | piece 1 | piece 2 ]     one row for each index before the axis
//              row 1: [ piece 0 | piece 1 | piece 2 ]

#pragma once

#include <algorithm>
#include <cstring>
#include <numeric>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/op/grad_context.h"
#include "flotilla/ops/common/known_value.h"
#include "flotilla/ops/common/shape_checks.h"

namespace flotilla::ops {

struct Cut {
  int64_t rows = 0;
  Ints widths = {};  // bytes of each piece in a row

  int64_t total() const { return std::accumulate(widths.begin(), widths.end(), int64_t{0}); }
};

// The whole has `shape`; its axis is cut into pieces of these extents.
inline Cut cut_of(const Shape& shape, int64_t axis, const Ints& extents, DType dtype) {
  Cut cut{.rows = shape.numel(0, axis)};
  const int64_t inner = shape.numel(axis + 1, shape.rank()) * size_of(dtype);
  for (const int64_t extent : extents) cut.widths.push_back(extent * inner);
  return cut;
}

inline constexpr int64_t kGrainBytes = 64 << 10;

inline int64_t grain_of(int64_t total) {
  return std::max<int64_t>(1, kGrainBytes / std::max<int64_t>(total, 1));
}

// Calls f(i, in_piece, in_whole, width) for piece i of each row: where it begins, and its bytes.
template <typename F>
void for_pieces(const Cut& cut, F f) {
  const int64_t total = cut.total();
  parallel_ranges(cut.rows, grain_of(total), [&](int64_t begin, int64_t end) {
    int64_t at = begin * total;
    for (int64_t row = begin; row < end; ++row) {
      for (size_t i = 0; i < cut.widths.size(); ++i) {
        const int64_t width = cut.widths[i];
        f(i, row * width, at, static_cast<size_t>(width));
        at += width;
      }
    }
  });
}

// join() and cut_up() on a GPU. A build with CUDA fills them in before main() (pieces.cu).
struct GpuPieces {
  Step (*join)(PrepareContext& c, std::string_view pieces, std::string_view whole,
               const Cut& cut) = nullptr;
  Step (*cut_up)(PrepareContext& c, std::string_view whole, std::string_view pieces,
                 const Cut& cut) = nullptr;
};
inline GpuPieces gpu_pieces = {};

// Pieces to whole. A piece that is not there counts as zeros.
inline Step join(PrepareContext& c, std::string_view pieces, std::string_view whole,
                 const Cut& cut) {
  if (on_gpu(c)) return gpu_pieces.join(c, pieces, whole, cut);
  std::vector<In<char>> from;
  for (size_t i = 0; i < cut.widths.size(); ++i) {
    from.push_back(c.has(pieces, i) ? c.in_bytes(pieces, i) : In<char>());
  }
  return [cut, from, to = c.out_bytes(whole)] {
    for_pieces(cut, [&, out = to.data()](size_t i, int64_t in_piece, int64_t at, size_t width) {
      if (from[i]) {
        std::memcpy(out + at, from[i].data() + in_piece, width);
      } else {
        std::memset(out + at, 0, width);
      }
    });
  };
}

// Whole to pieces. A piece that nobody needs is left out.
inline Step cut_up(PrepareContext& c, std::string_view whole, std::string_view pieces,
                   const Cut& cut) {
  if (on_gpu(c)) return gpu_pieces.cut_up(c, whole, pieces, cut);
  std::vector<Out<char>> to;
  for (size_t i = 0; i < cut.widths.size(); ++i) {
    to.push_back(c.has(pieces, i) ? c.out_bytes(pieces, i) : Out<char>());
  }
  return [cut, from = c.in_bytes(whole), to] {
    for_pieces(cut, [&, in = from.data()](size_t i, int64_t in_piece, int64_t at, size_t width) {
      if (to[i]) std::memcpy(to[i].data() + in_piece, in + at, width);
    });
  };
}

// Takes over what `other` knows of the extents of `shape`, but along `axis`. False: they differ.
inline bool meet(Shape& shape, const Shape& other, int64_t axis = -1) {
  if (shape.rank() != other.rank()) return false;
  for (int64_t a = 0; a < shape.rank(); ++a) {
    if (a == axis || other[a] == -1 || other[a] == shape[a]) continue;
    if (shape[a] != -1) return false;
    shape[a] = other[a];
  }
  return true;
}

// The elements of all inputs, in order, where they are known.
inline std::optional<Ints> all_values(const InferContext& c) {
  Ints all;
  for (size_t i = 0; i < c.in_count("X"); ++i) {
    const VarMeta& x = c.in("X", i);
    if (!x.value) return std::nullopt;
    all.insert(all.end(), x.value->begin(), x.value->end());
  }
  return all;
}

// The gradients of the outputs of a list slot; one into which nothing flowed is zero.
inline std::vector<std::string> output_grads(GradContext& g, std::string_view slot) {
  std::vector<std::string> grads;
  const auto outputs = g.op().output_list(slot);
  for (size_t i = 0; i < outputs.size(); ++i) {
    grads.push_back(g.output_grad(slot, i));
    if (!grads.back().empty()) continue;
    const Var& output = g.block().var(outputs[i]);
    grads.back() = g.block().add_temporary("zero_grad", output.dtype, output.shape).name;
    g.emit("fill_zeros_like", {{"X", {output.name}}}, {{"Out", {grads.back()}}}, {});
  }
  return grads;
}

inline const Slot kWhole = {.name = "X", .doc = "tensor of rank 1 or more"};
inline const AttrSpec kPiecesAxis = {"axis", int32_t{0},
                                     "the axis along which the pieces lie side by side"};

}  // namespace flotilla::ops

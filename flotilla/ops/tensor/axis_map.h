// flotilla/ops/tensor/axis_map.h
//
// Which index of X each index of Out takes along one axis, where Out is X with a border or moved.
//
//     kReflect,  before 1, after 2:  out 0 1 2 3 4 5  from  1 0 1 2 1 0
//     kCircular, before 1, after -1: out 0 1 2        from  2 0 1

#pragma once

#include <algorithm>
#include <cstdint>

#include "flotilla/base/host_device.h"

namespace flotilla::ops {

enum class Border { kConstant, kReflect, kRepeat, kCircular };

struct AxisMap {
  Border border = Border::kConstant;
  int64_t from = 1, to = 1;  // extents of X and Out
  int64_t before = 0;        // width of the border

  // -1: the constant.
  FLT_FN int64_t of(int64_t i) const {
    const int64_t at = i - before;
    if (border == Border::kCircular) return remainder(at);
    if (0 <= at && at < from) return at;
    if (border == Border::kConstant) return -1;
    if (border == Border::kRepeat) return at < 0 ? 0 : from - 1;
    return at < 0 ? -at : 2 * from - 2 - at;
  }

  // The first index of Out behind `last` that takes index `j` of X; -1: none. REQUIRES: `last` is
  // -1, or one that does so, too.
  FLT_FN int64_t next(int64_t j, int64_t last) const {
    const int64_t own = j + before;
    if (border == Border::kCircular) {
      const int64_t found = last < 0 ? remainder(own) : last + from;
      return found < to ? found : -1;
    }
    if (border == Border::kRepeat) {
      int64_t begin = j == 0 ? 0 : own, end = j == from - 1 ? to : own + 1;
      if (begin <= last) begin = last + 1;
      if (end > to) end = to;
      return begin < end ? begin : -1;
    }
    const bool mirrored = border == Border::kReflect;
    if (mirrored && j > 0 && inside(before - j, last)) return before - j;
    if (inside(own, last)) return own;
    const int64_t behind = before + 2 * from - 2 - j;
    return mirrored && j < from - 1 && inside(behind, last) ? behind : -1;
  }

  // Out is X along this axis.
  FLT_FN bool keeps() const { return before == 0 && from == to; }

 private:
  FLT_FN int64_t remainder(int64_t at) const {
    const int64_t rest = at % from;
    return rest < 0 ? rest + from : rest;
  }
  FLT_FN bool inside(int64_t i, int64_t last) const { return last < i && i < to; }
};

}  // namespace flotilla::ops

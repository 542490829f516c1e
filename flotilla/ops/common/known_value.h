// flotilla/ops/common/known_value.h
//
// The elements of small integer tensors that are known when a plan is made: the shape of a
// variable, a constant, and what is worked out from them. An operator whose output size depends on
// such a tensor (reshape to shape(x)) has a size then.
//
// An operator that moves or computes elements says here what becomes of them; all others start from
// like(), which forgets them.

#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/kernel/prepare.h"
#include "flotilla/op/infer.h"
#include "flotilla/ops/common/move.h"

namespace flotilla::ops {

// The variables of an input slot, whichever context it is.
inline const VarMeta& meta_at(const InferContext& c, std::string_view slot, size_t i) {
  return c.in(slot, i);
}
inline const VarMeta& meta_at(const PrepareContext& c, std::string_view slot, size_t i) {
  return c.meta(slot, i);
}
inline size_t count_at(const InferContext& c, std::string_view slot) { return c.in_count(slot); }
inline size_t count_at(const PrepareContext& c, std::string_view slot) { return c.count(slot); }

// Keeps `value` with `out` where it is a small tensor of whole numbers, and forgets it otherwise.
// REQUIRES: out.shape and out.dtype are set.
void remember(VarMeta& out, std::optional<Ints> value);

// out's elements are those of `in`, in the same order, as out's dtype: cast, assign, reshape.
void remember_same(VarMeta& out, const VarMeta& in);

// out[i] = f(x[i], y[i]) where both are known whole numbers; a single element is repeated.
void remember_binary(VarMeta& out, const VarMeta& x, const VarMeta& y,
                     const std::function<int64_t(int64_t, int64_t)>& f);

// Numbers that an op takes from a tensor, from a list of tensors with one element each, or from an
// attribute, whichever is there first.
struct IntSource {
  std::string_view tensor = {};
  std::string_view list = {};
  std::string_view attr = {};
};

// The slots of an op: `first`, and behind them those of `sources` that stand in for attributes.
std::vector<Slot> with_slots_of(std::initializer_list<IntSource> sources,
                                std::vector<Slot> first = {});
// What the gradient reads of an op that moves the elements of its first input as the others say:
// the shape of the one, and all others.
std::vector<Use> shape_and_others(const std::vector<Slot>& inputs);

// An element that is not known yet is empty.
using MaybeInts = std::vector<std::optional<int64_t>>;

MaybeInts ints_of(const InferContext& c, const IntSource& source);
MaybeInts ints_of(const PrepareContext& c, const IntSource& source);

// Extents, -1 where not known.
Ints extents_of(const InferContext& c, const IntSource& source);

// The same, but refuses an element that is not known when a plan is made. While a program is built
// it is empty if an element is not known.
std::optional<Ints> known_ints(const InferContext& c, const IntSource& source);
Ints known_ints(const PrepareContext& c, const IntSource& source);

// `infer` of the gradient of an op that moves elements of its first input as the numbers say: it is
// left to the run where they are not known.
template <const IntSource&... kNumbers>
void infer_moved_grad(InferContext& c) {
  if (c.running()) (known_ints(c, kNumbers), ...);
  c.out(c.def().outputs.front().name) = like(c.in(c.def().inputs.front().name));
}

// One number.
std::optional<int64_t> known_int(const InferContext& c, const IntSource& source);
int64_t known_int(const PrepareContext& c, const IntSource& source);

}  // namespace flotilla::ops

// flotilla/ops/optim/optim.h
//
// What the optimizer operators share. A parameter, its gradient and its state may lie in a blocked
// layout: all of them are taken in the parameter's, and the loops run over the padding too, which
// is zero and stays so.

#pragma once

#include <algorithm>
#include <span>
#include <string_view>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"

namespace flotilla::ops {

// What a thread should update at least, in elements.
inline constexpr int64_t kUpdateGrain = 16384;

// A slot that must have the extents of the parameter: its gradient, its state, the new parameter.
inline Slot like_param(std::string_view name, std::string_view doc, bool list = false) {
  return {.name = std::string(name), .doc = std::string(doc), .list = list, .like = "Param"};
}
// A slot that holds a number.
inline Slot one_number(std::string_view name, std::string_view doc, bool list = false) {
  return {.name = std::string(name), .doc = std::string(doc), .list = list, .one = true};
}
inline Slot optional(Slot slot) {
  slot.optional = true;
  return slot;
}

// Optional slots and attributes of 16-bit training; a parameter that is f32 or f64 needs no copy.
inline Slot master_param(bool list = false) {
  return {.name = "MasterParam",
          .doc = "copy in f32 of a 16-bit parameter; not read here",
          .optional = true,
          .list = list};
}
inline Slot master_param_out(bool list = false) {
  return {.name = "MasterParamOut",
          .doc = "not written here",
          .optional = true,
          .list = list,
          .shape_only = true};
}
inline const AttrSpec kMultiPrecision = {"multi_precision", false,
                                         "whether MasterParam is there; f32 and f64 need none"};

// Updates whose formula is another one in 1.x have a mark for that, which is never in a file: there
// the attribute multi_precision tells. 2.x writes every attribute, and 1.x does not know this one.
inline void write_release(Op& op, std::string_view mark) {
  const bool old = op.attr_or<bool>(mark, false);
  op.remove_attr(mark);
  if (!old && !op.has_attr("multi_precision")) op.set_attr("multi_precision", false);
}
inline void read_release(Op& op, const std::string& mark) {
  if (!op.has_attr("multi_precision")) op.set_attr(mark, true);
}

inline const AttrSpec kPlainEpsilon = {"plain_epsilon", false,
                                       "whether epsilon is added to the root of Moment2 as it is, "
                                       "as in programs of Paddle 1.x"};

// A number in a tensor of one element, f32 or f64.
class NumberIn {
 public:
  NumberIn() = default;
  NumberIn(PrepareContext& c, std::string_view slot, size_t i = 0)
      : single_(c.dtype(slot, i) == f32 ? c.in<float>(slot, i) : In<float>()),
        double_(c.dtype(slot, i) == f32 ? In<double>() : c.in<double>(slot, i)) {}

  explicit operator bool() const { return single_ || double_; }
  template <typename T>
  T get() const {
    return single_ ? static_cast<T>(*single_.data()) : static_cast<T>(*double_.data());
  }

 private:
  In<float> single_;
  In<double> double_;
};

// A tensor that is changed: usually one variable in both slots, otherwise copied first.
template <typename T>
class Changed {
 public:
  Changed() = default;
  Changed(PrepareContext& c, std::string_view in, std::string_view out, const Layout& layout,
          size_t i = 0)
      : size_(layout.physical_numel(c.shape(in, i))) {
    c.in_place(in, out, i, i);
    in_ = c.in<T>(in, i, layout);
    out_ = c.out<T>(out, i, layout);
  }

  int64_t size() const { return size_; }
  T* data() const { return out_.data(); }
  // To be called once in a run, before the first change.
  T* start() const {
    if (in_.data() != out_.data()) std::copy_n(in_.data(), size_, out_.data());
    return out_.data();
  }

 private:
  int64_t size_ = 0;
  In<T> in_;
  Out<T> out_;
};

template <typename T>
std::span<T> part(T* data, int64_t begin, int64_t end) {
  return {data + begin, static_cast<size_t>(end - begin)};
}

// Runs update(param, gradient, state...) on equal parts of all of them, in parallel.
template <typename T, typename Update, typename... State>
void update_parts(const Changed<T>& param, const In<T>& grad, const Update& update,
                  const State&... state) {
  T* p = param.start();
  const T* g = grad.data();
  (state.start(), ...);
  parallel_ranges(param.size(), kUpdateGrain, [&](int64_t begin, int64_t end) {
    update(part(p, begin, end), part(g, begin, end), part(state.data(), begin, end)...);
  });
}

}  // namespace flotilla::ops

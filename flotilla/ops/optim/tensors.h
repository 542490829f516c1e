// flotilla/ops/optim/tensors.h
//
// The tensors that an op changes. A parameter, its gradient and its state may lie in another layout
// than plain order: all of them are taken in the parameter's, and the loops run over the padding of
// blocks too, which is zero and stays so.

#pragma once

#include <array>
#include <string>
#include <string_view>

#include "flotilla/kernel/prepare.h"
#include "flotilla/update/rule.h"

namespace flotilla::ops {

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
  // To be called once in a run, before the first change: copy(from, elements, to) where it does not
  // lie in place.
  template <typename Copy>
  void start(Copy copy) const {
    if (in_.data() != out_.data()) copy(in_.data(), size_, out_.data());
  }

 private:
  int64_t size_ = 0;
  In<T> in_;
  Out<T> out_;
};

// A parameter with its state.
template <typename T>
class Tensors {
 public:
  Tensors(PrepareContext& c, const update::Rule& rule, const Layout& layout, size_t i)
      : param_(c, "Param", "ParamOut", layout, i) {
    for (size_t s = 0; s < rule.states.size(); ++s) {
      const update::State& state = rule.states[s];
      const std::string out = state.out_slot();
      used_[s] = state.where.empty() || c.attr<bool>(state.where);
      // Where it is needed, @EMPTY@ in its place is refused; otherwise it may still be copied.
      there_[s] = used_[s] || (c.has(state.slot, i) && c.has(out, i));
      if (there_[s]) states_[s] = Changed<T>(c, state.slot, out, layout, i);
    }
  }

  int64_t size() const { return param_.size(); }
  T* param() const { return param_.data(); }
  // Null where it is switched off.
  T* state(size_t s) const { return used_[s] ? states_[s].data() : nullptr; }
  template <typename Copy>
  void start(Copy copy) const {
    param_.start(copy);
    for (size_t s = 0; s < update::kMaxStates; ++s) {
      if (there_[s]) states_[s].start(copy);
    }
  }

 private:
  Changed<T> param_;
  std::array<Changed<T>, update::kMaxStates> states_ = {};
  std::array<bool, update::kMaxStates> used_ = {}, there_ = {};
};

}  // namespace flotilla::ops

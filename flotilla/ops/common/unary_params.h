// flotilla/ops/common/unary_params.h
//
// What kernels of unary operators (unary_formula.h) take from their context, on every device.

#pragma once

#include <array>

#include "flotilla/base/half.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/ops/common/unary_formula.h"

namespace flotilla::ops {

// The parameters of an operator on elements of T: attributes, or tensors of one element that stand
// in for them.
template <typename F, typename T>
class ParamSource {
 public:
  using C = Compute<T>;

  explicit ParamSource(PrepareContext& c) {
    C* const places[] = {&params_.a, &params_.b, &params_.c};
    for (size_t i = 0; i < tensors_.size(); ++i) {
      const UnaryParam& param = F::kInfo.params[i];
      if (param.name != nullptr) *places[i] = static_cast<C>(c.attr<double>(param.name));
      if (param.tensor != nullptr && c.has(param.tensor)) tensors_[i] = c.in<T>(param.tensor);
    }
  }

  // For code on a GPU, where the host cannot read tensors: the attributes, and what stands before
  // attribute i, null where nothing does.
  const Params<C>& attributes() const { return params_; }
  const T* tensor(size_t i) const { return tensors_[i] ? tensors_[i].data() : nullptr; }

  bool fixed() const { return !tensors_[0] && !tensors_[1] && !tensors_[2]; }
  Params<C> get() const {
    Params<C> found = params_;
    if (tensors_[0]) found.a = widen(*tensors_[0].data());
    if (tensors_[1]) found.b = widen(*tensors_[1].data());
    if (tensors_[2]) found.c = widen(*tensors_[2].data());
    return found;
  }

 private:
  Params<C> params_ = {};
  std::array<In<T>, 3> tensors_ = {};
};

// What a gradient op reads besides the gradient of the result. Programs of 1.8 give Out instead of
// X where the sign is all that counts.
struct UnaryGradReads {
  bool x = false, out = false;

  UnaryGradReads(const PrepareContext& c, const UnaryInfo& info)
      : x((info.reads & kReadsX) != 0 && c.has(info.x)),
        out((info.reads & kReadsOut) != 0 || ((info.reads & kReadsX) != 0 && !x)) {}
};

}  // namespace flotilla::ops

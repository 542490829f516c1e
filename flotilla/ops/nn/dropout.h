// flotilla/ops/nn/dropout.h
//
// What dropout does to one element, on every device.

#pragma once

#include <string>

#include "flotilla/base/host_device.h"
#include "flotilla/base/random_stream.h"
#include "flotilla/kernel/prepare.h"

namespace flotilla::ops {

template <typename Context>
bool upscales(const Context& c) {
  return c.template attr<std::string>("dropout_implementation") == "upscale_in_train";
}

// What an element that stays is multiplied with.
template <typename T>
T dropout_scale(const PrepareContext& c) {
  const float p = c.attr<float>("dropout_prob");
  if (c.attr<bool>("is_test")) return upscales(c) ? T{1} : static_cast<T>(1 - p);
  if (p == 1) return 0;
  return upscales(c) ? 1 / (1 - static_cast<T>(p)) : T{1};
}

// Element i is decided by number i % 4 of draw i / 4: the same on any number of threads.
class DropoutDraws {
 public:
  // 24 bits, as many as a float in [0, 1) has.
  explicit DropoutDraws(float p) : least_(static_cast<uint32_t>(p * 0x1p24f)) {}

  struct Four {
    bool stays[4];
  };
  FLT_FN Four of(const RandomStream& stream, int64_t draw) const {
    const RandomStream::Words bits = stream.words(static_cast<uint64_t>(draw));
    return {{stays(bits.word[0]), stays(bits.word[1]), stays(bits.word[2]), stays(bits.word[3])}};
  }

 private:
  FLT_FN bool stays(uint32_t bits) const { return (bits >> 8) >= least_; }

  uint32_t least_;
};

}  // namespace flotilla::ops

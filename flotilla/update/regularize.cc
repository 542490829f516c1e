#include "flotilla/update/regularize.h"

#include <cstddef>

namespace flotilla::update {

// Not compiled for several processors: one with fused multiply-add would round only once.
void add_decay(std::span<const float> param, std::span<float> grad, float l1, float l2) {
  if (l2 != 0) {
    for (size_t i = 0; i < param.size(); ++i) grad[i] += l2 * param[i];
  }
  if (l1 != 0) {
    for (size_t i = 0; i < param.size(); ++i) {
      const float sign = static_cast<float>((param[i] > 0) - (param[i] < 0));
      grad[i] += l1 * sign;
    }
  }
}

}  // namespace flotilla::update

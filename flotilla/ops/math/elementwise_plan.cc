#include "flotilla/ops/math/elementwise.h"

namespace flotilla::ops {
namespace {

// The axis along which an operand moves, if there is one at most; -1 where there are more.
int64_t moving_axis(const Shape& operand) {
  int64_t found = 0;
  int64_t moving = 0;
  for (int64_t a = 0; a < operand.rank(); ++a) {
    if (operand[a] == 1) continue;
    found = a;
    ++moving;
  }
  return moving <= 1 ? found : -1;
}

bool may_pad(const Shape& operand, const Shape& out) {
  return operand == out || moving_axis(operand) >= 0;
}

}  // namespace

int64_t padded_numel(const BinaryPlan& plan, const Shape& operand) {
  const int64_t axis = moving_axis(operand);
  return operand[axis] == 1 ? 1 : plan.layout.padded(plan.out)[axis];
}

BinaryPlan plan_binary(const PrepareContext& c, const Shape& out,
                       std::initializer_list<std::string_view> leads, bool keeps_zero) {
  const AlignedPair pair =
      aligned_pair(c.shape("X"), c.shape("Y"), c.op().attr_or<int64_t>("axis", -1), out.rank());
  BinaryPlan plan{.out = out, .x = pair.x, .y = pair.y};
  for (const std::string_view slot : leads) {
    if (plan.layout.plain() && c.shape(slot) == out) plan.layout = c.layout(slot);
  }
  // A layout belongs to a rank: an operand that only fills up with ones has none.
  const bool x_fits = plan.x_repeated() || c.shape("X") == out;
  const bool y_fits = plan.y_repeated() || c.shape("Y") == out;
  if (!x_fits || !y_fits) plan.layout = {};
  if (plan.padded() && !(keeps_zero && may_pad(plan.x, out) && may_pad(plan.y, out))) {
    plan.layout = {};
  }
  return plan;
}

}  // namespace flotilla::ops

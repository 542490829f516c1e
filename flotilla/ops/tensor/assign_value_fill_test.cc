#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

using Numbers = std::vector<int32_t>;
using Extents = std::vector<int64_t>;

Tensor make(const std::string& type, Attrs attrs, const Inputs& inputs = {}) {
  return run_op(type, inputs, attrs).at("Out");
}

TEST(Fill, ElementsOfAnAttribute) {
  const Attr values = std::vector<float>{0, 1.5f, -2};
  const Attrs attrs = {{"value", values}, {"shape", Numbers{3}}};
  EXPECT_THAT(make("fill", attrs), equal_to({0, 1.5, -2}));
  Attrs whole = attrs;
  whole["dtype"] = to_paddle(i64);
  EXPECT_THAT(make("fill", whole), equal_to(ints({0, 1, -2})));
  EXPECT_REFUSED(make("fill", {{"value", values}, {"shape", Numbers{2}}}),
                 "fill needs 2 values in value for shape [2], but has 3");
}

TEST(AssignValue, KnownValues) {
  EXPECT_THAT(make("assign_value", {{"shape", Numbers{2}},
                                    {"dtype", to_paddle(f32)},
                                    {"fp32_values", std::vector<float>{1.5f, 2}}}),
              equal_to({1.5, 2}));
  EXPECT_THAT(
      make("assign_value",
           {{"shape", Numbers{2}}, {"dtype", to_paddle(boolean)}, {"bool_values", Numbers{0, 1}}}),
      equal_to(bools({false, true})));
  EXPECT_REFUSED(
      make("assign_value",
           {{"shape", Numbers{3}}, {"dtype", to_paddle(i64)}, {"int64_values", Extents{1, 2}}}),
      "assign_value needs 3 values in int64_values for shape [3], but has 2");
}

}  // namespace
}  // namespace flotilla

#include <cmath>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

using Numbers = std::vector<int32_t>;
using Extents = std::vector<int64_t>;

Tensor make(const std::string& type, Attrs attrs, const Inputs& inputs = {}) {
  return run_op(type, inputs, attrs).at("Out");
}

TEST(Fill, Constants) {
  const Attr shape = Extents{2, 2};
  EXPECT_THAT(make("fill_constant", {{"shape", shape}, {"value", 1.5f}}),
              equal_to(full({2, 2}, 1.5)));
  EXPECT_THAT(
      make("fill_constant", {{"shape", Extents{1}}, {"value", 1.9f}, {"dtype", to_paddle(i64)}}),
      equal_to(ints({1})));
  // More digits than a float has.
  EXPECT_THAT(make("fill_constant", {{"shape", Extents{1}},
                                     {"str_value", std::string("9007199254740993")},
                                     {"dtype", to_paddle(i64)}}),
              equal_to(ints({9007199254740993})));
  EXPECT_THAT(make("fill_constant", {{"shape", Extents{1}}, {"str_value", std::string("1e-3")}}),
              near({1e-3}, 1e-9));
  EXPECT_THAT(make("fill_constant", {{"shape", Extents{1}}, {"str_value", std::string("-inf")}}),
              equal_to({-INFINITY}));
  EXPECT_THAT(make("fill_constant", {{"shape", Extents{}}, {"value", 2.0f}}), has_shape({1}));
  EXPECT_THAT(make("fill_constant",
                   {{"shape", Extents{2}}, {"value", 1.0f}, {"dtype", to_paddle(boolean)}}),
              equal_to(bools({true, true})));
  EXPECT_THAT(make("fill_constant", {{"shape", Extents{2}}}, {{"ValueTensor", tensor({4})}}),
              equal_to({4, 4}));
  EXPECT_REFUSED(make("fill_constant", {{"shape", Extents{1}},
                                        {"str_value", std::string("18446744073709551616")},
                                        {"dtype", to_paddle(i64)}}),
                 "1.8446744073709552e+19 is no whole number of 64 bits");
  EXPECT_REFUSED(make("fill_constant", {{"shape", Extents{1}}, {"str_value", std::string("two")}}),
                 "str_value must be a number, but is \"two\"");
}

TEST(Fill, LikeAnotherTensor) {
  const Tensor x = uniform({3, 2}, 0, 1);
  EXPECT_THAT(make("fill_zeros_like", {}, {{"X", x}}), equal_to(full({3, 2}, 0)));
  EXPECT_THAT(make("fill_any_like", {{"value", 2.0f}}, {{"X", x}}), equal_to(full({3, 2}, 2)));
  EXPECT_THAT(make("fill_any_like", {{"value", 2.0f}, {"dtype", to_paddle(i64)}}, {{"X", x}}),
              equal_to(full({3, 2}, 2, i64)));
  EXPECT_THAT(
      make("fill_constant_batch_size_like",
           {{"shape", Numbers{-1, 4}}, {"value", 2.0f}, {"input_dim_idx", 0}}, {{"Input", x}}),
      equal_to(full({3, 4}, 2)));
}

TEST(Fill, AnyValueOverwritesATensor) {
  EXPECT_THAT(make("fill_any", {{"value", 2.5f}}, {{"X", uniform({3, 2}, 0, 1)}}),
              equal_to(full({3, 2}, 2.5)));
  EXPECT_THAT(make("fill_any", {{"value", 3.0f}}, {{"X", ints({1, 2}, i32)}}),
              equal_to(ints({3, 3}, i32)));
  check_op({.type = "fill_any", .inputs = {{"X", uniform({3}, 0, 1)}}, .attrs = {{"value", 2.0f}}});
}

TEST(Fill, EmptyHoldsZeros) {
  EXPECT_THAT(make("empty", {{"shape", Extents{2, 3}}}), equal_to(full({2, 3}, 0)));
  EXPECT_THAT(make("empty", {{"dtype", to_paddle(i64)}}, {{"ShapeTensor", ints({2})}}),
              equal_to(ints({0, 0})));
}

}  // namespace
}  // namespace flotilla

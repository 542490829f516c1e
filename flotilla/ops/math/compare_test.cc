#include <cmath>

#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

TEST(Compare, KnownValues) {
  const auto compare = [](const std::string& type, const Tensor& x, const Tensor& y) {
    return run_op(type, {{"X", x}, {"Y", y}}).at("Out");
  };
  for (const DType dtype : {f32, f64, i32, i64}) {
    const Tensor x = tensor({1, 2, 3}, dtype), y = tensor({2}, dtype);
    EXPECT_THAT(compare("equal", x, y), equal_to(bools({false, true, false})));
    EXPECT_THAT(compare("not_equal", x, y), equal_to(bools({true, false, true})));
    EXPECT_THAT(compare("less_than", x, y), equal_to(bools({true, false, false})));
    EXPECT_THAT(compare("less_equal", x, y), equal_to(bools({true, true, false})));
    EXPECT_THAT(compare("greater_than", x, y), equal_to(bools({false, false, true})));
    EXPECT_THAT(compare("greater_equal", x, y), equal_to(bools({false, true, true})));
    const Tensor zero = tensor({0, 1.5, 2}, dtype), one = tensor({1, 1, 0}, dtype);
    EXPECT_THAT(compare("logical_and", zero, one), equal_to(bools({false, true, false})));
    EXPECT_THAT(compare("logical_or", zero, one), equal_to(bools({true, true, true})));
    EXPECT_THAT(compare("logical_xor", zero, one), equal_to(bools({true, false, true})));
    EXPECT_THAT(run_op("logical_not", {{"X", zero}}).at("Out"),
                equal_to(bools({true, false, false})));
  }
  EXPECT_THAT(compare("equal", bools({true, false}), bools({true, true})),
              equal_to(bools({true, false})));
}

TEST(Compare, NotANumberAndInfinity) {
  const Tensor x = tensor({0, INFINITY, NAN});
  const auto ask = [&](const std::string& type) { return run_op(type, {{"X", x}}).at("Out"); };
  EXPECT_THAT(ask("isfinite_v2"), equal_to(bools({true, false, false})));
  EXPECT_THAT(ask("isinf_v2"), equal_to(bools({false, true, false})));
  EXPECT_THAT(ask("isnan_v2"), equal_to(bools({false, false, true})));
  EXPECT_THAT(ask("isfinite"), equal_to(bools({false})));
  EXPECT_THAT(ask("isinf"), equal_to(bools({true})));
  EXPECT_THAT(ask("isnan"), equal_to(bools({true})));
  EXPECT_THAT(run_op("equal", {{"X", x}, {"Y", x}}).at("Out"),
              equal_to(bools({true, true, false})));
}

TEST(Bitwise, KnownValues) {
  for (const DType dtype : {u8, i8, i16, i32, i64}) {
    const Tensor x = tensor({12, 5}, dtype), y = tensor({10}, dtype);
    const auto of = [&](const std::string& type) {
      return run_op(type, {{"X", x}, {"Y", y}}).at("Out");
    };
    EXPECT_THAT(of("bitwise_and"), equal_to(tensor({8, 0}, dtype)));
    EXPECT_THAT(of("bitwise_or"), equal_to(tensor({14, 15}, dtype)));
    EXPECT_THAT(of("bitwise_xor"), equal_to(tensor({6, 15}, dtype)));
    if (dtype == u8) continue;
    EXPECT_THAT(run_op("bitwise_not", {{"X", x}}).at("Out"), equal_to(tensor({-13, -6}, dtype)));
  }
  EXPECT_THAT(run_op("bitwise_not", {{"X", tensor({12}, u8)}}).at("Out"),
              equal_to(tensor({243}, u8)));
  EXPECT_THAT(run_op("bitwise_not", {{"X", bools({true, false})}}).at("Out"),
              equal_to(bools({false, true})));
  EXPECT_THAT(
      run_op("bitwise_xor", {{"X", bools({true, true})}, {"Y", bools({true, false})}}).at("Out"),
      equal_to(bools({false, true})));
  EXPECT_REFUSED(build_op("bitwise_and", {{"X", ints({1})}, {"Y", tensor({1})}}),
                 "X and Y must have one dtype, but hold i64 and f32");
}

}  // namespace
}  // namespace flotilla

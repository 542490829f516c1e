// flotilla/ops/sequence/sequence_mask_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

constexpr int kF32 = 5, kBool = 0, kI32 = 2;  // Paddle's codes

TEST(SequenceMask, KnownValues) {
  const Tensor lengths = ints({1, 3, 0});
  EXPECT_THAT(
      run_op("sequence_mask", {{"X", lengths}}, {{"maxlen", 2}, {"out_dtype", kF32}}).at("Y"),
      near(tensor({{1, 0}, {1, 1}, {0, 0}}), 0));
  const Tensor longest = run_op("sequence_mask", {{"X", lengths}}, {{"out_dtype", kF32}}).at("Y");
  EXPECT_THAT(longest, near(tensor({{1, 0, 0}, {1, 1, 1}, {0, 0, 0}}), 0));
  const Tensor given =
      run_op("sequence_mask", {{"X", ints({1, 2}, i32)}, {"MaxLenTensor", ints({4}, i32)}},
             {{"out_dtype", kF32}})
          .at("Y");
  EXPECT_THAT(given, near(tensor({{1, 0, 0, 0}, {1, 1, 0, 0}}), 0));
}

TEST(SequenceMask, DtypesAndShapes) {
  const BuiltOp open = build_op("sequence_mask", {{"X", ints({1, 3})}}, {{"out_dtype", kBool}});
  EXPECT_EQ(open.var("Y").dtype, boolean);
  EXPECT_EQ(open.var("Y").shape, (Shape{2, -1}));
  EXPECT_EQ(build_op("sequence_mask", {{"X", ints({1, 3})}}, {{"maxlen", 4}}).var("Y").dtype, i64);
  EXPECT_EQ(run_op("sequence_mask", {{"X", ints({1, 3})}}, {{"out_dtype", kI32}}).at("Y").shape(),
            (Shape{2, 3}));
}

TEST(SequenceMask, Refusals) {
  EXPECT_REFUSED(run_op("sequence_mask", {{"X", ints({1, 2})}, {"MaxLenTensor", ints({0}, i32)}}),
                 "MaxLenTensor must be positive, but is 0");
}

}  // namespace
}  // namespace flotilla

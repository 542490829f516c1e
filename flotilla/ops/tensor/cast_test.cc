#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(Cast, EveryPairOfDtypes) {
  for (const DType from : {f32, f64, i32, i64, u8, i8, i16}) {
    for (const DType to : {f32, f64, i32, i64, u8, i8, i16}) {
      EXPECT_THAT(run_op("cast", {{"X", tensor({0, 1, 100}, from)}},
                         {{"in_dtype", to_paddle(from)}, {"out_dtype", to_paddle(to)}})
                      .at("Out"),
                  equal_to(tensor({0, 1, 100}, to)));
    }
    EXPECT_THAT(
        run_op("cast", {{"X", tensor({0, 1, 2}, from)}}, {{"out_dtype", to_paddle(boolean)}})
            .at("Out"),
        equal_to(bools({false, true, true})));
  }
  EXPECT_THAT(
      run_op("cast", {{"X", tensor({-1.7, 1.7})}}, {{"out_dtype", to_paddle(i64)}}).at("Out"),
      equal_to(ints({-1, 1})));
}

TEST(Cast, GradientGoesBackToTheDtypeOfX) {
  check_op({.type = "cast",
            .inputs = {{"X", uniform({2, 3}, -1, 1)}},
            .attrs = {{"out_dtype", to_paddle(f64)}},
            .integers = false});
}

TEST(Cast, RefusesACodeThatIsNoDtype) {
  EXPECT_REFUSED(build_op("cast", {{"X", tensor({1})}}, {{"out_dtype", 99}}),
                 "out_dtype of cast must name a dtype, but is 99");
}

}  // namespace
}  // namespace flotilla

#include <cmath>

#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

TEST(ArgMax, KnownValues) {
  const Tensor x = tensor({{1, 3, 3}, {4, 0, 4}});
  const auto arg = [&](const std::string& type, Attrs attrs) {
    return run_op(type, {{"X", x}}, attrs).at("Out");
  };
  EXPECT_THAT(arg("arg_max", {{"axis", int64_t{1}}}), equal_to(ints({1, 0})));
  EXPECT_THAT(arg("arg_min", {{"axis", int64_t{0}}}), equal_to(ints({0, 1, 0})));
  EXPECT_THAT(arg("arg_max", {{"axis", int64_t{1}}, {"keepdims", true}, {"dtype", to_paddle(i32)}}),
              equal_to(ints({1, 0}, Shape{2, 1}, i32)));
  EXPECT_THAT(arg("arg_max", {{"flatten", true}}), equal_to(ints({3})));
  EXPECT_THAT(run_op("arg_max", {{"X", tensor({1, NAN, 3})}}, {}).at("Out"), equal_to(ints({2})));
  EXPECT_REFUSED(arg("arg_max", {{"dtype", to_paddle(f32)}}),
                 "arg_max gives int64 or int32, but dtype names f32");
}

}  // namespace
}  // namespace flotilla

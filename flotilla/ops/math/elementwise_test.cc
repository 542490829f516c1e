#include <gmock/gmock.h>

#include <cmath>

#include "flotilla/testing/check_op.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

Tensor binary(const std::string& type, Tensor x, Tensor y, Attrs attrs = {}) {
  return run_op(type, {{"X", std::move(x)}, {"Y", std::move(y)}}, attrs).at("Out");
}

TEST(Elementwise, KnownValues) {
  const Tensor x = tensor({6, -4, 2}), y = tensor({3, 2, -1});
  EXPECT_THAT(binary("elementwise_add", x, y), equal_to({9, -2, 1}));
  EXPECT_THAT(binary("elementwise_sub", x, y), equal_to({3, -6, 3}));
  EXPECT_THAT(binary("elementwise_mul", x, y), equal_to({18, -8, -2}));
  EXPECT_THAT(binary("elementwise_div", x, y), equal_to({2, -2, -2}));
  EXPECT_THAT(binary("elementwise_max", x, y), equal_to({6, 2, 2}));
  EXPECT_THAT(binary("elementwise_min", x, y), equal_to({3, -4, -1}));
  EXPECT_THAT(binary("elementwise_pow", x, y), near({216, 16, 0.5}, 1e-4));
  EXPECT_THAT(binary("elementwise_heaviside", tensor({-2, 0, 3}), tensor({5, 6, 7})),
              equal_to({0, 6, 1}));
  EXPECT_THAT(binary("elementwise_mul", bools({true, true}), bools({true, false})),
              equal_to(bools({true, false})));
}

// As Python: the rest has the sign of the divisor, the quotient is rounded down.
TEST(Elementwise, RestsAndQuotientsOfNegativeNumbers) {
  for (const DType dtype : {i64, i32, f32, f64}) {
    const Tensor x = tensor({-7, 7, -7, 7}, dtype), y = tensor({2, 2, -2, -2}, dtype);
    EXPECT_THAT(binary("elementwise_mod", x, y), equal_to({1, 1, -1, -1}));
    EXPECT_THAT(binary("elementwise_floordiv", x, y), equal_to({-4, 3, 3, -4}));
  }
  const Tensor x = ints({-7, 7, -7, 7}), y = ints({2, 2, -2, -2});
  EXPECT_THAT(binary("elementwise_div", x, y), equal_to({-3, 3, 3, -3}));
}

TEST(Elementwise, RefusesToDivideWholeNumbersByZero) {
  for (const std::string type : {"elementwise_div", "elementwise_mod", "elementwise_floordiv"}) {
    EXPECT_REFUSED(binary(type, ints({1, 2}), ints({1, 0})),
                   "Y holds a zero, and integers cannot be divided by it");
  }
  EXPECT_THAT(binary("elementwise_div", tensor({1}), tensor({0})), equal_to({INFINITY}));
  // The quotient does not fit: it wraps, as in numpy, and does not kill the process.
  const int64_t least = std::numeric_limits<int64_t>::min();
  EXPECT_EQ(binary("elementwise_div", ints({least}), ints({-1})).data<int64_t>()[0], least);
}

struct Shapes {
  Shape x, y;
  int axis = -1;
};

// Equal, row, channel, column, scalar, both sides, ones in the middle, trailing ones of Y; at an
// axis of Y.
const std::vector<Shapes> kShapes = {
    {{3, 4}, {3, 4}},
    {{3, 4}, {4}},
    {{2, 3, 4}, {3}, 1},
    {{2, 3, 4}, {2, 3}, 0},
    {{2, 3, 4}, {2, 1, 1}, 0},
    {{3, 4}, {3, 1}},
    {{3, 4}, {1}},
    {{3, 1}, {1, 4}},
    {{4}, {3, 4}},
    {{1, 4}, {3, 1}},
    {{2, 3, 2, 2}, {2, 1, 2, 1}},
    {{2, 18, 3, 2}, {2, 18, 3, 2}},
    {{2, 18, 3, 2}, {18}, 1},
    {{2, 16, 3, 2}, {16, 1, 1}},
    {{2, 16, 3, 2}, {2, 16, 1, 1}},
    {{2, 18, 3, 2}, {2, 1, 3, 1}},
    {{1}, {3, 4}, 0},
    {{2, 3}, {2, 3, 4}, 0},
    {{3, 1}, {2, 3, 4}, 1},
};

TEST(Elementwise, AllKernelsAgreeOnEveryBroadcast) {
  for (const std::string type :
       {"elementwise_add", "elementwise_sub", "elementwise_mul", "grad_add"}) {
    for (const Shapes& s : kShapes) {
      check_op({.type = type,
                .inputs = {{"X", uniform(s.x, -2, 2)}, {"Y", uniform(s.y, -2, 2, 2)}},
                .attrs = {{"axis", s.axis}}});
    }
  }
}

TEST(Elementwise, AllKernelsAgree) {
  for (const std::string type : {"elementwise_div", "elementwise_max", "elementwise_min",
                                 "elementwise_fmax", "elementwise_fmin", "elementwise_pow"}) {
    for (const size_t i : {0, 1, 5, 7, 11, 12}) {
      check_op({.type = type,
                .inputs = {{"X", uniform(kShapes[i].x, 0.5, 2)},
                           {"Y", uniform(kShapes[i].y, 0.6, 1.9, 2)}},
                .attrs = {{"axis", kShapes[i].axis}},
                .integers = type != "elementwise_div"});
    }
  }
  for (const std::string type : {"elementwise_mod", "elementwise_floordiv"}) {
    check_op(
        {.type = type, .inputs = {{"X", uniform({3, 4}, -9, 9)}, {"Y", uniform({4}, 1.6, 4, 2)}}});
  }
}

// Larger than one thread's share, so that ranges are cut.
TEST(Elementwise, LargeTensorsOnSeveralThreads) {
  const Tensor x = uniform({300, 401}, -1, 1), row = uniform({401}, -1, 1, 2);
  const std::vector<double> a = values_of(x), b = values_of(row);
  std::vector<double> expected(a.size());
  for (size_t i = 0; i < a.size(); ++i) {
    expected[i] = static_cast<float>(a[i]) + static_cast<float>(b[i % 401]);
  }
  EXPECT_THAT(binary("elementwise_add", x, row), near(expected, 1e-6));
  EXPECT_THAT(binary("elementwise_sub", x, x), all_equal_to(0));
}

// Where both are equal, Y gets the gradient, as in Paddle.
TEST(Elementwise, EqualElementsOfMaxAndMin) {
  for (const std::string type : {"elementwise_max", "elementwise_min"}) {
    const OpResult grads =
        run_op(type + "_grad",
               {{"X", tensor({1, 2})}, {"Y", tensor({1, 2})}, {"Out@GRAD", tensor({5, 7})}}, {},
               {.outputs = {{"X@GRAD", 1}, {"Y@GRAD", 1}}});
    EXPECT_THAT(grads.at("X@GRAD"), equal_to({0, 0}));
    EXPECT_THAT(grads.at("Y@GRAD"), equal_to({5, 7}));
  }
}

// There X gets it.
TEST(Elementwise, EqualElementsOfFmaxAndFmin) {
  for (const std::string type : {"elementwise_fmax", "elementwise_fmin"}) {
    const OpResult grads = run_op(
        type + "_grad",
        {{"X", tensor({1, NAN, 2})}, {"Y", tensor({1, 2, NAN})}, {"Out@GRAD", tensor({5, 7, 9})}},
        {}, {.outputs = {{"X@GRAD", 1}, {"Y@GRAD", 1}}});
    EXPECT_THAT(grads.at("X@GRAD"), equal_to({5, 0, 9}));
    EXPECT_THAT(grads.at("Y@GRAD"), equal_to({0, 7, 0}));
    EXPECT_THAT(binary(type, tensor({1, NAN, 2}), tensor({1, 2, NAN})), equal_to({1, 2, 2}));
  }
}

// Y gets it where X is zero, whichever side is repeated.
TEST(Elementwise, GradientOfHeaviside) {
  const auto grads = [](const Tensor& x, const Tensor& y) {
    return run_op("elementwise_heaviside_grad",
                  {{"X", x}, {"Y", y}, {"Out@GRAD", tensor({5, 7, 9})}}, {},
                  {.outputs = {{"X@GRAD", 1}, {"Y@GRAD", 1}}});
  };
  const OpResult both = grads(tensor({-2, 0, 0}), tensor({1, 2, 3}));
  EXPECT_THAT(both.at("X@GRAD"), equal_to({0, 0, 0}));
  EXPECT_THAT(both.at("Y@GRAD"), equal_to({0, 7, 9}));
  EXPECT_THAT(grads(tensor({-2, 0, 0}), tensor({1})).at("Y@GRAD"), equal_to({16}));
  EXPECT_THAT(grads(tensor({0}), tensor({1, 2, 3})).at("X@GRAD"), equal_to({0}));
  check_op({.type = "elementwise_heaviside",
            .inputs = {{"X", uniform({3, 4}, -1, 1)}, {"Y", uniform({4}, -1, 1, 2)}}});
}

TEST(Elementwise, SparseRowsTimesANumber) {
  EXPECT_THAT(run_op("elementwise_mul",
                     {{"X", sparse({2, 0}, tensor({{1, 2}, {3, 4}}), 3)}, {"Y", tensor({10})}})
                  .at("Out"),
              equal_to(tensor({{30, 40}, {0, 0}, {10, 20}})));
}

TEST(Elementwise, RefusesWhatDoesNotBroadcast) {
  EXPECT_REFUSED(
      build_op("elementwise_add", {{"X", uniform({2, 3}, 0, 1)}, {"Y", uniform({2}, 0, 1)}}),
      "X of shape [2, 3] and Y of shape [2] do not broadcast at axis -1: 3 does not match 2");
  EXPECT_REFUSED(build_op("elementwise_add", {{"X", tensor({1})}, {"Y", ints({1})}}),
                 "X and Y must have one dtype, but X holds f32 and Y holds i64");
}

}  // namespace
}  // namespace flotilla

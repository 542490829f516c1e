#include <cmath>
#include <numeric>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

using Dims = std::vector<int32_t>;

Tensor reduce(const std::string& type, Tensor x, Attrs attrs = {}) {
  return run_op(type, {{"X", std::move(x)}}, attrs).at("Out");
}

TEST(Reduce, KnownValues) {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 7}});
  EXPECT_THAT(reduce("reduce_sum", x), equal_to(tensor({5, 7, 10})));
  EXPECT_THAT(reduce("reduce_sum", x, {{"dim", Dims{1}}}), equal_to(tensor({6, 16})));
  EXPECT_THAT(reduce("reduce_mean", x, {{"dim", Dims{-1}}, {"keep_dim", true}}),
              near(tensor({2, 16.0 / 3}, Shape{2, 1}), 1e-6));
  EXPECT_THAT(reduce("reduce_max", x, {{"dim", Dims{0, 1}}}), equal_to(tensor({7})));
  EXPECT_THAT(reduce("reduce_min", x, {{"reduce_all", true}}), equal_to(tensor({1})));
  EXPECT_THAT(reduce("reduce_prod", x, {{"dim", Dims{}}, {"keep_dim", true}}),
              equal_to(tensor({840}, Shape{1, 1})));
  EXPECT_THAT(reduce("frobenius_norm", tensor({{3, 1}, {4, 0}})), near(tensor({5, 1}), 1e-6));
  EXPECT_THAT(reduce("mean", x), near(tensor({22.0 / 6}), 1e-6));
  EXPECT_THAT(reduce("reduce_all", bools({true, false})), equal_to(bools({false})));
  EXPECT_THAT(reduce("reduce_any", bools({true, false})), equal_to(bools({true})));
}

// A result without an axis has shape [1]; X may have none to begin with.
TEST(Reduce, ScalarsHaveShapeOne) {
  EXPECT_THAT(reduce("reduce_sum", tensor({1, 2})), has_shape({1}));
  EXPECT_THAT(reduce("reduce_sum", tensor({5}, Shape{})), equal_to(tensor({5})));
  EXPECT_THAT(reduce("mean", tensor({5}, Shape{})), equal_to(tensor({5})));
}

TEST(Reduce, TheNormOfZerosHasAGradient) {
  const Inputs inputs = {{"X", tensor({0, 0})}, {"Out", tensor({0})}, {"Out@GRAD", tensor({1})}};
  EXPECT_THAT(run_op("frobenius_norm_grad", inputs).at("X@GRAD"), all_equal_to(0));
}

TEST(Reduce, DtypesOfTheResult) {
  EXPECT_THAT(reduce("reduce_sum", ints({1, 2}, i32)), equal_to(ints({3})));
  EXPECT_THAT(reduce("reduce_sum", bools({true, true, false})), equal_to(ints({2})));
  EXPECT_THAT(reduce("reduce_sum", tensor({1.5, 2}), {{"out_dtype", 6}}),
              equal_to(tensor({3.5}, f64)));
  EXPECT_THAT(reduce("reduce_mean", ints({1, 2}, i32)), equal_to(ints({1}, i32)));
  EXPECT_THAT(reduce("reduce_max", ints({1, 2}, i32)), equal_to(ints({2}, i32)));
}

TEST(Reduce, AllKernelsAgreeOnEveryAxis) {
  const std::vector<Dims> dims = {{0}, {1}, {2}, {0, 1}, {1, 2}, {0, 2}, {-1}, {0, 1, 2}, {}};
  for (const std::string type : {"reduce_sum", "reduce_mean", "reduce_max", "reduce_min",
                                 "reduce_amax", "reduce_amin", "reduce_prod", "frobenius_norm"}) {
    for (const Dims& dim : dims) {
      for (const bool keep : {false, true}) {
        check_op({.type = type,
                  .inputs = {{"X", uniform({3, 4, 5}, 0.5, 2)}},
                  .attrs = {{"dim", dim}, {"keep_dim", keep}},
                  .integers = type != "reduce_mean",
                  .tolerance = 2e-5});
      }
    }
  }
  check_op({.type = "reduce_sum",
            .inputs = {{"X", uniform({2, 18, 2, 3}, -1, 1)}},
            .attrs = {{"dim", Dims{0, 2, 3}}}});
  check_op({.type = "mean", .inputs = {{"X", uniform({2, 18, 2, 3}, -1, 1)}}});
}

// Runs longer than the engine's pieces, wide rows, and more rows than it adds at once.
TEST(Reduce, LargeTensors) {
  for (const Shape& shape : {Shape{3, 20000}, Shape{20000, 3}, Shape{300, 200}, Shape{70000}}) {
    const Tensor x = uniform(shape, 0, 1);
    const std::vector<double> all = values_of(x);
    const int64_t columns = shape.numel() / shape[0];
    std::vector<double> by_column(static_cast<size_t>(columns));
    for (size_t i = 0; i < all.size(); ++i) by_column[i % by_column.size()] += all[i];
    const double total = std::accumulate(all.begin(), all.end(), 0.0);
    EXPECT_THAT(reduce("reduce_sum", x), near(by_column, 1e-6 * total));
    EXPECT_THAT(reduce("reduce_sum", x, {{"reduce_all", true}}), near({total}, 1e-6 * total));
  }
}

TEST(Reduce, EveryExtremeGetsTheGradient) {
  EXPECT_THAT(run_op("reduce_max_grad",
                     {{"X", tensor({{1, 2, 2}})}, {"Out", tensor({2})}, {"Out@GRAD", tensor({5})}},
                     {{"dim", Dims{1}}})
                  .at("X@GRAD"),
              equal_to(tensor({{0, 5, 5}})));
}

TEST(Reduce, ExtremesOfAmaxShareTheGradient) {
  for (const std::string type : {"reduce_amax", "reduce_amin"}) {
    EXPECT_THAT(run_op(type + "_grad",
                       {{"X", tensor({{1, 2, 2}, {3, 3, 3}})},
                        {"Out", tensor({2, 3})},
                        {"Out@GRAD", tensor({5, 6})}},
                       {{"dim", Dims{1}}})
                    .at("X@GRAD"),
                equal_to(tensor({{0, 2.5, 2.5}, {2, 2, 2}})));
  }
}

// Wherever it stands: Paddle would forget it, and all before it, at the next number.
TEST(Reduce, ExtremesOfNanAreNan) {
  for (const DType dtype : {f32, f64}) {
    for (const int64_t n : {1, 5, 300, 9000}) {
      for (const int64_t at : {int64_t{0}, n / 2, n - 1}) {
        for (const int64_t axis : {0, 1}) {
          const Tensor x = full(axis == 1 ? Shape{2, n} : Shape{n, 2}, 1.5, dtype);
          const int64_t place = axis == 1 ? at : 2 * at;
          if (dtype == f32) {
            x.data<float>()[place] = NAN;
          } else {
            x.data<double>()[place] = NAN;
          }
          for (const std::string type :
               {"reduce_max", "reduce_min", "reduce_amax", "reduce_amin"}) {
            const auto found =
                values_of(run_op(type, {{"X", x}},
                                 {{"dim", std::vector<int32_t>{static_cast<int32_t>(axis)}}})
                              .at("Out"));
            EXPECT_TRUE(std::isnan(found[0])) << type << " " << n << " " << at;
            EXPECT_EQ(found[1], 1.5) << type << " " << n << " " << at;
          }
        }
      }
    }
  }
}

TEST(Reduce, RefusesAnAxisBeyondTheRank) {
  EXPECT_REFUSED(build_op("reduce_sum", {{"X", uniform({2, 3}, 0, 1)}}, {{"dim", Dims{2}}}),
                 "dim must lie in [-2, 2) because X has shape [2, 3], but holds 2");
}

}  // namespace
}  // namespace flotilla

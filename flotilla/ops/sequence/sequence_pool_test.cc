#include <cmath>

#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

const LoD kLod = {{0, 2, 2, 5}};

Tensor pool(const std::string& type, Attrs attrs = {}) {
  attrs.emplace("pooltype", type);
  const Tensor x = with_lod(tensor({{1, 8}, {3, 2}, {5, 1}, {4, 6}, {0, 5}}), kLod);
  return run_op("sequence_pool", {{"X", x}}, attrs).at("Out");
}

TEST(SequencePool, KnownValues) {
  EXPECT_THAT(pool("SUM"), equal_to(tensor({{4, 10}, {0, 0}, {9, 12}})));
  EXPECT_THAT(pool("AVERAGE", {{"pad_value", 7.0f}}), near(tensor({{2, 5}, {7, 7}, {3, 4}}), 1e-6));
  EXPECT_THAT(pool("SQRT"), near(tensor({{4 / std::sqrt(2), 10 / std::sqrt(2)},
                                         {0, 0},
                                         {9 / std::sqrt(3), 12 / std::sqrt(3)}}),
                                 1e-5));
  EXPECT_THAT(pool("MAX"), equal_to(tensor({{3, 8}, {0, 0}, {5, 6}})));
  EXPECT_THAT(pool("FIRST"), equal_to(tensor({{1, 8}, {0, 0}, {5, 1}})));
  EXPECT_THAT(pool("LAST"), equal_to(tensor({{3, 2}, {0, 0}, {0, 5}})));
}

// The number of sequences is not known while a program is built, so gradients are written down.
TEST(SequencePool, Gradients) {
  for (const DType dtype : {f32, f64}) {
    const auto grad = [&](const std::string& type) {
      return run_op("sequence_pool_grad",
                    {{"X", with_lod(full({5, 1}, 0, dtype), kLod)},
                     {"MaxIndex", ints({1, -1, 2}, Shape{3, 1}, i32)},
                     {"Out@GRAD", tensor({6, 5, 3}, Shape{3, 1}, dtype)}},
                    {{"pooltype", type}})
          .at("X@GRAD");
    };
    EXPECT_THAT(grad("SUM"), equal_to({6, 6, 3, 3, 3}));
    EXPECT_THAT(grad("AVERAGE"), near({3, 3, 1, 1, 1}, 1e-6));
    const double two = 6 / std::sqrt(2), three = 3 / std::sqrt(3);
    EXPECT_THAT(grad("SQRT"), near({two, two, three, three, three}, 1e-6));
    EXPECT_THAT(grad("MAX"), equal_to({0, 6, 0, 0, 3}));
    EXPECT_THAT(grad("FIRST"), equal_to({6, 0, 3, 0, 0}));
    EXPECT_THAT(grad("LAST"), equal_to({0, 6, 0, 0, 3}));
  }
}

// What the forward op says of the largest elements is what its gradient reads.
TEST(SequencePool, PlacesOfTheLargest) {
  EXPECT_THAT(run_op("sequence_pool", {{"X", with_lod(tensor({1, 3, 5, 4, 6}, Shape{5, 1}), kLod)}},
                     {{"pooltype", std::string("MAX")}}, {.outputs = {{"MaxIndex", 1}}})
                  .at("MaxIndex"),
              equal_to(ints({1, -1, 2}, Shape{3, 1}, i32)));
}

TEST(SequencePool, PoolsTheLastOfSeveralLevels) {
  const Tensor x = with_lod(tensor({1, 2, 3, 4, 5}, Shape{5, 1}), LoD{{0, 2, 3}, {0, 2, 2, 5}});
  const Tensor found =
      run_op("sequence_pool", {{"X", x}}, {{"pooltype", std::string("SUM")}}).at("Out");
  EXPECT_THAT(found, equal_to(tensor({3, 0, 12}, Shape{3, 1})));
  EXPECT_EQ(found.lod(), (LoD{{0, 2, 3}}));
}

TEST(SequencePool, RefusesRowsWithoutSequences) {
  EXPECT_REFUSED(run_op("sequence_pool", {{"X", uniform({5, 3}, -1, 1)}}),
                 "sequence_pool takes sequences, but X of shape [5, 3] has no LoD");
  EXPECT_REFUSED(pool("MEAN"),
                 "pooltype must be one of SUM, AVERAGE, SQRT, MAX, FIRST, LAST, but is \"MEAN\"");
}

}  // namespace
}  // namespace flotilla

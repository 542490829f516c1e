#include <cmath>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

const LoD kLod = {{0, 2, 2, 5}};

TEST(SequenceSoftmax, SumsToOneInEachSequence) {
  const Tensor x = with_lod(tensor({0, 0, 1, 1, 1}, Shape{5, 1}), kLod);
  const double third = 1.0 / 3;
  const Tensor out = run_op("sequence_softmax", {{"X", x}}).at("Out");
  EXPECT_THAT(out, near({0.5, 0.5, third, third, third}, 1e-6));
  EXPECT_THAT(run_op("sequence_softmax_grad",
                     {{"X", x}, {"Out", out}, {"Out@GRAD", tensor({1, 3, 3, 0, 0}, Shape{5, 1})}})
                  .at("X@GRAD"),
              near({-0.5, 0.5, 2 * third, -third, -third}, 1e-6));
}

TEST(SequenceSoftmax, TakesRowsOfAnyWidth) {
  const Tensor x = with_lod(tensor({{0, 1}, {0, 2}, {1, 0}, {1, 0}, {1, 0}}), kLod);
  const float e = std::exp(1.0f), third = 1.0f / 3;
  EXPECT_THAT(
      run_op("sequence_softmax", {{"X", x}}).at("Out"),
      near({0.5, 1 / (1 + e), 0.5, e / (1 + e), third, third, third, third, third, third}, 1e-6));
  for (const Shape& shape : {Shape{5}, Shape{5, 3}, Shape{5, 2, 2}, Shape{5, 0}}) {
    check_op({.type = "sequence_softmax",
              .inputs = {{"X", with_lod(uniform(shape, -1, 1), kLod)}},
              .grad = shape.numel() > 0});
  }
}

}  // namespace
}  // namespace flotilla

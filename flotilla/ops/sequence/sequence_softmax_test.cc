#include "flotilla/testing/run_op.h"

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
  EXPECT_REFUSED(run_op("sequence_softmax", {{"X", with_lod(uniform({5, 2}, 0, 1), kLod)}}),
                 "sequence_softmax takes a column of numbers, but X has shape [5, 2]");
}

}  // namespace
}  // namespace flotilla

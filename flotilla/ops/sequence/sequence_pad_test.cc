#include "flotilla/testing/check_op.h"
#include "flotilla/testing/short_sequences.h"

namespace flotilla {
namespace {

TEST(SequencePad, AndBack) {
  const Inputs inputs = {{"X", rows()}, {"PadValue", tensor({0.5})}};
  const OpResult found = run_op("sequence_pad", inputs);
  EXPECT_THAT(found.at("Out"),
              equal_to(tensor({1, 2, 3, 4, 5, 6, 0.5, 0.5, 7, 8, 9, 10}, Shape{3, 2, 2})));
  EXPECT_THAT(found.at("Length"), equal_to(ints({2, 1, 2})));
  const Tensor back =
      run_op("sequence_unpad", {{"X", found.at("Out")}, {"Length", found.at("Length")}}).at("Out");
  EXPECT_THAT(back, equal_to(rows()));
  EXPECT_EQ(back.lod(), kLod);
  for (const int length : {-1, 4}) {
    check_op({.type = "sequence_pad",
              .inputs = {{"X", random_rows()}, {"PadValue", tensor({0.5, 2})}},
              .attrs = {{"padded_length", length}},
              .grad_outputs = {"Out"},
              .integers = false});
  }
  check_op({.type = "sequence_unpad",
            .inputs = {{"X", uniform({3, 4, 2}, -1, 1)}, {"Length", ints({2, 4, 1})}},
            .integers = false});
  // Paddle's gradient op has no Length.
  const auto unpad_grad = [](const Tensor& g) {
    return run_op("sequence_unpad_grad", {{"X", full({3, 2, 2}, 0)}, {"Out@GRAD", g}});
  };
  EXPECT_THAT(unpad_grad(rows()).at("X@GRAD"),
              equal_to(tensor({1, 2, 3, 4, 5, 6, 0, 0, 7, 8, 9, 10}, Shape{3, 2, 2})));
  EXPECT_REFUSED(unpad_grad(with_lod(rows(), {{0, 2, 5}})),
                 "X has 3 padded sequences, but Out@GRAD has 2");
  EXPECT_REFUSED(unpad_grad(with_lod(rows(), {{0, 3, 4, 5}})),
                 "the length of sequence 0 is 3, but X has 2 rows for each");
  EXPECT_REFUSED(run_op("sequence_pad", inputs, {{"padded_length", 1}}),
                 "padded_length is 1, but there is a sequence of 2 rows");
  EXPECT_REFUSED(
      run_op("sequence_unpad", {{"X", uniform({2, 2, 2}, -1, 1)}, {"Length", ints({2, 3})}}),
      "the length of sequence 1 is 3, but X has 2 rows for each");
}

}  // namespace
}  // namespace flotilla

// flotilla/ops/sequence/sequence_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

const LoD kLod = {{0, 2, 3, 5}};

Tensor rows() { return with_lod(tensor({{1, 2}, {3, 4}, {5, 6}, {7, 8}, {9, 10}}), kLod); }
Tensor numbers() { return with_lod(ints({2, 2, 6, 1, 3}, Shape{5, 1}), kLod); }
Tensor random_rows(const LoD& lod = kLod) {
  return with_lod(uniform({lod.back().back(), 2}, -1, 1), lod);
}

TEST(SequenceExpand, RepeatsRowsAndSequences) {
  const Tensor x = tensor({{1, 2}, {3, 4}, {5, 6}});
  EXPECT_THAT(run_op("sequence_expand", {{"X", x}, {"Y", rows()}}).at("Out"),
              equal_to(tensor({{1, 2}, {1, 2}, {3, 4}, {5, 6}, {5, 6}})));
  const Tensor pairs = with_lod(tensor({1, 2, 3}, Shape{3, 1}), {{0, 1, 3}});
  const Tensor twice = with_lod(full({3, 1}, 0), {{0, 1, 3}});
  const Tensor found = run_op("sequence_expand", {{"X", pairs}, {"Y", twice}}).at("Out");
  EXPECT_THAT(found, equal_to(tensor({1, 2, 3, 2, 3}, Shape{5, 1})));
  EXPECT_EQ(found.lod(), (LoD{{0, 1, 3, 5}}));
  check_op({.type = "sequence_expand", .inputs = {{"X", x}, {"Y", rows()}}, .integers = false});
  check_op({.type = "sequence_expand",
            .inputs = {{"X", random_rows({{0, 1, 1, 4}})}, {"Y", rows()}},
            .integers = false});
}

TEST(SequenceExpand, TakesALevelOfTwo) {
  const Tensor y = with_lod(full({6, 1}, 0), {{0, 2, 3}, {0, 2, 3, 6}});
  const Tensor x = tensor({1, 2}, Shape{2, 1});
  EXPECT_THAT(run_op("sequence_expand", {{"X", x}, {"Y", y}}, {{"ref_level", 0}}).at("Out"),
              equal_to(tensor({1, 1, 2}, Shape{3, 1})));
  EXPECT_REFUSED(run_op("sequence_expand", {{"X", x}, {"Y", y}}, {{"ref_level", 2}}),
                 "ref_level must lie in [-1, 2), but is 2");
  EXPECT_REFUSED(run_op("sequence_expand", {{"X", x}, {"Y", y}}),
                 "X has 2 rows, but Y has 3 sequences");
}

TEST(SequenceExpandAs, RepeatsRows) {
  const Tensor x = uniform({3, 2}, -1, 1);
  const OpResult found = run_op("sequence_expand_as", {{"X", x}, {"Y", rows()}});
  EXPECT_EQ(found.at("Out").lod(), kLod);
  check_op({.type = "sequence_expand_as", .inputs = {{"X", x}, {"Y", rows()}}, .integers = false});
  EXPECT_REFUSED(run_op("sequence_expand_as", {{"X", uniform({2, 2}, -1, 1)}, {"Y", rows()}}),
                 "X of shape [2, 2] must have a row for each of the 3 sequences of Y");
}

TEST(SequenceReverse, TurnsSequencesRound) {
  const Tensor found = run_op("sequence_reverse", {{"X", rows()}}).at("Y");
  EXPECT_THAT(found, equal_to(tensor({{3, 4}, {1, 2}, {5, 6}, {9, 10}, {7, 8}})));
  EXPECT_EQ(found.lod(), kLod);
  check_op({.type = "sequence_reverse", .inputs = {{"X", random_rows()}}});
}

TEST(SequenceSlice, CutsPieces) {
  const Inputs cut = {{"X", rows()},
                      {"Offset", ints({1, 0, 0}, Shape{3, 1})},
                      {"Length", ints({1, 1, 2}, Shape{3, 1})}};
  const Tensor found = run_op("sequence_slice", cut).at("Out");
  EXPECT_THAT(found, equal_to(tensor({{3, 4}, {5, 6}, {7, 8}, {9, 10}})));
  EXPECT_EQ(found.lod(), (LoD{{0, 1, 2, 4}}));
  check_op({.type = "sequence_slice", .inputs = cut, .integers = false});
  Inputs wrong = cut;
  wrong["Length"] = ints({2, 1, 2}, Shape{3, 1});
  EXPECT_REFUSED(run_op("sequence_slice", wrong),
                 "2 rows from row 1 on are wanted of sequence 0, which has 2");
}

TEST(SequenceErase, TakesNumbersOut) {
  const Tensor found =
      run_op("sequence_erase", {{"X", numbers()}}, {{"tokens", std::vector<int64_t>{2, 3}}})
          .at("Out");
  EXPECT_THAT(found, equal_to(ints({6, 1}, Shape{2, 1})));
  EXPECT_EQ(found.lod(), (LoD{{0, 0, 1, 2}}));
}

TEST(SequenceEnumerate, GivesWindows) {
  const Attrs attrs = {{"win_size", 2}, {"pad_value", 7}};
  EXPECT_THAT(run_op("sequence_enumerate", {{"X", numbers()}}, attrs).at("Out"),
              equal_to(ints({2, 2, 2, 7, 6, 7, 1, 3, 3, 7}, Shape{5, 2})));
  EXPECT_REFUSED(run_op("sequence_enumerate", {{"X", numbers()}}, {{"win_size", 1}}),
                 "win_size must be at least 2, but is 1");
}

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
                 "sequence 0 is said to have 3 rows, but X has 2 for each");
  EXPECT_REFUSED(run_op("sequence_pad", inputs, {{"padded_length", 1}}),
                 "padded_length is 1, but there is a sequence of 2 rows");
  EXPECT_REFUSED(
      run_op("sequence_unpad", {{"X", uniform({2, 2, 2}, -1, 1)}, {"Length", ints({2, 3})}}),
      "sequence 1 is said to have 3 rows, but X has 2 for each");
}

TEST(SequenceConcat, JoinsSequences) {
  const Tensor other = with_lod(tensor({{-1, -2}, {-3, -4}, {-5, -6}}), {{0, 1, 3, 3}});
  const Tensor found = run_op("sequence_concat", {{"X", {rows(), other}}}).at("Out");
  EXPECT_THAT(
      found,
      equal_to(tensor({{1, 2}, {3, 4}, {-1, -2}, {5, 6}, {-3, -4}, {-5, -6}, {7, 8}, {9, 10}})));
  EXPECT_EQ(found.lod(), (LoD{{0, 3, 6, 8}}));
  check_op({.type = "sequence_concat", .inputs = {{"X", {random_rows(), other}}}});
  EXPECT_REFUSED(run_op("sequence_concat", {{"X", {rows(), random_rows({{0, 2, 4}})}}}),
                 "input 0 has 3 sequences, but input 1 has 2");
}

TEST(SequenceReshape, KeepsSequencesTogether) {
  const Tensor x = with_lod(uniform({4, 6}, -1, 1), {{0, 1, 4}});
  const Tensor found = run_op("sequence_reshape", {{"X", x}}, {{"new_dim", 3}}).at("Out");
  EXPECT_THAT(found, has_shape({8, 3}));
  EXPECT_EQ(found.lod(), (LoD{{0, 2, 8}}));
  check_op({.type = "sequence_reshape", .inputs = {{"X", x}}, .attrs = {{"new_dim", 3}}});
  EXPECT_REFUSED(run_op("sequence_reshape", {{"X", x}}, {{"new_dim", 4}}),
                 "sequence 0 of 6 elements cannot be cut into rows of new_dim 4");
}

TEST(LodReset, TakesSequencesFromElsewhere) {
  const Tensor x = uniform({5, 2}, -1, 1);
  const Attrs target = {{"target_lod", std::vector<int64_t>{0, 2, 5}}};
  EXPECT_EQ(run_op("lod_reset", {{"X", x}}, target).at("Out").lod(), (LoD{{0, 2, 5}}));
  EXPECT_EQ(run_op("lod_reset", {{"X", x}, {"Y", rows()}}).at("Out").lod(), kLod);
  EXPECT_EQ(run_op("lod_reset", {{"X", x}, {"Y", ints({0, 4, 5}, i32)}}).at("Out").lod(),
            (LoD{{0, 4, 5}}));
  EXPECT_EQ(run_op("lod_reset", {{"X", x}, {"Y", rows()}}, {{"append", true}}).at("Out").lod(),
            kLod);
  check_op({.type = "lod_reset", .inputs = {{"X", x}}, .attrs = target});
  EXPECT_REFUSED(run_op("lod_reset", {{"X", x}}),
                 "lod_reset needs sequences: Y, or a target_lod of at least two offsets");
}

TEST(SequenceScatter, AddsToColumns) {
  const Inputs inputs = {{"X", full({3, 3}, 1)},
                         {"Ids", with_lod(ints({0, 2, 1, 1, 1}, Shape{5, 1}), kLod)},
                         {"Updates", with_lod(tensor({1, 2, 3, 4, 5}, Shape{5, 1}), kLod)}};
  EXPECT_THAT(run_op("sequence_scatter", inputs).at("Out"),
              equal_to(tensor({{2, 1, 3}, {1, 4, 1}, {1, 10, 1}})));
  check_op({.type = "sequence_scatter", .inputs = inputs});
  Inputs wrong = inputs;
  wrong["Ids"] = with_lod(ints({0, 2, 3, 1, 1}, Shape{5, 1}), kLod);
  EXPECT_REFUSED(run_op("sequence_scatter", wrong),
                 "id 3 of sequence 1 is no column of X: it has 3");
}

TEST(FilterByInstag, KeepsInstancesWithATag) {
  const Tensor tags = with_lod(ints({1, 2, 3, 1}, Shape{4, 1}), {{0, 1, 3, 4}});
  const Inputs inputs = {{"Ins", rows()}, {"Ins_tag", tags}, {"Filter_tag", ints({1})}};
  const OpResult found = run_op("filter_by_instag", inputs);
  EXPECT_THAT(found.at("Out"), equal_to(tensor({{1, 2}, {3, 4}, {7, 8}, {9, 10}})));
  EXPECT_EQ(found.at("Out").lod(), (LoD{{0, 2, 4}}));
  EXPECT_THAT(found.at("LossWeight"), all_equal_to(1));
  EXPECT_THAT(found.at("IndexMap"), equal_to(ints({0, 0, 2, 2, 3, 2}, Shape{2, 3})));
  check_op({.type = "filter_by_instag", .inputs = inputs, .integers = false});
  Inputs other = inputs;
  other["Filter_tag"] = ints({9});
  const OpResult none = run_op("filter_by_instag", other, {{"out_val_if_empty", 5}});
  EXPECT_THAT(none.at("Out"), equal_to(tensor({{5, 5}})));
  EXPECT_THAT(none.at("LossWeight"), equal_to({0}));
  EXPECT_REFUSED(run_op("filter_by_instag", inputs, {{"is_lod", false}}),
                 "Ins has 5 instances, but Ins_tag has 3 sequences");
}

}  // namespace
}  // namespace flotilla

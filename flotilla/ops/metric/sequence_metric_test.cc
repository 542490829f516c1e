// flotilla/ops/metric/sequence_metric_test.cc

#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

Tensor distances(const Tensor& hyps, const Tensor& refs, bool normalized) {
  return run_op("edit_distance", {{"Hyps", hyps}, {"Refs", refs}}, {{"normalized", normalized}})
      .at("Out");
}

TEST(EditDistance, CountsChanges) {
  // kitten, sitting; nothing, two letters
  const Tensor hyps = with_lod(ints({1, 2, 3, 3, 4, 5}, Shape{6, 1}), {{0, 6, 6}});
  const Tensor refs = with_lod(ints({6, 2, 3, 3, 2, 5, 7, 1, 1}, Shape{9, 1}), {{0, 7, 9}});
  EXPECT_THAT(distances(hyps, refs, false), equal_to(tensor({3, 2}, Shape{2, 1})));
  EXPECT_THAT(distances(hyps, refs, true), near(tensor({3.0 / 7, 1}, Shape{2, 1}), 1e-6));
  EXPECT_REFUSED(distances(refs, hyps, true),
                 "sequence 1 of Refs is empty: a distance cannot be divided by its length");
}

TEST(EditDistance, TakesPaddedRows) {
  const OpResult found = run_op("edit_distance", {{"Hyps", ints({1, 2, 0, 3, 3, 3}, Shape{2, 3})},
                                                  {"Refs", ints({1, 3, 3, 9}, Shape{2, 2})},
                                                  {"HypsLength", ints({2, 3})},
                                                  {"RefsLength", ints({2, 1})}});
  EXPECT_THAT(found.at("Out"), equal_to(tensor({1, 2}, Shape{2, 1})));
  EXPECT_THAT(found.at("SequenceNum"), equal_to({2}));
}

OpResult chunks(const Tensor& found, const Tensor& label, const std::string& scheme) {
  return run_op("chunk_eval", {{"Inference", found}, {"Label", label}},
                {{"num_chunk_types", 2}, {"chunk_scheme", scheme}});
}

TEST(ChunkEval, CountsChunks) {
  const LoD lod = {{0, 5}};
  // B0 I0 O B1 B1, where B0 I0 O B1 I1 is right
  const Tensor found = with_lod(ints({0, 1, 4, 2, 2}, Shape{5, 1}), lod);
  const Tensor label = with_lod(ints({0, 1, 4, 2, 3}, Shape{5, 1}), lod);
  const OpResult counted = chunks(found, label, "IOB");
  EXPECT_THAT(counted.at("NumInferChunks"), equal_to({3}));
  EXPECT_THAT(counted.at("NumLabelChunks"), equal_to({2}));
  EXPECT_THAT(counted.at("NumCorrectChunks"), equal_to({1}));
  EXPECT_THAT(counted.at("Precision"), near({1.0 / 3}, 1e-6));
  EXPECT_THAT(counted.at("Recall"), near({0.5}, 1e-6));
  EXPECT_THAT(counted.at("F1-Score"), near({0.4}, 1e-6));
  EXPECT_REFUSED(chunks(found, label, "BIO"),
                 "chunk_scheme must be plain, IOB, IOE or IOBES, but is \"BIO\"");
  EXPECT_REFUSED(chunks(with_lod(ints({0, 1, 5, 2, 2}, Shape{5, 1}), lod), label, "IOB"),
                 "tag 5 is none of 0 to 4");
}

}  // namespace
}  // namespace flotilla

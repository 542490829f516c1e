#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

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
                 "a tag must lie in [0, 4], but is 5");
}

}  // namespace
}  // namespace flotilla

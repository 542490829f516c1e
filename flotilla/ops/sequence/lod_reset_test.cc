#include "flotilla/testing/check_op.h"
#include "flotilla/testing/short_sequences.h"

namespace flotilla {
namespace {

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

}  // namespace
}  // namespace flotilla

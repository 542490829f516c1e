// flotilla/ops/nn/fused_embedding_seq_pool_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

const LoD kLod = {{0, 2, 2, 3}};  // the second sequence is empty

Tensor pool(const Tensor& ids, const Attrs& attrs = {}) {
  const Tensor table = tensor({{1, 2}, {3, 4}, {5, 6}});
  return run_op("fused_embedding_seq_pool", {{"W", table}, {"Ids", ids}}, attrs).at("Out");
}

TEST(FusedEmbeddingSeqPool, KnownValues) {
  for (const DType dtype : {i64, i32}) {
    const Tensor ids = with_lod(ints({2, 0, 1}, {3, 1}, dtype), kLod);
    EXPECT_THAT(pool(ids), equal_to(tensor({{6, 8}, {0, 0}, {3, 4}})));
    EXPECT_THAT(pool(ids, {{"padding_idx", int64_t{0}}}),
                equal_to(tensor({{5, 6}, {0, 0}, {3, 4}})));
  }
  const Tensor wide = with_lod(ints({2, 0, 1, 1, 0, 2}, {3, 2}), kLod);
  EXPECT_THAT(pool(wide), equal_to(tensor({{8, 10, 4, 6}, {0, 0, 0, 0}, {1, 2, 5, 6}})));
}

TEST(FusedEmbeddingSeqPool, AllKernelsAgree) {
  const Tensor ids = with_lod(ints({1, 5, 1, 0, 7, 2}, {3, 2}), kLod);
  for (const int64_t padding : {-1, 1}) {
    for (const bool is_sparse : {false, true}) {
      check_op({.type = "fused_embedding_seq_pool",
                .inputs = {{"W", uniform({8, 3}, -1, 1)}, {"Ids", ids}},
                .attrs = {{"padding_idx", padding}, {"is_sparse", is_sparse}}});
    }
  }
}

TEST(FusedEmbeddingSeqPool, Refusals) {
  const Tensor ids = with_lod(ints({2, 3, 1}, {3, 1}), kLod);
  EXPECT_REFUSED(pool(ids),
                 "id 3 at position 1 is not a row of the table \"W_0\", which has the rows 0 to 2");
  EXPECT_REFUSED(pool(ids, {{"combiner", "mean"}}), "combiner must be \"sum\", but is \"mean\"");
  EXPECT_REFUSED(pool(ints({2, 1}, {2, 1})),
                 "fused_embedding_seq_pool takes sequences, but Ids of shape [2, 1] has no LoD");
}

}  // namespace
}  // namespace flotilla

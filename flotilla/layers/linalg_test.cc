#include "flotilla/layers/linalg.h"

#include <gtest/gtest.h>

#include <limits>

#include "flotilla/layers/nn.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/layers.h"
#include "flotilla/testing/tensors.h"

namespace flotilla::layers {
namespace {

class Linalg : public LayersTest {
 protected:
  Variable x_ = data("x", {2, 3}), square_ = data("square", {3, 3}), row_ = data("row", {3});
};

TEST_F(Linalg, Products) {
  EXPECT_EQ(matrix_product(x_, square_).shape(), (Shape{2, 3}));
  EXPECT_EQ(matrix_product(x_, x_, false, true).shape(), (Shape{2, 2}));
  EXPECT_EQ(outer(row_, x_).shape(), (Shape{3, 6}));
  EXPECT_EQ(inner(x_, square_).shape(), (Shape{2, 3}));
  context().writes_v1 = true;
  EXPECT_EQ(matrix_product(x_, square_).name(), "matmul_0.tmp_0");
  context().writes_v1 = false;
}

TEST_F(Linalg, Norms) {
  norm(x_);
  norm(x_, {.p = std::numeric_limits<double>::infinity(), .axes = {1}});
  EXPECT_EQ(ops(), text(R"(
    frobenius_norm(X=x) -> frobenius_norm_0.tmp_0 {dim=[0], keep_dim=false, reduce_all=true}
    p_norm(X=x) -> p_norm_0.tmp_0 {asvector=false, axis=1, epsilon=1e-12, keepdim=false, porder=inf}
  )"));
  EXPECT_REFUSED(norm(x_, {.p = 1, .axes = {0, 1}}),
                 "matrices have the norm p='fro' here, but p is 1");
}

TEST_F(Linalg, LabelsOfAxes) {
  EXPECT_EQ(einsum("ij,jk->ik", {x_, square_}).shape(), (Shape{2, 3}));
  EXPECT_EQ(einsum("ij", {x_}).shape(), (Shape{2, 3}));
  EXPECT_EQ(einsum("...i,i", {x_, row_}).shape(), Shape{2});
  einsum("ij, jk, k -> i", {x_, square_, row_});
  EXPECT_THAT(ops(), testing::HasSubstr("equation=\"ij,jk->ik\""));
  EXPECT_THAT(ops(), testing::HasSubstr("equation=\"ik,k->i\""));
  EXPECT_REFUSED(einsum("ij,jk", {x_}), "'ij,jk' is for 2 operands, but 1 are given");
}

}  // namespace
}  // namespace flotilla::layers

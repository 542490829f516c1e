// flotilla/ops/math/einsum_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

Tensor einsum(const std::string& equation, const std::vector<Tensor>& operands) {
  return run_op("einsum", {{"Operands", operands}}, {{"equation", equation}}).at("Out");
}

TEST(Einsum, KnownValues) {
  const Tensor x = tensor({{1, 2}, {3, 4}}), v = tensor({1, 2});
  EXPECT_THAT(einsum("ij,jk->ik", {x, x}), near(tensor({{7, 10}, {15, 22}}), 1e-6));
  EXPECT_THAT(einsum("ij,j->", {x, v}), near(tensor({16}), 1e-6));
  EXPECT_THAT(einsum("ij->ji", {x}), near(tensor({{1, 3}, {2, 4}}), 0));
  EXPECT_THAT(einsum("ij->j", {x}), near(tensor({4, 6}), 1e-6));
  EXPECT_THAT(einsum("ii->i", {x}), near(tensor({1, 4}), 0));
  EXPECT_THAT(einsum("ii->", {x}), near(tensor({5}), 1e-6));
  EXPECT_THAT(einsum("i->ii", {v}), near(tensor({{1, 0}, {0, 2}}), 0));
  EXPECT_THAT(einsum("i,j->ij", {v, v}), near(tensor({{1, 2}, {2, 4}}), 1e-6));
  EXPECT_THAT(einsum("i...->...", {x}), near(tensor({4, 6}), 1e-6));
}

TEST(Einsum, AllKernelsAgree) {
  const Tensor x = uniform({2, 3}, -1, 1), y = uniform({3, 4}, -1, 1, 2);
  const auto check = [](const std::string& equation, const std::vector<Tensor>& operands) {
    const int count = static_cast<int>(operands.size());
    check_op({.type = "einsum",
              .inputs = {{"Operands", operands}},
              .attrs = {{"equation", equation}},
              .outputs = {{"Out", 1}, {"InnerCache", count}, {"XShape", count}},
              .grad_outputs = {"Out"}});
  };
  check("ij,jk->ik", {x, y});
  check("ij,jk->ki", {x, y});
  check("ij,jk->i", {x, y});
  check("ij->", {x});
  check("ij->ji", {x});
  check("ii->i", {uniform({3, 3}, -1, 1)});
  check("ij,kl->ijkl", {x, uniform({2, 2}, -1, 1, 3)});
  check("bij,bjk->bik", {uniform({2, 2, 3}, -1, 1), uniform({2, 3, 2}, -1, 1, 2)});
  check("...ij,...jk->...ik", {uniform({2, 1, 2, 3}, -1, 1), uniform({2, 3, 2}, -1, 1, 2)});
  check("iij,j->i", {uniform({2, 2, 3}, -1, 1), uniform({3}, -1, 1, 2)});
}

TEST(Einsum, Refusals) {
  const Tensor x = uniform({2, 3}, -1, 1);
  EXPECT_REFUSED(einsum("ij,jk->ik", {x}),
                 "equation \"ij,jk->ik\" is for 2 operands, but there are 1");
  EXPECT_REFUSED(einsum("ij,jk->ik", {x, x}), "a label of \"ij,jk->ik\" has the extents 3 and 2");
  EXPECT_REFUSED(einsum("i->i", {x}), "\"i\" of \"i->i\" does not fit an operand of shape [2, 3]");
  EXPECT_REFUSED(einsum("ij->k", {x}), "equation \"ij->k\" has a label in Out that no operand has");
  EXPECT_REFUSED(einsum("ij", {x}), "equation \"ij\" has no \"->\"");
  EXPECT_REFUSED(einsum("i1->i", {x}), "equation \"i1->i\" holds '1', which is no label");
}

}  // namespace
}  // namespace flotilla

// flotilla/ops/tensor/diagonal_test.cc

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

const Tensor kMatrix = tensor({{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}});

Tensor of_matrix(const std::string& type, int offset) {
  return run_op(type, {{"Input", kMatrix}}, {{"offset", offset}}).at("Out");
}

TEST(Diagonal, KnownValues) {
  EXPECT_THAT(of_matrix("diagonal", 0), equal_to({0, 5, 10}));
  EXPECT_THAT(of_matrix("diagonal", -1), equal_to({4, 9}));
  EXPECT_THAT(of_matrix("diagonal", 3), equal_to({3}));
  EXPECT_THAT(of_matrix("diagonal", 9), has_shape({0}));
  EXPECT_THAT(of_matrix("trace", 1), equal_to({18}));
  EXPECT_THAT(of_matrix("trace", 9), equal_to({0}));
}

TEST(Diagonal, AllKernelsAgree) {
  for (const int offset : {-1, 0, 2}) {
    for (const std::string type : {"diagonal", "trace"}) {
      check_op({.type = type,
                .inputs = {{"Input", uniform({3, 2, 4}, -1, 1)}},
                .attrs = {{"offset", offset}, {"axis1", -1}, {"axis2", 0}}});
    }
    check_op({.type = "diag_embed",
              .inputs = {{"Input", uniform({2, 3}, -1, 1)}},
              .attrs = {{"offset", offset}, {"dim1", 0}, {"dim2", -1}}});
  }
}

TEST(Diagonal, LastAxisBecomesADiagonal) {
  EXPECT_THAT(run_op("diag_embed", {{"Input", tensor({1, 2})}}, {{"offset", 1}}).at("Out"),
              equal_to(tensor({{0, 1, 0}, {0, 0, 2}, {0, 0, 0}})));
  EXPECT_THAT(
      run_op("diag_embed", {{"Input", tensor({{1, 2}, {3, 4}})}}, {{"dim1", 0}, {"dim2", 2}})
          .at("Out"),
      equal_to(tensor({1, 0, 3, 0, 0, 2, 0, 4}, Shape{2, 2, 2})));
}

TEST(Diagonal, Refusals) {
  EXPECT_REFUSED(build_op("diagonal", {{"Input", tensor({1, 2})}}),
                 "diagonal takes tensors with two axes or more, but Input has shape [2]");
  EXPECT_REFUSED(build_op("trace", {{"Input", kMatrix}}, {{"axis1", 1}}),
                 "axis1 and axis2 of trace must be different axes, but both are 1");
  EXPECT_REFUSED(build_op("diag_embed", {{"Input", kMatrix}}, {{"dim1", 2}}),
                 "dim1 and dim2 of diag_embed must be different axes, but both are 2");
}

}  // namespace
}  // namespace flotilla

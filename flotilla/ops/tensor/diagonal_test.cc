#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

const Tensor kMatrix = tensor({{0, 1, 2, 3}, {4, 5, 6, 7}, {8, 9, 10, 11}});

Tensor of_matrix(const std::string& type, int offset) {
  return run_op(type, {{"Input", kMatrix}}, {{"offset", offset}}).at("Out");
}

Tensor filled(const Shape& shape, int offset, bool wrap = false) {
  return run_op("fill_diagonal", {{"X", full(shape, 0)}},
                {{"value", 1.0f}, {"offset", offset}, {"wrap", wrap}})
      .at("Out");
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

TEST(FillDiagonal, KnownValues) {
  EXPECT_THAT(filled({3, 4}, 1), equal_to(tensor({{0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}})));
  EXPECT_THAT(filled({3, 5}, 3),
              equal_to(tensor({{0, 0, 0, 1, 0}, {0, 0, 0, 0, 1}, {0, 0, 0, 0, 0}})));
  EXPECT_THAT(filled({4, 2}, -1), equal_to(tensor({{0, 0}, {1, 0}, {0, 0}, {0, 0}})));
  EXPECT_THAT(filled({5, 2}, 0), equal_to(tensor({{1, 0}, {0, 1}, {0, 0}, {0, 0}, {0, 0}})));
  EXPECT_THAT(filled({5, 2}, 0, true), equal_to(tensor({{1, 0}, {0, 1}, {0, 0}, {1, 0}, {0, 1}})));
  EXPECT_THAT(filled({5, 2}, -1, true), equal_to(tensor({{0, 0}, {1, 0}, {0, 0}, {0, 0}, {1, 0}})));
  EXPECT_THAT(filled({2, 2}, 9), equal_to(full({2, 2}, 0)));
  EXPECT_THAT(filled({2, 2, 2}, 0, true), equal_to(tensor({1, 0, 0, 0, 0, 0, 0, 1}, {2, 2, 2})));
}

TEST(FillDiagonal, AllKernelsAgree) {
  for (const bool wrap : {false, true}) {
    check_op({.type = "fill_diagonal",
              .inputs = {{"X", uniform({7, 3}, -1, 1)}},
              .attrs = {{"value", 2.0f}, {"offset", -1}, {"wrap", wrap}}});
  }
}

TEST(FillDiagonal, Refusals) {
  EXPECT_REFUSED(build_op("fill_diagonal", {{"X", full({2, 2, 3}, 0)}}),
                 "fill_diagonal takes a matrix, or more axes of one extent, but X has shape "
                 "[2, 2, 3]");
  EXPECT_REFUSED(run_op("fill_diagonal_grad", {{"Out@GRAD", full({3}, 0)}}),
                 "fill_diagonal takes a matrix, or more axes of one extent, but X has shape [3]");
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

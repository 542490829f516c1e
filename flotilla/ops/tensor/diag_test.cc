#include "flotilla/testing/check_op.h"
#include "flotilla/testing/counting.h"

namespace flotilla {
namespace {

TEST(DiagEmbed, LastAxisBecomesADiagonal) {
  EXPECT_THAT(run_op("diag_embed", {{"Input", tensor({1, 2})}}, {{"offset", 1}}).at("Out"),
              equal_to(tensor({{0, 1, 0}, {0, 0, 2}, {0, 0, 0}})));
  EXPECT_THAT(
      run_op("diag_embed", {{"Input", tensor({{1, 2}, {3, 4}})}}, {{"dim1", 0}, {"dim2", 2}})
          .at("Out"),
      equal_to(tensor({1, 0, 3, 0, 0, 2, 0, 4}, Shape{2, 2, 2})));
}

TEST(Diag, BothWays) {
  EXPECT_THAT(run_op("diag_v2", {{"X", tensor({1, 2})}}, {{"offset", 1}, {"padding_value", 9.0f}})
                  .at("Out"),
              equal_to(tensor({{9, 1, 9}, {9, 9, 2}, {9, 9, 9}})));
  EXPECT_THAT(run_op("diag_v2", {{"X", counting({3, 2})}}, {{"offset", -1}}).at("Out"),
              equal_to(tensor({2, 5})));
  EXPECT_THAT(run_op("diag", {{"Diagonal", ints({1, 2})}}).at("Out"),
              equal_to(ints({1, 0, 0, 2}, Shape{2, 2})));
  EXPECT_REFUSED(build_op("diag", {{"Diagonal", counting({2, 2})}}),
                 "Diagonal must be a vector, but has shape [2, 2]");
  for (const int offset : {-1, 0, 1}) {
    check_op(
        {.type = "diag_v2", .inputs = {{"X", uniform({3}, -1, 1)}}, .attrs = {{"offset", offset}}});
    check_op({.type = "diag_v2",
              .inputs = {{"X", uniform({2, 3}, -1, 1)}},
              .attrs = {{"offset", offset}}});
  }
}

}  // namespace
}  // namespace flotilla

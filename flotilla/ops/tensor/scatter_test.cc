#include "flotilla/testing/check_op.h"
#include "flotilla/testing/counting.h"

namespace flotilla {
namespace {

TEST(Scatter, KnownValues) {
  const Tensor x = counting({3, 2}), updates = tensor({{0, 10}, {20, 30}, {40, 50}});
  const Inputs inputs = {{"X", x}, {"Ids", ints({2, 1, 1})}, {"Updates", updates}};
  EXPECT_THAT(run_op("scatter", inputs).at("Out"), equal_to(tensor({{0, 1}, {40, 50}, {0, 10}})));
  EXPECT_THAT(run_op("scatter", inputs, {{"overwrite", false}}).at("Out"),
              equal_to(tensor({{0, 1}, {60, 80}, {0, 10}})));
  EXPECT_THAT(run_op("scatter_nd_add", {{"X", x},
                                        {"Index", ints({1, 1}, Shape{2, 1})},
                                        {"Updates", tensor({{0, 10}, {20, 30}})}})
                  .at("Out"),
              equal_to(tensor({{0, 1}, {22, 43}, {4, 5}})));
}

TEST(Scatter, AllKernelsAgree) {
  for (const bool overwrite : {true, false}) {
    check_op({.type = "scatter",
              .inputs = {{"X", uniform({4, 3}, -1, 1)},
                         {"Ids", ints({2, 0})},
                         {"Updates", uniform({2, 3}, -1, 1, 2)}},
              .attrs = {{"overwrite", overwrite}}});
  }
  check_op({.type = "scatter_nd_add",
            .inputs = {{"X", uniform({4, 3}, -1, 1)},
                       {"Index", ints({2, 1, 0, 0, 2, 1}, Shape{3, 2})},
                       {"Updates", uniform({3}, -1, 1, 2)}}});
}

}  // namespace
}  // namespace flotilla

#include <cmath>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(TopK, KnownValues) {
  const Tensor x = tensor({{3, 1, 3, 2}, {0, 5, 4, 5}});
  OpResult found = run_op("top_k", {{"X", x}}, {{"k", 2}});
  EXPECT_THAT(found.at("Out"), equal_to(tensor({{3, 3}, {5, 5}})));
  EXPECT_THAT(found.at("Indices"), equal_to(ints({0, 2, 1, 3}, Shape{2, 2})));
  found = run_op("top_k_v2", {{"X", x}}, {{"k", 1}, {"axis", 0}, {"largest", false}});
  EXPECT_THAT(found.at("Out"), equal_to(tensor({{0, 1, 3, 2}})));
  EXPECT_THAT(found.at("Indices"), equal_to(ints({1, 0, 0, 0}, Shape{1, 4})));
  found = run_op("argsort", {{"X", x}}, {{"axis", -1}});
  EXPECT_THAT(found.at("Indices"), equal_to(ints({1, 3, 0, 2, 0, 2, 1, 3}, Shape{2, 4})));
  EXPECT_THAT(run_op("argsort", {{"X", x}}, {{"descending", true}}).at("Out"),
              equal_to(tensor({{3, 3, 2, 1}, {5, 5, 4, 0}})));
}

TEST(TopK, NotANumberIsTheLargest) {
  EXPECT_THAT(run_op("top_k_v2", {{"X", tensor({1, NAN, 2})}}, {{"k", 2}}).at("Indices"),
              equal_to(ints({1, 2})));
}

TEST(TopK, AllKernelsAgree) {
  const Tensor x = uniform({3, 7, 2}, -5, 5);
  check_op({.type = "top_k", .inputs = {{"X", x}}, .attrs = {{"k", 2}}});
  for (const int axis : {0, 1, -1}) {
    for (const bool largest : {true, false}) {
      check_op({.type = "top_k_v2",
                .inputs = {{"X", x}},
                .attrs = {{"k", 2}, {"axis", axis}, {"largest", largest}}});
      check_op({.type = "argsort",
                .inputs = {{"X", x}},
                .attrs = {{"axis", axis}, {"descending", largest}}});
    }
  }
  // More than are kept by insertion.
  check_op({.type = "top_k_v2",
            .inputs = {{"X", uniform({2, 50}, -5, 5)}},
            .attrs = {{"k", 40}},
            .integers = false});
}

TEST(TopK, RefusesMoreThanThereAre) {
  EXPECT_REFUSED(build_op("top_k", {{"X", full({2, 3}, 0)}}, {{"k", 4}}),
                 "k must lie in [1, 3] because X has shape [2, 3], but k is 4");
}

}  // namespace
}  // namespace flotilla

// flotilla/ops/tensor/kthvalue_mode_test.cc

#include <cmath>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

OpResult kth(const Tensor& x, const Attrs& attrs) { return run_op("kthvalue", {{"X", x}}, attrs); }

TEST(Kthvalue, KnownValues) {
  const Tensor x = tensor({{5, 1, 3}, {2, 4, 6}});
  const OpResult second = kth(x, {{"k", 2}});
  EXPECT_THAT(second.at("Out"), equal_to(tensor({3, 4})));
  EXPECT_THAT(second.at("Indices"), equal_to(ints({2, 1})));
  const OpResult along = kth(x, {{"k", 2}, {"axis", 0}, {"keepdim", true}});
  EXPECT_THAT(along.at("Out"), equal_to(tensor({{5, 4, 6}})));
  EXPECT_THAT(along.at("Indices"), equal_to(ints({0, 1, 1}, Shape{1, 3})));
  EXPECT_THAT(kth(ints({4, -1, 7}), {{"k", 3}}).at("Out"), equal_to(ints({7})));
  EXPECT_THAT(kth(tensor({7}, Shape{}), {{"k", 1}, {"axis", 0}}).at("Indices"),
              equal_to(ints({0})));
}

TEST(Kthvalue, OfEqualElementsTheFirstIsTheSmaller) {
  const Tensor x = tensor({3, 1, 3, 1, 3, 1});
  const std::vector<int64_t> places = {1, 3, 5, 0, 2, 4};
  for (int k = 1; k <= 6; ++k) {
    EXPECT_THAT(kth(x, {{"k", k}}).at("Indices"),
                equal_to(ints({places[static_cast<size_t>(k) - 1]})));
  }
}

TEST(Kthvalue, NanIsTheLargest) {
  const Tensor x = tensor({NAN, 2, INFINITY, NAN, -INFINITY});
  const std::vector<int64_t> places = {4, 1, 2, 0, 3};
  for (int k = 1; k <= 5; ++k) {
    EXPECT_THAT(kth(x, {{"k", k}}).at("Indices"),
                equal_to(ints({places[static_cast<size_t>(k) - 1]})));
  }
}

TEST(Kthvalue, AllKernelsAgree) {
  for (const int axis : {0, 1, 2, -1}) {
    for (const bool keep : {false, true}) {
      check_op({.type = "kthvalue",
                .inputs = {{"X", uniform({3, 4, 2}, -20, 20)}},
                .attrs = {{"k", 2}, {"axis", axis}, {"keepdim", keep}},
                .integers = false});  // rounded ones may be equal, at other places
    }
  }
  check_op(
      {.type = "kthvalue", .inputs = {{"X", uniform({2, 50}, -20, 20)}}, .attrs = {{"k", 40}}});
}

TEST(Kthvalue, Refusals) {
  const Tensor x = full({2, 3}, 1);
  EXPECT_REFUSED(build_op("kthvalue", {{"X", x}}, {{"k", 0}}), "k counts from 1, but is 0");
  EXPECT_REFUSED(build_op("kthvalue", {{"X", x}}, {{"k", 4}}),
                 "k must lie in [1, 3] because X has shape [2, 3], but k is 4");
  EXPECT_REFUSED(build_op("kthvalue", {{"X", x}}, {{"axis", 2}}),
                 "an axis of a tensor of shape [2, 3] must lie in [-2, 2), but is 2");
  const auto give_back = [&](const Tensor& indices) {
    run_op("kthvalue_grad", {{"X", x}, {"Indices", indices}, {"Out@GRAD", tensor({1, 1})}});
  };
  EXPECT_REFUSED(give_back(ints({0, 3})),
                 "Indices holds 3, but a slice of X has the elements 0 to 2");
  EXPECT_REFUSED(give_back(ints({0, 1, 2})),
                 "Indices of kthvalue_grad must have shape [2], but has shape [3]");
}

TEST(Mode, KnownValues) {
  const OpResult rows = run_op("mode", {{"X", tensor({{3, 1, 3, 1}, {2, 2, 1, 2}})}}, {},
                               {.outputs = {{"Indices", 1}}});
  EXPECT_THAT(rows.at("Out"), equal_to({1, 2}));
  EXPECT_THAT(rows.at("Indices"), equal_to(ints({3, 3})));
  EXPECT_THAT(
      run_op("mode", {{"X", ints({5, 4, 5, 4, 1, 1}, {2, 3})}}, {{"axis", 0}, {"keepdim", true}})
          .at("Out"),
      equal_to(ints({4, 1, 1}, {1, 3})));
}

TEST(Mode, AllKernelsAgree) {
  check_op({.type = "mode",
            .inputs = {{"X", tensor({{1, 1, 3, 5}, {7, 9, 9, 9}, {2, 4, 6, 8}})}},
            .attrs = {{"axis", 1}},
            .outputs = {{"Indices", 1}},
            .grad = false});
}

TEST(Mode, GradientGoesToTheElementThatWasTaken) {
  const Tensor x = tensor({{3, 1, 3, 1}, {2, 2, 1, 2}});
  EXPECT_THAT(
      run_op("mode_grad", {{"X", x}, {"Indices", ints({3, 0})}, {"Out@GRAD", tensor({5, 7})}})
          .at("X@GRAD"),
      equal_to(tensor({{0, 0, 0, 5}, {7, 0, 0, 0}})));
  // All elements are different, so that a small change leaves the smallest ones where they are.
  check_op({.type = "mode",
            .inputs = {{"X", tensor({{4, 1, 3}, {2, 6, 5}})}},
            .attrs = {{"keepdim", true}},
            .outputs = {{"Indices", 1}}});
}

}  // namespace
}  // namespace flotilla

// flotilla/ops/nn/fold_unfold_test.cc

#include "flotilla/op/build.h"
#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

using Ints = std::vector<int32_t>;

Attrs attrs(Ints sizes, Ints strides = {1, 1}, Ints paddings = {0, 0, 0, 0},
            Ints dilations = {1, 1}) {
  return {{"kernel_sizes", sizes},
          {"strides", strides},
          {"paddings", paddings},
          {"dilations", dilations}};
}

// 1 2 3
// 4 5 6
const Tensor kImage = tensor({1, 2, 3, 4, 5, 6}, Shape{1, 1, 2, 3});

Tensor unfolded(const Attrs& attrs) { return run_op("unfold", {{"X", kImage}}, attrs).at("Y"); }

TEST(Unfold, KnownValues) {
  EXPECT_THAT(unfolded(attrs({2, 2})), equal_to(tensor({1, 2, 2, 3, 4, 5, 5, 6}, Shape{1, 4, 2})));
  EXPECT_THAT(unfolded(attrs({1, 2}, {1, 1}, {0, 0, 0, 0}, {1, 2})),
              equal_to(tensor({1, 4, 3, 6}, Shape{1, 2, 2})));
  EXPECT_THAT(unfolded(attrs({1, 1}, {2, 2})), equal_to(tensor({1, 3}, Shape{1, 1, 2})));
}

TEST(Unfold, PaddingsAreAboveLeftBelowRight) {
  EXPECT_THAT(unfolded(attrs({1, 3}, {1, 1}, {1, 0, 0, 0})),
              equal_to(tensor({0, 1, 4, 0, 2, 5, 0, 3, 6}, Shape{1, 3, 3})));
  EXPECT_THAT(unfolded(attrs({2, 1}, {1, 1}, {0, 2, 0, 0})),
              equal_to(tensor({0, 0, 1, 2, 3, 0, 0, 4, 5, 6}, Shape{1, 2, 5})));
  EXPECT_THAT(unfolded(attrs({2, 1}, {1, 1}, {0, 0, 1, 0})),
              equal_to(tensor({1, 2, 3, 4, 5, 6, 4, 5, 6, 0, 0, 0}, Shape{1, 2, 6})));
  EXPECT_THAT(unfolded(attrs({2, 2}, {1, 1}, {0, 0, 0, 1})),
              equal_to(tensor({1, 2, 3, 2, 3, 0, 4, 5, 6, 5, 6, 0}, Shape{1, 4, 3})));
  // Below zero they cut the image.
  EXPECT_THAT(unfolded(attrs({2, 1}, {1, 1}, {0, -1, 0, -1})),
              equal_to(tensor({2, 5}, Shape{1, 2, 1})));
}

TEST(Unfold, WindowsWithoutAnyPixelAreZero) {
  EXPECT_THAT(unfolded(attrs({1, 1}, {5, 5}, {5, 5, 5, 5})),
              equal_to(tensor({0, 0, 0, 0, 1, 0, 0, 0, 0}, Shape{1, 1, 9})));
}

TEST(Unfold, AllKernelsAgree) {
  const Tensor x = uniform({2, 3, 5, 4}, -1, 1);
  for (const Attrs& a :
       {attrs({2, 2}), attrs({3, 2}, {2, 1}, {1, 1, 1, 1}), attrs({1, 3}, {3, 2}, {0, 2, 1, 3}),
        attrs({2, 2}, {1, 2}, {2, 0, 0, 1}, {3, 2}), attrs({5, 4})}) {
    check_op({.type = "unfold", .inputs = {{"X", x}}, .attrs = a});
  }
}

Attrs sized(Attrs attrs, int32_t height, int32_t width) {
  attrs["output_sizes"] = Ints{height, width};
  return attrs;
}

TEST(Fold, AddsTheColumnsUp) {
  const Tensor columns = tensor({1, 2, 2, 3, 4, 5, 5, 6}, Shape{1, 4, 2});
  EXPECT_THAT(run_op("fold", {{"X", columns}}, sized(attrs({2, 2}), 2, 3)).at("Y"),
              equal_to(tensor({1, 4, 3, 4, 10, 6}, Shape{1, 1, 2, 3})));
}

TEST(Fold, AllKernelsAgree) {
  check_op({.type = "fold",
            .inputs = {{"X", uniform({2, 3 * 4, 4 * 3}, -1, 1)}},
            .attrs = sized(attrs({2, 2}), 5, 4)});
  check_op({.type = "fold",
            .inputs = {{"X", uniform({1, 2 * 6, 3 * 5}, -1, 1)}},
            .attrs = sized(attrs({3, 2}, {2, 1}, {1, 1, 1, 1}), 5, 4)});
}

TEST(Fold, Refusals) {
  const auto refused = [](const Shape& shape, const Attrs& attrs) {
    build_op("fold", {{"X", full(shape, 1)}}, attrs);
  };
  EXPECT_REFUSED(refused({1, 4}, sized(attrs({2, 2}), 2, 3)),
                 "X must be columns, [N, rows, places], but has shape [1, 4]");
  EXPECT_REFUSED(refused({1, 5, 2}, sized(attrs({2, 2}), 2, 3)),
                 "X of shape [1, 5, 2] must hold 4 rows, or a multiple, the elements of a window");
  EXPECT_REFUSED(refused({1, 4, 3}, sized(attrs({2, 2}), 2, 3)),
                 "X of shape [1, 4, 3] must hold 2 columns, one for each place of the window");
  EXPECT_REFUSED(refused({1, 4, 2}, attrs({2, 2})),
                 "output_sizes must be two positive numbers, but are ");
}

TEST(Unfold, UnknownExtentsStayUnknown) {
  Program program;
  Block& block = program.global_block();
  block.add_var({.name = "x", .shape = {-1, 3, -1, 8}, .is_data = true});
  block.add_var({.name = "y"});
  append_op(block, "unfold", {{"X", {"x"}}}, {{"Y", {"y"}}}, attrs({2, 2}));
  EXPECT_EQ(block.var("y").shape, Shape({-1, 12, -1}));
}

TEST(Unfold, Refusals) {
  const auto refused = [](const Attrs& attrs) { build_op("unfold", {{"X", kImage}}, attrs); };
  EXPECT_REFUSED(build_op("unfold", {{"X", full({1, 1}, 0)}}, attrs({1, 1})),
                 "X must be images, [N, C, H, W], but has shape [1, 1]");
  EXPECT_REFUSED(refused({}), "kernel_sizes must hold 2 numbers, but holds 0");
  EXPECT_REFUSED(refused(attrs({0, 1})), "kernel_sizes must be positive, but are 0 and 1");
  EXPECT_REFUSED(refused(attrs({1, 1}, {1})), "strides must hold 2 numbers, but holds 1");
  EXPECT_REFUSED(refused(attrs({1, 1}, {1, 1}, {0, 0})),
                 "paddings must hold 4 numbers, but holds 2");
  EXPECT_REFUSED(refused(attrs({1, 1}, {0, 1})),
                 "windows need positive sizes, strides and dilations, but axis 0 has 1, 0 and 1");
  EXPECT_REFUSED(refused(attrs({2, 3}, {1, 1}, {0, 0, 0, 0}, {2, 1})),
                 "a window that reaches over 3 does not fit into 2 with 0 and 0 around");
}

}  // namespace
}  // namespace flotilla

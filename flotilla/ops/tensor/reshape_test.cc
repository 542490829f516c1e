#include "flotilla/op/build.h"
#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

using Numbers = std::vector<int32_t>;

const OpOptions kWithXShape = {.outputs = {{"XShape", 1}}};

Shape shape_after(const std::string& type, const Shape& x, Attrs attrs) {
  return build_op(type, {{"X", full(x, 0)}}, attrs).var("Out").shape;
}

TEST(Reshape, Shapes) {
  EXPECT_EQ(shape_after("reshape2", {2, 6}, {{"shape", Numbers{3, -1}}}), Shape({3, 4}));
  EXPECT_EQ(shape_after("reshape2", {2, 6}, {{"shape", Numbers{0, 3, 2}}}), Shape({2, 3, 2}));
  EXPECT_EQ(shape_after("reshape2", {1, 1}, {{"shape", Numbers{}}}), Shape({}));
  EXPECT_EQ(shape_after("squeeze2", {1, 3, 1}, {{"axes", Numbers{0}}}), Shape({3, 1}));
  EXPECT_EQ(shape_after("squeeze2", {1, 3, 1}, {}), Shape({3}));
  EXPECT_EQ(shape_after("squeeze2", {1, 3, 1}, {{"axes", Numbers{1}}}), Shape({1, 3, 1}));
  EXPECT_EQ(shape_after("unsqueeze2", {3, 4}, {{"axes", Numbers{0, -1}}}), Shape({1, 3, 4, 1}));
  EXPECT_EQ(shape_after("flatten2", {2, 3, 4}, {{"axis", 2}}), Shape({6, 4}));
  EXPECT_EQ(
      shape_after("flatten_contiguous_range", {2, 3, 4, 5}, {{"start_axis", 1}, {"stop_axis", -2}}),
      Shape({2, 12, 5}));
  EXPECT_EQ(shape_after("flatten_contiguous_range", {}, {{"start_axis", 0}, {"stop_axis", -1}}),
            Shape({1}));
}

TEST(Reshape, XShapeHoldsTheExtentsOfX) {
  const BuiltOp built =
      build_op("reshape2", {{"X", full({2, 6}, 0)}}, {{"shape", Numbers{12}}}, kWithXShape);
  EXPECT_EQ(built.var("XShape").shape, Shape({0, 2, 6}));
}

TEST(Reshape, AllKernelsAgree) {
  const Tensor x = uniform({2, 1, 6}, -1, 1);
  const auto check = [&](const std::string& type, Attrs attrs) {
    const bool has_x_shape = op_def(type).find_output("XShape") != nullptr;
    check_op({.type = type,
              .inputs = {{"X", x}},
              .attrs = std::move(attrs),
              .outputs = has_x_shape ? std::map<std::string, int>{{"XShape", 1}}
                                     : std::map<std::string, int>{}});
  };
  for (const std::string form : {"", "2"}) {
    check("reshape" + form, {{"shape", Numbers{4, -1}}});
    check("squeeze" + form, {{"axes", Numbers{1}}});
    check("unsqueeze" + form, {{"axes", Numbers{0, 2}}});
    check("flatten" + form, {{"axis", 1}});
  }
  check("flatten_contiguous_range", {{"start_axis", 0}, {"stop_axis", 1}});
}

TEST(Reshape, MovesEveryDtype) {
  for (const DType dtype : {f32, f64, i32, i64, u8, i8, i16}) {
    const Tensor x = tensor({1, 2, 3, 4}, dtype);
    EXPECT_THAT(run_op("reshape2", {{"X", x}}, {{"shape", Numbers{2, 2}}}).at("Out"),
                equal_to(tensor({1, 2, 3, 4}, Shape{2, 2}, dtype)));
  }
}

TEST(Reshape, RefusesAnotherNumberOfElements) {
  EXPECT_REFUSED(build_op("reshape2", {{"X", full({2, 6}, 0)}}, {{"shape", Numbers{5, 2}}}),
                 "X of shape [2, 6] holds 12 elements, but shape [5, 2] asks for 10");
  EXPECT_REFUSED(build_op("flatten2", {{"X", full({2, 6}, 0)}}, {{"axis", 3}}),
                 "axis must lie in [0, 2] because X has shape [2, 6], but is 3");
}

// reshape(x, shape=[shape(x)[1], -1]): the size is known when the plan is made.
TEST(Reshape, SizesWorkedOutFromOtherShapes) {
  Program program;
  Block& block = program.global_block();
  block.add_var({.name = "x", .shape = {-1, 6}, .is_data = true});
  append_op(block, "shape", {{"Input", {"x"}}}, {{"Out", {"s"}}});
  append_op(block, "slice", {{"Input", {"s"}}}, {{"Out", {"columns"}}},
            {{"axes", Numbers{0}}, {"starts", Numbers{1}}, {"ends", Numbers{2}}});
  append_op(block, "fill_constant", {}, {{"Out", {"two"}}},
            {{"shape", std::vector<int64_t>{1}}, {"value", 2.0f}, {"dtype", to_paddle(i32)}});
  append_op(block, "elementwise_floordiv", {{"X", {"columns"}}, {"Y", {"two"}}},
            {{"Out", {"half"}}});
  append_op(block, "scale", {{"X", {"two"}}}, {{"Out", {"rest"}}},
            {{"scale", -1.0f}, {"bias", 1.0f}});
  append_op(block, "concat", {{"X", {"half", "rest"}}}, {{"Out", {"wanted"}}}, {{"axis", 0}});
  append_op(block, "cast", {{"X", {"wanted"}}}, {{"Out", {"wide"}}},
            {{"out_dtype", to_paddle(i64)}});
  append_op(block, "assign", {{"X", {"wide"}}}, {{"Out", {"copy"}}});
  append_op(block, "reshape2", {{"X", {"x"}}, {"Shape", {"copy"}}}, {{"Out", {"y"}}});
  append_op(block, "fill_constant", {{"ShapeTensorList", {"half", "columns"}}}, {{"Out", {"z"}}},
            {{"value", 3.0f}});
  EXPECT_EQ(block.var("y").shape, Shape({-1, -1}));
  const std::vector<Tensor> found =
      run_program(program, {{"x", uniform({4, 6}, 0, 1)}}, {"y", "wide", "z"});
  EXPECT_EQ(found[0].shape(), Shape({3, 8}));
  EXPECT_THAT(found[1], equal_to(ints({3, -1})));
  EXPECT_THAT(found[2], equal_to(full({3, 6}, 3)));
}

TEST(Reshape, TakesASizeFromData) {
  EXPECT_EQ(run_op("reshape2", {{"X", full({2, 6}, 0)}, {"Shape", ints({3, 4})}}).at("Out").shape(),
            Shape({3, 4}));
}

}  // namespace
}  // namespace flotilla

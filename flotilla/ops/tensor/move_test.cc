// Operators that move elements: reshape.cc, pieces.cc, slice.cc, shape.cc, assign.cc, cast.cc.

#include <gmock/gmock.h>

#include <cmath>

#include "flotilla/op/build.h"
#include "flotilla/testing/check_op.h"
#include "flotilla/testing/run_op.h"

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

TEST(Concat, KnownValues) {
  const Tensor a = tensor({{1, 2}, {3, 4}}), b = tensor({5, 6}, Shape{2, 1});
  EXPECT_THAT(run_op("concat", {{"X", {a, b}}}, {{"axis", 1}}).at("Out"),
              equal_to(tensor({{1, 2, 5}, {3, 4, 6}})));
  EXPECT_THAT(run_op("concat", {{"X", {a, a}}}).at("Out"), has_shape({4, 2}));
}

TEST(Concat, AllKernelsAgreeOnEveryAxis) {
  for (const int axis : {0, 1, 2, -1}) {
    Shape second = {2, 3, 4};
    second[axis < 0 ? axis + 3 : axis] = 5;
    check_op({.type = "concat",
              .inputs = {{"X", {uniform({2, 3, 4}, -1, 1), uniform(second, -1, 1, 2)}}},
              .attrs = {{"axis", axis}}});
  }
}

TEST(Concat, RefusesTensorsThatDiffer) {
  EXPECT_REFUSED(build_op("concat", {{"X", {full({2, 3}, 0), full({3, 3}, 0)}}}, {{"axis", 1}}),
                 "the tensors to concat must agree but for axis 1, but X[0] is [2, 3] and X[1] is "
                 "[3, 3]");
  EXPECT_REFUSED(
      build_op("concat", {{"X", {full({2}, 0), ints({1})}}}),
      "the tensors to concat must have one dtype, but X[0] holds f32 and X[1] holds i64");
}

TEST(Split, KnownValues) {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  const OpResult parts = run_op("split", {{"X", x}}, {{"axis", 1}, {"sections", Numbers{1, -1}}},
                                {.outputs = {{"Out", 2}}});
  EXPECT_THAT(parts.at("Out", 0), equal_to(tensor({1, 4}, Shape{2, 1})));
  EXPECT_THAT(parts.at("Out", 1), equal_to(tensor({{2, 3}, {5, 6}})));
}

TEST(Split, AllKernelsAgree) {
  for (const int axis : {0, 1, -1}) {
    check_op({.type = "split",
              .inputs = {{"X", uniform({4, 6, 2}, -1, 1)}},
              .attrs = {{"axis", axis}, {"num", 2}},
              .outputs = {{"Out", 2}}});
  }
  // A piece that is not used has no gradient; its place gets zeros.
  check_op({.type = "unstack",
            .inputs = {{"X", uniform({3, 2}, -1, 1)}},
            .attrs = {{"axis", 0}, {"num", 3}},
            .outputs = {{"Y", 3}}});
  check_op({.type = "unbind",
            .inputs = {{"X", uniform({3, 2}, -1, 1)}},
            .attrs = {{"axis", 1}},
            .outputs = {{"Out", 2}}});
}

TEST(Split, RefusesWhatDoesNotAddUp) {
  EXPECT_REFUSED(build_op("split", {{"X", full({2, 7}, 0)}}, {{"axis", 1}, {"num", 2}},
                          {.outputs = {{"Out", 2}}}),
                 "an axis of extent 7 cannot be split into 2 equal pieces");
  EXPECT_REFUSED(build_op("split", {{"X", full({2, 7}, 0)}},
                          {{"axis", 1}, {"sections", Numbers{3, 5}}}, {.outputs = {{"Out", 2}}}),
                 "sections [3, 5] do not add up to 7, the extent of the axis");
}

TEST(Stack, AllKernelsAgreeOnEveryAxis) {
  for (const int axis : {0, 1, 2, -1}) {
    check_op({.type = "stack",
              .inputs = {{"X", {uniform({2, 3}, -1, 1), uniform({2, 3}, -1, 1, 2)}}},
              .attrs = {{"axis", axis}}});
  }
  EXPECT_THAT(run_op("stack", {{"X", {tensor({1, 2}), tensor({3, 4})}}}, {{"axis", 1}}).at("Y"),
              equal_to(tensor({{1, 3}, {2, 4}})));
}

Tensor slice(const Tensor& x, Numbers axes, Numbers starts, Numbers ends, Numbers drop = {}) {
  return run_op("slice", {{"Input", x}},
                {{"axes", std::move(axes)},
                 {"starts", std::move(starts)},
                 {"ends", std::move(ends)},
                 {"decrease_axis", std::move(drop)}})
      .at("Out");
}

TEST(Slice, KnownValues) {
  const Tensor x = tensor({{1, 2, 3}, {4, 5, 6}});
  EXPECT_THAT(slice(x, {1}, {1}, {1000}), equal_to(tensor({{2, 3}, {5, 6}})));
  EXPECT_THAT(slice(x, {0, 1}, {-1, -2}, {2, -1}), equal_to(tensor({5}, Shape{1, 1})));
  EXPECT_THAT(slice(x, {0}, {1}, {2}, {0}), equal_to(tensor({4, 5, 6})));
  EXPECT_THAT(slice(x, {0, 1}, {1, 2}, {2, 3}, {0, 1}), equal_to(tensor({6})));
  EXPECT_THAT(slice(x, {1}, {5}, {9}), has_shape({2, 0}));
}

TEST(Slice, Strides) {
  const Tensor x = tensor({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  const auto strided = [&](int start, int end, int stride) {
    return run_op("strided_slice", {{"Input", x}},
                  {{"axes", Numbers{0}},
                   {"starts", Numbers{start}},
                   {"ends", Numbers{end}},
                   {"strides", Numbers{stride}}})
        .at("Out");
  };
  EXPECT_THAT(strided(2, 100, 3), equal_to({2, 5, 8}));
  EXPECT_THAT(strided(8, 1, -2), equal_to({8, 6, 4, 2}));
  EXPECT_THAT(strided(9, -1, -1), equal_to({9, 8, 7, 6, 5, 4, 3, 2, 1, 0}));
  EXPECT_THAT(strided(-1, -20, -1), equal_to({9, 8, 7, 6, 5, 4, 3, 2, 1}));
  EXPECT_THAT(strided(3, -8, -1), equal_to({3}));
}

TEST(Slice, AllKernelsAgree) {
  check_op(
      {.type = "slice",
       .inputs = {{"Input", uniform({4, 3, 5}, -1, 1)}},
       .attrs = {{"axes", Numbers{0, 2}}, {"starts", Numbers{1, -3}}, {"ends", Numbers{3, -1}}}});
  check_op({.type = "slice",
            .inputs = {{"Input", uniform({4, 3}, -1, 1)}},
            .attrs = {{"axes", Numbers{0, 1}},
                      {"starts", Numbers{1, 2}},
                      {"ends", Numbers{2, 3}},
                      {"decrease_axis", Numbers{0, 1}}}});
  check_op({.type = "strided_slice",
            .inputs = {{"Input", uniform({6, 3, 5}, -1, 1)}},
            .attrs = {{"axes", Numbers{0, 2}},
                      {"starts", Numbers{5, 0}},
                      {"ends", Numbers{0, 5}},
                      {"strides", Numbers{-2, 2}}}});
}

TEST(Slice, RefusesToGoTheWrongWay) {
  EXPECT_REFUSED(slice(full({10}, 0), {0}, {5}, {3}),
                 "a slice with stride 1 cannot go from 5 to 3 along an axis of extent 10");
  EXPECT_REFUSED(slice(full({10}, 0), {0, 1}, {5}, {6}),
                 "slice of 2 axes needs as many starts, ends and strides, but has 1, 1 and 2");
}

TEST(Shape, KnownValues) {
  EXPECT_THAT(run_op("shape", {{"Input", full({2, 3}, 0)}}).at("Out"), equal_to(ints({2, 3}, i32)));
  EXPECT_THAT(run_op("size", {{"Input", full({2, 3}, 0)}}).at("Out"), equal_to(ints({6})));
  EXPECT_THAT(run_op("is_empty", {{"X", full({2, 3}, 0)}}).at("Out"), equal_to(bools({false})));
  EXPECT_THAT(run_op("is_empty", {{"X", full({2, 0}, 0)}}).at("Out"), equal_to(bools({true})));
}

// A file may hold a gradient whose extents are known before the numbers of its op are.
TEST(Slice, GradientWaitsForNumbersFromData) {
  check_op({.type = "slice",
            .inputs = {{"Input", uniform({4, 3}, -1, 1)},
                       {"StartsTensor", ints({1}, i32)},
                       {"EndsTensorList", {ints({3}, i32)}}},
            .attrs = {{"axes", Numbers{0}}, {"starts", Numbers{-1}}, {"ends", Numbers{-1}}},
            .grad_inputs = {"Input"}});
  check_op({.type = "strided_slice",
            .inputs = {{"Input", uniform({4, 3}, -1, 1)}, {"StridesTensor", ints({2}, i32)}},
            .attrs = {{"axes", Numbers{0}}, {"starts", Numbers{0}}, {"ends", Numbers{4}}},
            .grad_inputs = {"Input"}});
}

TEST(Assign, CopiesToAndFromADevice) {
  for (const char* type : {"memcpy", "memcpy_h2d", "memcpy_d2h"}) {
    EXPECT_THAT(run_op(type, {{"X", ints({1, 2})}}, {{"dst_place_type", 1}}).at("Out"),
                equal_to(ints({1, 2})));
  }
}

TEST(Assign, AllKernelsAgree) {
  check_op({.type = "assign", .inputs = {{"X", uniform({2, 18, 1, 3}, -1, 1)}}});
  EXPECT_THAT(run_op("assign", {{"X", sparse({1}, tensor({{1, 2}}), 2)}}).at("Out"),
              equal_to(tensor({{0, 0}, {1, 2}})));
}

TEST(Cast, EveryPairOfDtypes) {
  for (const DType from : {f32, f64, i32, i64, u8, i8, i16}) {
    for (const DType to : {f32, f64, i32, i64, u8, i8, i16}) {
      EXPECT_THAT(run_op("cast", {{"X", tensor({0, 1, 100}, from)}},
                         {{"in_dtype", to_paddle(from)}, {"out_dtype", to_paddle(to)}})
                      .at("Out"),
                  equal_to(tensor({0, 1, 100}, to)));
    }
    EXPECT_THAT(
        run_op("cast", {{"X", tensor({0, 1, 2}, from)}}, {{"out_dtype", to_paddle(boolean)}})
            .at("Out"),
        equal_to(bools({false, true, true})));
  }
  EXPECT_THAT(
      run_op("cast", {{"X", tensor({-1.7, 1.7})}}, {{"out_dtype", to_paddle(i64)}}).at("Out"),
      equal_to(ints({-1, 1})));
}

TEST(Cast, GradientGoesBackToTheDtypeOfX) {
  check_op({.type = "cast",
            .inputs = {{"X", uniform({2, 3}, -1, 1)}},
            .attrs = {{"out_dtype", to_paddle(f64)}},
            .integers = false});
}

TEST(Cast, RefusesACodeThatIsNoDtype) {
  EXPECT_REFUSED(build_op("cast", {{"X", tensor({1})}}, {{"out_dtype", 99}}),
                 "out_dtype of cast must name a dtype, but is 99");
}

}  // namespace
}  // namespace flotilla

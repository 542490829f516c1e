// Operators that rearrange by index: transpose.cc, expand.cc, gather.cc, index_maps.cc; and
// make.cc.

#include <gmock/gmock.h>

#include "flotilla/op/build.h"
#include "flotilla/testing/check_op.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

using Numbers = std::vector<int32_t>;
using Longs = std::vector<int64_t>;

Tensor counting(const Shape& shape, DType dtype = f32) {
  std::vector<double> values;
  for (int64_t i = 0; i < shape.numel(); ++i) values.push_back(static_cast<double>(i));
  return from_values(values, shape, dtype);
}

TEST(Transpose, KnownValues) {
  EXPECT_THAT(run_op("transpose2", {{"X", counting({2, 3})}}, {{"axis", Numbers{1, 0}}}).at("Out"),
              equal_to(tensor({{0, 3}, {1, 4}, {2, 5}})));
  EXPECT_THAT(
      run_op("transpose", {{"X", counting({2, 3}, u8)}}, {{"axis", Numbers{-1, 0}}}).at("Out"),
      equal_to(tensor({0, 3, 1, 4, 2, 5}, Shape{3, 2}, u8)));
}

TEST(Transpose, AllKernelsAgree) {
  for (const Numbers& axis :
       {Numbers{0, 2, 1}, Numbers{2, 0, 1}, Numbers{1, 2, 0}, Numbers{2, 1, 0}, Numbers{0, 1, 2}}) {
    check_op({.type = "transpose2",
              .inputs = {{"X", uniform({3, 4, 5}, -1, 1)}},
              .attrs = {{"axis", axis}},
              .outputs = {{"XShape", 1}}});
    check_op({.type = "transpose",
              .inputs = {{"X", uniform({3, 4, 5}, -1, 1)}},
              .attrs = {{"axis", axis}}});
  }
}

// More than one tile in each direction, with rests, on several threads.
TEST(Transpose, LargeMatrices) {
  const int64_t rows = 301, columns = 173;
  const Tensor y =
      run_op("transpose2", {{"X", counting({rows, columns})}}, {{"axis", Numbers{1, 0}}}).at("Out");
  const float* found = y.data<float>();
  for (int64_t r = 0; r < rows; ++r) {
    for (int64_t c = 0; c < columns; ++c) {
      ASSERT_EQ(found[c * rows + r], static_cast<float>(r * columns + c));
    }
  }
}

TEST(Transpose, RefusesWhatIsNoPermutation) {
  EXPECT_REFUSED(build_op("transpose2", {{"X", counting({2, 3})}}, {{"axis", Numbers{0, 0}}}),
                 "axis must name each axis of X, which has shape [2, 3], once, but is [0, 0]");
}

TEST(Expand, KnownValues) {
  const Tensor x = tensor({0, 1}, Shape{2, 1});
  EXPECT_THAT(run_op("expand_v2", {{"X", x}}, {{"shape", Numbers{2, -1, 3}}}).at("Out"),
              equal_to(tensor({0, 0, 0, 1, 1, 1, 0, 0, 0, 1, 1, 1}, Shape{2, 2, 3})));
  EXPECT_THAT(run_op("tile", {{"X", tensor({0, 1})}}, {{"repeat_times", Numbers{2, 2}}}).at("Out"),
              equal_to(tensor({{0, 1, 0, 1}, {0, 1, 0, 1}})));
  EXPECT_THAT(
      run_op("tile", {{"X", tensor({{0, 1}, {2, 3}})}}, {{"repeat_times", Numbers{2}}}).at("Out"),
      equal_to(tensor({{0, 1, 0, 1}, {2, 3, 2, 3}})));
  EXPECT_THAT(run_op("expand", {{"X", x}}, {{"expand_times", Numbers{1, 2}}}).at("Out"),
              equal_to(tensor({{0, 0}, {1, 1}})));
  EXPECT_THAT(run_op("expand_as_v2", {{"X", x}, {"Y", full({3, 2, 2}, 0)}}).at("Out"),
              has_shape({3, 2, 2}));
  EXPECT_THAT(run_op("expand_as", {{"X", x}, {"target_tensor", full({4, 3}, 0)}}).at("Out"),
              equal_to(tensor({{0, 0, 0}, {1, 1, 1}, {0, 0, 0}, {1, 1, 1}})));
}

TEST(Expand, AllKernelsAgree) {
  const Tensor x = uniform({2, 1, 3}, -1, 1);
  check_op({.type = "expand_v2", .inputs = {{"X", x}}, .attrs = {{"shape", Numbers{4, 2, 5, 3}}}});
  check_op({.type = "expand_v2",
            .inputs = {{"X", uniform({1}, -1, 1)}},
            .attrs = {{"shape", Numbers{4, 3}}}});
  check_op(
      {.type = "tile", .inputs = {{"X", x}}, .attrs = {{"repeat_times", Numbers{2, 1, 3, 2}}}});
  check_op({.type = "expand", .inputs = {{"X", x}}, .attrs = {{"expand_times", Numbers{2, 3, 2}}}});
  check_op({.type = "expand_as_v2",
            .inputs = {{"X", x}},
            .attrs = {{"target_shape", Numbers{2, 4, 3}}}});
  check_op({.type = "meshgrid",
            .inputs = {{"X", {uniform({2}, -1, 1), uniform({3}, -1, 1), uniform({4}, -1, 1)}}},
            .outputs = {{"Out", 3}}});
  check_op({.type = "broadcast_tensors",
            .inputs = {{"X", {uniform({2, 1}, -1, 1), uniform({3}, -1, 1), uniform({1}, -1, 1)}}},
            .outputs = {{"Out", 3}}});
}

TEST(Expand, TensorsMeetInTheShapeOfAll) {
  const OpResult found =
      run_op("broadcast_tensors", {{"X", {tensor({1, 2}, Shape{2, 1}), tensor({3, 4})}}}, {},
             {.outputs = {{"Out", 2}}});
  EXPECT_THAT(found.at("Out", 0), equal_to(tensor({{1, 1}, {2, 2}})));
  EXPECT_THAT(found.at("Out", 1), equal_to(tensor({{3, 4}, {3, 4}})));
  EXPECT_REFUSED(
      build_op("broadcast_tensors", {{"X", {tensor({1, 2}), tensor({1, 2, 3})}}}, {},
               {.outputs = {{"Out", 2}}}),
      "X of shape [2] and Y of shape [3] do not broadcast at axis -1: 2 does not match 3");
}

TEST(Expand, RefusesAxesThatDoNotWiden) {
  EXPECT_REFUSED(build_op("expand_v2", {{"X", counting({2, 3})}}, {{"shape", Numbers{4, 3}}}),
                 "X of shape [2, 3] cannot be expanded to [4, 3]: 2 meets 4");
  EXPECT_REFUSED(build_op("expand_v2", {{"X", counting({2, 3})}}, {{"shape", Numbers{3}}}),
                 "X of shape [2, 3] cannot be expanded to the lower rank of [3]");
}

TEST(Gather, KnownValues) {
  const Tensor x = counting({4, 2});
  EXPECT_THAT(run_op("gather", {{"X", x}, {"Index", ints({1, 1, 3})}}).at("Out"),
              equal_to(tensor({{2, 3}, {2, 3}, {6, 7}})));
  EXPECT_THAT(run_op("gather", {{"X", x}, {"Index", ints({1, 3}, Shape{2, 1}, i32)}}).at("Out"),
              equal_to(tensor({{2, 3}, {6, 7}})));
  EXPECT_THAT(run_op("gather", {{"X", x}, {"Index", ints({1}, Shape{})}}, {{"axis", 1}}).at("Out"),
              equal_to(tensor({1, 3, 5, 7})));
  EXPECT_THAT(run_op("index_select", {{"X", x}, {"Index", ints({1, 0})}}, {{"dim", 1}}).at("Out"),
              equal_to(tensor({{1, 0}, {3, 2}, {5, 4}, {7, 6}})));
  EXPECT_THAT(run_op("gather_nd", {{"X", x}, {"Index", ints({3, 1, 0, 0}, Shape{2, 2})}}).at("Out"),
              equal_to(tensor({7, 0})));
  EXPECT_THAT(run_op("gather_nd", {{"X", x}, {"Index", ints({3, 0}, Shape{2, 1})}}).at("Out"),
              equal_to(tensor({{6, 7}, {0, 1}})));
}

TEST(Gather, WithOverwriteTheLastGradientOfARowStays) {
  const Inputs inputs = {{"X", counting({3, 2})},
                         {"Index", ints({1, 1, 2})},
                         {"Out@GRAD", tensor({{1, 1}, {2, 2}, {4, 4}})}};
  EXPECT_THAT(run_op("gather_grad", inputs, {{"overwrite", true}}).at("X@GRAD"),
              equal_to(tensor({{0, 0}, {2, 2}, {4, 4}})));
  EXPECT_THAT(run_op("gather_grad", inputs).at("X@GRAD"),
              equal_to(tensor({{0, 0}, {3, 3}, {4, 4}})));
}

TEST(Gather, AllKernelsAgree) {
  const Tensor index = ints({2, 0, 2});
  for (const int axis : {0, 1, 2}) {
    check_op({.type = "gather",
              .inputs = {{"X", uniform({3, 4, 5}, -1, 1)}, {"Index", index}},
              .attrs = {{"axis", axis}}});
    check_op({.type = "index_select",
              .inputs = {{"X", uniform({3, 4, 5}, -1, 1)}, {"Index", index}},
              .attrs = {{"dim", axis}}});
  }
  check_op({.type = "gather_nd",
            .inputs = {{"X", uniform({3, 4, 5}, -1, 1)},
                       {"Index", ints({0, 1, 2, 3, 0, 1}, Shape{3, 2})}}});
}

TEST(Gather, RefusesNumbersBeyondTheAxis) {
  for (const int64_t bad : {-1, 4}) {
    EXPECT_REFUSED(run_op("gather", {{"X", counting({4, 2})}, {"Index", ints({0, bad})}}),
                   fmt::format("the index at place 1 must lie in [0, 4), but is {}", bad));
  }
}

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

TEST(Select, ByMask) {
  const Tensor x = counting({2, 3}), row = tensor({1, 0, 1}, Shape{1, 3}, boolean);
  EXPECT_THAT(run_op("masked_select", {{"X", x}, {"Mask", row}}).at("Y"),
              equal_to(tensor({0, 2, 3, 5})));
  const Tensor none = full({2, 3}, 0, boolean);
  EXPECT_THAT(run_op("masked_select", {{"X", x}, {"Mask", none}}).at("Y"), has_shape({0}));
  EXPECT_THAT(
      run_op("masked_select_grad", {{"X", x}, {"Mask", row}, {"Y@GRAD", tensor({1, 2, 3, 4})}})
          .at("X@GRAD"),
      equal_to(tensor({{1, 0, 2}, {3, 0, 4}})));
  EXPECT_REFUSED(build_op("masked_select", {{"X", x}, {"Mask", x}}),
                 "Mask must hold bool, but holds f32");
}

TEST(Select, ByNumbersInEachRow) {
  const Tensor index = ints({1, 1, 0, 2}, Shape{2, 2});
  EXPECT_THAT(run_op("index_sample", {{"X", counting({2, 3})}, {"Index", index}}).at("Out"),
              equal_to(tensor({{1, 1}, {3, 5}})));
  check_op({.type = "index_sample", .inputs = {{"X", uniform({2, 3}, -1, 1)}, {"Index", index}}});
  EXPECT_REFUSED(
      run_op("index_sample", {{"X", counting({1, 3})}, {"Index", ints({0, 3}, Shape{1, 2})}}),
      "the index at place 1 must lie in [0, 3), but is 3");
}

TEST(Select, Diagonals) {
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

Tensor pad(const std::string& type, Tensor x, Attrs attrs) {
  return run_op(type, {{"X", std::move(x)}}, attrs).at("Out");
}

TEST(Pad, KnownValues) {
  EXPECT_THAT(
      pad("pad", counting({2, 2}), {{"paddings", Numbers{1, 0, 0, 1}}, {"pad_value", 9.0f}}),
      equal_to(tensor({{9, 9, 9}, {0, 1, 9}, {2, 3, 9}})));
  const auto row = [](const std::string& mode) {
    return pad("pad3d", counting({1, 1, 1, 1, 3}),
               {{"paddings", Numbers{1, 2, 0, 0, 0, 0}}, {"mode", mode}, {"value", 9.0f}});
  };
  EXPECT_THAT(row("constant"), equal_to(std::vector<double>{9, 0, 1, 2, 9, 9}));
  EXPECT_THAT(row("reflect"), equal_to(std::vector<double>{1, 0, 1, 2, 1, 0}));
  EXPECT_THAT(row("replicate"), equal_to(std::vector<double>{0, 0, 1, 2, 2, 2}));
  EXPECT_THAT(row("circular"), equal_to(std::vector<double>{2, 0, 1, 2, 0, 1}));
  // Top and bottom, then left and right; channels last.
  EXPECT_THAT(pad("pad2d", counting({1, 2, 1, 1}),
                  {{"paddings", Numbers{1, 0, 0, 1}},
                   {"mode", std::string("edge")},
                   {"data_format", std::string("NHWC")}}),
              equal_to(tensor({0, 0, 0, 0, 1, 1}, Shape{1, 3, 2, 1})));
}

TEST(Pad, AllKernelsAgree) {
  check_op({.type = "pad",
            .inputs = {{"X", uniform({2, 3}, -1, 1)}},
            .attrs = {{"paddings", Numbers{1, 2, 0, 1}}, {"pad_value", 2.0f}}});
  for (const std::string mode : {"constant", "reflect", "edge"}) {
    check_op({.type = "pad2d",
              .inputs = {{"X", uniform({2, 2, 3, 3}, -1, 1)}},
              .attrs = {{"paddings", Numbers{1, 2, 2, 0}}, {"mode", mode}}});
  }
  for (const std::string mode : {"constant", "reflect", "replicate", "circular"}) {
    check_op({.type = "pad3d",
              .inputs = {{"X", uniform({1, 2, 2, 3, 3}, -1, 1)}},
              .attrs = {{"paddings", Numbers{1, 2, 2, 0, 1, 0}}, {"mode", mode}}});
  }
}

TEST(Pad, RefusesBordersThatDoNotFit) {
  EXPECT_REFUSED(pad("pad3d", counting({1, 1, 1, 1, 3}),
                     {{"paddings", Numbers{3, 0, 0, 0, 0, 0}}, {"mode", std::string("reflect")}}),
                 "a mirrored border must be narrower than the axis, but 3 and 0 meet extent 3");
  EXPECT_REFUSED(pad("pad2d", counting({1, 1, 2, 2}),
                     {{"paddings", Numbers{1, 1, 1, 1}}, {"mode", std::string("mirror")}}),
                 "mode of pad2d must be one of constant, reflect, edge, but is \"mirror\"");
}

TEST(Roll, KnownValues) {
  EXPECT_THAT(run_op("roll", {{"X", counting({2, 3})}}, {{"shifts", Longs{1}}}).at("Out"),
              equal_to(tensor({{5, 0, 1}, {2, 3, 4}})));
  EXPECT_THAT(
      run_op("roll", {{"X", counting({2, 3})}}, {{"shifts", Longs{1, -1}}, {"axis", Longs{0, 1}}})
          .at("Out"),
      equal_to(tensor({{4, 5, 3}, {1, 2, 0}})));
  EXPECT_THAT(run_op("flip", {{"X", counting({2, 3})}}, {{"axis", Numbers{-1}}}).at("Out"),
              equal_to(tensor({{2, 1, 0}, {5, 4, 3}})));
  EXPECT_THAT(run_op("flip", {{"X", counting({2, 3})}}, {{"dims", Numbers{0, 1}}}).at("Out"),
              equal_to(tensor({{5, 4, 3}, {2, 1, 0}})));
}

// Neither the op nor its gradient can be prepared before the numbers are known.
TEST(NumbersFromData, OpsAndGradientsWaitForThem) {
  const Tensor x = uniform({3, 4}, -1, 1), matrix = uniform({3, 1}, -1, 1);
  check_op(
      {.type = "roll", .inputs = {{"X", x}, {"ShiftsTensor", ints({1})}}, .grad_inputs = {"X"}});
  check_op({.type = "tile",
            .inputs = {{"X", x}, {"RepeatTimes", ints({2, 1}, i32)}},
            .grad_inputs = {"X"}});
  check_op({.type = "expand",
            .inputs = {{"X", x}, {"ExpandTimes", ints({1, 2}, i32)}},
            .grad_inputs = {"X"}});
  check_op({.type = "expand_v2",
            .inputs = {{"X", matrix}, {"Shape", ints({3, 2}, i32)}},
            .grad_inputs = {"X"}});
  check_op({.type = "gather",
            .inputs = {{"X", x}, {"Index", ints({2, 0})}, {"Axis", ints({1}, i32)}},
            .grad_inputs = {"X"}});
  check_op({.type = "pad3d",
            .inputs = {{"X", uniform({1, 1, 2, 1, 2}, -1, 1)},
                       {"Paddings", ints({1, 0, 0, 0, 0, 2}, i32)}},
            .grad_inputs = {"X"}});
}

TEST(Roll, AllKernelsAgree) {
  check_op(
      {.type = "roll", .inputs = {{"X", uniform({3, 4}, -1, 1)}}, .attrs = {{"shifts", Longs{5}}}});
  check_op({.type = "roll",
            .inputs = {{"X", uniform({3, 4}, -1, 1)}},
            .attrs = {{"shifts", Longs{-2, 1}}, {"axis", Longs{1, 0}}}});
  check_op(
      {.type = "flip", .inputs = {{"X", uniform({3, 4}, -1, 1)}}, .attrs = {{"axis", Numbers{0}}}});
  check_op({.type = "reverse",
            .inputs = {{"X", uniform({3, 4}, -1, 1)}},
            .attrs = {{"axis", Numbers{0, 1}}}});
}

// A program that makes numbers for range and linspace, which must be known when a plan is made.
std::vector<Tensor> run_with_numbers(const std::string& type, std::vector<std::string> slots,
                                     std::vector<float> values, DType dtype, Attrs attrs = {}) {
  Program program;
  Block& block = program.global_block();
  Slots inputs;
  for (size_t i = 0; i < slots.size(); ++i) {
    const bool counts = slots[i] == "Num";
    append_op(
        block, "fill_constant", {}, {{"Out", {slots[i]}}},
        {{"shape", Longs{1}}, {"value", values[i]}, {"dtype", to_paddle(counts ? i32 : dtype)}});
    inputs[slots[i]] = {slots[i]};
  }
  append_op(block, type, inputs, {{"Out", {"out"}}}, attrs);
  return run_program(program, {}, {"out"});
}

TEST(Make, Ranges) {
  const auto range = [](std::vector<float> values, DType dtype) {
    return run_with_numbers("range", {"Start", "End", "Step"}, std::move(values), dtype)[0];
  };
  EXPECT_THAT(range({0, 5, 2}, i64), equal_to(ints({0, 2, 4})));
  EXPECT_THAT(range({5, 0, -2}, f32), equal_to(tensor({5, 3, 1})));
  EXPECT_THAT(range({1, 1, 1}, i32), has_shape({0}));
  EXPECT_REFUSED(range({0, 5, -1}, i64), "range cannot go from 0 to 5 in steps of -1");
}

TEST(Make, RangesOfNumbersThatAreNotKnownBefore) {
  const auto range = [](double start, double end, double step) {
    return run_op("range",
                  {{"Start", tensor({start})}, {"End", tensor({end})}, {"Step", tensor({step})}})
        .at("Out");
  };
  EXPECT_THAT(range(0, 1, 0.3), near(tensor({0, 0.3, 0.6, 0.9}), 1e-6));
  EXPECT_THAT(range(5, 0, -2), equal_to(tensor({5, 3, 1})));
  EXPECT_REFUSED(range(0, 1, -1), "range cannot go from 0 to 1 in steps of -1");
}

TEST(Make, Linspace) {
  const auto space = [](std::vector<float> values, DType dtype) {
    return run_with_numbers("linspace", {"Start", "Stop", "Num"}, std::move(values), f32,
                            {{"dtype", to_paddle(dtype)}})[0];
  };
  EXPECT_THAT(space({0, 1, 5}, f32), equal_to(tensor({0, 0.25, 0.5, 0.75, 1})));
  EXPECT_THAT(space({0, 10, 4}, i64), equal_to(ints({0, 3, 6, 10})));
  EXPECT_THAT(space({3, 10, 1}, f32), equal_to(tensor({3})));
}

TEST(Make, Eye) {
  EXPECT_THAT(run_op("eye", {}, {{"num_rows", int64_t{2}}, {"num_columns", int64_t{3}}}).at("Out"),
              equal_to(tensor({{1, 0, 0}, {0, 1, 0}})));
  EXPECT_THAT(run_op("eye", {}, {{"num_rows", int64_t{2}}, {"dtype", to_paddle(i64)}}).at("Out"),
              equal_to(ints({1, 0, 0, 1}, Shape{2, 2})));
}

TEST(Make, OneHot) {
  EXPECT_THAT(run_op("one_hot_v2", {{"X", ints({1, 0, 2})}}, {{"depth", 3}}).at("Out"),
              equal_to(tensor({{0, 1, 0}, {1, 0, 0}, {0, 0, 1}})));
  EXPECT_THAT(run_op("one_hot", {{"X", ints({1, 0}, Shape{2, 1}, i32)}},
                     {{"depth", 2}, {"dtype", to_paddle(i64)}})
                  .at("Out"),
              equal_to(ints({0, 1, 1, 0}, Shape{2, 2})));
  EXPECT_THAT(run_op("one_hot_v2", {{"X", ints({5})}}, {{"depth", 3}, {"allow_out_of_range", true}})
                  .at("Out"),
              equal_to({0, 0, 0}));
  EXPECT_REFUSED(run_op("one_hot_v2", {{"X", ints({1, 5})}}, {{"depth", 3}}),
                 "the class at place 1 must lie in [0, 3), but is 5");
}

TEST(Make, Triangles) {
  for (const int diagonal : {-1, 0, 1}) {
    for (const bool lower : {true, false}) {
      check_op({.type = "tril_triu",
                .inputs = {{"X", uniform({2, 3, 4}, -1, 1)}},
                .attrs = {{"diagonal", diagonal}, {"lower", lower}}});
    }
  }
  EXPECT_THAT(run_op("tril_triu", {{"X", full({2, 3}, 1)}}, {{"lower", true}}).at("Out"),
              equal_to(tensor({{1, 0, 0}, {1, 1, 0}})));
}

TEST(Make, Where) {
  const Tensor condition = bools({true, false, true});
  EXPECT_THAT(run_op("where",
                     {{"Condition", condition}, {"X", tensor({1, 2, 3})}, {"Y", tensor({4, 5, 6})}})
                  .at("Out"),
              equal_to({1, 5, 3}));
  check_op(
      {.type = "where",
       .inputs = {
           {"Condition", condition}, {"X", uniform({3}, -1, 1)}, {"Y", uniform({3}, -1, 1, 2)}}});
  EXPECT_REFUSED(
      build_op("where", {{"Condition", condition}, {"X", tensor({1})}, {"Y", tensor({1, 2, 3})}}),
      "Condition, X and Y must be alike, but have shapes [3], [1] and [3] and hold f32 and f32");
}

}  // namespace
}  // namespace flotilla

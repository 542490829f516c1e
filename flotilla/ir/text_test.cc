#include "flotilla/ir/text.h"

#include <gmock/gmock.h>

#include <cmath>

#include "flotilla/ir/structure.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/random_program.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

void expect_same(const Var& a, const Var& b) {
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.dtype, b.dtype);
  EXPECT_EQ(a.shape, b.shape);
  EXPECT_EQ(a.lod_level, b.lod_level);
  EXPECT_EQ(a.persistable, b.persistable);
  EXPECT_EQ(a.stop_gradient, b.stop_gradient);
  EXPECT_EQ(a.is_data, b.is_data);
  EXPECT_EQ(a.need_check_feed, b.need_check_feed);
  EXPECT_EQ(a.parameter, b.parameter);
  EXPECT_EQ(a.reader, b.reader);
}

void expect_same(const Program& a, const Program& b) {
  EXPECT_EQ(a.random_seed(), b.random_seed());
  EXPECT_EQ(a.wire_versions(), b.wire_versions());
  ASSERT_EQ(a.num_blocks(), b.num_blocks());
  for (int32_t i = 0; i < a.num_blocks(); ++i) {
    const Block &left = a.block(i), &right = b.block(i);
    EXPECT_EQ(left.parent(), right.parent());
    EXPECT_EQ(left.forward_block(), right.forward_block());
    ASSERT_EQ(left.vars().size(), right.vars().size());
    for (size_t k = 0; k < left.vars().size(); ++k) {
      expect_same(*left.vars()[k], *right.vars()[k]);
    }
    ASSERT_EQ(left.size(), right.size());
    for (size_t k = 0; k < left.size(); ++k) {
      EXPECT_EQ(left.op(k).type(), right.op(k).type());
      EXPECT_EQ(left.op(k).inputs(), right.op(k).inputs());
      EXPECT_EQ(left.op(k).outputs(), right.op(k).outputs());
      EXPECT_EQ(left.op(k).attrs(), right.op(k).attrs());
    }
  }
}

TEST(Text, PrintAndParseAreInverse) {
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    const auto program = RandomProgram(seed).make();
    const std::string text = print(*program);
    SCOPED_TRACE(fmt::format("seed {}\n{}", seed, text));
    const auto back = parse(text);
    expect_same(*program, *back);
    ASSERT_EQ(print(*back), text);
    if (HasFailure()) return;
  }
}

TEST(Text, ReadsAProgramAsPeopleWriteIt) {
  const auto program = parse(R"(
    // The gradient of one parameter.
    var g0 f32[131072]
    var w  float32[131072] persistable parameter(l2=0.0001, lr=2)
    backward() -> g0
    c_allreduce_sum(X=g0) -> Out=g0 {ring_id=0}  // in place
    split(X=g0) -> [a, b] {
      axis=0,
      sections=[1, 2]
    }
    sgd(Param=w, Grad=g0,
        LearningRate=lr) -> ParamOut=w
  )");
  EXPECT_EQ(print(*program),
            "var g0 f32[131072]\n"
            "var w f32[131072] persistable parameter(lr=2.0, l2=0.0001)\n"
            "backward() -> g0\n"
            "c_allreduce_sum(X=g0) -> g0 {ring_id=0}\n"
            "split(X=g0) -> [a, b] {axis=0, sections=[1, 2]}\n"
            "sgd(Grad=g0, LearningRate=lr, Param=w) -> ParamOut=w\n");
  EXPECT_EQ(program->global_block().op(1).output("Out"), "g0");
  EXPECT_EQ(program->global_block().var("w").parameter->regularizer->coeff, 0.0001f);
}

TEST(Text, ReadsBlocks) {
  const std::string text =
      "var i i64[1]\n"
      "while(X=i) -> i {sub_block=block 1}\n"
      "block 1 in 0 {\n"
      "  var t i64[1]\n"
      "  increment(X=i) -> t\n"
      "}\n"
      "block 2 in 0 forward 1 {\n"
      "}\n";
  const auto program = parse(text);
  EXPECT_EQ(print(*program), text);
  EXPECT_EQ(program->block(1).op(0).type(), "increment");
  EXPECT_EQ(program->block(2).forward_block(), 1);
}

TEST(Text, ReadsEveryKindOfAttribute) {
  const auto op = [](const std::string& attrs) {
    return parse("op() {" + attrs + "}")->global_block().op(0).attrs().at("a");
  };
  EXPECT_EQ(op("a=1"), Attr(int32_t{1}));
  EXPECT_EQ(op("a=-1L"), Attr(int64_t{-1}));
  EXPECT_EQ(op("a=0.5"), Attr(0.5f));
  EXPECT_EQ(op("a=1e-05"), Attr(1e-5f));
  EXPECT_EQ(op("a=1E+2d"), Attr(100.0));
  EXPECT_EQ(op("a=2d"), Attr(2.0));
  EXPECT_EQ(op("a=-inf"), Attr(-std::numeric_limits<float>::infinity()));
  EXPECT_EQ(op("a=infd"), Attr(std::numeric_limits<double>::infinity()));
  EXPECT_TRUE(std::isnan(std::get<float>(op("a=nan"))));
  EXPECT_TRUE(std::isnan(std::get<double>(op("a=-nand"))));
  EXPECT_EQ(op("a=none"), Attr());
  EXPECT_EQ(op("a=[]"), Attr(std::vector<int32_t>()));
  EXPECT_EQ(op("a=strings[]"), Attr(std::vector<std::string>()));
  EXPECT_EQ(op("a=floats[1, 0.5]"), Attr(std::vector<float>{1, 0.5f}));
  EXPECT_EQ(op("a=[true, false]"), Attr(std::vector<bool>{true, false}));
  EXPECT_EQ(op("a=var x"), Attr(VarRef{"x"}));
  EXPECT_EQ(op("a=[var x, var \"a b\"]"), Attr(std::vector<VarRef>{{"x"}, {"a b"}}));
  EXPECT_EQ(op("a=scalar(0.1)"), Attr(Scalar{0.1}));
  EXPECT_EQ(op("a=scalar(9007199254740993)"), Attr(Scalar{int64_t{9007199254740993}}));
  EXPECT_EQ(op("a=\"\\x41\\\"\\\\\\n\""), Attr(std::string("A\"\\\n")));
}

TEST(Text, RefusesWithLineAndColumn) {
  const std::pair<std::string, std::string> kCases[] = {
      {"softmax(X=x) ->", "line 1, column 16: expected an output, but found the end of the text"},
      {"softmax(X=x) -> \ny()",
       "line 1, column 17: expected an output, but found the end of the line"},
      {"\n  softmax(X=x {axis=1}", "line 2, column 15: expected \",\" or \")\", but found \"{\""},
      {"softmax(X) -> y", "line 1, column 10: expected \"=\", but found \")\""},
      {"softmax(X=x) -> y {axis=1 seed=2}",
       "line 1, column 27: expected \",\" or \"}\", but found \"seed\""},
      {"softmax(X=x) -> y z", "line 1, column 19: expected the end of the line, but found \"z\""},
      {"hello world",
       "line 1, column 1: expected an op, var, block or another statement, but found hello"},
      {"\"var\" x f32[1]",
       "line 1, column 7: expected \"(\" after the type of an op, but found \"x\""},
      {"var x f32[1]\nvar x f32[2]", "line 2, column 5: variable x is declared twice"},
      {"var x f33[1]", "line 1, column 7: \"f33\" is not a dtype."},
      {"var x f32[-2]",
       "line 1, column 11: expected a number from -1 to 9223372036854775807, but found -2"},
      {"var x f32[9223372036854775807, 0, 2]",
       "line 1, column 7: the tensor: it can have 2^55 elements at most, but has shape "
       "[9223372036854775807, 0, 2]"},
      {"var x f32[1] shiny", "line 1, column 14: shiny is not a mark of a variable"},
      {"var x f32[1] lod=99", "line 1, column 18: expected a number from 0 to 64, but found 99"},
      {"var x f32[1] parameter(speed=1)",
       "line 1, column 24: speed is not a setting of a parameter"},
      {"var x f32[1] parameter(lr=\"a\")",
       "line 1, column 24: attribute \"lr\" must be of kind float, but is \"a\" of kind string"},
      {"op(X=x, X=y)", "line 1, column 9: input X is given twice"},
      {"op() -> x, Out=y", "line 1, column 12: output Out is given twice"},
      {"op() {a=1, a=2}", "line 1, column 12: attribute a is given twice"},
      {"op() {a=99999999999}", "line 1, column 9: 99999999999 does not fit into kind int"},
      {"op() {a=1e99}", "line 1, column 9: 1e99 does not fit into kind float"},
      {"op() {a=1x}", "line 1, column 9: expected a value, but found \"1x\""},
      {"op() {a=1.2.3}", "line 1, column 9: expected a value, but found \"1.2.3\""},
      {"op() {a=-}", "line 1, column 9: expected a value, but found \"-\""},
      {"op() {a=[1, 0.5]}", "line 1, column 13: a list of ints cannot hold 0.5"},
      {"op() {a=[none]}", "line 1, column 10: a list cannot hold none"},
      {"op() {a=[[1]]}", "line 1, column 10: expected a value, but found \"[\""},
      {"op() {a=ints[ints[1]]}", "line 1, column 14: expected a value, but found ints"},
      {"op() {a=scalar(scalar(1))}", "line 1, column 16: expected a value, but found \"scalar\""},
      {"op() {a=scalar(1, 2, 3)}",
       "line 1, column 15: a scalar holds one number, or two of a complex one, but found 3"},
      {"op() {a=\"x}", "line 1, column 9: the text has no closing quote"},
      {"op() {a=\"\\q\"}", "line 1, column 9: the text holds an escape other than"},
      {"block 2 in 0 {\n}", "line 1, column 7: expected a number from 1 to 1, but found 2"},
      {"block 1 in 1 {\n}", "line 1, column 12: expected a number from 0 to 0, but found 1"},
      {"block 1 in 0 {\nx()", "line 2, column 4: expected \"}\", but found the end of the text"},
      {"}", "line 1, column 1: expected a statement, but found \"}\""},
      {"random_seed x", "line 1, column 13: expected a whole number, but found \"x\""},
      {std::string("\0", 1), "line 1, column 1: expected a statement, but found \"\\x00\""},
      {"op() {a=block 1}",
       "block 0, op #0 (op): attribute a names block 1, but the program has 1 blocks"},
  };
  for (const auto& [text, expected] : kCases) {
    EXPECT_THAT(message_of([&] { parse(text); }), HasSubstr(expected)) << text;
  }
}

TEST(Text, DeepOrSelfRunningBlocksAreRefused) {
  EXPECT_EQ(message_of([] {
              parse(
                  "a() {b=block 1}\nblock 1 in 0 {\nc() {b=block 2}\n}\n"
                  "block 2 in 0 {\nd() {b=block 1}\n}");
            }),
            "block 1 runs itself, through the ops of block 2");
  EXPECT_EQ(message_of([] { parse("a() {b=block 0}"); }),
            "block 0 runs itself, through the ops of block 0");
  std::string nested, shared;
  for (int i = 1; i <= 300; ++i) {
    nested += fmt::format("block {} in {} {{\n}}\n", i, i - 1);
    const std::string next =
        i == 300 ? "" : fmt::format("f() {{b=[block {}, block {}]}}\n", i + 1, i + 1);
    shared += fmt::format("block {} in 0 {{\n{}}}\n", i, next);
  }
  EXPECT_EQ(message_of([&] { parse(nested); }), "block 257 lies more than 256 blocks deep");
  EXPECT_THAT(message_of([&] { parse(shared); }),
              HasSubstr("run blocks nested more than 256 deep, or more than 100000 of them"));
}

TEST(Text, LongInputIsReadInOnePass) {
  std::string text;
  for (int i = 0; i < 20000; ++i) text += fmt::format("op(X=x{}) -> y {{a=[1, 2, 3]}}\n", i);
  EXPECT_EQ(parse(text)->global_block().size(), 20000u);
  const std::string brackets(1 << 20, '[');
  EXPECT_EQ(message_of([&] { parse(brackets); }),
            "line 1, column 1: expected a statement, but found \"[\"");
  EXPECT_EQ(message_of([&] { parse("op() {a=" + brackets); }),
            "line 1, column 10: expected a value, but found \"[\"");
}

// Paddle keeps the whole traceback, its own files among them.
TEST(Text, TheLineOfTheUserIsFoundInTheStacksOfPaddle) {
  using Stack = std::vector<std::string>;
  const Op later(
      "relu", {}, {},
      {{"op_callstack",
        Stack{"  File \"train.py\", line 9, in <module>", "    loss = net(x)",
              "  File \"net.py\", line 3, in net", "    return F.relu(x)",
              "  File \"/site-packages/paddle/nn/functional/activation.py\", line 4, in relu",
              "    helper.append_op("}}});
  EXPECT_EQ(user_line(later), "net.py:3 in net: return F.relu(x)");
  const Op earlier(
      "relu", {}, {},
      {{"op_callstack", Stack{"  File \"/site-packages/paddle/fluid/framework.py\", line 2, in "
                              "append_op\n    op = Op(\n",
                              "  File \"net.py\", line 3, in net\n    return relu(x)\n",
                              "  File \"train.py\", line 9, in <module>\n    loss = net(x)\n"}}});
  EXPECT_EQ(user_line(earlier), "net.py:3 in net: return relu(x)");
  const Op none("relu", {}, {}, {{"op_callstack", Stack{"  File \"", "x\", line , in ", "\n"}}});
  EXPECT_EQ(user_line(none), "\n");
}

TEST(Text, BriefLeavesOutWhatEveryOpCarries) {
  const Op op("softmax", {{"Bias", {}}, {"X", {"x"}}}, {{"Out", {"y"}}},
              {{"axis", int32_t{-1}},
               {"op_callstack", std::vector<std::string>{"train.py:3"}},
               {"op_device", std::string()},
               {"op_namescope", std::string("/")},
               {"op_role", int32_t{0}},
               {"op_role_var", std::vector<std::string>()}});
  EXPECT_EQ(print(op), "softmax(X=x) -> y {axis=-1}");
  EXPECT_EQ(print(op, Detail::kFull),
            "softmax(Bias=[], X=x) -> y {axis=-1, op_callstack=[\"train.py:3\"], op_device=\"\", "
            "op_namescope=\"/\", op_role=0, op_role_var=strings[]}");
  EXPECT_EQ(user_line(op), "train.py:3");
  const Op backward("mul_grad", {}, {{"X@GRAD", {"a"}}, {"Y@GRAD", {"b"}}},
                    {{"op_role", int32_t{1}}});
  EXPECT_EQ(print(backward), "mul_grad() -> X@GRAD=a, Y@GRAD=b {op_role=1}");
}

TEST(Text, PrintsVariables) {
  EXPECT_EQ(print(Var{.name = "x", .shape = {-1, 784}, .is_data = true, .need_check_feed = true}),
            "var x f32[-1, 784] data check_feed");
  EXPECT_EQ(print(Var{.name = "feed", .kind = VarKind::kFeed, .persistable = true}),
            "var feed feed persistable");
  EXPECT_EQ(print(Var{.name = "ids", .dtype = i64, .shape = {-1, 1}, .lod_level = 1}),
            "var ids i64[-1, 1] lod=1");
  EXPECT_EQ(
      print(Var{
          .name = "r", .kind = VarKind::kReader, .reader = {{f32, {-1, 3}, 0}, {i64, {-1}, 2}}}),
      "var r reader slots(f32[-1, 3], i64[-1] lod=2)");
}

}  // namespace
}  // namespace flotilla

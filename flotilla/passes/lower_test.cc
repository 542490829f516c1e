#include "flotilla/passes/lower.h"

#include "flotilla/autodiff/backward.h"
#include "flotilla/kernel/prepare.h"
#include "flotilla/op/build.h"
#include "flotilla/op/lower.h"
#include "flotilla/passes/pass.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/programs.h"

namespace flotilla::passes {
namespace {

using ::testing::HasSubstr;

void like_x(InferContext& c) {
  require(c.in("X").shape == c.in("Y").shape, "X is {} and Y is {}", c.in("X").shape,
          c.in("Y").shape);
  c.out("Out") = c.in("X");
}

const std::vector<Slot> kPair = {{"X", "tensor"}, {"Y", "like X"}};
const std::vector<Slot> kOut = {{"Out", "like X"}};

// Out = factor X Y, by two ops; no kernel anywhere.
void lower_scaled(LowerContext& c) {
  const std::string product = c.apply("toy_mul", c.in("X"), c.in("Y"));
  c.result("Out", c.apply("toy_scale", product, {{"factor", c.attr<float>("factor")}}));
}
const OpDef& toy_scaled = define_op({.type = "toy_scaled",
                                     .doc = "factor * X * Y.",
                                     .inputs = kPair,
                                     .outputs = kOut,
                                     .attrs = {{"factor", 1.0f, "a number"}},
                                     .infer = like_x,
                                     .grad = grad_of_body(),
                                     .lower = lower_scaled});

// What is made of an op that is made of others.
void lower_cube(LowerContext& c) {
  const std::string twice =
      c.append("toy_scaled", {{"X", {c.in("X")}}, {"Y", {c.in("Y")}}}, {{"factor", 1.0f}});
  c.result("Out", c.apply("toy_mul", twice, c.in("X")));
}
const OpDef& toy_nested = define_op({.type = "toy_nested",
                                     .doc = "X * X * Y.",
                                     .inputs = kPair,
                                     .outputs = kOut,
                                     .infer = like_x,
                                     .grad = grad_of_body(),
                                     .lower = lower_cube});

// Gives back one of its inputs; nothing of the gradient goes to the other.
const OpDef& toy_first = define_op({.type = "toy_first",
                                    .doc = "X.",
                                    .inputs = kPair,
                                    .outputs = kOut,
                                    .infer = like_x,
                                    .grad = grad_of_body(),
                                    .lower = [](LowerContext& c) { c.result("Out", c.in("X")); }});

// A gradient in terms of others, which does not read what the op read.
const OpDef& toy_doubled = define_op(
    {.type = "toy_doubled",
     .doc = "2 X.",
     .inputs = {{"X", "tensor"}},
     .outputs = {{.name = "Out", .doc = "like X", .like = "X"}},
     .infer = [](InferContext& c) { c.out("Out") = c.in("X"); },
     .grad = grad_op(
         {}, {.lower =
                  [](LowerContext& c) {
                    c.result("X@GRAD", c.apply("toy_scale", c.in("Out@GRAD"), {{"factor", 2.0f}}));
                  }}),
     .lower =
         [](LowerContext& c) {
           c.result("Out", c.apply("toy_scale", c.in("X"), {{"factor", 2.0f}}));
         }});

// A kernel for f32 only.
const OpDef& toy_fast = define_op(
    {.type = "toy_fast",
     .doc = "X * Y.",
     .inputs = kPair,
     .outputs = kOut,
     .infer = like_x,
     .kernels = kernels_for<float>([]<typename T>(PrepareContext& c) -> Step {
       return
           [n = c.shape("X").numel(), x = c.in<T>("X"), y = c.in<T>("Y"), out = c.out<T>("Out")] {
             for (int64_t i = 0; i < n; ++i) out.data()[i] = x.data()[i] * y.data()[i];
           };
     }),
     .lower = [](LowerContext& c) { c.result("Out", c.apply("toy_mul", c.in("X"), c.in("Y"))); }});

constexpr const char* kScaled = R"(
  var x f32[3] data
  var y f32[3] data
  toy_scaled(X=x, Y=y) -> z {factor=2}
)";

std::shared_ptr<Program> lowered(const Program& program, std::vector<std::string> fetches) {
  const auto copy = program.clone();
  run_pass(lower, *copy, fetches);
  return copy;
}

// The program, and the gradient of the sum of `target`.
std::shared_ptr<Program> differentiated(std::string_view text, const std::string& target,
                                        std::vector<std::string> inputs) {
  auto program = build(text);
  Block& block = program->global_block();
  std::vector<Var*> vars;
  for (const std::string& input : inputs) vars.push_back(&block.var(input));
  gradients({&block.var(target)}, vars);
  return program;
}

const std::vector<Feed> kFeeds = {{"x", tensor({1, 2, 3})}, {"y", tensor({4, 5, -6})}};

TEST(Lower, PutsTheBodyBehindTheOp) {
  const auto program = build(kScaled);
  EXPECT_EQ(ops_of(*lowered(*program, {"z"})), text(R"(
    toy_scaled(X=x, Y=y) -> z {@LOWERED@=true, factor=2.0}
    toy_mul(X=x, Y=y) -> toy_scaled.body_0
    toy_scale(X=toy_scaled.body_0) -> z {factor=2.0}
  )"));
  EXPECT_EQ(program->global_block().size(), 1) << "the user's program stays";
}

TEST(Lower, ComputesInPlans) {
  const auto program = build(kScaled);
  EXPECT_THAT(run_program(*program, kFeeds, {"z"}).front(), equal_to({8, 20, -36}));
}

TEST(Lower, StaysWhenAllPassesOfPlansAreLeftOut) {
  const EnvGuard skip("FLT_SKIP_PASSES", "all");
  EXPECT_EQ(run_program(*build(kScaled), kFeeds, {"z"}).size(), 1);
}

TEST(Lower, DifferentiatesTheBody) {
  const auto program = differentiated(kScaled, "z", {"x", "y"});
  EXPECT_EQ(program->global_block().count("toy_scaled_grad"), 1);
  const auto found = run_program(*program, kFeeds, {"x@GRAD", "y@GRAD"});
  EXPECT_THAT(found[0], equal_to({8, 10, -12}));
  EXPECT_THAT(found[1], equal_to({2, 4, 6}));
}

TEST(Lower, GivesAVariableInTwoSlotsBothGradients) {
  const auto program = differentiated(R"(
    var x f32[3] data
    toy_scaled(X=x, Y=x) -> z {factor=0.5}
  )",
                                      "z", {"x"});
  const auto found = run_program(*program, {kFeeds.front()}, {"x@GRAD"});
  EXPECT_THAT(found[0], equal_to({1, 2, 3}));
}

TEST(Lower, TakesBodiesOfBodies) {
  const auto program = differentiated(R"(
    var x f32[3] data
    var y f32[3] data
    toy_nested(X=x, Y=y) -> z
  )",
                                      "z", {"x", "y"});
  const auto found = run_program(*program, kFeeds, {"z", "x@GRAD", "y@GRAD"});
  EXPECT_THAT(found[0], equal_to({4, 20, -54}));
  EXPECT_THAT(found[1], equal_to({8, 20, -36}));
  EXPECT_THAT(found[2], equal_to({1, 4, 9}));
}

TEST(Lower, CopiesWhatItIsGivenAndZeroesWhatLeadsNowhere) {
  const auto program = differentiated(R"(
    var x f32[3] data
    var y f32[3] data
    toy_first(X=x, Y=y) -> z
  )",
                                      "z", {"x", "y"});
  const auto found = run_program(*program, kFeeds, {"z", "x@GRAD", "y@GRAD"});
  EXPECT_THAT(found[0], equal_to({1, 2, 3}));
  EXPECT_THAT(found[1], equal_to({1, 1, 1}));
  EXPECT_THAT(found[2], equal_to({0, 0, 0}));
}

TEST(Lower, ReadsAllBeforeItOverwritesAnInput) {
  const auto program = build(R"(
    var x f32[3] data
    var y f32[3] data
    toy_scale(X=x) -> a {factor=1}
    toy_nested(X=a, Y=y) -> a
  )");
  EXPECT_THAT(run_program(*program, kFeeds, {"a"}).front(), equal_to({4, 20, -54}));
}

TEST(Lower, TakesTheGradientThatIsGivenByOthers) {
  const auto program = differentiated(R"(
    var x f32[3] data
    toy_doubled(X=x) -> z
  )",
                                      "z", {"x"});
  const auto found = run_program(*program, {kFeeds.front()}, {"z", "x@GRAD"});
  EXPECT_THAT(found[0], equal_to({2, 4, 6}));
  EXPECT_THAT(found[1], equal_to({2, 2, 2}));
}

TEST(Lower, KeepsAnOpThatHasAKernelForTheDtype) {
  constexpr const char* kText = R"(
    var x {}[3] data
    var y {}[3] data
    toy_fast(X=x, Y=y) -> z
  )";
  const auto count_after = [&](const char* dtype) {
    const auto program = build(fmt::format(fmt::runtime(kText), dtype, dtype));
    return lowered(*program, {"z"})->global_block().count("toy_mul");
  };
  EXPECT_EQ(count_after("f32"), 0);
  EXPECT_EQ(count_after("f64"), 1);
}

TEST(Lower, BodiesCarryTheRoleAndTheLineOfTheOp) {
  const auto program = build(kScaled);
  Op& op = program->global_block().op(0);
  op.set_attr("op_callstack", std::vector<std::string>{"train.py:7 in net"});
  op.set_attr("op_role", int32_t{kOptimizeRole});
  const auto body = lowered(*program, {"z"});
  for (const auto& made : body->global_block().ops()) {
    EXPECT_EQ(made->role(), kOptimizeRole);
    EXPECT_THAT(user_line(*made), HasSubstr("train.py:7"));
  }
}

// The body alone would repeat the smaller of the two.
TEST(Lower, ComparesInputsByTheRulesOfTheOp) {
  const auto program = build(R"(
    var x f32[-1, 1] data
    var y f32[-1, 1] data
    huber_loss(X=x, Y=y) -> Out=z, Residual=r {delta=1}
  )");
  EXPECT_REFUSED(
      run_program(*program, {{"x", tensor({1, 2}, {2, 1})}, {"y", tensor({1}, {1, 1})}}, {"z"}),
      "Y must have the shape of X, but is [1, 1] and X is [2, 1]");
}

TEST(Lower, RefusesWhatTheOpRefusesBeforeItsBodyIsMade) {
  const auto program = parse(R"(
    var x f32[2]
    var out f32[2]
    toy_scaled(X=x) -> Out=out
  )");
  EXPECT_REFUSED(run_plan_passes(*program, {"out"}), "toy_scaled needs the input \"Y\" (like X)");
}

TEST(Lower, WorksInsideBlocks) {
  const auto program = build(R"(
    var x f32[3] data
    var y f32[3] data
    var yes bool[1] data
    toy_scale(X=x) -> z {factor=1}
  )");
  Block& block = program->global_block();
  Block& inner = program->create_block(0);
  append_op(inner, "toy_scaled", {{"X", {"x"}}, {"Y", {"y"}}}, {{"Out", {"z"}}},
            {{"factor", 3.0f}});
  block.push_back(Op("conditional_block", {{"Cond", {"yes"}}}, {{"Out", {"z"}}},
                     {{"sub_block", BlockRef{inner.index()}}, {"is_scalar_condition", true}}));
  std::vector<Feed> feeds = kFeeds;
  feeds.push_back({"yes", bools({true})});
  EXPECT_THAT(run_program(*program, feeds, {"z"}).front(), equal_to({12, 30, -54}));
}

}  // namespace
}  // namespace flotilla::passes

#include "flotilla/runtime/executor.h"

#include <gmock/gmock.h>

#include "flotilla/ir/text.h"
#include "flotilla/kernel/caller.h"
#include "flotilla/op/build.h"
#include "flotilla/runtime/model_io.h"
#include "flotilla/testing/errors.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Feed feed(std::string name, std::vector<float> values, Shape shape) {
  return {std::move(name), Tensor::of<float>(values, std::move(shape))};
}

std::vector<float> floats(const FetchedValue& value) {
  const std::span<float> span = std::get<Tensor>(value).span<float>();
  return {span.begin(), span.end()};
}

// What `f` is refused with, notes included.
template <typename F>
std::string refusal(F f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Executor, RunsAProgramAndReturnsCopies) {
  const auto program = parse(R"(
    var x f32[-1, 2] data
    var y f32[-1, 2]
    var z f32[-1, 4]
    scale(X=x) -> Out=y {scale=2.0}
    concat(X=[x, y]) -> Out=z {axis=1}
  )");
  Executor executor;
  Scope scope;
  const auto results = executor.run(*program, {feed("x", {1, 2}, {1, 2})}, {"z", "y"}, scope);
  EXPECT_THAT(floats(results[0]), ElementsAre(1, 2, 2, 4));
  EXPECT_THAT(floats(results[1]), ElementsAre(2, 4));
}

TEST(Executor, FindsTheOpThatMakesNumbersThatAreNotFinite) {
  const auto program = parse(R"(
    var x f32[-1] data
    var y f32[-1]
    var z f32[-1]
    log(X=x) -> Out=y
    relu(X=y) -> Out=z
  )");
  Executor executor;
  Scope scope;
  const auto run = [&](std::vector<float> values) {
    return refusal([&] { executor.run(*program, {feed("x", values, {3})}, {"z"}, scope); });
  };
  EXPECT_EQ(run({1, -1, 0}), "accepted");
  executor.check_numbers(true);
  EXPECT_EQ(run({1, -1, 0}),
            "variable \"y\" (f32[3]) got 1 NaN and 1 infinite values, the first at position 1 "
            "(FLAGS_check_nan_inf=1)\n  op    log(X=x) -> y");
  EXPECT_EQ(run({1, 2, 3}), "accepted");
}

TEST(Executor, ReadsFromAProgramThatWasCutDown) {
  const auto program = parse(R"(
    var x f32[-1] data
    var y f32[-1]
    var loss f32[1]
    relu(X=x) -> Out=y
    mean(X=y) -> Out=loss
  )");
  const auto model = inference_program(*program, {"x"}, {"y"});
  Executor executor;
  Scope scope;
  EXPECT_EQ(refusal([&] { executor.run(*model, {feed("x", {1}, {1})}, {"loss"}, scope); }),
            "the program has no variable \"loss\": when it was saved for inference, it was pruned "
            "to what \"y\" needs. Fetch that, or save it again with \"loss\" among the targets");
}

TEST(Executor, AModelForInferenceCarriesNoSourceLines) {
  const auto program = parse(R"(
    var x f32[-1] data
    var y f32[-1]
    relu(X=x) -> Out=y {op_callstack=["/home/me/train.py:3 in net"]}
  )");
  const auto lines = [&](bool keep) {
    const auto model = inference_program(*program, {"x"}, {"y"}, keep);
    return model->global_block().op(1).attrs().contains("op_callstack");
  };
  EXPECT_FALSE(lines(false));
  EXPECT_TRUE(lines(true));
  EXPECT_TRUE(program->global_block().op(0).attrs().contains("op_callstack"));
}

TEST(Executor, APlanIsMadeOncePerShapeAndProgramVersion) {
  const auto program = parse(R"(
    var x f32[-1] data
    var y f32[-1]
    scale(X=x) -> Out=y {scale=2.0}
  )");
  Executor executor;
  Scope scope;
  for (int i = 0; i < 3; ++i) {
    executor.run(*program, {feed("x", {1, 2}, {2})}, {"y"}, scope);
    executor.run(*program, {feed("x", {1, 2, 3}, {3})}, {"y"}, scope);
  }
  EXPECT_EQ(executor.plans_made(), 2);
  program->global_block().op(0).set_attr("scale", 3.0f);
  EXPECT_THAT(floats(executor.run(*program, {feed("x", {1, 2}, {2})}, {"y"}, scope)[0]),
              ElementsAre(3, 6));
  EXPECT_EQ(executor.plans_made(), 3);
}

TEST(Executor, CountsStepsButNotTheStartupProgram) {
  const auto startup = parse(R"(
    var n f32[1] persistable
    fill_constant() -> Out=n {shape=[1L], value=1.0, dtype=5}
  )");
  const auto step = parse(R"(
    var n f32[1] persistable
    var x f32[1] data
    elementwise_add(X=n, Y=x) -> Out=n
  )");
  Progress progress;
  Executor executor({.progress = &progress});
  Scope scope;
  executor.run(*startup, {}, {}, scope);
  EXPECT_EQ(progress.now().steps, 0);
  const auto computed = [&] {
    return progress.now().spent[static_cast<size_t>(Progress::Kind::kCompute)];
  };
  const auto before = computed();
  for (int i = 0; i < 3; ++i) executor.run(*step, {feed("x", {1}, {1})}, {}, scope);
  EXPECT_EQ(progress.now().steps, 3);
  EXPECT_GT(computed(), before);
  EXPECT_STREQ(progress.now().doing, "");
}

TEST(Executor, PersistableVariablesLiveInTheScope) {
  const auto startup = parse(R"(
    var n f32[1] persistable
    fill_constant() -> Out=n {shape=[1L], value=1.0, dtype=5}
  )");
  const auto step = parse(R"(
    var n f32[1] persistable
    scale(X=n) -> Out=n {scale=1.0, bias=1.0}
  )");
  Executor executor;
  Scope scope;
  executor.run(*startup, {}, {}, scope);
  for (int i = 0; i < 3; ++i) executor.run(*step, {}, {}, scope);
  EXPECT_THAT(scope.find("n")->span<float>(), ElementsAre(4));
  EXPECT_THAT(floats(executor.run(*step, {}, {"n"}, scope)[0]), ElementsAre(5));
}

TEST(Executor, AVariableMayBeWrittenTwiceWithOtherShapes) {
  const auto program = parse(R"(
    var x f32[2] data
    var t f32[2]
    var a f32[4]
    var b f32[8]
    scale(X=x) -> Out=t {scale=2.0}
    concat(X=[t, x]) -> Out=a {axis=0}
    scale(X=a) -> Out=t {scale=10.0}
    concat(X=[t, a]) -> Out=b {axis=0}
  )");
  Executor executor;
  Scope scope;
  EXPECT_THAT(floats(executor.run(*program, {feed("x", {1, 2}, {2})}, {"b"}, scope)[0]),
              ElementsAre(20, 40, 10, 20, 2, 4, 1, 2));
}

TEST(Executor, MemoryIsReusedAndDeadOpsDoNotRun) {
  std::string text = "var x f32[1024] data\n";
  for (int i = 0; i < 20; ++i) text += fmt::format("var t{} f32[1024]\n", i);
  text += "scale(X=x) -> Out=t0 {scale=2.0}\n";
  for (int i = 1; i < 20; ++i) {
    text += fmt::format("scale(X=t{}) -> Out=t{} {{scale=1.0}}\n", i - 1, i);
  }
  const auto program = parse(text);
  Executor executor;
  Scope scope;
  const std::vector<Feed> feeds = {{"x", Tensor(f32, {1024})}};
  const PlanStats& stats = executor.plan(*program, feeds, {"t9"}, scope).stats();
  EXPECT_EQ(stats.steps, 10);
  EXPECT_LE(stats.arena_bytes, 2 * 4096);
  EXPECT_EQ(stats.no_reuse_bytes, 10 * 4096);
}

TEST(Executor, RefusalsNameTheVariableAndTheOp) {
  const auto program = parse(R"(
    var x f32[-1, 2] data check_feed
    var w f32[2] persistable
    var out f32[-1, 2]
    elementwise_add(X=x, Y=w) -> Out=out
  )");
  Executor executor;
  Scope scope;
  const auto run = [&](std::vector<Feed> feeds, std::string fetch) {
    return refusal([&] { executor.run(*program, feeds, {fetch}, scope); });
  };
  EXPECT_THAT(run({}, "out"), HasSubstr("variable \"x\" (shape [-1, 2], float32) must be fed"));
  EXPECT_THAT(run({feed("x", {1, 2}, {1, 2})}, "out"),
              HasSubstr("variable \"w\" is read but has no value yet. Run the startup program"));
  EXPECT_THAT(run({feed("x", {1, 2, 3}, {1, 3})}, "out"),
              HasSubstr("variable \"x\" is declared with shape [-1, 2], but was fed shape [1, 3]"));
  scope.var("w") = Tensor::of<float>(std::vector<float>{1, 2}, {2});
  EXPECT_THAT(run({feed("x", {1, 2}, {1, 2})}, "outt"), HasSubstr("Did you mean \"out\"?"));
  EXPECT_EQ(run({feed("x", {1, 2}, {1, 2})}, "out"), "accepted");
}

// As labels of shape [n] do that are declared [-1, 1].
TEST(Executor, FeedsMayLackAxesOfOneElementAtTheirEnd) {
  const auto program = parse(R"(
    var x f32[-1, 1] data check_feed
    var y f32[-1, 2] data check_feed
    var out f32[-1, 1]
    scale(X=x) -> Out=out {scale=2.0}
  )");
  Executor executor;
  Scope scope;
  const auto out = executor.run(*program, {feed("x", {1, 2, 3}, {3})}, {"out"}, scope)[0];
  EXPECT_EQ(std::get<Tensor>(out).shape(), Shape{3});
  EXPECT_THAT(floats(out), ElementsAre(2, 4, 6));
  const Feed flat = feed("y", {1, 2}, {2});
  EXPECT_THAT(refusal([&] { executor.run(*program, {flat}, {"out"}, scope); }),
              HasSubstr("variable \"y\" is declared with shape [-1, 2], but was fed shape [2]"));
}

// What a broken file asks for: the sentence names the op that lacks something, not who reads it.
TEST(Executor, RefusesAnOpThatWritesNothing) {
  Executor executor;
  Scope scope;
  const auto run = [&](const char* text) {
    const auto program = parse(text);
    return refusal([&] { executor.run(*program, {feed("x", {1, 2}, {1, 2})}, {"out"}, scope); });
  };
  EXPECT_THAT(run(R"(
                var x f32[-1, 2] data check_feed
                var t f32[-1, 2] data
                var out f32[-1, 2]
                scale(X=x)
                scale(X=t) -> Out=out
              )"),
              HasSubstr("scale writes nothing: its output \"Out\" has no variable"));
  EXPECT_THAT(
      run(R"(
                var x f32[-1, 2] data check_feed
                var t f32[-1, 2] data
                var out f32[-1, 2]
                elementwise_add(X=x, Y=t) -> Out=out
              )"),
      HasSubstr("variable \"t\" (shape [-1, 2], float32) must be fed, as no op writes it, but"));
}

TEST(Executor, LoopsAndBranchesRunTheirBlocks) {
  const auto program = parse(R"(
    var n f32[1] persistable
    var limit f32[1]
    var go bool[1]
    fill_constant() -> Out=n {shape=[1L], value=0.0, dtype=5}
    fill_constant() -> Out=limit {shape=[1L], value=5.0, dtype=5}
    less_than(X=n, Y=limit) -> Out=go
    while(Condition=go) {sub_block=block 1}
    block 1 in 0 {
      scale(X=n) -> Out=n {scale=1.0, bias=2.0}
      less_than(X=n, Y=limit) -> Out=go
    }
  )");
  Executor executor;
  Scope scope;
  EXPECT_THAT(floats(executor.run(*program, {}, {"n"}, scope)[0]), ElementsAre(6));
}

// Doubles x, which is declared so, three times, or for ever.
std::shared_ptr<Program> doubling(const std::string& declared, bool for_ever = false) {
  return parse("var x " + declared + R"(
    var n f32[1]
    var limit f32[1]
    var go bool[1]
    fill_constant() -> Out=n {shape=[1L], value=0.0, dtype=5}
    fill_constant() -> Out=limit {shape=[1L], value=3.0, dtype=5}
    less_than(X=n, Y=limit) -> Out=go
    while(Condition=go) {sub_block=block 1}
    block 1 in 0 {
      scale(X=x) -> Out=x {scale=2.0}
      scale(X=n) -> Out=n {bias=)" +
               (for_ever ? "0.0" : "1.0") + R"(}
      less_than(X=n, Y=limit) -> Out=go
    }
  )");
}

TEST(Executor, ALoopMayChangeWhatWasFed) {
  const auto program = doubling("f32[2] data");
  Executor executor;
  Scope scope;
  const Feed x = feed("x", {1, 10}, {2});
  for (int run = 0; run < 2; ++run) {
    EXPECT_THAT(floats(executor.run(*program, {x}, {"x"}, scope)[0]), ElementsAre(8, 80));
  }
  EXPECT_THAT(floats(x.tensor), ElementsAre(1, 10));  // the caller's memory is his
}

TEST(Executor, ABlockMayChangeWhatLiesInTheScope) {
  const auto program = doubling("f32[1]");
  Executor executor;
  Scope scope;
  scope.var("x") = Tensor::of<float>(std::vector<float>{1}, {1});
  EXPECT_THAT(floats(executor.run(*program, {}, {"x"}, scope)[0]), ElementsAre(8));
}

TEST(Executor, ACallerEndsALoop) {
  class Impatient final : public Caller {
   public:
    std::vector<Tensor> call(int64_t /*number*/, const std::vector<Tensor>& /*inputs*/) override {
      return {};
    }
    void check_interrupt() override {
      if (++rounds == 10) refuse("it takes too long");
    }
    int rounds = 0;
  } caller;
  Executor executor({.caller = &caller});
  Scope scope;
  scope.var("x") = Tensor::of<float>(std::vector<float>{1}, {1});
  EXPECT_REFUSED(executor.run(*doubling("f32[1]", true), {}, {}, scope), "it takes too long");
  scope.var("x") = Tensor::of<float>(std::vector<float>{1}, {1});
  const auto program = doubling("f32[1]");
  EXPECT_THAT(floats(executor.run(*program, {}, {"x"}, scope)[0]), ElementsAre(8));
}

// As Paddle saves models for inference.
TEST(Executor, OutputsThatOnlyGradientsReadMayBeLeftOut) {
  const auto program = parse(R"(
    var x f32[1, 1, 1, 2] data
    var y f32[1, 1, 1, 2]
    instance_norm(X=x) -> Y=y {epsilon=0.0}
  )");
  Executor executor;
  Scope scope;
  EXPECT_THAT(floats(executor.run(*program, {feed("x", {1, 3}, {1, 1, 1, 2})}, {"y"}, scope)[0]),
              ElementsAre(-1, 1));
}

TEST(Executor, RefusesOpsOfFilesThatNoKernelCouldRun) {
  const auto message = [](const std::string& ops) {
    const auto program = parse("var x f32[2, 3] data\nvar y f32[2, 3]\nvar z f32[2, 3]\n" + ops);
    Executor executor;
    Scope scope;
    try {
      executor.run(*program, {feed("x", {1, 2, 3, 4, 5, 6}, {2, 3})}, {"y"}, scope);
    } catch (const Error& error) {
      return error.sentence();
    }
    return std::string("accepted");
  };
  EXPECT_EQ(message("relu(X=x) -> Out=[y, z]"),
            "output Out of relu holds one variable, but 2 were given");
  EXPECT_THAT(message("relu(X=@EMPTY@) -> Out=y"), HasSubstr("relu needs the input \"X\""));
  EXPECT_THAT(message("sum(X=[x, @EMPTY@]) -> Out=y"), HasSubstr("sum needs the input \"X\""));
  EXPECT_THAT(message("fill_constant() -> Out=y {shape=[-9L, 4611686018427387904L], dtype=5}"),
              HasSubstr("output Out of fill_constant: an extent must be -1 or more, but is -9"));
  EXPECT_THAT(message("reduce_sum_grad(X=x, Out@GRAD=x) -> X@GRAD=y {dim=[0]}"),
              HasSubstr("Out@GRAD of reduce_sum_grad must have shape [3], but has "
                        "shape [2, 3]"));
  EXPECT_THAT(message("var g f32[1]\nfill_constant() -> Out=g {shape=[1L], dtype=5}\n"
                      "relu_grad(Out=x, Out@GRAD=g) -> X@GRAD=y"),
              HasSubstr("must have shape [2, 3], but has shape [1]"));
  EXPECT_THAT(message("var g f32[1]\nfill_constant() -> Out=g {shape=[1L], dtype=5}\n"
                      "reshape2_grad(XShape=g, Out@GRAD=x) -> X@GRAD=y"),
              HasSubstr("Out@GRAD of shape [2, 3] cannot become X@GRAD"));
  EXPECT_EQ(message("fill_constant() -> Out=z {shape=[-1L], dtype=5}\nincrement(X=z) -> Out=y"),
            "the size of Out of fill_constant is not known when it is written: it is [-1]");
  EXPECT_THAT(
      message("var w f32[3, 3] persistable\nvar b f32[3] persistable\n"
              "fill_constant() -> Out=w {shape=[3L, 3L], dtype=5}\n"
              "fill_constant() -> Out=b {shape=[3L], dtype=5}\n"
              "fused_fc_grad(Input=x, W=w, Bias=b, Out=x, Out@GRAD=x) -> Input@GRAD=y, W@GRAD=z, "
              "Bias@GRAD=z {in_num_col_dims=-1}"),
      HasSubstr("fc needs an Input of more than -1 axes"));
  EXPECT_EQ(message("relu(X=x) -> X@GRAD=z\nrelu(X=z) -> Out=y"),
            "variable \"z\" is read before any op writes it");
  EXPECT_EQ(message("relu(X=x) -> Out=@EMPTY@\nrelu(X=x) -> Out=y"), "accepted");
}

// How Paddle ends a cond.
TEST(Executor, SelectInputTakesWhatTheBranchWrote) {
  const auto program = parse(R"(
    var x f32[1] data
    var zero f32[1]
    var low bool[1]
    var high bool[1]
    var which i32[1]
    var if_low f32[1]
    var if_high f32[1]
    var out f32[1]
    fill_constant() -> Out=zero {shape=longs[], value=0.0, dtype=5}
    less_than(X=x, Y=zero) -> Out=low
    conditional_block(Cond=low) {sub_block=block 1, is_scalar_condition=true}
    logical_not(X=low) -> Out=high
    conditional_block(Cond=high) {sub_block=block 2, is_scalar_condition=true}
    cast(X=high) -> Out=which {in_dtype=0, out_dtype=2}
    select_input(X=[if_low, if_high], Mask=which) -> Out=out
    block 1 in 0 {
      scale(X=x) -> Out=if_low {scale=-1.0}
    }
    block 2 in 0 {
      scale(X=x) -> Out=if_high {scale=10.0}
    }
  )");
  Executor executor;
  Scope scope;
  EXPECT_THAT(floats(executor.run(*program, {feed("x", {3}, {1})}, {"out"}, scope)[0]),
              ElementsAre(30));
  EXPECT_THAT(floats(executor.run(*program, {feed("x", {-3}, {1})}, {"out"}, scope)[0]),
              ElementsAre(3));
}

// Rows 0, 1, 2, ... of a table of [[0, 1], [2, 3], ...], in two sequences.
Feed id_feed(int64_t rows) {
  std::vector<int64_t> ids;
  for (int64_t i = 0; i < rows; ++i) ids.push_back(i);
  Tensor tensor = Tensor::of<int64_t>(ids, {rows});
  tensor.set_lod({{0, 1, rows}});
  return {"ids", tensor};
}

TEST(Executor, AChangingNumberOfRowsMakesNoNewPlanWithinItsClass) {
  const auto program = parse(R"(
    var ids i64[-1] lod=1 data
    var w f32[20, 2] persistable
    var rows f32[-1, 2] lod=1
    var flat f32[-1]
    var doubled f32[-1]
    lookup_table_v2(Ids=ids, W=w) -> Out=rows
    reshape2(X=rows) -> Out=flat {shape=[-1]}
    scale(X=flat) -> Out=doubled {scale=2.0}
  )");
  Executor executor;
  Scope scope;
  scope.var("w") = Tensor(f32, {20, 2});
  for (int i = 0; i < 40; ++i) scope.var("w").data<float>()[i] = static_cast<float>(i);
  for (const int64_t rows : {5, 8, 6, 7, 5, 16, 9}) {
    const std::vector<float> out =
        floats(executor.run(*program, {id_feed(rows)}, {"doubled"}, scope)[0]);
    ASSERT_EQ(out.size(), static_cast<size_t>(rows * 2));
    for (size_t i = 0; i < out.size(); ++i) ASSERT_EQ(out[i], 2.0f * static_cast<float>(i));
  }
  EXPECT_EQ(executor.plans_made(), 2);  // up to 8 rows, up to 16
}

TEST(Executor, SequencesThatDoNotFitTheRowsAreRefusedInEveryRun) {
  const auto program = parse(R"(
    var ids i64[-1] lod=1 data
    var doubled i64[-1] lod=1
    scale(X=ids) -> Out=doubled {scale=2.0}
  )");
  Executor executor;
  Scope scope;
  Feed feed = id_feed(5);
  executor.run(*program, {feed}, {"doubled"}, scope);
  feed.tensor.set_lod({{0, 1, 9}});
  EXPECT_THAT(refusal([&] { executor.run(*program, {feed}, {"doubled"}, scope); }),
              HasSubstr("level 0 of a LoD must end at 5, but ends at 9\n  feed  ids"));
}

TEST(Executor, AProgramWithAFixedBatchStillRunsWithSequences) {
  const auto program = parse(R"(
    var ids i64[-1] lod=1 data
    var w f32[20, 2] persistable
    var rows f32[-1, 2] lod=1
    var flat f32[5, 2]
    lookup_table_v2(Ids=ids, W=w) -> Out=rows
    reshape2(X=rows) -> Out=flat {shape=[5, 2]}
  )");
  Executor executor;
  Scope scope;
  scope.var("w") = Tensor(f32, {20, 2});
  EXPECT_EQ(floats(executor.run(*program, {id_feed(5)}, {"flat"}, scope)[0]).size(), 10u);
  EXPECT_THAT(refusal([&] { executor.run(*program, {id_feed(6)}, {"flat"}, scope); }),
              HasSubstr("asks for 10"));
  EXPECT_EQ(floats(executor.run(*program, {id_feed(5)}, {"flat"}, scope)[0]).size(), 10u);
}

TEST(Executor, SizesKnownOnlyAtRunTimeComeFromAPool) {
  const auto program = parse(R"(
    var x f32[-1] data
    var at i64[-1, 1]
    var picked f32[-1]
    var doubled f32[-1]
    var total f32[1]
    where_index(Condition=x) -> Out=at
    gather(X=x, Index=at) -> Out=picked
    scale(X=picked) -> Out=doubled {scale=2.0}
    reduce_sum(X=doubled) -> Out=total {reduce_all=true}
  )");
  Executor executor;
  Scope scope;
  const auto run = [&](std::vector<float> values) {
    const int64_t n = static_cast<int64_t>(values.size());
    return executor.run(*program, {feed("x", values, {n})}, {"doubled", "total"}, scope);
  };
  auto results = run({0, 1, 0, 3, 5});
  EXPECT_THAT(floats(results[0]), ElementsAre(2, 6, 10));
  EXPECT_THAT(floats(results[1]), ElementsAre(18));
  results = run({0, 0, 0, 3, 0});
  EXPECT_THAT(floats(results[0]), ElementsAre(6));
  EXPECT_THAT(floats(results[1]), ElementsAre(6));
  EXPECT_EQ(executor.plans_made(), 1);
}

}  // namespace
}  // namespace flotilla

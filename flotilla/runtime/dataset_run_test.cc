#include "flotilla/runtime/dataset_run.h"

#include <gmock/gmock.h>

#include <chrono>
#include <cstring>
#include <thread>

#include "flotilla/ir/text.h"
#include "flotilla/testing/errors.h"

namespace flotilla {
namespace {

using data::Batch;
using data::BatchPass;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::SizeIs;

// Linear regression with its gradient written out.
std::shared_ptr<Program> regression() {
  return parse(R"(
    var x f32[-1, 3] data
    var y f32[-1, 1] data
    var w f32[3, 1] persistable
    var lr f32[1] persistable
    var p f32[-1, 1]
    var d f32[-1, 1]
    var s f32[-1, 1]
    var g f32[3, 1]
    var loss f32[1]
    matmul_v2(X=x, Y=w) -> Out=p {trans_x=false, trans_y=false}
    elementwise_sub(X=p, Y=y) -> Out=d {axis=-1}
    square(X=d) -> Out=s
    mean(X=s) -> Out=loss
    matmul_v2(X=x, Y=d) -> Out=g {trans_x=true, trans_y=false}
    sgd(Param=w, Grad=g, LearningRate=lr) -> ParamOut=w {op_role=2}
  )");
}

void start(Scope& scope) {
  scope.var("w") = Tensor::of<float>(std::vector<float>{0.1f, -0.2f, 0.3f}, {3, 1});
  scope.var("lr") = Tensor::of<float>(std::vector<float>{0.01f}, {1});
}

// Batch number i; some are short, as the last of a file may be.
Batch batch(int64_t i) {
  const int64_t n = i % 7 == 6 ? 3 : 8;
  Batch made = {Tensor(f32, {n, 3}), Tensor(f32, {n, 1})};
  for (int64_t r = 0; r < n; ++r) {
    float sum = 0;
    for (int64_t c = 0; c < 3; ++c) {
      const float x = static_cast<float>((i * 31 + r * 7 + c * 3) % 19) / 19.0f;
      made[0].data<float>()[r * 3 + c] = x;
      sum += x * static_cast<float>(c + 1);
    }
    made[1].data<float>()[r] = sum;
  }
  return made;
}

BatchPass::Producer batches(int64_t count) {
  return [count](BatchPass& pass) {
    for (int64_t i = 0; i < count && pass.emit(batch(i)); ++i) {
    }
  };
}

std::vector<float> weights(Scope& scope) {
  const Tensor w = scope.find("w")->plain();
  return {w.span<float>().begin(), w.span<float>().end()};
}

TEST(DatasetRun, OneThreadGivesTheBitsOfALoopWrittenByHand) {
  const auto program = regression();
  Executor executor;
  Scope by_hand, scope;
  start(by_hand);
  start(scope);
  std::vector<float> losses;
  for (int64_t i = 0; i < 100; ++i) {
    const Batch b = batch(i);
    const auto values = executor.run(*program, {{"x", b[0]}, {"y", b[1]}}, {"loss"}, by_hand);
    losses.push_back(std::get<Tensor>(values[0]).span<float>()[0]);
  }
  BatchPass pass({batches(100)}, 4);
  std::vector<std::string> lines;
  const DatasetRunReport report =
      run_from_dataset({.program = *program,
                        .feeds = {"x", "y"},
                        .fetches = {"loss"},
                        .labels = {"loss"},
                        .print_period = 10,
                        .print = [&](const std::string& line) { lines.push_back(line); }},
                       pass, executor, scope);
  EXPECT_EQ(weights(scope), weights(by_hand));
  EXPECT_EQ(report.batches(), 100);
  EXPECT_EQ(report.samples(), 86 * 8 + 14 * 3);
  ASSERT_THAT(lines, SizeIs(10));
  EXPECT_THAT(lines[2],
              MatchesRegex("time: \\[[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9]{2}:[0-9]{2}:[0-9]{2}\\], "
                           "batch: \\[30\\], loss\\[1\\]:\\[.*\\]"));
  EXPECT_THAT(lines[2], HasSubstr(fmt::format("loss[1]:[{:g}]", losses[29])));
}

#ifndef FLT_TSAN  // the races of Hogwild are wanted
TEST(DatasetRun, SeveralThreadsTrainTheSameParameters) {
  const auto program = regression();
  Executor executor;
  Scope scope;
  start(scope);
  BatchPass pass({batches(600), batches(600)}, 4);
  const DatasetRunReport report = run_from_dataset(
      {.program = *program, .feeds = {"x", "y"}, .threads = 3}, pass, executor, scope);
  EXPECT_THAT(report.threads, SizeIs(3));
  EXPECT_EQ(report.batches(), 1200);
  EXPECT_THAT(scope.names(), ElementsAre("lr", "w"));
  const std::vector<float> w = weights(scope);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(w[i], static_cast<float>(i + 1), 0.1);
}
#endif

TEST(DatasetRun, InferenceChangesNothing) {
  const auto program = without_updates(*regression());
  EXPECT_EQ(program->global_block().count("sgd"), 0);
  EXPECT_EQ(program->global_block().count("mean"), 1);
  Executor executor;
  Scope scope;
  start(scope);
  const std::vector<float> before = weights(scope);
  BatchPass pass({batches(50)}, 4);
  const DatasetRunReport report = run_from_dataset(
      {.program = *program, .feeds = {"x", "y"}, .threads = 2}, pass, executor, scope);
  EXPECT_EQ(report.batches(), 50);
  EXPECT_EQ(weights(scope), before);
}

TEST(DatasetRun, AnErrorOfTheDataEndsAllThreads) {
  const auto program = without_updates(*regression());
  Executor executor;
  Scope scope;
  start(scope);
  const auto broken = [](BatchPass& pass) {
    pass.emit(batch(0));
    refuse("line 7 is bad");
  };
  BatchPass pass({broken, batches(1 << 30)}, 4);
  EXPECT_THAT(message_of([&] {
                run_from_dataset({.program = *program, .feeds = {"x", "y"}, .threads = 2}, pass,
                                 executor, scope);
              }),
              HasSubstr("line 7 is bad"));
}

TEST(DatasetRun, AnErrorOfAStepEndsAllThreadsAndNamesTheBatch) {
  const auto program = without_updates(*regression());
  Executor executor;
  Scope scope;
  start(scope);
  const auto wrong = [](BatchPass& pass) {
    for (int64_t i = 0;; ++i) {
      Batch made = batch(i);
      if (i == 5) made[0] = Tensor(f32, {8, 4});
      if (!pass.emit(std::move(made))) return;
    }
  };
  for (const int64_t threads : {1, 3}) {
    BatchPass pass({wrong}, 2);
    const std::string message = message_of([&] {
      run_from_dataset({.program = *program, .feeds = {"x", "y"}, .threads = threads}, pass,
                       executor, scope);
    });
    EXPECT_THAT(message, HasSubstr("of thread"));
    EXPECT_THAT(message, HasSubstr("matmul_v2"));
  }
}

TEST(DatasetRun, WhatTheCallerThrowsEndsARunThatWaitsForData) {
  const auto program = regression();
  Executor executor;
  Scope scope;
  start(scope);
  const auto slow = [](BatchPass& pass) {
    while (!pass.stopped()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  };
  BatchPass pass({slow}, 2);
  int ticks = 0;
  EXPECT_THAT(message_of([&] {
                run_from_dataset({.program = *program,
                                  .feeds = {"x", "y"},
                                  .threads = 2,
                                  .tick = [&] { require(++ticks < 3, "stop here"); }},
                                 pass, executor, scope);
              }),
              HasSubstr("stop here"));
}

TEST(DatasetRun, WatchesValues) {
  const auto program = regression();
  Executor executor;
  Scope scope;
  start(scope);
  BatchPass pass({batches(20)}, 2);
  std::vector<float> seen;
  run_from_dataset({.program = *program,
                    .feeds = {"x", "y"},
                    .watched = {"w"},
                    .watch_seconds = 3600,
                    .watch =
                        [&](const std::vector<FetchedValue>& values) {
                          const auto w = std::get<Tensor>(values.at(0)).span<float>();
                          seen.assign(w.begin(), w.end());
                        }},
                   pass, executor, scope);
  EXPECT_EQ(seen, weights(scope));
}

TEST(DatasetRun, RefusesLabelsThatDoNotFit) {
  const auto program = regression();
  Executor executor;
  Scope scope;
  BatchPass pass({}, 2);
  EXPECT_THAT(message_of([&] {
                run_from_dataset({.program = *program, .fetches = {"loss"}}, pass, executor, scope);
              }),
              HasSubstr("fetch_info"));
}

TEST(DatasetRun, PrintsNumbersAsPaddleDoes) {
  const std::vector<FetchedValue> values = {
      Tensor::of<float>(std::vector<float>{0.69498912f, -1e-7f}, {2}),
      Tensor::of<int64_t>(std::vector<int64_t>{1, 0}, {2, 1})};
  EXPECT_THAT(fetch_line(11, {"loss", "y"}, values),
              HasSubstr("], batch: [11], loss[2]:[0.694989 -1e-07], y[2]:[1 0]"));
}

}  // namespace
}  // namespace flotilla

// Training on several ranks that are threads: the same losses as one process with the whole batch,
// the same bits on all ranks and in every run, and no copies.

#include <gmock/gmock.h>

#include <cmath>

#include "flotilla/autodiff/backward.h"
#include "flotilla/comm/threads/threads.h"
#include "flotilla/device/cpu/parallel.h"
#include "flotilla/op/build.h"
#include "flotilla/testing/programs.h"
#include "flotilla/testing/ranks.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;
using testing::run_ranks;

constexpr int64_t kClasses = 10;

struct Model {
  int64_t inputs = 20;
  int64_t hidden = 64;
  bool use_calc_stream = true;
  bool sync = true;       // c_sync_comm_stream stands before the updates
  bool reversed = false;  // the buckets come in another order
};

std::vector<Feed> parameters(const Model& model) {
  return {{"w0", uniform({model.inputs, model.hidden}, -0.1, 0.1, 1)},
          {"b0", uniform({model.hidden}, -0.1, 0.1, 2)},
          {"w1", uniform({model.hidden, kClasses}, -0.1, 0.1, 3)},
          {"b1", uniform({kClasses}, -0.1, 0.1, 4)}};
}

void add_forward(Block& block, const Model& model, int ranks) {
  block.add_var({.name = "x", .shape = {-1, model.inputs}, .stop_gradient = true, .is_data = true});
  block.add_var(
      {.name = "y", .dtype = i64, .shape = {-1, 1}, .stop_gradient = true, .is_data = true});
  for (const Feed& feed : parameters(model)) {
    block.add_var({.name = feed.name,
                   .shape = feed.tensor.shape(),
                   .persistable = true,
                   .parameter = ParameterInfo{}});
    block.add_var({.name = feed.name + "_v", .shape = feed.tensor.shape(), .persistable = true});
  }
  block.add_var({.name = "lr", .shape = {1}, .persistable = true});
  append_op(block, "mul", {{"X", {"x"}}, {"Y", {"w0"}}}, {{"Out", {"h"}}});
  append_op(block, "elementwise_add", {{"X", {"h"}}, {"Y", {"b0"}}}, {{"Out", {"hb"}}},
            {{"axis", 1}});
  append_op(block, "relu", {{"X", {"hb"}}}, {{"Out", {"a"}}});
  append_op(block, "mul", {{"X", {"a"}}, {"Y", {"w1"}}}, {{"Out", {"z"}}});
  append_op(block, "elementwise_add", {{"X", {"z"}}, {"Y", {"b1"}}}, {{"Out", {"zb"}}},
            {{"axis", 1}});
  append_op(block, "softmax_with_cross_entropy", {{"Logits", {"zb"}}, {"Label", {"y"}}},
            {{"Softmax", {"p"}}, {"Loss", {"losses"}}});
  append_op(block, "mean", {{"X", {"losses"}}}, {{"Out", {"mean"}}});
  append_op(block, "scale", {{"X", {"mean"}}}, {{"Out", {"loss"}}},
            {{"scale", 1.0f / static_cast<float>(ranks)}});
}

// Each process works on its part of the batch; `total` is the loss of all.
std::shared_ptr<Program> make_program(const Model& model, int ranks) {
  auto program = std::make_shared<Program>();
  Block& block = program->global_block();
  add_forward(block, model, ranks);
  append_backward(block.var("loss"));
  const Attrs attrs = {{"ring_id", 0}, {"use_calc_stream", model.use_calc_stream}};
  const auto exchange = [&](const std::string& layer) {
    const Slots grads = {{"X", {"w" + layer + "@GRAD", "b" + layer + "@GRAD"}}};
    append_op(block, "fused_all_reduce", grads, {{"Out", grads.at("X")}}, attrs);
  };
  exchange(model.reversed ? "0" : "1");
  exchange(model.reversed ? "1" : "0");
  append_op(block, "c_allreduce_sum", {{"X", {"loss"}}}, {{"Out", {"total"}}}, attrs);
  std::vector<std::string> grads;
  for (const Feed& feed : parameters(model)) grads.push_back(feed.name + "@GRAD");
  if (model.sync) append_op(block, "c_sync_comm_stream", {{"X", grads}}, {{"Out", grads}});
  for (const Feed& feed : parameters(model)) {
    const std::string& name = feed.name;
    append_op(block, "momentum",
              {{"Param", {name}},
               {"Grad", {name + "@GRAD"}},
               {"Velocity", {name + "_v"}},
               {"LearningRate", {"lr"}}},
              {{"ParamOut", {name}}, {"VelocityOut", {name + "_v"}}}, {{"mu", 0.9f}});
  }
  return program;
}

void fill_scope(Scope& scope, const Model& model) {
  for (const Feed& feed : parameters(model)) {
    scope.var(feed.name) = feed.tensor.clone();
    scope.var(feed.name + "_v") = full(feed.tensor.shape(), 0);
  }
  scope.var("lr") = full({1}, 0.05);
}

// Part `rank` of `ranks` of one of three batches of 24 samples.
std::vector<Feed> batch(const Model& model, int step, int rank, int ranks) {
  const int64_t rows = 24 / ranks;
  const auto seed = static_cast<uint64_t>(100 + step % 3);
  const auto part = [&](const Tensor& whole) {
    std::vector<double> values = values_of(whole);
    const int64_t width = whole.shape()[1];
    const auto begin = values.begin() + rank * rows * width;
    return from_values({begin, begin + rows * width}, {rows, width}, whole.dtype());
  };
  return {{"x", part(uniform({24, model.inputs}, -1, 1, seed))},
          {"y", part(uniform_ints({24, 1}, 0, kClasses, seed))}};
}

struct Training {
  std::vector<double> losses;
  std::vector<Tensor> params;
  bool operator==(const Training& other) const {
    if (losses != other.losses || params.size() != other.params.size()) return false;
    for (size_t i = 0; i < params.size(); ++i) {
      if (values_of(params[i]) != values_of(other.params[i])) return false;
    }
    return true;
  }
};

Training train(const Model& model, comm::World* world, int steps) {
  const ThreadShare one(1);
  const int rank = world == nullptr ? 0 : world->rank(),
            ranks = world == nullptr ? 1 : world->size();
  const auto program = make_program(model, ranks);
  Scope scope;
  fill_scope(scope, model);
  Executor executor({.world = world});
  Training run;
  for (int step = 0; step < steps; ++step) {
    const auto fetched = executor.run(*program, batch(model, step, rank, ranks), {"total"}, scope);
    run.losses.push_back(values_of(dense(fetched[0]))[0]);
  }
  for (const Feed& feed : parameters(model)) run.params.push_back(scope.find(feed.name)->clone());
  return run;
}

using Worlds = std::vector<std::unique_ptr<comm::World>>;

std::vector<Training> train_on(Worlds worlds, const Model& model, int steps) {
  std::vector<Training> runs(worlds.size());
  testing::run_worlds(std::move(worlds), [&](comm::World& world) {
    runs[static_cast<size_t>(world.rank())] = train(model, &world, steps);
  });
  return runs;
}

std::vector<Training> train_on(int ranks, const Model& model, int steps) {
  return train_on(comm::make_threads(ranks), model, steps);
}

void expect_close(const std::vector<double>& losses, const std::vector<double>& expected) {
  ASSERT_EQ(losses.size(), expected.size());
  for (size_t i = 0; i < losses.size(); ++i) {
    EXPECT_NEAR(losses[i], expected[i], 1e-5 * std::abs(expected[i])) << "step " << i;
  }
}

TEST(CollectiveRun, RanksTrainAsOneProcessWithTheWholeBatch) {
  const Model model;
  const Training alone = train(model, nullptr, 50);
  EXPECT_LT(alone.losses.back(), alone.losses.front());
  for (const int ranks : {1, 2, 4}) {
    const std::vector<Training> runs = train_on(ranks, model, 50);
    expect_close(runs[0].losses, alone.losses);
    for (const Training& run : runs) EXPECT_TRUE(run == runs[0]) << "ranks differ";
    EXPECT_TRUE(train_on(ranks, model, 50)[0] == runs[0]) << "runs differ";
  }
}

// Buckets above 1 MiB go on beside the program; it must make no difference, whether a program says
// where it waits for them or not.
TEST(CollectiveRun, ExchangesThatGoOnBesideTheProgramGiveTheSameBits) {
  const Model here = {.inputs = 600, .hidden = 512};
  const std::vector<Training> expected = train_on(2, here, 6);
  for (const bool sync : {true, false}) {
    Model beside = here;
    beside.use_calc_stream = false;
    beside.sync = sync;
    for (const Training& run : train_on(2, beside, 6)) EXPECT_TRUE(run == expected[0]);
  }
}

TEST(CollectiveRun, ProcessesOfOneHostAndOfSeveralTrainAlike) {
  const Model model = {.inputs = 600, .hidden = 512, .use_calc_stream = false};
  const std::vector<Training> expected = train_on(2, model, 4);
  EXPECT_TRUE(train_on(testing::process_worlds(2), model, 4)[1] == expected[0]);
  const auto apart = train_on(testing::process_worlds(2, [](int rank) { return rank; }), model, 4);
  EXPECT_TRUE(apart[0] == apart[1]);
  expect_close(apart[0].losses, expected[0].losses);
}

TEST(CollectiveRun, GradientsAreBornWhereTheyAreExchanged) {
  const Model model;
  run_ranks(2, [&](comm::World& world) {
    const auto program = make_program(model, 2);
    Scope scope;
    fill_scope(scope, model);
    Executor executor({.world = &world});
    const auto feeds = batch(model, 0, world.rank(), 2);
    Plan& plan = executor.plan(*program, feeds, {"total"}, scope);
    const std::string text = plan.print();
    // 4 gradients of 20 x 64, 64, 64 x 10 and 10 floats, and the loss.
    EXPECT_EQ(plan.stats().exchanged_bytes, 4 * (20 * 64 + 64 + 64 * 10) + 64 + 64) << text;
    int buckets = 0;
    for (size_t at = text.find("fused_all_reduce"); at != std::string::npos;
         at = text.find("fused_all_reduce", at + 1)) {
      const std::string line = text.substr(at, text.find('\n', at) - at);
      const size_t arrow = line.find(" -> ");
      EXPECT_EQ(line.substr(line.find('('), arrow - line.find('(')), line.substr(arrow + 4));
      EXPECT_THAT(line, HasSubstr("exchanged @"));
      ++buckets;
    }
    EXPECT_EQ(buckets, 2);
    executor.run(plan, feeds, scope);
  });
}

TEST(CollectiveRun, RanksWithDifferentSchedulesAreTold) {
  std::vector<std::string> told(2);
  run_ranks(2, [&](comm::World& world) {
    const Model model = {.reversed = world.rank() == 1};
    told[static_cast<size_t>(world.rank())] = refusal_of([&] { train(model, &world, 1); });
  });
  const std::string expected =
      "the collective ops of the program differ between ranks: number 1 is \"fused_all_reduce in "
      "ring 0 of w1@GRAD f32[64, 10]\" on rank 0, but \"fused_all_reduce in ring 0 of w0@GRAD "
      "f32[20, 64]\" on rank 1";
  EXPECT_THAT(told, ::testing::Each(expected));
}

TEST(CollectiveRun, ARankThatIsGoneEndsTheStepOfTheOthers) {
  for (const bool use_calc_stream : {true, false}) {
    const Model model = {.inputs = 600, .hidden = 512, .use_calc_stream = use_calc_stream};
    std::string message;
    const std::string thrown = refusal_of([&] {
      run_ranks(2, [&](comm::World& world) {
        if (world.rank() == 1) {
          train(model, &world, 1);
          refuse("rank 1 has had enough");
        }
        try {
          train(model, &world, 2);
        } catch (const Error& error) {
          EXPECT_EQ(error.kind(), ErrorKind::kUnavailable);
          message = error.what();
        }
      });
    });
    EXPECT_EQ(thrown, "rank 1 has had enough");
    EXPECT_THAT(message, HasSubstr("rank 1"));
    EXPECT_THAT(message, HasSubstr("fused_all_reduce(X=[w1@GRAD, b1@GRAD])"));
  }
}

// The rows of an embedding that a batch uses, and how many, differ from rank to rank.
TEST(CollectiveRun, SparseGradientsOfAllRanksAreAddedUp) {
  const auto train_table = [](comm::World* world, const Tensor& ids) {
    const auto program = build(R"(
      var table f32[6, 2] persistable parameter
      var lr f32[1] persistable
      var ids i64[-1] data stop_gradient
      lookup_table_v2(W=table, Ids=ids) -> rows {is_sparse=true}
      elementwise_mul(X=rows, Y=rows) -> squares
      reduce_sum(X=squares) -> loss {reduce_all=true}
    )");
    Block& block = program->global_block();
    append_backward(block.var("loss"));
    append_op(block, "all_gather_rows", {{"X", {"table@GRAD"}}}, {{"Out", {"table@GRAD"}}});
    append_op(block, "sgd",
              {{"Param", {"table"}}, {"Grad", {"table@GRAD"}}, {"LearningRate", {"lr"}}},
              {{"ParamOut", {"table"}}});
    Scope scope;
    scope.var("table") = uniform({6, 2}, 1, 2);
    scope.var("lr") = full({1}, 0.1);
    Executor executor({.world = world});
    for (int step = 0; step < 3; ++step) executor.run(*program, {{"ids", ids}}, {}, scope);
    return scope.find("table")->clone();
  };
  const Tensor expected = train_table(nullptr, ints({1, 2, 2, 3, 3}));
  run_ranks(2, [&](comm::World& world) {
    const Tensor ids = world.rank() == 0 ? ints({1, 2}) : ints({2, 3, 3});
    EXPECT_THAT(train_table(&world, ids), near(expected, 1e-6));
  });
}

TEST(CollectiveRun, TimeSpentWaitingIsCommunication) {
  run_ranks(2, [](comm::World& world) {
    const auto program = build(R"(
      fill_constant() -> x {shape=[2], value=1.0}
      c_allreduce_sum(X=x) -> y
    )");
    Progress progress;
    Executor executor({.progress = &progress, .world = &world});
    Scope scope;
    executor.run(*program, {}, {"y"}, scope);
    const auto kind = static_cast<size_t>(Progress::Kind::kCommunication);
    EXPECT_GT(progress.now().spent[kind].count(), 0);
  });
}

}  // namespace
}  // namespace flotilla

// Whole jobs of ranks that are threads: programs of layers through the pipeline. Ranks train as one
// process with the batches of all, and hold the same bits.

#include <cmath>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/fleet/pipeline.h"
#include "flotilla/layers/functions.h"
#include "flotilla/layers/nn.h"
#include "flotilla/layers/norm.h"
#include "flotilla/layers/optimizer.h"
#include "flotilla/testing/layers.h"
#include "flotilla/testing/ranks.h"

namespace flotilla::fleet {
namespace {

using layers::Variable;
using passes::DistributedStrategy;
using passes::Setting;

constexpr int64_t kBatch = 16;
constexpr int64_t kClasses = 5;

// What is trained: builds into the current programs and returns the loss after minimize().
using Model = std::function<Variable()>;

Variable classify(Variable features) {
  const Variable label = layers::data("label", {-1, 1}, i64);
  return layers::mean(layers::softmax_with_cross_entropy(features, label).loss);
}

Variable mlp() {
  const Variable hidden = layers::fc(layers::data("x", {-1, 6}), 32, {.act = "tanh"});
  const Variable loss = classify(layers::fc(hidden, kClasses));
  layers::Optimizer("momentum", {.learning_rate = 0.1,
                                 .regularization = layers::l2_decay(0.01f),
                                 .clip = layers::clip_by_global_norm(0.5f)})
      .minimize(loss);
  return loss;
}

struct Programs {
  std::shared_ptr<Program> main = std::make_shared<Program>();
  std::shared_ptr<Program> startup = std::make_shared<Program>();
  std::string loss = {};
};

Programs build(const Model& model, int rank, int ranks, const DistributedStrategy& strategy) {
  Programs made;
  const layers::ProgramGuard programs(made.main, made.startup);
  const layers::NameGuard names;
  made.loss = model().name();
  apply_collective(*made.main, *made.startup, {.collective = true, .index = rank, .workers = ranks},
                   strategy);
  return made;
}

// Rows of a batch that are this rank's part.
std::vector<Feed> batch(int step, int part, int parts) {
  const int64_t rows = kBatch / parts;
  const auto cut = [&](const Tensor& whole) {
    const std::vector<double> values = values_of(whole);
    const int64_t width = whole.shape()[1];
    const auto begin = values.begin() + part * rows * width;
    return from_values({begin, begin + rows * width}, {rows, width}, whole.dtype());
  };
  const auto seed = static_cast<uint64_t>(step + 1);
  return {{"x", cut(uniform({kBatch, 6}, -1, 1, seed))},
          {"ids", cut(uniform_ints({kBatch, 2}, 0, 20, seed))},
          {"label", cut(uniform_ints({kBatch, 1}, 0, kClasses, seed))}};
}

// The feeds that the program declares.
std::vector<Feed> known_to(const Program& program, std::vector<Feed> feeds) {
  std::erase_if(feeds, [&](const Feed& feed) {
    return program.global_block().find_var(feed.name) == nullptr;
  });
  return feeds;
}

struct Training {
  std::vector<double> losses = {};
  std::vector<std::vector<double>> params = {};
};

// `pieces`: steps that share a batch, one behind the other.
Training train(const Programs& programs, comm::World* world, int steps, int pieces) {
  const ThreadShare one(1);
  const int rank = world == nullptr ? 0 : world->rank();
  const int ranks = world == nullptr ? 1 : world->size();
  // Each rank draws other values: only rank 0's count.
  Generator generator(static_cast<uint64_t>(rank + 1));
  Executor executor({.generator = &generator, .world = world});
  Scope scope;
  executor.run(*programs.startup, {}, {}, scope);
  Training run;
  for (int step = 0; step < steps * pieces; ++step) {
    const auto feeds = batch(step / pieces, (step % pieces) * ranks + rank, ranks * pieces);
    const auto fetched =
        executor.run(*programs.main, known_to(*programs.main, feeds), {programs.loss}, scope);
    run.losses.push_back(values_of(dense(fetched[0]))[0]);
  }
  for (const Var* param : programs.main->parameters()) {
    run.params.push_back(values_of(*scope.find(param->name)));
  }
  return run;
}

std::vector<Training> train_on(int ranks, const Model& model, const DistributedStrategy& strategy,
                               int steps, int pieces = 1) {
  std::vector<Programs> programs;
  for (int rank = 0; rank < ranks; ++rank) {
    programs.push_back(build(model, rank, ranks, strategy));
  }
  std::vector<Training> runs(static_cast<size_t>(ranks));
  testing::run_ranks(ranks, [&](comm::World& world) {
    const auto rank = static_cast<size_t>(world.rank());
    runs[rank] = train(programs[rank], &world, steps, pieces);
  });
  return runs;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

// Trains on two and four ranks and compares with one process.
void expect_as_alone(const Model& model, const DistributedStrategy& strategy, int pieces = 1) {
  constexpr int kSteps = 30;
  const Training alone = train(build(model, 0, 1, DistributedStrategy()), nullptr, kSteps, 1);
  for (const int ranks : {2, 4}) {
    const std::vector<Training> runs = train_on(ranks, model, strategy, kSteps, pieces);
    for (const Training& run : runs) {
      EXPECT_EQ(run.params, runs[0].params) << "ranks differ, of " << ranks;
    }
    for (size_t step = 0; step < alone.losses.size(); ++step) {
      double mean = 0;
      for (const Training& run : runs) {
        for (int piece = 0; piece < pieces; ++piece) {
          mean += run.losses[step * static_cast<size_t>(pieces) + static_cast<size_t>(piece)];
        }
      }
      mean /= ranks * pieces;
      ASSERT_NEAR(mean, alone.losses[step], 1e-5 * alone.losses[step])
          << "step " << step << " of " << ranks << " ranks";
    }
    for (size_t i = 0; i < alone.params.size(); ++i) {
      EXPECT_LT(distance(runs[0].params[i], alone.params[i]), 1e-5);
    }
  }
}

DistributedStrategy with(std::initializer_list<std::pair<std::string_view, Setting>> settings) {
  DistributedStrategy strategy;
  for (const auto& [name, value] : settings) strategy.set(name, value);
  return strategy;
}

TEST(FleetTraining, RanksTrainAsOneProcess) { expect_as_alone(mlp, DistributedStrategy()); }

TEST(FleetTraining, HowGradientsAreExchangedMakesNoDifference) {
  const auto params = [](const DistributedStrategy& strategy) {
    return train_on(2, mlp, strategy, 10)[0].params;
  };
  const auto expected = params(DistributedStrategy());
  EXPECT_EQ(params(with({{"fuse_all_reduce_ops", false}})), expected);
  EXPECT_EQ(params(with({{"fuse_all_reduce_ops", false}, {"calc_comm_same_stream", true}})),
            expected);
  EXPECT_EQ(params(with({{"last_comm_group_size_MB", 0.0001}})), expected) << "several buckets";
}

TEST(FleetTraining, RowsOfAllRanksReachATable) {
  const Model model = [] {
    const Variable ids = layers::data("ids", {-1, 2}, i64);
    const Variable rows = layers::embedding(ids, 20, 4, {.is_sparse = true});
    const Variable loss = classify(layers::fc(rows, kClasses));
    layers::sgd(0.5).minimize(loss);
    return loss;
  };
  expect_as_alone(model, DistributedStrategy());
}

TEST(FleetTraining, BatchNormSeesTheBatchesOfAllRanks) {
  const Model model = [] {
    const Variable hidden = layers::batch_norm(layers::fc(layers::data("x", {-1, 6}), 8));
    const Variable loss = classify(layers::fc(layers::tanh(hidden), kClasses));
    layers::momentum(0.1).minimize(loss);
    return loss;
  };
  expect_as_alone(model, with({{"sync_batch_norm", true}}));
}

TEST(FleetTraining, MergedGradientsAreThoseOfALargeBatch) {
  expect_as_alone(
      mlp, with({{"gradient_merge", true}, {"gradient_merge_configs", {{"k_steps", 2}}}}), 2);
}

// Averages of parameters are averages of gradients where updates are linear in them.
TEST(FleetTraining, AveragesOfParametersFollowThoseOfGradients) {
  const Model model = [] {
    const Variable loss = classify(layers::fc(layers::data("x", {-1, 6}), kClasses));
    layers::sgd(0.5).minimize(loss);
    return loss;
  };
  expect_as_alone(model, with({{"localsgd", true}}));
}

// Between two exchanges ranks go their own ways.
TEST(FleetTraining, RanksPartAndMeetAgain) {
  const DistributedStrategy strategy =
      with({{"localsgd", true}, {"localsgd_configs", {{"k_steps", 4}}}});
  EXPECT_NE(train_on(2, mlp, strategy, 7)[0].params, train_on(2, mlp, strategy, 7)[1].params);
  const std::vector<Training> runs = train_on(2, mlp, strategy, 8);
  EXPECT_EQ(runs[0].params, runs[1].params);
}

}  // namespace
}  // namespace flotilla::fleet

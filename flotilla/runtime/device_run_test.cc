// Programs on a second device: a fake one, whose memory only its own steps and copies may touch.

#include <gmock/gmock.h>

#include "flotilla/layers/by_rule.h"
#include "flotilla/layers/conv.h"
#include "flotilla/layers/functions.h"
#include "flotilla/layers/nn.h"
#include "flotilla/layers/norm.h"
#include "flotilla/layers/op.h"
#include "flotilla/layers/optimizer.h"
#include "flotilla/op/op_def.h"
#include "flotilla/testing/fake_device.h"
#include "flotilla/testing/layers.h"
#include "flotilla/testing/tensors.h"

namespace flotilla {
namespace {

namespace nn = layers;
using testing::FakeDevice;
using ::testing::HasSubstr;

using Feeds = std::vector<Feed>;

struct Model {
  std::function<nn::Variable()> build;  // in the current programs; the loss
  std::function<Feeds(int step)> feeds;
};

Tensor floats(const std::string& key, int step, const Shape& shape) {
  const auto values = nn::uniform_by_rule(fmt::format("{}/{}", key, step), shape.numel(), -1, 1);
  return Tensor::of<float>(values, shape);
}

Tensor integers(const std::string& key, int step, const Shape& shape, int64_t most) {
  const auto values = nn::integers_by_rule(fmt::format("{}/{}", key, step), shape.numel(), 0, most);
  return Tensor::of<int64_t>(values, shape);
}

Model linear_regression() {
  return {[] {
            const nn::Variable x = nn::data("x", {-1, 13}), y = nn::data("y", {-1, 1});
            const nn::Variable loss = nn::mean(nn::square_error_cost(nn::fc(x, 1), y));
            nn::sgd(0.01).minimize(loss);
            return loss;
          },
          [](int step) {
            return Feeds{{"x", floats("x", step, {8, 13})}, {"y", floats("y", step, {8, 1})}};
          }};
}

Model mlp() {
  return {[] {
            const nn::Variable x = nn::data("x", {-1, 20}), y = nn::data("y", {-1, 1}, i64);
            const nn::Variable hidden = nn::fc(nn::fc(x, 32, {.act = "tanh"}), 16, {.act = "relu"});
            const nn::Variable loss =
                nn::mean(nn::softmax_with_cross_entropy(nn::fc(hidden, 5), y).loss);
            nn::adam(0.01).minimize(loss);
            return loss;
          },
          [](int step) {
            return Feeds{{"x", floats("x", step, {8, 20})}, {"y", integers("y", step, {8, 1}, 5)}};
          }};
}

nn::Variable conv_bn(nn::Variable x, int64_t filters, const std::string& act) {
  x = nn::conv2d(x, filters, 3, {.padding = 1, .bias = nn::kNoBias});
  return nn::batch_norm(x, {.act = act});
}

Model residual() {
  return {[] {
            const nn::Variable x = nn::data("x", {-1, 3, 12, 12}), y = nn::data("y", {-1, 1}, i64);
            nn::Variable h = conv_bn(x, 20, "relu");
            h = nn::elementwise("elementwise_add", h, conv_bn(conv_bn(h, 20, "relu"), 20, ""),
                                {.act = "relu"});
            h = nn::pool2d(h, {.size = 2, .type = "max", .stride = 2});
            const nn::Variable loss =
                nn::mean(nn::softmax_with_cross_entropy(nn::fc(h, 5), y).loss);
            nn::momentum(0.01, 0.9, nn::l2_decay(1e-4f)).minimize(loss);
            return loss;
          },
          [](int step) {
            return Feeds{{"x", floats("x", step, {4, 3, 12, 12})},
                         {"y", integers("y", step, {4, 1}, 5)}};
          }};
}

Model wide_deep() {
  return {[] {
            const nn::Variable dense = nn::data("dense", {-1, 13});
            const nn::Variable label = nn::data("label", {-1, 1}, i64);
            nn::Variables features;
            for (int slot = 0; slot < 4; ++slot) {
              const nn::Variable ids = nn::data(fmt::format("C{}", slot), {-1, 1}, i64);
              const nn::Variable row =
                  nn::embedding(ids, 50, 10, {.is_sparse = true, .weight = {.name = "table"}});
              features.push_back(nn::reshape(row, {-1, 10}));
            }
            features.push_back(dense);
            const nn::Variable deep = nn::fc(nn::concat(features, 1), 32, {.act = "relu"});
            const nn::Variable chance = nn::sigmoid(nn::add(nn::fc(dense, 1), nn::fc(deep, 1)));
            const nn::Variable loss = nn::mean(nn::log_loss(chance, nn::cast(label, f32)));
            nn::auc(nn::concat({1 - chance, chance}, 1), label);
            nn::sgd(0.1).minimize(loss);
            return loss;
          },
          [](int step) {
            Feeds feeds = {{"dense", floats("dense", step, {8, 13})},
                           {"label", integers("label", step, {8, 1}, 2)}};
            for (int slot = 0; slot < 4; ++slot) {
              const std::string name = fmt::format("C{}", slot);
              feeds.push_back({name, integers(name, step, {8, 1}, 50)});
            }
            return feeds;
          }};
}

// Clicks on what sequences of words lead to; the number of words changes with each batch.
Model clicks() {
  return {[] {
            const nn::Variable words = nn::data("words", {-1, 1}, i64, {.lod_level = 1});
            const nn::Variable label = nn::data("label", {-1, 1}, i64);
            const nn::Variable rows = nn::embedding(words, 50, 8, {.is_sparse = true, .v1 = true});
            const nn::Variable sums =
                nn::op("sequence_pool", {{"X", {rows}}}, {{"pooltype", std::string("SUM")}});
            const nn::Variable logits = nn::fc(nn::fc(sums, 16, {.act = "relu"}), 2);
            const nn::Variable loss = nn::mean(nn::softmax_with_cross_entropy(logits, label).loss);
            nn::Optimizer("adagrad", {.learning_rate = 0.1}).minimize(loss);
            return loss;
          },
          [](int step) {
            const int64_t count = 9 + step;
            return Feeds{
                {"words", with_lod(integers("words", step, {count, 1}, 50), {{0, 2, 5, count}})},
                {"label", integers("label", step, {3, 1}, 2)}};
          }};
}

// A model in training, on the CPU alone or with a device.
class Training {
 public:
  explicit Training(const Model& model, Backend* device = nullptr)
      : model_(model), executor_({.device = device, .generator = &generator_}) {
    const nn::ProgramGuard programs(main_, startup_);
    const nn::NameGuard names;
    loss_ = model.build().name();
    executor_.run(*startup_, {}, {}, scope_);
  }

  Tensor run(int number) {
    return dense(executor_.run(*main_, model_.feeds(number), {loss_}, scope_).front());
  }
  // The loss of a step, and all variables after it.
  std::vector<Tensor> step(int number) {
    std::vector<Tensor> found{run(number)};
    for (const std::string& name : scope_.names()) found.push_back(scope_.find(name)->plain());
    return found;
  }
  Plan& plan() { return executor_.plan(*main_, model_.feeds(0), {loss_}, scope_); }

 private:
  const Model model_;
  std::shared_ptr<Program> main_ = std::make_shared<Program>();
  std::shared_ptr<Program> startup_ = std::make_shared<Program>();
  Generator generator_{1};
  Executor executor_;
  Scope scope_;
  std::string loss_;
};

std::set<std::string, std::less<>> all_but(const std::set<std::string>& left_out) {
  std::set<std::string, std::less<>> types;
  for (const std::string& type : op_types()) {
    if (!left_out.contains(type)) types.insert(type);
  }
  return types;
}

// Steps on the device give the bits that they give on the CPU.
void expect_same_training(const Model& model, FakeDevice& device) {
  Training on_cpu(model), on_device(model, &device);
  for (int step = 0; step < 5; ++step) {
    const std::vector<Tensor> expected = on_cpu.step(step), found = on_device.step(step);
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_THAT(found[i], equal_to(expected[i])) << "result " << i << " of step " << step;
    }
  }
  const PlanStats stats = on_device.plan().stats();
  EXPECT_GT(stats.device_bytes, 0);
  EXPECT_GT(stats.copies, 0) << "feeds go up, the loss comes down";
  EXPECT_GT(device.counts().steps, 0);
  EXPECT_EQ(on_cpu.plan().stats().copies, 0);
}

const std::map<std::string, Model (*)()> kModels = {{"linear_regression", linear_regression},
                                                    {"mlp", mlp},
                                                    {"residual", residual},
                                                    {"wide_deep", wide_deep},
                                                    {"clicks", clicks}};

class DeviceRun : public ::testing::TestWithParam<std::string> {};

TEST_P(DeviceRun, EverythingOnTheDevice) {
  FakeDevice device(all_but({"auc"}));
  const Model model = kModels.at(GetParam())();
  expect_same_training(model, device);
  Training training(model, &device);
  const PlanStats& stats = training.plan().stats();
  EXPECT_GT(stats.kept_there, 0);
  EXPECT_GT(stats.segments, 0);
  const FakeDevice::Counts before = device.counts();
  EXPECT_GT(before.replays, 0) << "the first run goes step by step, the others do not";
  // Parameters stay where they are: only feeds go up and the loss comes down.
  training.run(0);
  training.run(0);
  const FakeDevice::Counts counts = device.counts();
  training.run(0);
  EXPECT_EQ(device.counts().writes - counts.writes + device.counts().reads - counts.reads,
            stats.copies);
}

TEST_P(DeviceRun, WhatItDoesNotRunStaysOnTheCpu) {
  // Something of each kind: layers, their gradients, losses, updates, sparse rows.
  FakeDevice device(all_but({"auc", "relu", "tanh_grad", "fc", "mean", "conv2d_grad", "sgd",
                             "fused_momentum", "fused_sgd", "lookup_table_v2_grad", "sequence_pool",
                             "adagrad", "fused_bn_act", "cross_entropy_grad"}));
  expect_same_training(kModels.at(GetParam())(), device);
}

TEST_P(DeviceRun, OnlyUpdatesOnTheDevice) {
  FakeDevice device({"sgd", "fused_sgd", "fused_adam", "fused_momentum", "momentum", "adagrad",
                     "fused_adagrad", "lookup_table", "lookup_table_v2"});
  expect_same_training(kModels.at(GetParam())(), device);
}

INSTANTIATE_TEST_SUITE_P(Models, DeviceRun,
                         ::testing::Values("linear_regression", "mlp", "residual", "wide_deep",
                                           "clicks"),
                         [](const auto& info) { return info.param; });

TEST(DeviceRunPlan, SaysWhatIsCopiedAndWhatRunsWhere) {
  const auto program = parse(R"(
    var x f32[-1, 2] data
    var a f32[-1, 2]
    var b f32[-1, 2]
    var c f32[-1, 2]
    scale(X=x) -> Out=a {scale=2.0}
    relu(X=a) -> Out=b
    scale(X=b) -> Out=c {scale=3.0}
  )");
  FakeDevice device({"scale"});
  Executor executor({.device = &device});
  Scope scope;
  const Feeds feeds = {{"x", tensor({{1, -2}})}};
  EXPECT_THAT(dense(executor.run(*program, feeds, {"c"}, scope)[0]), equal_to({6, 0}));
  const Plan& plan = executor.plan(*program, feeds, {"c"}, scope);
  EXPECT_EQ(plan.stats().copies, 4) << "x up, a down, b up, c down";
  EXPECT_EQ(plan.stats().reorders, 0);
  EXPECT_THAT(plan.stats().on_cpu, ::testing::ElementsAre("relu"));
  EXPECT_THAT(plan.print(), HasSubstr("on the CPU: relu\n"));
  EXPECT_THAT(plan.print(), HasSubstr("(x f32[1, 2] fake @"));
}

TEST(DeviceRunPlan, LoopsDecideOnTheHost) {
  const auto program = parse(R"(
    var i f32[1]
    var n f32[1]
    var go bool[1]
    var y f32[2]
    var x f32[2] data
    fill_constant() -> Out=i {shape=[1L], value=0.0, dtype=5}
    fill_constant() -> Out=n {shape=[1L], value=3.0, dtype=5}
    scale(X=x) -> Out=y {scale=1.0}
    less_than(X=i, Y=n) -> Out=go
    while(Condition=go) {sub_block=block 1}
    block 1 in 0 {
      scale(X=y) -> Out=y {scale=2.0}
      increment(X=i) -> Out=i {step=1.0}
      less_than(X=i, Y=n) -> Out=go
    }
  )");
  FakeDevice device(all_but({}));
  Executor executor({.device = &device});
  Scope scope;
  EXPECT_THAT(dense(executor.run(*program, {{"x", tensor({1, 2})}}, {"y"}, scope)[0]),
              equal_to({8, 16}));
}

TEST(DeviceRunPlan, DynamicShapesStayOnTheHost) {
  const auto program = parse(R"(
    var x f32[-1] data
    var twice f32[-1]
    var at i64[-1, 1]
    var picked f32[-1]
    scale(X=x) -> Out=twice {scale=2.0}
    where_index(Condition=twice) -> Out=at
    gather(X=twice, Index=at) -> Out=picked
  )");
  FakeDevice device(all_but({}));
  Executor executor({.device = &device});
  Scope scope;
  const auto run = [&](std::initializer_list<double> values) {
    return dense(executor.run(*program, {{"x", tensor(values)}}, {"picked"}, scope)[0]);
  };
  EXPECT_THAT(run({0, 3, 0, 1}), equal_to({6, 2}));
  EXPECT_THAT(run({1, 0, 0, 0}), equal_to({2}));
}

TEST(DeviceRunDeathTest, TheHostCannotTouchItsMemory) {
  FakeDevice device({});
  const auto buffer = device.allocate(64);
  EXPECT_DEATH(*static_cast<volatile char*>(buffer->data()) = 1, "");
}

}  // namespace
}  // namespace flotilla

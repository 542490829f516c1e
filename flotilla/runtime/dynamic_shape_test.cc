// Programs whose batch is known only when they run: all that follows is prepared step by step, and
// must come out as in a program that is fed that batch.

#include <gmock/gmock.h>

#include "flotilla/layers/by_rule.h"
#include "flotilla/layers/conv.h"
#include "flotilla/layers/functions.h"
#include "flotilla/layers/nn.h"
#include "flotilla/layers/norm.h"
#include "flotilla/layers/op.h"
#include "flotilla/layers/optimizer.h"
#include "flotilla/testing/layers.h"
#include "flotilla/testing/tensors.h"

namespace flotilla {
namespace {

namespace nn = layers;

constexpr int64_t kImage = 12;

Tensor images(int64_t count, int step) {
  const Shape shape = {count, 3, kImage, kImage};
  const std::string key = fmt::format("images/{}", step);
  return Tensor::of<float>(nn::uniform_by_rule(key, shape.numel(), -1, 1), shape);
}

// Those of `x` for which `mask` is not zero.
Tensor picked(const Tensor& x, const std::vector<float>& mask) {
  std::vector<float> kept;
  const int64_t size = x.numel() / x.shape()[0];
  int64_t count = 0;
  for (size_t i = 0; i < mask.size(); ++i) {
    if (mask[i] == 0) continue;
    const float* image = x.data<float>() + static_cast<int64_t>(i) * size;
    kept.insert(kept.end(), image, image + size);
    ++count;
  }
  return Tensor::of<float>(kept, {count, 3, kImage, kImage});
}

// A program that trains a small convolution net, in a scope of its own.
class Net {
 public:
  explicit Net(bool masked) {
    const nn::ProgramGuard programs(main_, startup_);
    const nn::NameGuard names;
    nn::Variable x = nn::data("x", {-1, 3, kImage, kImage});
    if (masked) {
      const nn::Variable mask = nn::data("mask", {-1});
      const nn::Variable at = nn::op("where_index", {{"Condition", {mask}}});
      x = nn::op("gather", {{"X", {x}}, {"Index", {at}}});
    }
    nn::Variable y = nn::conv2d(x, 20, 3, {.padding = 1, .bias = nn::kNoBias});
    y = nn::batch_norm(y, {.act = "relu"});
    y = nn::pool2d(y, {.size = 2, .type = "max", .stride = 2});
    y = nn::conv2d(y, 8, 3, {.padding = 1, .act = "relu"});
    y = nn::pool2d(y, {.size = 2, .type = "avg", .stride = 2});
    hidden_ = y.name();
    const nn::Variable loss = nn::mean(nn::square(nn::fc(y, 4)));
    loss_ = loss.name();
    nn::momentum(0.05, 0.9).minimize(loss);
    executor_.run(*startup_, {}, {}, scope_);
  }

  // The loss, what the last pool gives, and all parameters afterwards.
  std::vector<Tensor> step(const std::vector<Feed>& feeds) {
    std::vector<Tensor> found;
    for (const FetchedValue& value : executor_.run(*main_, feeds, {loss_, hidden_}, scope_)) {
      found.push_back(dense(value));
    }
    for (const std::string& name : scope_.names()) found.push_back(scope_.find(name)->plain());
    return found;
  }

  int64_t plans_made() const { return executor_.plans_made(); }

 private:
  std::shared_ptr<Program> main_ = std::make_shared<Program>();
  std::shared_ptr<Program> startup_ = std::make_shared<Program>();
  Generator generator_{1};
  Executor executor_{{.generator = &generator_}};
  Scope scope_;
  std::string loss_, hidden_;
};

TEST(DynamicShapes, ConvolutionsTrainAsWithTheBatchFed) {
  Net masked(true), fed(false);
  const std::vector<std::vector<float>> masks = {
      {1, 0, 1, 1, 0, 1}, {0, 0, 1, 0, 0, 0}, {1, 1, 0, 0, 1, 1}, {1, 1, 1, 1, 1, 1}};
  for (size_t step = 0; step < masks.size(); ++step) {
    const Tensor x = images(6, static_cast<int>(step));
    const Tensor mask = Tensor::of<float>(masks[step], {6});
    const std::vector<Tensor> found = masked.step({{"x", x}, {"mask", mask}});
    const std::vector<Tensor> expected = fed.step({{"x", picked(x, masks[step])}});
    ASSERT_EQ(found.size(), expected.size());
    for (size_t i = 0; i < found.size(); ++i) {
      EXPECT_THAT(found[i], equal_to(expected[i])) << "result " << i << " of step " << step;
    }
  }
  EXPECT_EQ(masked.plans_made(), 2) << "startup, and one for all masks";
  EXPECT_EQ(fed.plans_made(), 4) << "startup, and one for each number of images";
}

}  // namespace
}  // namespace flotilla

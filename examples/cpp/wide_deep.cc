// Wide & Deep on click logs: 13 dense features, 26 sparse ones in a shared table, as in Paddle's
// parameter-server quick start.
//
//   example_wide_deep --steps 20 --init 1

#include <cmath>

#include "example.h"

namespace nn = flotilla::layers;

int main(int argc, char** argv) {
  auto options = example::parse(
      argc, argv, {{"--steps", 20}, {"--init", 0}, {"--batch", 32}, {"--rows", 1000001}});
  const int64_t batch = options["--batch"], rows = options["--rows"], width = 10;

  const nn::Variable dense = nn::data("dense_input", {-1, 13});
  const nn::Variable label = nn::data("label", {-1, 1}, flotilla::i64);
  nn::Variables features;
  for (int slot = 1; slot <= 26; ++slot) {
    const nn::Variable ids =
        nn::data(fmt::format("C{}", slot), {-1, 1}, flotilla::i64, {.lod_level = 1});
    const nn::ParamAttr table = {.name = "SparseFeatFactors", .initializer = nn::uniform()};
    const nn::Variable row = nn::embedding(ids, rows, width, {.is_sparse = true, .weight = table});
    features.push_back(nn::reshape(row, {-1, width}));
  }
  features.push_back(dense);

  nn::Variable deep = nn::concat(features, 1);
  for (int layer = 0; layer < 3; ++layer) {
    const nn::ParamAttr weight = {.initializer = nn::normal(0, 1 / std::sqrt(400.0))};
    deep = nn::fc(deep, 400, {.weight = weight, .act = "relu"});
  }
  const nn::ParamAttr weight = {.initializer = nn::truncated_normal(0, 1 / std::sqrt(13.0))};
  const nn::Variable wide = nn::fc(dense, 1, {.weight = weight});
  const nn::Variable chance = nn::sigmoid(nn::add(wide, nn::fc(deep, 1)));
  const nn::Variable loss = nn::mean(nn::log_loss(chance, nn::cast(label, flotilla::f32)));

  const nn::Variable both = nn::concat({1 - chance, chance}, 1);
  nn::auc(both, label, {.num_thresholds = 1 << 12, .slide_steps = 20});
  nn::sgd(0.0001).minimize(loss);

  example::train(loss, options["--steps"], options["--init"], [&](int64_t step) {
    std::vector<flotilla::Feed> feeds = {
        {"dense_input", example::uniform(fmt::format("dense/{}", step), {batch, 13}, 0, 1)},
        {"label", example::integers(fmt::format("label/{}", step), {batch, 1}, 0, 2)}};
    for (int slot = 1; slot <= 26; ++slot) {
      const std::string name = fmt::format("C{}", slot);
      feeds.push_back(
          {name, example::integers(fmt::format("{}/{}", name, step), {batch, 1}, 0, rows)});
    }
    return feeds;
  });
}

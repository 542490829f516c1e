// Recognises digits from one rank's share of the images: one of --ranks processes, each with its
// own part of an order that all of them agree on, and a new order in every epoch.
//
//   example_sharded_digits --steps 20 --init 1 --rank 0 --ranks 4

#include "digits.h"

namespace data = flotilla::data;
namespace nn = flotilla::layers;

int main(int argc, char** argv) {
  auto options = example::parse(
      argc, argv, {{"--steps", 20}, {"--init", 0}, {"--batch", 64}, {"--rank", 0}, {"--ranks", 1}});

  const nn::Variable x = nn::data("x", {-1, 1, 28, 28});
  const nn::Variable y = nn::data("y", {-1, 1}, flotilla::i64);
  const nn::Variable hidden = nn::fc(nn::reshape(x, {-1, 784}), 128, {.act = "tanh"});
  const nn::Variable prediction = nn::fc(hidden, 10, {.act = "softmax"});
  const nn::Variable loss = nn::mean(nn::cross_entropy(prediction, y));
  nn::adam(0.001).minimize(loss);

  const data::Columns digits = example::digit_columns();
  data::ShardOptions share = {.rank = options["--rank"],
                              .ranks = options["--ranks"],
                              .batch_size = options["--batch"],
                              .drop_last = true,
                              .shuffle = true,
                              .seed = 1};
  const data::LoaderOptions loading = {.batch_size = share.batch_size, .drop_last = true};
  std::optional<data::Loader> loader;
  const auto next = [&](int64_t) -> std::vector<example::Feed> {
    std::optional<data::Batch> batch;
    while (!loader || !(batch = loader->next())) {
      const data::SampleShard mine = shard_samples(samples_of(digits), share);
      say_once(mine.counts, share);
      loader.emplace(chosen(digits, mine.indices), loading);
      ++share.epoch;
    }
    return {{"x", (*batch)[0]}, {"y", (*batch)[1]}};
  };
  example::train(loss, options["--steps"], options["--init"], next);
}

// Reads sequences of words of different lengths with an LSTM, and says whether most of a sequence
// comes from the first half of the vocabulary.
//
//   example_lstm --steps 20 --init 1

#include <algorithm>

#include "example.h"

namespace nn = flotilla::layers;

constexpr int64_t kWords = 100, kWidth = 16;

struct Sequences {
  flotilla::Tensor words;
  flotilla::Tensor labels;
};

Sequences sequences(int64_t step, int64_t batch) {
  const auto lengths = nn::integers_by_rule(fmt::format("lengths/{}", step), batch, 1, 10);
  std::vector<int64_t> begins = {0};
  for (const int64_t length : lengths) begins.push_back(begins.back() + length);
  const auto words = nn::integers_by_rule(fmt::format("words/{}", step), begins.back(), 0, kWords);
  std::vector<int64_t> labels;
  for (int64_t i = 0; i < batch; ++i) {
    const auto begin = words.begin() + begins[static_cast<size_t>(i)];
    const int64_t length = lengths[static_cast<size_t>(i)];
    const auto low = std::count_if(begin, begin + length, [](int64_t w) { return w < kWords / 2; });
    labels.push_back(2 * low > length ? 1 : 0);
  }
  Sequences made = {flotilla::Tensor::of<int64_t>(words, {begins.back(), 1}),
                    flotilla::Tensor::of<int64_t>(labels, {batch, 1})};
  made.words.set_lod({begins});
  return made;
}

int main(int argc, char** argv) {
  auto options = example::parse(argc, argv, {{"--steps", 20}, {"--init", 0}, {"--batch", 32}});

  const nn::Variable words = nn::data("words", {-1, 1}, flotilla::i64, {.lod_level = 1});
  const nn::Variable label = nn::data("label", {-1, 1}, flotilla::i64);
  const nn::Variable seen = nn::embedding(words, kWords, kWidth, {.v1 = true});
  const nn::Variable gates = nn::fc(seen, 4 * kWidth, {.bias = nn::kNoBias});
  const nn::Variable hidden = nn::dynamic_lstm(gates, 4 * kWidth).hidden;
  const nn::Variable mean = nn::op("sequence_pool", {{"X", hidden}}, {{"pooltype", "AVERAGE"}});
  const nn::Variable prediction = nn::fc(mean, 2, {.act = "softmax"});
  const nn::Variable loss = nn::mean(nn::cross_entropy(prediction, label));
  nn::adam(0.05).minimize(loss);

  example::train(loss, options["--steps"], options["--init"], [&](int64_t step) {
    const Sequences made = sequences(step, options["--batch"]);
    return std::vector<flotilla::Feed>{{"words", made.words}, {"label", made.labels}};
  });
}

// Tags the words of sequences: whether a word, and the one before it, comes from the first half of
// the vocabulary. Filters see a word with its neighbours, a chain (CRF) which tags follow others.
//
//   example_tagger --steps 20 --init 1

#include "example.h"

namespace nn = flotilla::layers;

constexpr int64_t kWords = 100, kWidth = 16, kTags = 4;

struct Sequences {
  flotilla::Tensor words;
  flotilla::Tensor tags;
};

Sequences sequences(int64_t step, int64_t batch) {
  const auto lengths = nn::integers_by_rule(fmt::format("lengths/{}", step), batch, 1, 10);
  std::vector<int64_t> begins = {0};
  for (const int64_t length : lengths) begins.push_back(begins.back() + length);
  const auto words = nn::integers_by_rule(fmt::format("words/{}", step), begins.back(), 0, kWords);
  std::vector<int64_t> tags;
  for (const int64_t length : lengths) {
    bool before = false;
    for (int64_t i = 0; i < length; ++i) {
      const bool low = words[tags.size()] < kWords / 2;
      tags.push_back((low ? 1 : 0) + (before ? 2 : 0));
      before = low;
    }
  }
  Sequences made = {flotilla::Tensor::of<int64_t>(words, {begins.back(), 1}),
                    flotilla::Tensor::of<int64_t>(tags, {begins.back(), 1})};
  made.words.set_lod({begins});
  made.tags.set_lod({begins});
  return made;
}

int main(int argc, char** argv) {
  auto options = example::parse(argc, argv, {{"--steps", 20}, {"--init", 0}, {"--batch", 32}});

  const nn::Variable words = nn::data("words", {-1, 1}, flotilla::i64, {.lod_level = 1});
  const nn::Variable tags = nn::data("tags", {-1, 1}, flotilla::i64, {.lod_level = 1});
  const nn::Variable seen = nn::embedding(words, kWords, kWidth, {.v1 = true});
  const nn::Variable hidden = nn::sequence_conv(seen, kWidth, {.act = "tanh"});
  const nn::Variable scores = nn::fc(hidden, kTags);
  const nn::Variable loss = nn::mean(nn::linear_chain_crf(scores, tags));
  nn::adam(0.05).minimize(loss);

  example::train(loss, options["--steps"], options["--init"], [&](int64_t step) {
    const Sequences made = sequences(step, options["--batch"]);
    return std::vector<flotilla::Feed>{{"words", made.words}, {"tags", made.tags}};
  });
}

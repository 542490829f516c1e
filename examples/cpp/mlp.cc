// Recognises digits with two hidden layers of 128, as in Paddle's Fleet quick start.
//
//   example_mlp --steps 20 --init 1

#include "digits.h"

namespace nn = flotilla::layers;

int main(int argc, char** argv) {
  auto options = example::parse(argc, argv, {{"--steps", 20}, {"--init", 0}, {"--batch", 64}});

  const nn::Variable x = nn::data("x", {-1, 1, 28, 28});
  const nn::Variable y = nn::data("y", {-1, 1}, flotilla::i64);
  nn::Variable hidden = nn::fc(nn::reshape(x, {-1, 784}), 128, {.act = "tanh"});
  hidden = nn::fc(hidden, 128, {.act = "tanh"});
  const nn::Variable prediction = nn::fc(hidden, 10, {.act = "softmax"});
  const nn::Variable loss = nn::mean(nn::cross_entropy(prediction, y));
  nn::adam(0.001).minimize(loss);

  const example::Digits digits(options["--batch"]);
  example::train(loss, options["--steps"], options["--init"],
                 [&](int64_t step) { return digits.feeds(step); });
}

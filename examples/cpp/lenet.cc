// Recognises digits with two convolutions and two fully connected layers.
//
//   example_lenet --steps 20 --init 1

#include "digits.h"

namespace nn = flotilla::layers;

nn::Variable conv_bn_pool(nn::Variable x, int64_t filters, int64_t size, int64_t padding) {
  x = nn::conv2d(x, filters, size, {.padding = padding, .bias = nn::kNoBias});
  x = nn::batch_norm(x, {.act = "relu"});
  return nn::pool2d(x, {.size = 2, .type = "max", .stride = 2});
}

int main(int argc, char** argv) {
  auto options = example::parse(argc, argv, {{"--steps", 20}, {"--init", 0}, {"--batch", 16}});

  const nn::Variable x = nn::data("x", {-1, 1, 28, 28});
  const nn::Variable y = nn::data("y", {-1, 1}, flotilla::i64);
  nn::Variable hidden = conv_bn_pool(conv_bn_pool(x, 6, 3, 1), 16, 5, 0);
  hidden = nn::fc(hidden, 120, {.act = "relu"});
  const nn::Variable logits = nn::fc(hidden, 10);
  const nn::Variable loss = nn::mean(nn::softmax_with_cross_entropy(logits, y).loss);
  nn::adam(0.001).minimize(loss);

  const example::Digits digits(options["--batch"]);
  example::train(loss, options["--steps"], options["--init"],
                 [&](int64_t step) { return digits.feeds(step); });
}

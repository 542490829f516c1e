// Fits house prices with a line: 13 features, one output, squared error, SGD.
//
//   example_linear_regression --steps 20 --init 1

#include "example.h"

namespace nn = flotilla::layers;

int main(int argc, char** argv) {
  auto options = example::parse(argc, argv, {{"--steps", 20}, {"--init", 0}});

  const nn::Variable x = nn::data("x", {-1, 13});
  const nn::Variable y = nn::data("y", {-1, 1});
  const nn::Variable predicted = nn::fc(x, 1);
  const nn::Variable loss = nn::mean(nn::square_error_cost(predicted, y));
  nn::sgd(0.01).minimize(loss);

  example::train(loss, options["--steps"], options["--init"], [](int64_t step) {
    return std::vector<flotilla::Feed>{
        {"x", example::uniform(fmt::format("x/{}", step), {20, 13}, -1, 1)},
        {"y", example::uniform(fmt::format("y/{}", step), {20, 1}, 5, 50)}};
  });
}

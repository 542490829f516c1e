// A net whose depth each batch chooses: a loop applies one layer as often as it is told. Large
// errors count by their size, small ones squared.
//
//   example_control_flow --steps 20 --init 1

#include "example.h"

namespace nn = flotilla::layers;

int main(int argc, char** argv) {
  auto options = example::parse(argc, argv, {{"--steps", 20}, {"--init", 0}, {"--batch", 32}});
  const int64_t batch = options["--batch"];

  const nn::Variable x = nn::data("x", {-1, 8});
  const nn::Variable y = nn::data("y", {-1, 1});
  const nn::Variable depth = nn::data("depth", {1}, flotilla::i64);
  const nn::Variable first = nn::fc(x, 16, {.act = "tanh"});
  const nn::Variables last =
      nn::while_loop([&](const nn::Variables& v) { return v[0] < depth; },
                     [&](const nn::Variables& v) {
                       return nn::Values{v[0] + 1, nn::fc({v[1], x}, 16, {.act = "tanh"})};
                     },
                     {nn::full({1}, 0, flotilla::i64), first});
  const nn::Variable error = nn::abs(nn::fc(last[1], 1) - y);
  const nn::Variable loss = nn::cond(
      nn::mean(error) > 1, [&] { return nn::mean(error); },
      [&] { return nn::mean(nn::square(error)); })[0];
  nn::adam(0.05).minimize(loss);

  example::train(loss, options["--steps"], options["--init"], [&](int64_t step) {
    return std::vector<flotilla::Feed>{
        {"x", example::uniform(fmt::format("x/{}", step), {batch, 8}, -1, 1)},
        {"y", example::uniform(fmt::format("y/{}", step), {batch, 1}, 1, 2)},
        {"depth", example::integers(fmt::format("depth/{}", step), {1}, 0, 5)}};
  });
}

// The network of mlp.cc on as many workers as fleetrun starts: each takes its rows of every batch,
// and gradients are averaged. Start it alone, or with
//
//   fleetrun --nproc_per_node=2 example_collective_mlp --steps 20

#include "digits.h"

namespace job = flotilla::job;
namespace nn = flotilla::layers;

int main(int argc, char** argv) {
  auto options = example::parse(argc, argv, {{"--steps", 20}, {"--init", 0}, {"--batch", 64}});
  job::Fleet fleet(flotilla::fleet::role_from_environment(/*collective=*/true));
  const int64_t workers = fleet.role().workers;

  const nn::Variable x = nn::data("x", {-1, 1, 28, 28});
  const nn::Variable y = nn::data("y", {-1, 1}, flotilla::i64);
  nn::Variable hidden = nn::fc(nn::reshape(x, {-1, 784}), 128, {.act = "tanh"});
  hidden = nn::fc(hidden, 128, {.act = "tanh"});
  const nn::Variable prediction = nn::fc(hidden, 10, {.act = "softmax"});
  const nn::Variable loss = nn::mean(nn::cross_entropy(prediction, y));
  nn::Optimizer adam = nn::adam(0.001);
  fleet.minimize(adam, loss);

  flotilla::Session session(1, fleet);
  session.run(nn::default_startup_program());
  if (options["--init"] != 0) {
    example::set_parameters_by_rule(session, nn::default_main_program());
  }
  // Worker r of n has batches r, r + n, r + 2n, ... of a smaller size: together one large batch.
  const example::Digits digits(options["--batch"] / workers);
  for (int64_t step = 0; step < options["--steps"]; ++step) {
    const auto feeds = digits.feeds(step * workers + fleet.role().index);
    double value = item(session.run(nn::default_main_program(), feeds, {loss})[0]);
    fleet.world().queue().run([&] {
      fleet.world().ring(0).all_reduce(&value, &value, 1, flotilla::f64,
                                       flotilla::comm::Reduce::kAverage);
    });
    if (fleet.role().is_first_worker()) fmt::print("{:.9g}\n", value);
  }
}

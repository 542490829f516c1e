// The network of mlp.cc with its parameters on servers: workers take their rows of every batch, and
// servers average the gradients. Start it alone, or with
//
//   fleetrun --server_num=1 --worker_num=2 example_served_mlp --steps 20
//
// With --save 1 the first worker writes the model to the folder "served_mlp".

#include "digits.h"

namespace job = flotilla::job;
namespace nn = flotilla::layers;

int main(int argc, char** argv) {
  auto options =
      example::parse(argc, argv, {{"--steps", 20}, {"--init", 0}, {"--batch", 64}, {"--save", 0}});
  job::Fleet fleet(flotilla::fleet::role_from_environment(/*collective=*/false));
  if (fleet.role().is_server()) return fleet.run_server();
  const int64_t workers = fleet.role().workers;

  const nn::Variable x = nn::data("x", {-1, 1, 28, 28});
  const nn::Variable y = nn::data("y", {-1, 1}, flotilla::i64);
  nn::Variable hidden = nn::fc(nn::reshape(x, {-1, 784}), 128, {.act = "tanh"});
  hidden = nn::fc(hidden, 128, {.act = "tanh"});
  const nn::Variable prediction = nn::fc(hidden, 10, {.act = "softmax"});
  const nn::Variable loss = nn::mean(nn::cross_entropy(prediction, y));
  flotilla::passes::DistributedStrategy strategy;
  strategy.set("a_sync", false);
  nn::Optimizer adam = nn::adam(0.001);
  fleet.minimize(adam, loss, strategy);

  flotilla::Session session(1, fleet);
  session.run(nn::default_startup_program());
  if (options["--init"] != 0) {
    example::set_parameters_by_rule(session, nn::default_main_program());
  }
  fleet.init_worker(session.scope());
  // Worker r of n has batches r, r + n, r + 2n, ... of a smaller size: together one large batch.
  const example::Digits digits(options["--batch"] / workers);
  for (int64_t step = 0; step < options["--steps"]; ++step) {
    const auto feeds = digits.feeds(step * workers + fleet.role().index);
    const double value = item(session.run(nn::default_main_program(), feeds, {loss})[0]);
    if (fleet.role().is_first_worker()) fmt::print("{:.9g}\n", value);
  }
  if (options["--save"] != 0 && fleet.role().is_first_worker()) {
    fleet.save_persistables("served_mlp", nn::default_main_program(), session.scope());
  }
  fleet.stop_worker();
}

// benchmarks/predictor.cc
//
// What a call of a predictor costs beside the steps of its plan, on one thread: both run the model
// that was saved at PREFIX, on one random input of each batch size, round by round in turn. Prints
// one JSON line per batch size; predicting.py shows them.
//
//   bench_predictor PREFIX ROUNDS

#include "flotilla/runtime/predictor.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/plan/plan.h"
#include "flotilla/runtime/model_io.h"

namespace flotilla {
namespace {

constexpr int kCalls = 200;  // in a round

class Store final : public VariableStore {
 public:
  explicit Store(Scope& scope) : scope_(scope) {}
  Tensor* find(std::string_view name) override { return scope_.find(name); }
  Tensor& make(std::string_view name) override { return scope_.var(name); }

 private:
  Scope& scope_;
};

template <typename Call>
double microseconds(const Call& call) {
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < kCalls; ++i) call();
  const std::chrono::duration<double, std::micro> spent = std::chrono::steady_clock::now() - begin;
  return spent.count() / kCalls;
}

Tensor random_input(const Var& var, int64_t batch) {
  std::vector<int64_t> extents = var.shape.dims();
  for (int64_t& extent : extents) extent = extent < 0 ? batch : extent;
  Tensor made(f32, Shape(extents));
  std::mt19937 random(1);
  std::uniform_real_distribution<float> number(-1, 1);
  for (float& one : made.span<float>()) one = number(random);
  return made;
}

void measure(const std::string& prefix, int64_t batch, int rounds) {
  const auto model = Model::read(prefix + ".pdmodel", prefix + ".pdiparams");
  const std::string& name = model->inputs().at(0);
  const Tensor input = random_input(model->program().global_block().var(name), batch);
  Predictor predictor(model);
  predictor.set_input(name, input);

  Scope weights;
  load_combined(prefix + ".pdiparams", persistable_names(model->program()), weights);
  Store store(weights);
  Generator generator;
  const auto plan = Plan::make({.program = model->program(),
                                .feeds = {{.name = name, .shape = input.shape()}},
                                .fetches = model->outputs(),
                                .store = store,
                                .generator = generator});
  Arena arena, exchanged;
  double best_plan = 1e9, best_call = 1e9;
  for (int round = 0; round < rounds; ++round) {
    best_plan = std::min(best_plan, microseconds([&] {
                           plan->run(store, {.arena = arena, .exchanged = exchanged}, {input});
                         }));
    best_call = std::min(best_call, microseconds([&] { predictor.run(); }));
  }
  fmt::print("{{\"batch\": {}, \"plan\": {}, \"call\": {}}}\n", batch, best_plan, best_call);
}

}  // namespace
}  // namespace flotilla

int main(int count, char** words) {
  if (count != 3) {
    fmt::print(stderr, "usage: bench_predictor PREFIX ROUNDS\n");
    return 2;
  }
  const flotilla::ThreadShare one(1);
  for (const int64_t batch : {1, 64}) {
    flotilla::measure(words[1], batch, std::atoi(words[2]));
  }
  return 0;
}

// examples/cpp/example.h
//
// What the examples share: their options, and the loop that prints a loss for each step.

#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "flotilla/flotilla.h"

namespace example {

namespace nn = flotilla::layers;
using flotilla::Feed;
using flotilla::Tensor;

// --name=value and --name value; the names and their defaults are what is in `options` before.
inline std::map<std::string, int64_t> parse(int argc, char** argv,
                                            std::map<std::string, int64_t> options) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const size_t equals = word.find('=');
    const auto option = options.find(word.substr(0, equals));
    if (option == options.end() || (equals == word.npos && i + 1 == argc)) {
      fmt::print(stderr, "{} takes:", argv[0]);
      for (const auto& [name, value] : options) fmt::print(stderr, " {}={}", name, value);
      fmt::print(stderr, "\n");
      std::exit(2);
    }
    option->second = std::atoll(equals == word.npos ? argv[++i] : argv[i] + equals + 1);
  }
  return options;
}

// Gives every trainable parameter the value that follows from its name and shape, so that the same
// program in another language starts from the same numbers.
inline void set_parameters_by_rule(flotilla::Session& session, const flotilla::Program& program) {
  for (const flotilla::Var* parameter : program.parameters()) {
    if (!parameter->parameter->trainable) continue;
    const std::vector<float> values = nn::parameter_by_rule(parameter->name, parameter->shape);
    session.set(parameter->name, Tensor::of<float>(values, parameter->shape));
  }
}

// Floats and whole numbers that follow from a text alone.
inline Tensor uniform(const std::string& key, const flotilla::Shape& shape, double low,
                      double high) {
  return Tensor::of<float>(nn::uniform_by_rule(key, shape.numel(), low, high), shape);
}
inline Tensor integers(const std::string& key, const flotilla::Shape& shape, int64_t low,
                       int64_t high) {
  return Tensor::of<int64_t>(nn::integers_by_rule(key, shape.numel(), low, high), shape);
}

// Trains the current main program: one batch for each step, one line with its loss.
inline void train(nn::Variable loss, int64_t steps, bool parameters_by_rule,
                  const std::function<std::vector<Feed>(int64_t step)>& batch) {
  flotilla::Session session(1);
  session.run(nn::default_startup_program());
  if (parameters_by_rule) set_parameters_by_rule(session, nn::default_main_program());
  for (int64_t step = 0; step < steps; ++step) {
    const Tensor value = session.run(nn::default_main_program(), batch(step), {loss})[0];
    fmt::print("{:.9g}\n", item(value));
  }
}

}  // namespace example

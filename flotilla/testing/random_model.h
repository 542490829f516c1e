// flotilla/testing/random_model.h
//
// Programs that compute something, drawn from a seed: layers, activations and sums over a few
// names, some of which are written more than once and some read several times.

#pragma once

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "flotilla/testing/run_op.h"

namespace flotilla {

class RandomModel {
 public:
  explicit RandomModel(uint64_t seed, DType dtype = f32);

  // Appends the gradient of `loss` and an update of each parameter that it reaches.
  void train();
  // The loss, the parameters, and some other variables.
  std::vector<std::string> draw_fetches();
  // A number from the model's own source.
  int draw(int least, int most);
  // Runs it, or what a pass made of it, from the parameters as drawn.
  std::vector<Tensor> run(const Program& as, const std::vector<std::string>& fetches) const;

  std::shared_ptr<Program> program = std::make_shared<Program>();  // up to the variable `loss`
  std::vector<Feed> feeds = {};
  std::vector<Feed> persistables = {};

 private:
  void add_parameter(const std::string& name, const Shape& shape);
  void add_layer();
  std::string some_value();
  std::string new_value();

  std::mt19937_64 engine_;
  DType dtype_;
  std::vector<std::string> written_;
  int next_ = 0;
};

}  // namespace flotilla

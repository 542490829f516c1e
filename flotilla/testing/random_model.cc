#include "flotilla/testing/random_model.h"

#include "flotilla/autodiff/backward.h"
#include "flotilla/op/build.h"

namespace flotilla {

RandomModel::RandomModel(uint64_t seed, DType dtype) : engine_(seed), dtype_(dtype) {
  Block& block = program->global_block();
  block.add_var({.name = "lr", .dtype = dtype, .shape = {1}, .persistable = true});
  persistables.push_back({"lr", tensor({0.1}, dtype)});
  for (int i = 0; i < 2; ++i) {
    add_parameter(fmt::format("w{}", i), {3, 3});
    add_parameter(fmt::format("b{}", i), {3});
    const std::string name = fmt::format("x{}", i);
    block.add_var(
        {.name = name, .dtype = dtype, .shape = {3, 3}, .stop_gradient = i == 0, .is_data = true});
    feeds.push_back({name, uniform({3, 3}, -1, 1, engine_(), dtype)});
    written_.push_back(name);
  }
  for (int i = draw(4, 14); i > 0; --i) add_layer();
  append_op(block, "reduce_mean", {{"X", {written_.back()}}}, {{"Out", {"loss"}}},
            {{"reduce_all", true}});
}

int RandomModel::draw(int least, int most) {
  return least + static_cast<int>(engine_() % static_cast<uint64_t>(most - least + 1));
}

void RandomModel::add_parameter(const std::string& name, const Shape& shape) {
  program->global_block().add_var({.name = name,
                                   .dtype = dtype_,
                                   .shape = shape,
                                   .persistable = true,
                                   .parameter = ParameterInfo{}});
  persistables.push_back({name, uniform(shape, -1, 1, engine_(), dtype_)});
}

// Mostly what was written last, so that chains arise.
std::string RandomModel::some_value() {
  if (draw(0, 3) > 0) return written_.back();
  return written_[static_cast<size_t>(draw(0, static_cast<int>(written_.size()) - 1))];
}

std::string RandomModel::new_value() {
  std::string name = draw(0, 6) == 0 ? some_value() : fmt::format("t{}", next_++);
  if (name == "x0") name = "x1";  // x0 is a constant for gradients, whatever is written to it
  written_.push_back(name);
  return name;
}

void RandomModel::add_layer() {
  Block& block = program->global_block();
  const std::string x = some_value(), y = some_value();
  const std::string w = fmt::format("w{}", draw(0, 1)), b = fmt::format("b{}", draw(0, 1));
  const int kind = draw(0, 6);
  const Slots out = {{"Out", {new_value()}}};
  if (kind <= 1) {
    append_op(block, "mul", {{"X", {x}}, {"Y", {w}}}, out);
  } else if (kind == 2) {
    append_op(block, "matmul_v2", {{"X", {x}}, {"Y", {w}}}, out, {{"trans_y", draw(0, 4) == 0}});
  } else if (kind <= 4) {
    append_op(block, "elementwise_add", {{"X", {x}}, {"Y", {b}}}, out,
              {{"axis", draw(0, 4) == 0 ? 0 : 1}});
  } else if (kind == 5) {
    append_op(block, draw(0, 1) == 0 ? "tanh" : "sigmoid", {{"X", {x}}}, out);
  } else {
    append_op(block, draw(0, 1) == 0 ? "elementwise_add" : "elementwise_mul",
              {{"X", {x}}, {"Y", {y}}}, out);
  }
}

void RandomModel::train() {
  Block& block = program->global_block();
  const auto pairs = append_backward(block.var("loss"));
  const RoleGuard role(*program, kOptimizeRole);
  for (const ParamGrad& pair : pairs) {
    append_op(block, "sgd",
              {{"Param", {pair.param}}, {"Grad", {pair.grad}}, {"LearningRate", {"lr"}}},
              {{"ParamOut", {pair.param}}});
  }
}

std::vector<std::string> RandomModel::draw_fetches() {
  std::vector<std::string> fetches = {"loss", "w0", "w1", "b0", "b1"};
  for (const auto& var : program->global_block().vars()) {
    if (draw(0, 7) == 0) fetches.push_back(var->name);
  }
  return fetches;
}

std::vector<Tensor> RandomModel::run(const Program& as,
                                     const std::vector<std::string>& fetches) const {
  std::vector<Feed> fresh = persistables;
  for (Feed& feed : fresh) feed.tensor = feed.tensor.clone();
  return run_program(as, feeds, fetches, fresh);
}

}  // namespace flotilla

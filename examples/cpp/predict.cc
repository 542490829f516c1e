// Saves a network that recognises digits, and predicts with what the files hold, as a program does
// that has no more than them.
//
//   example_predict --steps 20 --init 1

#include <unistd.h>

#include <filesystem>

#include "digits.h"

namespace nn = flotilla::layers;
namespace fs = std::filesystem;

int main(int argc, char** argv) {
  auto options = example::parse(argc, argv, {{"--steps", 20}, {"--init", 0}, {"--batch", 64}});

  const nn::Variable x = nn::data("x", {-1, 1, 28, 28});
  const nn::Variable hidden = nn::fc(nn::reshape(x, {-1, 784}), 128, {.act = "tanh"});
  const nn::Variable prediction = nn::fc(hidden, 10, {.act = "softmax"});

  const flotilla::Program& program = nn::default_main_program();
  flotilla::Session session(1);
  session.run(nn::default_startup_program());
  if (options["--init"] != 0) example::set_parameters_by_rule(session, program);
  const fs::path folder = fs::temp_directory_path() / fmt::format("flotilla_predict_{}", getpid());
  const std::string prefix = folder / "digits";
  session.save_inference_model(prefix, program, {x}, {prediction});

  flotilla::Predictor predictor(flotilla::Model::read(prefix + ".pdmodel", prefix + ".pdiparams"));
  fs::remove_all(folder);
  const example::Digits digits(options["--batch"]);
  for (int64_t step = 0; step < options["--steps"]; ++step) {
    predictor.set_input("x", digits.feeds(step)[0].tensor);
    predictor.run();
    const flotilla::Tensor& scores = predictor.output(predictor.output_names()[0]);
    fmt::print("{:.9g}\n", scores.span<float>()[0]);
  }
}

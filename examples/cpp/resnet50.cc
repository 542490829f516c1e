// ResNet of 18, 34 or 50 layers with batch norm, Momentum and L2 decay, as Paddle's static examples
// train it.
//
//   example_resnet50 --layers 50 --image 224 --batch 16 --steps 20 --init 1

#include <cmath>

#include "example.h"

namespace nn = flotilla::layers;

nn::Variable conv_bn(nn::Variable x, int64_t filters, int64_t size, int64_t stride,
                     const std::string& act, const std::string& name) {
  x = nn::conv2d(x, filters, size,
                 {.stride = stride,
                  .padding = (size - 1) / 2,
                  .weight = {.name = name + "_weights"},
                  .bias = nn::kNoBias,
                  .name = name + ".conv2d.output.1"});
  const std::string bn = name == "conv1" ? "bn_" + name : "bn" + name.substr(3);
  return nn::batch_norm(x, {.act = act,
                            .scale = {.name = bn + "_scale"},
                            .bias = {.name = bn + "_offset"},
                            .name = bn + ".output.1",
                            .moving_mean_name = bn + "_mean",
                            .moving_variance_name = bn + "_variance"});
}

nn::Variable shortcut(nn::Variable x, int64_t filters, int64_t stride, const std::string& name) {
  if (x.shape()[1] == filters && stride == 1) return x;
  return conv_bn(x, filters, 1, stride, "", name);
}

nn::Variable bottleneck(nn::Variable x, int64_t width, int64_t stride, const std::string& name) {
  nn::Variable y = conv_bn(x, width, 1, 1, "relu", name + "_branch2a");
  y = conv_bn(y, width, 3, stride, "relu", name + "_branch2b");
  y = conv_bn(y, width * 4, 1, 1, "", name + "_branch2c");
  const nn::Variable other = shortcut(x, width * 4, stride, name + "_branch1");
  return nn::elementwise("elementwise_add", other, y,
                         {.act = "relu", .name = name + ".add.output.5"});
}

nn::Variable basic(nn::Variable x, int64_t width, int64_t stride, const std::string& name) {
  nn::Variable y = conv_bn(x, width, 3, stride, "relu", name + "_branch2a");
  y = conv_bn(y, width, 3, 1, "", name + "_branch2b");
  const nn::Variable other = shortcut(x, width, stride, name + "_branch1");
  return nn::elementwise("elementwise_add", other, y, {.act = "relu"});
}

nn::Variable resnet(nn::Variable x, int64_t layers, int64_t classes) {
  const std::vector<int64_t> counts =
      layers == 18 ? std::vector<int64_t>{2, 2, 2, 2} : std::vector<int64_t>{3, 4, 6, 3};
  x = conv_bn(x, 64, 7, 2, "relu", "conv1");
  x = nn::pool2d(x, {.size = 3, .type = "max", .stride = 2, .padding = 1});
  for (int64_t stage = 0; stage < 4; ++stage) {
    for (int64_t i = 0; i < counts[stage]; ++i) {
      const std::string name = fmt::format("res{}{:c}", stage + 2, static_cast<char>('a' + i));
      const int64_t stride = i == 0 && stage > 0 ? 2 : 1;
      x = (layers < 50 ? basic : bottleneck)(x, 64 << stage, stride, name);
    }
  }
  x = nn::pool2d(x, {.type = "avg", .global_pooling = true});
  const double bound = 1 / std::sqrt(static_cast<double>(x.shape()[1]));
  return nn::fc(x, classes,
                {.weight = {.name = "fc_0.w_0", .initializer = nn::uniform(-bound, bound)},
                 .bias = nn::ParamAttr{.name = "fc_0.b_0"}});
}

int main(int argc, char** argv) {
  auto options = example::parse(argc, argv,
                                {{"--steps", 20},
                                 {"--init", 0},
                                 {"--layers", 50},
                                 {"--batch", 16},
                                 {"--image", 224},
                                 {"--classes", 102}});
  const int64_t batch = options["--batch"], side = options["--image"],
                classes = options["--classes"];

  const nn::Variable image = nn::data("image", {-1, 3, side, side});
  const nn::Variable label = nn::data("label", {-1, 1}, flotilla::i64);
  const nn::Variable out = resnet(image, options["--layers"], classes);
  const nn::Variable loss = nn::mean(nn::softmax_with_cross_entropy(out, label).loss);
  nn::accuracy(out, label, {.k = 1});
  nn::accuracy(out, label, {.k = 5});
  nn::momentum(0.001, 0.9f, nn::l2_decay(1e-4f)).minimize(loss);

  example::train(loss, options["--steps"], options["--init"], [&](int64_t step) {
    return std::vector<flotilla::Feed>{
        {"image", example::uniform(fmt::format("image/{}", step), {batch, 3, side, side}, -1, 1)},
        {"label", example::integers(fmt::format("label/{}", step), {batch, 1}, 0, classes)}};
  });
}

// flotilla/ops/nn/lrn.cc
//
// lrn: local response normalization (Krizhevsky et al., 2012): each element divided by what the
// channels around it hold.
//
//   MidOut = k + alpha * sum of X^2 over n channels, (n - 1) / 2 of them before; Out = X
//   MidOut^-beta

#include "flotilla/op/lower.h"
#include "flotilla/ops/nn/channels.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const Shape& x = c.in("X").shape;
  const int64_t n = c.attr<int64_t>("n");
  require(x.rank() == 4, "X must have four axes, but has shape {}", x);
  require(n > 0 && n % 2 == 1, "n must be odd and positive, but is {}", n);
  c.out("Out") = c.in("X");
  c.out("MidOut") = c.in("X");
}

// The mean of n channels around each: a pool over the channels and places of an image.
std::string mean_around(LowerContext& c, const std::string& x) {
  using Ints = std::vector<int32_t>;
  const bool last = DataFormat(c.attr<std::string>("data_format")).channels_last();
  const auto n = c.attr<int32_t>("n");
  const std::string flat = c.flatten(x, last ? 1 : 2, last ? 2 : 3);
  const std::string image = c.apply("unsqueeze2", flat, {{"axes", Ints{1}}});
  const std::string mean = c.apply("pool2d", image,
                                   {{"pooling_type", "avg"},
                                    {"ksize", last ? Ints{1, n} : Ints{n, 1}},
                                    {"paddings", last ? Ints{0, n / 2} : Ints{n / 2, 0}},
                                    {"exclusive", false}});
  const std::string shape = c.append("shape", {{"Input", {x}}});
  return c.append("reshape2", {{"X", {mean}}, {"Shape", {shape}}});
}

void lower(LowerContext& c) {
  const std::string& x = c.in("X");
  const float alpha = c.attr<float>("alpha") * c.attr<float>("n");
  const std::string mid = c.scale(mean_around(c, c.apply("square", x)), alpha, c.attr<float>("k"));
  c.result("MidOut", mid);
  // MidOut^-beta, by functions that run as vector code.
  const std::string power = c.scale(c.apply("log", mid), -c.attr<float>("beta"));
  c.result("Out", c.mul(x, c.apply("exp", power)));
}

const OpDef& lrn = define_op({
    .type = "lrn",
    .doc = "Elements divided by what the channels around them hold.",
    .inputs = {{.name = "X", .doc = "images"}},
    .outputs = {{.name = "Out", .doc = "same shape as X"},
                {.name = "MidOut", .doc = "for the gradient", .no_grad = true}},
    .attrs = {{"n", 5, "channels that are summed"},
              {"k", 2.0f, "what is added to their sum"},
              {"alpha", 1e-4f, "its factor"},
              {"beta", 0.75f, "the exponent"},
              {"use_mkldnn", false, "ignored"},
              {"data_format", "AnyLayout", "NCHW or NHWC"},
              {"is_test", false, "ignored"}},
    .infer = infer,
    .grad = grad_of_body({"X", "Out", "MidOut"}),
    .lower = lower,
});

}  // namespace
}  // namespace flotilla::ops

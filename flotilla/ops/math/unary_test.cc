#include <cmath>

#include "flotilla/op/op_def.h"
#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

// The slot is X, or x.
std::string slot_of(const std::string& type) { return op_def(type).inputs[0].name; }

Tensor unary(const std::string& type, Tensor x, Attrs attrs = {}) {
  return run_op(type, {{slot_of(type), std::move(x)}}, attrs).at(op_def(type).outputs[0].name);
}

struct Case {
  std::string type;
  double x = 0;
  double expected = 0;
  Attrs attrs = {};
};

// Values by a calculator.
const std::vector<Case> kValues = {
    {"relu", -1, 0},
    {"relu", 2, 2},
    {"tanh", 0.5, 0.46211715726},
    {"sigmoid", 1, 0.73105857863},
    {"sqrt", 9, 3},
    {"rsqrt", 4, 0.5},
    {"square", -3, 9},
    {"abs", -3, 3},
    {"exp", 1, 2.71828182846},
    {"expm1", 1, 1.71828182846},
    {"log", 10, 2.30258509299},
    {"log2", 8, 3},
    {"log10", 1000, 3},
    {"log1p", 1, 0.69314718056},
    {"reciprocal", 4, 0.25},
    {"trunc", -1.5, -1},
    {"logit", 0.75, 1.0986123},
    {"logit", 0, -2.1972246, {{"eps", 0.1f}}},
    {"floor", -1.5, -2},
    {"ceil", -1.5, -1},
    {"round", 0.5, 1},
    {"round", 2.5, 3},
    {"round", -1.5, -2},
    {"sin", 1, 0.84147098481},
    {"cos", 1, 0.54030230587},
    {"tan", 1, 1.55740772465},
    {"asin", 0.5, 0.52359877560},
    {"acos", 0.5, 1.04719755120},
    {"atan", 1, 0.78539816340},
    {"sinh", 1, 1.17520119364},
    {"cosh", 1, 1.54308063482},
    {"asinh", 1, 0.88137358702},
    {"acosh", 2, 1.31695789692},
    {"atanh", 0.5, 0.54930614433},
    {"erf", 1, 0.84270079295},
    {"erfinv", 0.5, 0.47693627620},
    {"erfinv", -0.999, -2.32675376551},
    {"lgamma", 4.5, 2.45373657084},
    {"lgamma", -0.5, 1.26551212348},
    {"digamma", 1, -0.57721566490},
    {"digamma", -3.7, -0.84507685887},
    {"digamma", 100, 4.60016185274},
    {"i0", 2.5, 3.28983914405},
    {"i0e", 100, 0.03994437930},
    {"i1", -2.5, -2.51671624529},
    {"i1e", -0.5, -0.15642080318},
    {"i1e", 200, 0.02815650339},
    {"sign", -3, -1},
    {"pow", 3, 27, {{"factor", 3.0f}}},
    {"clip", 5, 2, {{"min", 1.0f}, {"max", 2.0f}}},
    {"softplus", 0.5, 0.6566308, {{"beta", 2.0f}}},
    {"softplus", 25, 25, {{"beta", 2.0f}}},
    {"softsign", -3, -0.75},
    {"leaky_relu", -3, -0.06},
    {"leaky_relu", -3, -0.3, {{"alpha", 0.1f}}},
    {"relu6", 7, 6},
    {"elu", -3, -1.90042586, {{"alpha", 2.0f}}},
    {"selu", -1, -1.11133073},
    {"celu", -1, -0.78693868, {{"alpha", 2.0f}}},
    {"gelu", 1, 0.84134475},
    {"gelu", 1, 0.84119199, {{"approximate", true}}},
    {"swish", 1, 0.73105858},
    {"silu", -1, -0.26894142},
    {"hard_swish", 0.5, 0.29166667},
    {"hard_swish", -3, 0},
    {"hard_sigmoid", 0.5, 0.6},
    {"hard_shrink", 0.4, 0},
    {"softshrink", -2, -1.5},
    {"tanh_shrink", 1, 0.23840584},
    {"stanh", 1, 1.00377},
    {"logsigmoid", -100, -100},
    {"mish", 0.5, 0.37524524},
    {"thresholded_relu", 1, 0},
    {"thresholded_relu", 1.5, 1.5},
    {"soft_relu", 1.5, 1.7014133},
    {"soft_relu", 7, 2.1269280, {{"threshold", 2.0f}}},
    {"soft_relu", -7, 0.1269280, {{"threshold", 2.0f}}},
    {"brelu", 30, 24},
    {"scale", 3, 7, {{"scale", 2.0f}, {"bias", 1.0f}}},
    {"scale", 3, 8, {{"scale", 2.0f}, {"bias", 1.0f}, {"bias_after_scale", false}}},
};

// Where each function is smooth; the harness moves elements by 1e-5.
struct Domain {
  std::string type;
  double low = -3, high = 3;
  Attrs attrs = {};
};

const std::vector<Domain> kDomains = {
    {"relu"},
    {"tanh"},
    {"sigmoid"},
    {"softplus"},
    {"softplus", -3, 3, {{"beta", 2.0f}, {"threshold", 1.0f}}},
    {"logsigmoid"},
    {"softsign"},
    {"leaky_relu"},
    {"relu6", -2, 9},
    {"elu", -3, 3, {{"alpha", 0.5f}}},
    {"selu"},
    {"celu", -3, 3, {{"alpha", 2.0f}}},
    {"gelu"},
    {"gelu", -3, 3, {{"approximate", true}}},
    {"swish"},
    {"swish", -3, 3, {{"beta", 0.5f}}},
    {"silu"},
    {"hard_swish", -5, 5},
    {"hard_sigmoid", -4, 4},
    {"hard_shrink"},
    {"softshrink"},
    {"tanh_shrink"},
    {"stanh"},
    {"mish"},
    {"thresholded_relu"},
    {"soft_relu", -3, 3},
    {"brelu", -3, 30},
    {"square"},
    {"abs"},
    {"sqrt", 0.5, 4},
    {"rsqrt", 0.5, 4},
    {"reciprocal", 0.5, 4},
    {"exp"},
    {"expm1"},
    {"log", 0.5, 4},
    {"log2", 0.5, 4},
    {"log10", 0.5, 4},
    {"log1p", -0.5, 4},
    {"sin"},
    {"cos"},
    {"tan", -1, 1},
    {"asin", -0.9, 0.9},
    {"acos", -0.9, 0.9},
    {"atan"},
    {"sinh"},
    {"cosh"},
    {"asinh"},
    {"acosh", 1.5, 4},
    {"atanh", -0.9, 0.9},
    {"erf"},
    {"erfinv", -0.95, 0.95},
    {"lgamma", 0.5, 4},
    {"lgamma", -0.9, -0.1},
    {"digamma", 0.5, 4},
    {"digamma", -0.9, -0.1},
    {"i0"},
    {"i0e"},
    {"i1"},
    {"i1e"},
    {"trunc"},
    {"logit", 0.1, 0.9},
    {"floor"},
    {"ceil"},
    {"round"},
    {"sign"},
    {"pow", 0.5, 3, {{"factor", 2.5f}}},
    {"clip", -3, 3, {{"min", -1.0f}, {"max", 1.5f}}},
    {"scale", -3, 3, {{"scale", 2.5f}, {"bias", 0.5f}}},
    {"scale", -3, 3, {{"scale", 1.0f}}},
    {"scale", -3, 3, {{"scale", -2.0f}}},
};

TEST(Unary, KnownValues) {
  for (const Case& c : kValues) {
    const double tolerance = 2e-6 * std::max(1.0, std::abs(c.expected));
    EXPECT_THAT(unary(c.type, tensor({c.x, c.x}), c.attrs),
                near({c.expected, c.expected}, c.type == "stanh" ? 1e-4 : tolerance))
        << c.type << "(" << c.x << ")";
  }
}

TEST(Unary, AllKernelsAgree) {
  for (const Domain& d : kDomains) {
    // Rank 4 comes in blocks of 16 channels too, and 18 channels leave padding.
    for (const Shape& shape : {Shape{7, 5}, Shape{2, 18, 1, 2}}) {
      check_op({.type = d.type,
                .inputs = {{slot_of(d.type), uniform(shape, d.low, d.high)}},
                .attrs = d.attrs,
                .integers = d.attrs.empty(),
                .tolerance = 2e-5});
    }
  }
}

TEST(Unary, EveryOperatorIsTested) {
  for (const std::string& type : op_types()) {
    const OpDef& def = op_def(type);
    if (!def.doc.starts_with("Out = ") || !def.doc.ends_with(", element by element.")) continue;
    if (def.find_input("Y") != nullptr || type.starts_with("toy_")) continue;
    const bool tested = std::any_of(kDomains.begin(), kDomains.end(),
                                    [&](const Domain& d) { return d.type == type; });
    EXPECT_TRUE(tested) << type;
  }
}

TEST(Unary, LargeArgumentsDoNotOverflow) {
  EXPECT_THAT(unary("sigmoid", tensor({-200, 200})), near({0, 1}, 1e-12));
  EXPECT_THAT(unary("softplus", tensor({-200, 200})), near({0, 200}, 1e-12));
  EXPECT_THAT(unary("tanh", tensor({-200, 200})), near({-1, 1}, 1e-12));
  EXPECT_THAT(unary("mish", tensor({-200, 200})), near({0, 200}, 1e-12));
}

TEST(Unary, SpecialFunctionsWhereTheyEnd) {
  const double inf = INFINITY;
  EXPECT_THAT(unary("erfinv", tensor({-1, 1, 2})), equal_to({-inf, inf, inf}));
  EXPECT_THAT(unary("lgamma", tensor({0, -1, inf})), equal_to({inf, inf, inf}));
  for (const double pole : {0.0, -1.0, -2.0}) {
    EXPECT_TRUE(std::isnan(values_of(unary("digamma", tensor({pole})))[0])) << pole;
  }
  EXPECT_THAT(unary("i0e", tensor({-inf, 0, inf})), equal_to({0, 1, 0}));
  EXPECT_THAT(unary("i1e", tensor({-inf, 0, inf})), equal_to({0, 0, 0}));
  EXPECT_THAT(run_op("i1_grad", {{"x", tensor({0})}, {"out@GRAD", tensor({1})}}).at("x@GRAD"),
              equal_to({0.5}));
}

TEST(Unary, GradientsAtTheCorners) {
  const auto grad = [](const std::string& type, Tensor x, Attrs attrs) {
    const Tensor out = unary(type, x, attrs);
    const Tensor dout = full(x.shape(), 1);
    return run_op(type + "_grad", {{"X", x}, {"Out", out}, {"Out@GRAD", dout}}, attrs).at("X@GRAD");
  };
  EXPECT_THAT(grad("relu", tensor({-1, 0, 1}), {}), equal_to({0, 0, 1}));
  EXPECT_THAT(grad("abs", tensor({0, -1, 2}), {}), equal_to({0, -1, 1}));
  EXPECT_THAT(grad("clip", tensor({0, 0.5, 1, 2}), {{"min", 0.0f}, {"max", 1.0f}}),
              equal_to({0, 1, 0, 0}));
  EXPECT_THAT(grad("relu6", tensor({0, 0.5, 6, 7}), {}), equal_to({0, 1, 0, 0}));
  EXPECT_THAT(grad("hard_swish", tensor({-3, 3}), {}), equal_to({0, 1}));
  EXPECT_THAT(grad("leaky_relu", tensor({-3, 0}), {{"alpha", 0.5f}}), equal_to({0.5, 1}));
  EXPECT_THAT(grad("elu", tensor({0}), {{"alpha", 2.0f}}), equal_to({2}));
}

// Programs of 1.8 give the result where those of 2.x give X.
TEST(Unary, LeakyReluGradientFromTheResult) {
  EXPECT_THAT(run_op("leaky_relu_grad", {{"Out", tensor({-0.1, 3})}, {"Out@GRAD", tensor({1, 1})}},
                     {{"alpha", 0.1f}})
                  .at("X@GRAD"),
              near({0.1, 1}, 1e-7));
}

TEST(Unary, ParametersFromTensors) {
  EXPECT_THAT(run_op("pow", {{"X", tensor({2, 3})}, {"FactorTensor", tensor({2})}}).at("Out"),
              near({4, 9}, 1e-5));
  EXPECT_THAT(run_op("clip", {{"X", tensor({-5, 0, 5})}, {"Min", tensor({-1})}},
                     {{"min", -9.0f}, {"max", 2.0f}})
                  .at("Out"),
              equal_to({-1, 0, 2}));
  EXPECT_THAT(run_op("scale", {{"X", tensor({2, 3})}, {"ScaleTensor", tensor({10})}},
                     {{"bias", 1.0f}, {"bias_after_scale", false}})
                  .at("Out"),
              equal_to({30, 40}));
}

// Row 2 comes twice; what is left of the room for rows adds nothing, whatever the limits.
TEST(Clip, SparseRowsAddUpFirst) {
  const auto clip = [](float min, float max) {
    return run_op("clip", {{"X", sparse({2, 0, 2}, tensor({{1, 2}, {3, -4}, {1, 1}}), 3)}},
                  {{"min", min}, {"max", max}})
        .at("Out");
  };
  EXPECT_THAT(clip(-1, 2.5f), equal_to(tensor({{2.5, -1}, {0, 0}, {2, 2.5}})));
  EXPECT_THAT(clip(2.5f, 9), equal_to(tensor({{3, 2.5}, {0, 0}, {2.5, 3}})));
}

}  // namespace
}  // namespace flotilla

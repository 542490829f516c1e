#include <gmock/gmock.h>

#include <algorithm>
#include <array>

#include "flotilla/base/error.h"
#include "flotilla/device/cpu/isa.h"
#include "flotilla/device/cpu/onednn.h"
#include "flotilla/device/cpu/onednn_testing.h"

namespace flotilla::onednn {
namespace {

// A 2-d problem; the shape of the result follows.
ConvProblem problem(Shape src, Shape weights, std::vector<int64_t> strides,
                    std::vector<int64_t> pads_begin, std::vector<int64_t> pads_end,
                    std::vector<int64_t> dilations, int64_t groups, bool has_bias) {
  Shape dst = {src[0], weights[0]};
  for (size_t i = 0; i < strides.size(); ++i) {
    const int64_t axis = static_cast<int64_t>(i) + 2;
    const int64_t window = (weights[axis] - 1) * dilations[i] + 1;
    dst.push_back((src[axis] + pads_begin[i] + pads_end[i] - window) / strides[i] + 1);
  }
  return {.src = src,
          .weights = weights,
          .dst = dst,
          .strides = strides,
          .pads_begin = pads_begin,
          .pads_end = pads_end,
          .dilations = dilations,
          .groups = groups,
          .has_bias = has_bias};
}

const std::vector<ConvProblem>& problems() {
  static const std::vector<ConvProblem> rows = {
      // Like ResNet's: first layer, 1x1, 3x3, strided.
      problem({2, 3, 15, 14}, {16, 3, 7, 7}, {2, 2}, {3, 3}, {3, 3}, {1, 1}, 1, false),
      problem({2, 32, 9, 9}, {64, 32, 1, 1}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, 1, false),
      problem({2, 32, 9, 9}, {32, 32, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, true),
      problem({2, 32, 9, 10}, {48, 32, 1, 1}, {2, 2}, {0, 0}, {0, 0}, {1, 1}, 1, false),
      // Large enough for Winograd's algorithm; with edges that fill no tile.
      problem({4, 32, 14, 14}, {48, 32, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, false),
      problem({3, 40, 15, 18}, {33, 40, 3, 3}, {1, 1}, {1, 0}, {1, 1}, {1, 1}, 1, true),
      // LeNet's, and channel counts that fill no block.
      problem({3, 1, 28, 28}, {6, 1, 5, 5}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, 1, true),
      problem({2, 6, 12, 12}, {16, 6, 5, 5}, {1, 1}, {0, 0}, {0, 0}, {1, 1}, 1, true),
      problem({1, 17, 8, 8}, {19, 17, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, true),
      // Asymmetric padding, dilation, uneven kernels and strides.
      problem({2, 16, 8, 7}, {16, 16, 3, 2}, {2, 1}, {1, 0}, {2, 1}, {1, 1}, 1, true),
      problem({2, 16, 11, 11}, {16, 16, 3, 3}, {1, 1}, {2, 2}, {2, 2}, {2, 2}, 1, false),
      // Groups: whole blocks, broken blocks, depthwise, depthwise with two results per channel.
      problem({2, 64, 6, 6}, {32, 32, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2, true),
      problem({2, 12, 6, 6}, {18, 4, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 3, true),
      problem({2, 40, 6, 6}, {48, 20, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 2, false),
      problem({2, 32, 7, 7}, {32, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 32, true),
      problem({2, 20, 7, 7}, {20, 1, 3, 3}, {2, 2}, {1, 1}, {1, 1}, {1, 1}, 20, false),
      problem({2, 16, 7, 7}, {32, 1, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 16, true),
      // One spatial axis, and three.
      problem({2, 8, 20}, {16, 8, 3}, {1}, {1}, {1}, {1}, 1, true),
      problem({1, 16, 5, 6, 7}, {16, 16, 2, 3, 2}, {1, 1, 1}, {0, 1, 0}, {0, 1, 0}, {1, 1, 1}, 1,
              false),
  };
  return rows;
}

std::string name_of(const ConvProblem& p) {
  return fmt::format("{} by {} to {}, groups {}", p.src, p.weights, p.dst, p.groups);
}

// Everything as if there were three spatial axes.
std::array<int64_t, 3> spatial(const std::vector<int64_t>& values, int64_t missing) {
  std::array<int64_t, 3> all = {missing, missing, missing};
  std::copy_backward(values.begin(), values.end(), all.end());
  return all;
}

std::array<int64_t, 3> spatial(const Shape& shape) {
  return spatial(std::vector<int64_t>(shape.begin() + 2, shape.end()), 1);
}

// Calls f(offset in dst, offset in src, offset in weights) for each product of the sum.
template <typename F>
void for_each_product(const ConvProblem& p, F&& f) {
  const auto src = spatial(p.src), dst = spatial(p.dst), kernel = spatial(p.weights);
  const auto strides = spatial(p.strides, 1), dilations = spatial(p.dilations, 1);
  const auto pads = spatial(p.pads_begin, 0);
  const int64_t window = kernel[0] * kernel[1] * kernel[2];
  for (int64_t d = 0; d < p.dst.numel(); ++d) {
    const int64_t at[] = {d / dst[2] / dst[1] % dst[0], d / dst[2] % dst[1], d % dst[2]};
    const int64_t image = d / p.dst.numel(1, p.dst.rank()), out = d / p.dst.numel(2, p.dst.rank());
    const int64_t group = out % p.dst[1] / (p.weights[0] / p.groups);
    for (int64_t w = 0; w < p.weights[1] * window; ++w) {
      const int64_t k[] = {w / kernel[2] / kernel[1] % kernel[0], w / kernel[2] % kernel[1],
                           w % kernel[2]};
      int64_t s = image * p.src[1] + group * p.weights[1] + w / window;
      bool inside = true;
      for (size_t i = 0; i < 3; ++i) {
        const int64_t x = at[i] * strides[i] - pads[i] + k[i] * dilations[i];
        inside = inside && x >= 0 && x < src[i];
        s = s * src[i] + x;
      }
      const int64_t weight = out % p.dst[1] * p.weights[1] * window + w;
      if (inside) f(static_cast<size_t>(d), static_cast<size_t>(s), static_cast<size_t>(weight));
    }
  }
}

// Inputs, and what the loops make of them.
struct Numbers {
  explicit Numbers(const ConvProblem& p)
      : src(uniform(p.src.numel(), 1)),
        weights(uniform(p.weights.numel(), 2)),
        bias(uniform(p.weights[0], 3)),
        diff_dst(uniform(p.dst.numel(), 4)) {
    std::vector<double> sum(diff_dst.size()), sum_src(src.size()), sum_weights(weights.size());
    std::vector<double> sum_bias(bias.size());
    for (size_t i = 0; i < sum.size(); ++i) {
      const size_t inner = static_cast<size_t>(p.dst.numel(2, p.dst.rank()));
      const size_t channel = i / inner % bias.size();
      sum[i] = p.has_bias ? bias[channel] : 0;
      sum_bias[channel] += diff_dst[i];
    }
    for_each_product(p, [&](size_t d, size_t s, size_t w) {
      sum[d] += static_cast<double>(src[s]) * weights[w];
      sum_src[s] += static_cast<double>(diff_dst[d]) * weights[w];
      sum_weights[w] += static_cast<double>(diff_dst[d]) * src[s];
    });
    dst.assign(sum.begin(), sum.end());
    diff_src.assign(sum_src.begin(), sum_src.end());
    diff_weights.assign(sum_weights.begin(), sum_weights.end());
    if (p.has_bias) diff_weights.insert(diff_weights.end(), sum_bias.begin(), sum_bias.end());
  }

  Floats src, weights, bias, diff_dst;
  Floats dst, diff_src, diff_weights;  // the last followed by the gradient of the bias
};

Floats forward(const ConvProblem& p, const ConvLayouts& given, const Numbers& n) {
  ConvForward conv(p, given);
  Scratch scratch(conv.scratch_bytes());
  Floats dst = unwritten(p.dst, conv.dst());
  conv.run(pack(p.src, conv.src(), n.src).data(), pack(p.weights, conv.weights(), n.weights).data(),
           n.bias.data(), dst.data(), scratch.data());
  return unpack(p.dst, conv.dst(), dst);
}

Floats diff_src(const ConvProblem& p, const ConvLayouts& given, const Numbers& n) {
  ConvBackwardData conv(p, given);
  Scratch scratch(conv.scratch_bytes());
  Floats diff = unwritten(p.src, conv.src());
  conv.run(pack(p.dst, conv.dst(), n.diff_dst).data(),
           pack(p.weights, conv.weights(), n.weights).data(), diff.data(), scratch.data());
  return unpack(p.src, conv.src(), diff);
}

// The gradient of the weights, followed by that of the bias.
Floats diff_weights(const ConvProblem& p, const ConvLayouts& given, const Numbers& n) {
  ConvBackwardWeights conv(p, given);
  Scratch scratch(conv.scratch_bytes());
  Floats diff = unwritten(p.weights, conv.weights()), bias = unwritten({p.weights[0]});
  conv.run(pack(p.src, conv.src(), n.src).data(), pack(p.dst, conv.dst(), n.diff_dst).data(),
           diff.data(), bias.data(), scratch.data());
  Floats all = unpack(p.weights, conv.weights(), diff);
  if (p.has_bias) all.insert(all.end(), bias.begin(), bias.end());
  return all;
}

// Checks the three directions against the loops.
void check(const ConvProblem& p, const ConvLayouts& given) {
  SCOPED_TRACE(name_of(p));
  const Numbers n(p);
  with_threads([&] {
    Floats found = forward(p, given, n);
    expect_near(found, n.dst, 1e-5f);
    return found;
  });
  with_threads([&] {
    Floats found = diff_src(p, given, n);
    expect_near(found, n.diff_src, 1e-5f);
    return found;
  });
  with_threads([&] {
    Floats found = diff_weights(p, given, n);
    expect_near(found, n.diff_weights, 1e-5f);
    return found;
  });
}

TEST(Conv, AgreesWithLoopsInTheLayoutsThatOneDnnChooses) {
  for (const ConvProblem& p : problems()) check(p, {});
}

TEST(Conv, AgreesWithLoopsWhenAllIsPlain) {
  for (const ConvProblem& p : problems()) {
    check(p, {.src = Layout(), .weights = Layout(), .dst = Layout()});
  }
}

TEST(Conv, AgreesWithLoopsWhenChannelsAreLast) {
  const Layout last = parse_layout("acdb");
  for (const ConvProblem& p : problems()) {
    if (p.src.rank() == 4) check(p, {.src = last, .dst = last});
  }
}

// One layout for the weights, their gradient and the backward pass, as training needs it.
TEST(Conv, BackwardTakesTheLayoutsOfForward) {
  for (const ConvProblem& p : problems()) {
    SCOPED_TRACE(name_of(p));
    const ConvForward forward(p);
    const ConvLayouts given = {forward.src(), forward.weights(), forward.dst()};
    const Numbers n(p);
    expect_near(diff_src(p, given, n), n.diff_src, 1e-5f);
    expect_near(diff_weights(p, given, n), n.diff_weights, 1e-5f);
    EXPECT_EQ(ConvBackwardData(p, given).weights(), forward.weights());
    EXPECT_EQ(ConvBackwardWeights(p, given).weights(), forward.weights());
  }
}

TEST(Conv, FusesAnActivationForInference) {
  for (ConvProblem p : problems()) {
    SCOPED_TRACE(name_of(p));
    const Numbers n(p);
    Floats expected = n.dst;
    for (float& value : expected) value = std::max(0.0f, value);
    p.act = {.kind = Act::kRelu};
    expect_near(forward(p, {}, n), expected, 1e-5f);
  }
}

TEST(Conv, ChoosesBlocksWhereTheyPay) {
  const ConvProblem p =
      problem({2, 64, 14, 14}, {64, 64, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, false);
  const ConvForward forward(p);
  EXPECT_FALSE(forward.src().plain());
  EXPECT_EQ(forward.src(), forward.dst());
  if (isa() >= Isa::kAvx512) {
    const ConvProblem large =
        problem({4, 64, 28, 28}, {64, 64, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, false);
    EXPECT_THAT(ConvForward(large).implementation(), testing::HasSubstr("wino"));
  }
  ConvProblem direct = p;
  direct.winograd = false;
  EXPECT_THAT(ConvForward(direct).implementation(), testing::Not(testing::HasSubstr("wino")));
  // Reference code is a thousand times slower.
  const ConvLayouts given = {forward.src(), forward.weights(), forward.dst()};
  EXPECT_THAT(ConvBackwardData(p, given).implementation(), testing::HasSubstr("jit"));
  EXPECT_THAT(ConvBackwardWeights(p, given).implementation(), testing::HasSubstr("jit"));
}

TEST(Conv, RefusesMemoryThatWinogradsStoresCannotWrite) {
  const ConvProblem p =
      problem({4, 64, 28, 28}, {64, 64, 3, 3}, {1, 1}, {1, 1}, {1, 1}, {1, 1}, 1, false);
  ConvForward forward(p);
  if (forward.implementation().find("wino") == std::string::npos) GTEST_SKIP() << "no AVX-512";
  Floats src = unwritten(p.src, forward.src()), weights = unwritten(p.weights, forward.weights());
  Floats dst = unwritten({p.dst.numel() + 16});
  Scratch scratch(forward.scratch_bytes());
  EXPECT_THROW(forward.run(src.data(), weights.data(), nullptr, dst.data() + 4, scratch.data()),
               Error);
}

TEST(Conv, RefusesExtentsThatDoNotFit) {
  ConvProblem p = problems()[1];
  p.dst[2] += 1;
  EXPECT_THROW(ConvForward{p}, Error);
  p = problems()[1];
  p.weights[1] = 31;
  EXPECT_THROW(ConvForward{p}, Error);
  p = problems()[1];
  p.strides = {1};
  EXPECT_THROW(ConvForward{p}, Error);
}

}  // namespace
}  // namespace flotilla::onednn

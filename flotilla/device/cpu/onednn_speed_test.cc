// Not checks but numbers, for choices that only a clock can make. Run with
//   device_test --gtest_also_run_disabled_tests --gtest_filter='*DISABLED_Speed*'

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>

#include "flotilla/device/allocator.h"
#include "flotilla/device/cpu/onednn.h"
#include "flotilla/device/cpu/onednn_testing.h"

namespace flotilla::onednn {
namespace {

// Microseconds of one call: the best of `rounds`, after one to warm up.
template <typename F>
double microseconds(int rounds, F&& f) {
  f();
  double best = std::numeric_limits<double>::max();
  for (int i = 0; i < rounds; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    f();
    const auto end = std::chrono::steady_clock::now();
    best = std::min(best, std::chrono::duration<double, std::micro>(end - begin).count());
  }
  return best;
}

// Aligned memory that holds small numbers.
class Memory {
 public:
  explicit Memory(int64_t count) : buffer_(Buffer::make(count * 4)) {
    for (int64_t i = 0; i < count; ++i) data()[i] = static_cast<float>(i % 13) * 0.01f - 0.05f;
  }
  float* data() { return static_cast<float*>(buffer_->data()); }

 private:
  std::shared_ptr<Buffer> buffer_;
};

class ThreadCount {
 public:
  explicit ThreadCount(int count) { set_threads(count); }
  ~ThreadCount() { set_threads(before_); }

 private:
  const int before_ = threads();
};

TEST(Matmul, DISABLED_SpeedOfTheMnistNet) {
  const ThreadCount one(1);
  struct Row {
    const char* name;
    MatmulProblem problem;
  };
  const Row rows[] = {
      {"fc1      ", {.m = 64, .n = 128, .k = 784, .has_bias = true, .act = {Act::kTanh}}},
      {"fc2      ", {.m = 64, .n = 128, .k = 128, .has_bias = true, .act = {Act::kTanh}}},
      {"fc3      ", {.m = 64, .n = 10, .k = 128, .has_bias = true}},
      {"fc3 dX   ", {.m = 64, .n = 128, .k = 10, .transpose_b = true}},
      {"fc3 dW   ", {.m = 128, .n = 10, .k = 64, .transpose_a = true}},
      {"fc2 dX   ", {.m = 64, .n = 128, .k = 128, .transpose_b = true}},
      {"fc2 dW   ", {.m = 128, .n = 128, .k = 64, .transpose_a = true}},
      {"fc1 dW   ", {.m = 784, .n = 128, .k = 64, .transpose_a = true}},
      {"fc1 b any", {.m = 64, .n = 128, .k = 784, .choose_b_layout = true}},
  };
  for (const auto& [name, p] : rows) {
    Matmul matmul(p);
    Memory a(p.m * p.k), b(p.k * p.n + 4096), bias(p.n), c(p.m * p.n);
    Memory scratch(matmul.scratch_bytes() / 4 + 16);
    const double us = microseconds(
        500, [&] { matmul.run(a.data(), b.data(), bias.data(), c.data(), scratch.data()); });
    std::printf("%s %4ld x %4ld x %4ld  %6.1f us  %5.1f GFLOP/s  scratch %ld  B %s  %s\n", name,
                p.m, p.k, p.n, us, 2e-3 * static_cast<double>(p.m * p.n * p.k) / us,
                matmul.scratch_bytes(), to_string(matmul.b_layout()).c_str(),
                matmul.implementation().c_str());
  }
}

struct ConvRow {
  int count;
  int64_t in, size, out, kernel, stride;
};

// The distinct convolutions of ResNet50 and how often each occurs.
const ConvRow kResNet50[] = {
    {1, 3, 224, 64, 7, 2},    {1, 64, 56, 64, 1, 1},     {2, 256, 56, 64, 1, 1},
    {3, 64, 56, 64, 3, 1},    {4, 64, 56, 256, 1, 1},    {1, 256, 56, 128, 1, 1},
    {1, 128, 56, 128, 3, 2},  {3, 512, 28, 128, 1, 1},   {3, 128, 28, 128, 3, 1},
    {4, 128, 28, 512, 1, 1},  {1, 256, 56, 512, 1, 2},   {1, 512, 28, 256, 1, 1},
    {1, 256, 28, 256, 3, 2},  {5, 1024, 14, 256, 1, 1},  {5, 256, 14, 256, 3, 1},
    {6, 256, 14, 1024, 1, 1}, {1, 512, 28, 1024, 1, 2},  {1, 1024, 14, 512, 1, 1},
    {1, 512, 14, 512, 3, 2},  {2, 2048, 7, 512, 1, 1},   {2, 512, 7, 512, 3, 1},
    {3, 512, 7, 2048, 1, 1},  {1, 1024, 14, 2048, 1, 2},
};

ConvProblem problem_of(const ConvRow& r, int64_t batch) {
  const int64_t pad = r.kernel / 2, to = (r.size + 2 * pad - r.kernel) / r.stride + 1;
  return {.src = {batch, r.in, r.size, r.size},
          .weights = {r.out, r.in, r.kernel, r.kernel},
          .dst = {batch, r.out, to, to},
          .strides = {r.stride, r.stride},
          .pads_begin = {pad, pad},
          .pads_end = {pad, pad},
          .dilations = {1, 1}};
}

struct ConvTimes {
  double forward = 0, data = 0, weights = 0;
  std::string text;
};

ConvTimes time_convolution(const ConvRow& row, int64_t batch, const ConvLayouts& first,
                           bool winograd, int rounds) {
  ConvProblem p = problem_of(row, batch);
  p.winograd = winograd;
  ConvForward forward(p, first);
  const ConvLayouts given = {forward.src(), forward.weights(), forward.dst()};
  ConvBackwardWeights weights(p, given);
  ConvBackwardData data(p, given);
  const int64_t spare = 4096;
  Memory src(forward.src().physical_numel(p.src)), dst(forward.dst().physical_numel(p.dst));
  Memory w(p.weights.numel() * 6 + spare);
  Memory scratch(
      std::max({forward.scratch_bytes(), data.scratch_bytes(), weights.scratch_bytes()}) / 4 +
      spare);
  ConvTimes times;
  times.forward = microseconds(
      rounds, [&] { forward.run(src.data(), w.data(), nullptr, dst.data(), scratch.data()); });
  times.weights = microseconds(
      rounds, [&] { weights.run(src.data(), dst.data(), w.data(), nullptr, scratch.data()); });
  times.data = row.in == 3 ? 0 : microseconds(rounds, [&] {
    data.run(dst.data(), w.data(), src.data(), scratch.data());
  });
  times.text = fmt::format("src {} dst {} w {} | dw {} {} | dx {} {}", forward.src(), forward.dst(),
                           forward.weights(), weights.weights(), weights.implementation(),
                           data.weights(), data.implementation());
  return times;
}

void time_resnet(const char* title, const ConvLayouts& first, bool winograd) {
  const int64_t batch = 16;
  std::printf("--- %s\n", title);
  ConvTimes all;
  for (const ConvRow& row : kResNet50) {
    const ConvTimes t =
        time_convolution(row, batch, row.in == 3 ? ConvLayouts{} : first, winograd, 3);
    std::printf("%d x %4ld %3ld -> %4ld k%ld s%ld  %7.2f %7.2f %7.2f ms  %s\n", row.count, row.in,
                row.size, row.out, row.kernel, row.stride, t.forward * 1e-3, t.data * 1e-3,
                t.weights * 1e-3, t.text.c_str());
    std::fflush(stdout);
    all.forward += row.count * t.forward * 1e-3;
    all.data += row.count * t.data * 1e-3;
    all.weights += row.count * t.weights * 1e-3;
  }
  std::printf(
      "=== %s: forward %.0f ms, source gradients %.0f ms, weight gradients %.0f ms, all %.0f\n",
      title, all.forward, all.data, all.weights, all.forward + all.data + all.weights);
}

TEST(Conv, DISABLED_SpeedOfResNet50) {
  const ThreadCount two(2);
  time_resnet("as oneDNN chooses", {}, true);
  time_resnet("direct only", {}, false);
  const Layout last = parse_layout("acdb");
  time_resnet("channels last", {.src = last, .dst = last}, true);
}

}  // namespace
}  // namespace flotilla::onednn

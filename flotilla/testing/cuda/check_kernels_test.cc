// relu on a GPU: the kernel that stands for all of them. Its small cases run where those of the CPU
// do (check_op); here are the sizes, addresses and segments that they leave out.

#include "flotilla/testing/cuda/check_kernels.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <limits>
#include <string>
#include <vector>

#include "flotilla/device/cuda/graph.h"
#include "flotilla/device/cuda/memory.h"
#include "flotilla/testing/cuda/gpu_host.h"
#include "flotilla/testing/tensors.h"

namespace flotilla {
namespace {

class CudaKernels : public ::testing::Test {
 protected:
  void SetUp() override {
    if (gpu_count() == 0) GTEST_SKIP() << "there is no GPU on this machine";
  }
};

bool same_bits(const Tensor& a, const Tensor& b) {
  return std::memcmp(a.raw(), b.raw(), static_cast<size_t>(a.bytes())) == 0;
}

// relu and its gradient, one behind the other, as a plan would hold them.
struct Segment {
  Segment(Gpu& gpu, const Shape& shape, DType dtype, int64_t shift, GpuHost::Sharing sharing)
      : stream(gpu.stream()), host(gpu, sharing) {
    const VarMeta meta = VarMeta::tensor(dtype, shape);
    x = host.add(meta, shift);
    out = host.add(meta, shift);
    g = host.add(meta);
    dx = host.add(meta);
    steps.push_back(host.prepare(relu, {{"X", {x}}}, {{"Out", {out}}}));
    steps.push_back(
        host.prepare(relu_grad, {{"Out", {out}}, {"Out@GRAD", {g}}}, {{"X@GRAD", {dx}}}));
  }

  void begin(const Tensor& x_value, const Tensor& g_value) {
    for (const int32_t value : {out, dx}) host.spoil(value);
    host.upload(x, x_value);
    host.upload(g, g_value);
  }

  void expect(const Tensor& x_value, const Tensor& g_value) const {
    const OpResult forward = run_op("relu", {{"X", x_value}});
    const OpResult backward =
        run_op("relu_grad", {{"Out", forward.at("Out")}, {"Out@GRAD", g_value}});
    EXPECT_TRUE(same_bits(host.download(out), forward.at("Out")));
    EXPECT_TRUE(same_bits(host.download(dx), backward.at("X@GRAD")));
  }

  const Op relu{"relu", {{"X", {"x"}}}, {{"Out", {"out"}}}, {}};
  const Op relu_grad{
      "relu_grad", {{"Out", {"out"}}, {"Out@GRAD", {"g"}}}, {{"X@GRAD", {"dx"}}}, {}};
  Stream stream;
  GpuHost host;
  int32_t x = -1, out = -1, g = -1, dx = -1;
  std::vector<Step> steps;
};

TEST_F(CudaKernels, FindsWhatCheckOpCovers) {
  const BuiltOp built = build_op("relu", {{"X", uniform({3, 5}, -1, 1)}});
  EXPECT_EQ(check_cuda_kernels(*built.program, built.feeds, {}, 0), 1);
  const BuiltOp other =
      build_op("toy_mul", {{"X", uniform({3}, -1, 1)}, {"Y", uniform({3}, 0, 1)}});
  EXPECT_EQ(check_cuda_kernels(*other.program, other.feeds, {}, 0), 0);
}

TEST_F(CudaKernels, EverySizeAndAddress) {
  const std::shared_ptr<Gpu> gpu = open_gpu(0);
  for (const DType dtype : {f32, f64}) {
    for (const int64_t n : {0, 1, 3, 4, 5, 255, 1024, 1027, 3'000'001}) {
      for (const int64_t shift : {0, 1}) {
        SCOPED_TRACE(fmt::format("{} elements of {}, shifted by {}", n, dtype, shift));
        const Tensor x = uniform({n}, -1, 1, 5, dtype), g = uniform({n}, -1, 1, 6, dtype);
        Segment segment(*gpu, {n}, dtype, shift, GpuHost::kApart);
        segment.begin(x, g);
        for (const Step& step : segment.steps) step();
        segment.expect(x, g);
      }
    }
  }
}

TEST_F(CudaKernels, AReplayedSegmentComputesWhatItsStepsDo) {
  const std::shared_ptr<Gpu> gpu = open_gpu(0);
  for (const GpuHost::Sharing sharing : {GpuHost::kApart, GpuHost::kInPlace}) {
    Segment segment(*gpu, {100, 1003}, f32, 0, sharing);
    cuda::Graph graph;
    graph.capture(gpu->stream(), segment.steps);
    EXPECT_EQ(graph.nodes(), 2);
    for (const uint64_t seed : {1, 2, 3}) {
      if (seed == 3) {  // the arena grew: the same graph with other addresses
        segment.host.move();
        graph.capture(gpu->stream(), segment.steps);
        EXPECT_EQ(graph.made(), 1);
      }
      const Tensor x = uniform({100, 1003}, -1, 1, seed), g = uniform({100, 1003}, -1, 1, seed + 9);
      segment.begin(x, g);
      graph.replay(gpu->stream());
      segment.expect(x, g);
    }
  }
}

TEST_F(CudaKernels, NotANumberBecomesZeroAsOnTheCpu) {
  const std::shared_ptr<Gpu> gpu = open_gpu(0);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const double inf = std::numeric_limits<double>::infinity();
  const Tensor x = tensor({nan, inf, -inf, -0.0, 1}), g = tensor({1, nan, nan, 2, inf});
  Segment segment(*gpu, {5}, f32, 0, GpuHost::kApart);
  segment.begin(x, g);
  for (const Step& step : segment.steps) step();
  EXPECT_THAT(segment.host.download(segment.out), equal_to({0, inf, 0, 0, 1}));
  const OpResult forward = run_op("relu", {{"X", x}});
  EXPECT_THAT(segment.host.download(segment.out), equal_to(forward.at("Out")));
}

// The least of some runs, in seconds, waiting included.
template <typename F>
double fastest(Gpu& gpu, F&& run) {
  using Clock = std::chrono::steady_clock;
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < 20; ++i) {
    const Clock::time_point started = Clock::now();
    run();
    gpu.wait();
    least = std::min(least, std::chrono::duration<double>(Clock::now() - started).count());
  }
  return least;
}

TEST_F(CudaKernels, AReplayCostsLessThanItsLaunches) {
  const std::shared_ptr<Gpu> gpu = open_gpu(0);
  const Op op{"relu", {{"X", {"x"}}}, {{"Out", {"out"}}}, {}};
  GpuHost host(*gpu);
  std::vector<int32_t> values{host.add(VarMeta::tensor(f32, {256}))};
  std::vector<Step> steps;
  for (int i = 0; i < 200; ++i) {
    values.push_back(host.add(VarMeta::tensor(f32, {256})));
    steps.push_back(
        host.prepare(op, {{"X", {values[values.size() - 2]}}}, {{"Out", {values.back()}}}));
  }
  cuda::Graph graph;
  graph.capture(gpu->stream(), steps);
  const double eager = fastest(*gpu, [&] {
    for (const Step& step : steps) step();
  });
  const double replayed = fastest(*gpu, [&] { graph.replay(gpu->stream()); });
  const double again = fastest(*gpu, [&] { graph.capture(gpu->stream(), steps); });
  RecordProperty("eager_us", std::to_string(eager * 1e6));
  RecordProperty("replayed_us", std::to_string(replayed * 1e6));
  RecordProperty("captured_again_us", std::to_string(again * 1e6));
  EXPECT_LT(replayed, eager) << "200 launches of a small kernel";
}

TEST_F(CudaKernels, AMapKeepsUpWithACopy) {
  const std::shared_ptr<Gpu> gpu = open_gpu(0);
  const Shape shape{int64_t{1} << 28};  // far more than the caches hold
  Segment segment(*gpu, shape, f32, 0, GpuHost::kApart);
  const int64_t bytes = shape.numel() * 4;
  const double copied = fastest(*gpu, [&] {
    cuda::copy(segment.host.write(segment.out, {})->data, segment.host.read(segment.x, {})->data,
               bytes, gpu->stream());
  });
  const double mapped = fastest(*gpu, segment.steps.front());
  RecordProperty("copy_GBps", std::to_string(2e-9 * static_cast<double>(bytes) / copied));
  RecordProperty("relu_GBps", std::to_string(2e-9 * static_cast<double>(bytes) / mapped));
  EXPECT_LT(mapped, 1.5 * copied);
}

}  // namespace
}  // namespace flotilla

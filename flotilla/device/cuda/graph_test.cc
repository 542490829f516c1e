// Streams, memory and graphs of a GPU, with fills and copies for steps.

#include "flotilla/device/cuda/graph.h"

#include <gmock/gmock.h>

#include <cstring>
#include <functional>
#include <stdexcept>
#include <vector>

#include "flotilla/device/cuda/check.h"
#include "flotilla/device/cuda/memory.h"
#include "flotilla/device/cuda/stream.h"
#include "flotilla/testing/errors.h"

namespace flotilla::cuda {
namespace {

using Steps = std::vector<std::function<void()>>;

class CudaDevice : public ::testing::Test {
 protected:
  void SetUp() override {
    if (device_count() == 0) GTEST_SKIP() << "there is no GPU on this machine";
    stream_ = std::make_unique<OwnedStream>();
    device_ = device_buffer(kBytes);
  }

  std::vector<uint8_t> bytes() const {
    std::vector<uint8_t> found(kBytes);
    copy(found.data(), device_->data(), kBytes, *stream_);
    stream_->wait();
    return found;
  }

  std::function<void()> filled_with(uint8_t value) const {
    return [this, value] { fill(device_->data(), value, kBytes, *stream_); };
  }

  static constexpr int64_t kBytes = 1000;
  std::unique_ptr<OwnedStream> stream_;
  std::shared_ptr<Buffer> device_;
};

using ::testing::Each;

TEST(CudaCheck, AnErrorIsOneSentence) {
  EXPECT_REFUSED(check(cudaErrorMemoryAllocation, "allocate {} bytes", 64),
                 "CUDA could not allocate 64 bytes: out of memory (cudaErrorMemoryAllocation)");
}

TEST_F(CudaDevice, RefusesMoreMemoryThanThereIs) {
  EXPECT_REFUSED(device_buffer(int64_t{1} << 50),
                 "CUDA could not allocate 1125899906842624 bytes on the GPU: out of memory "
                 "(cudaErrorMemoryAllocation)");
  filled_with(3)();
  EXPECT_THAT(bytes(), Each(3));  // the error was not left behind
}

TEST_F(CudaDevice, AFeedGoesThroughAPinnedBuffer) {
  const std::shared_ptr<Buffer> staging = pinned_buffer(kBytes);
  Graph graph;
  graph.capture(*stream_, Steps{[&] { copy(device_->data(), staging->data(), kBytes, *stream_); }});
  for (const int value : {1, 2}) {
    std::memset(staging->data(), value, kBytes);
    graph.replay(*stream_);
    EXPECT_THAT(bytes(), Each(value));
  }
}

TEST_F(CudaDevice, ACaptureRunsNothing) {
  filled_with(1)();
  Graph graph;
  graph.capture(*stream_, Steps{filled_with(2), filled_with(3)});
  EXPECT_EQ(graph.nodes(), 2);
  EXPECT_THAT(bytes(), Each(1));
  graph.replay(*stream_);
  EXPECT_THAT(bytes(), Each(3));
}

TEST_F(CudaDevice, ACaptureAfterAMoveChangesTheGraphInPlace) {
  Graph graph;
  const Steps steps{filled_with(4)};
  graph.capture(*stream_, steps);
  const std::shared_ptr<Buffer> before = device_;
  device_ = device_buffer(kBytes);
  filled_with(0)();
  graph.replay(*stream_);
  EXPECT_THAT(bytes(), Each(0));  // the old address was written
  graph.capture(*stream_, steps);
  EXPECT_EQ(graph.made(), 1);
  graph.replay(*stream_);
  EXPECT_THAT(bytes(), Each(4));
  graph.capture(*stream_, Steps{filled_with(5), filled_with(6)});
  EXPECT_EQ(graph.made(), 2);
  EXPECT_EQ(graph.nodes(), 2);
  graph.replay(*stream_);
  EXPECT_THAT(bytes(), Each(6));
}

TEST_F(CudaDevice, ASecondStreamJoinsByEvents) {
  const OwnedStream side;
  const Event fork, join;
  const std::shared_ptr<Buffer> other = device_buffer(kBytes);
  const Steps steps{filled_with(7),
                    [&] {
                      fork.record(*stream_);
                      fork.hold(side);
                      copy(other->data(), device_->data(), kBytes, side);
                      join.record(side);
                    },
                    [&] {
                      join.hold(*stream_);
                      fill(device_->data(), 0, kBytes / 2, *stream_);
                      copy(device_->data(), other->data(), kBytes, *stream_);
                    }};
  Graph graph;
  graph.capture(*stream_, steps);
  EXPECT_EQ(graph.nodes(), 4);
  graph.replay(*stream_);
  EXPECT_THAT(bytes(), Each(7));
}

TEST_F(CudaDevice, AStepThatWaitsCannotBeCaptured) {
  Graph graph;
  graph.capture(*stream_, Steps{filled_with(8)});
  const Steps waits{filled_with(9), [&] { stream_->wait(); }};
  EXPECT_THROW(graph.capture(*stream_, waits), Error);
  const Steps swallows{
      filled_with(9), [&] {
        static_cast<void>(cudaStreamSynchronize(static_cast<cudaStream_t>(stream_->get().handle)));
      }};
  EXPECT_REFUSED(graph.capture(*stream_, swallows),
                 "CUDA could not capture 2 steps; one of them waits, allocates or reads on the "
                 "host: operation failed due to a previous error during capture "
                 "(cudaErrorStreamCaptureInvalidated)");
  graph.replay(*stream_);
  EXPECT_THAT(bytes(), Each(8));
}

TEST_F(CudaDevice, AStepThatThrowsEndsTheCapture) {
  Graph graph;
  const Steps steps{filled_with(1), [] { throw std::runtime_error("no"); }};
  EXPECT_THROW(graph.capture(*stream_, steps), std::runtime_error);
  EXPECT_FALSE(graph.captured());
  filled_with(2)();
  EXPECT_THAT(bytes(), Each(2));
  EXPECT_REFUSED(graph.capture(Stream{}, steps),
                 "the default stream cannot be captured; make one of its own");
}

}  // namespace
}  // namespace flotilla::cuda

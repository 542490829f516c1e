#include "flotilla/data/loader.h"

#include <algorithm>
#include <chrono>
#include <numeric>

#include "flotilla/data/batch_queue.h"
#include "flotilla/testing/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace flotilla::data {
namespace {

using testing::ElementsAre;

// Sample i is [i, i + 0.5].
Tensor pairs(int64_t n) {
  Tensor made(f32, Shape{n, 2});
  for (int64_t i = 0; i < n; ++i) {
    made.data<float>()[2 * i] = static_cast<float>(i);
    made.data<float>()[2 * i + 1] = static_cast<float>(i) + 0.5f;
  }
  return made;
}

Tensor numbers(int64_t n) {
  Tensor made(i64, Shape{n});
  std::iota(made.data<int64_t>(), made.data<int64_t>() + n, 0);
  return made;
}

std::vector<int64_t> values(const Tensor& tensor) {
  const auto span = tensor.span<int64_t>();
  return {span.begin(), span.end()};
}

std::vector<std::vector<int64_t>> pass_of(BatchSource& source) {
  std::vector<std::vector<int64_t>> found;
  while (std::optional<Batch> batch = source.next()) found.push_back(values(batch->back()));
  return found;
}

TEST(Loader, GoesThroughTheSetInOrder) {
  Loader loader({rows_of(pairs(5)), rows_of(numbers(5))}, {.batch_size = 2});
  EXPECT_EQ(loader.batches(), 3);
  const std::optional<Batch> first = loader.next();
  ASSERT_TRUE(first.has_value());
  EXPECT_EQ((*first)[0].shape(), (Shape{2, 2}));
  EXPECT_EQ((*first)[0].data<float>()[3], 1.5f);
  EXPECT_THAT(values((*first)[1]), ElementsAre(0, 1));
  EXPECT_THAT(pass_of(loader), ElementsAre(ElementsAre(2, 3), ElementsAre(4)));
  EXPECT_THAT(pass_of(loader), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4)));
}

TEST(Loader, DropsAShortBatch) {
  Loader loader({rows_of(numbers(5))}, {.batch_size = 2, .drop_last = true});
  EXPECT_EQ(loader.batches(), 2);
  EXPECT_THAT(pass_of(loader), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3)));
}

TEST(Loader, ShufflesEachPassAnewAndRepeatsForASeed) {
  const LoaderOptions options = {.batch_size = 100, .shuffle = true, .seed = 3};
  Loader a({rows_of(numbers(100))}, options), b({rows_of(numbers(100))}, options);
  const auto first = pass_of(a), second = pass_of(a);
  EXPECT_NE(first, second);
  EXPECT_EQ(pass_of(b), first);
  EXPECT_EQ(pass_of(b), second);
  auto sorted = second[0];
  std::sort(sorted.begin(), sorted.end());
  EXPECT_EQ(sorted, values(numbers(100)));
}

TEST(Loader, ScalesBytesAsItGathersThem) {
  Tensor bytes(u8, Shape{2, 3});
  std::iota(bytes.data<uint8_t>(), bytes.data<uint8_t>() + 6, uint8_t{250});
  Loader loader({scaled_rows_of(bytes, 2.0f, -1.0f)}, {.batch_size = 2});
  const std::optional<Batch> batch = loader.next();
  const auto found = (*batch)[0].span<float>();
  EXPECT_THAT(std::vector<float>(found.begin(), found.end()),
              ElementsAre(499, 501, 503, 505, 507, 509));
}

TEST(Loader, UsesItsBuffersAgain) {
  BatchBuffers buffers;
  const void* first = buffers.make(f32, Shape{1000}).raw();
  EXPECT_GE(buffers.idle_bytes(), 4000);
  Tensor second = buffers.make(f32, Shape{900});
  EXPECT_EQ(second.raw(), first);
  EXPECT_EQ(buffers.idle_bytes(), 0);
  EXPECT_NE(buffers.make(f32, Shape{900}).raw(), first);
}

TEST(Loader, RefusesFieldsOfDifferentLengths) {
  EXPECT_REFUSED(Loader({rows_of(numbers(5)), rows_of(numbers(4))}, {}),
                 "all fields of a data set must have the same number of samples, but field 0 has 5 "
                 "and field 1 has 4");
}

TEST(Loader, CanBeLeftInTheMiddleOfAPass) {
  for (int i = 0; i < 50; ++i) {
    Loader loader({rows_of(numbers(1000))}, {.batch_size = 3, .prefetch = 4});
    loader.next();
  }
}

TEST(Gatherer, RefusesAnIndexOutsideTheSet) {
  Gatherer gatherer({rows_of(numbers(5))}, 2);
  EXPECT_REFUSED(gatherer.submit({1, 5}), "index 5 is outside the data set of 5 samples");
  gatherer.submit({1, 4});
  EXPECT_THAT(values(gatherer.next()[0]), ElementsAre(1, 4));
}

// Gives batches of one number, then throws where it is told to.
class Counting final : public BatchSource {
 public:
  explicit Counting(int64_t until, bool throws = false) : until_(until), throws_(throws) {}
  std::optional<Batch> next() override {
    if (at_ == until_) {
      require(!throws_, "the source broke at {}", at_);
      return std::nullopt;
    }
    return Batch{Tensor::of<int64_t>(std::vector<int64_t>{at_++}, Shape{1})};
  }

 private:
  int64_t at_ = 0;
  const int64_t until_;
  const bool throws_;
};

TEST(Prefetched, KeepsTheOrder) {
  const auto source = prefetched(std::make_unique<Counting>(5), 2);
  EXPECT_EQ(pass_of(*source).size(), 5u);
  EXPECT_FALSE(source->next().has_value());
}

TEST(Prefetched, ThrowsWhatTheSourceThrewAfterItsBatches) {
  const auto source = prefetched(std::make_unique<Counting>(2, true), 8);
  EXPECT_TRUE(source->next().has_value());
  EXPECT_TRUE(source->next().has_value());
  EXPECT_REFUSED(source->next(), "the source broke at 2");
}

TEST(Prefetched, CanBeLeft) {
  const auto source = prefetched(std::make_unique<Counting>(1 << 30), 2);
  source->next();
}

SampleGenerator samples(int64_t count, Shape odd = Shape{2}) {
  return [=, at = int64_t{0}]() mutable -> std::optional<std::vector<Tensor>> {
    if (at == count) return std::nullopt;
    Tensor x(f32, at == 3 ? odd : Shape{2});
    return std::vector<Tensor>{x, Tensor::of<int64_t>(std::vector<int64_t>{at++}, Shape{1})};
  };
}

TEST(Batched, StacksSamples) {
  EXPECT_THAT(pass_of(*batched(samples(7), 3)),
              ElementsAre(ElementsAre(0, 1, 2), ElementsAre(3, 4, 5)));
  EXPECT_EQ(pass_of(*batched(samples(7), 3, false)).size(), 3u);
}

TEST(Batched, RefusesASampleThatDiffers) {
  const auto source = batched(samples(7, Shape{3}), 2);
  source->next();
  EXPECT_REFUSED(source->next(),
                 "field 0 of the samples from 2 on is f32[3], but that of the first sample is "
                 "f32[2]");
}

TEST(BatchQueue, RefusesToWaitForAPassThatWasNotBegun) {
  BatchQueue queue(2);
  EXPECT_REFUSED(
      queue.next(),
      "the program reads from a loader that was not started: call its start() before each pass, "
      "and reset() after it");
  const BatchQueue::Pass pass = queue.start();
  EXPECT_TRUE(pass->push({}));
  EXPECT_TRUE(queue.next().has_value());
  queue.reset();
  EXPECT_FALSE(pass->push({}));
  EXPECT_REFUSED(
      queue.next(),
      "the program reads from a loader that was not started: call its start() before each pass, "
      "and reset() after it");
}

TEST(BatchQueue, WhoeverWaitsCanBeInterrupted) {
  int asked = 0;
  BatchQueue queue(2, [&] {
    if (++asked == 2) throw std::runtime_error("Ctrl-C");
  });
  const BatchQueue::Pass pass = queue.start();
  EXPECT_TRUE(pass->push({}));
  EXPECT_TRUE(queue.next().has_value());
  EXPECT_EQ(asked, 0);
  EXPECT_THROW(queue.next(), std::runtime_error);
  EXPECT_TRUE(pass->push({})) << "the pass goes on";
}

}  // namespace
}  // namespace flotilla::data

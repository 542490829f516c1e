#include "flotilla/data/channel.h"

#include <gtest/gtest.h>

#include <numeric>
#include <stdexcept>
#include <thread>
#include <vector>

namespace flotilla::data {
namespace {

TEST(ChannelTest, HandsOnEveryValueOnceInOrder) {
  Channel<int> channel(2);
  std::thread writer([&] {
    for (int i = 0; i < 1000; ++i) ASSERT_TRUE(channel.push(i));
    channel.close();
  });
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(channel.pop(), i);
  EXPECT_EQ(channel.pop(), std::nullopt);
  writer.join();
}

TEST(ChannelTest, ServesSeveralWritersAndReaders) {
  Channel<int> channel(3);
  std::vector<std::thread> writers;
  for (int w = 0; w < 3; ++w) {
    writers.emplace_back([&] {
      for (int i = 1; i <= 500; ++i) channel.push(i);
    });
  }
  std::vector<int64_t> sums(2, 0);
  std::vector<std::thread> readers;
  for (int64_t& sum : sums) {
    readers.emplace_back([&] {
      while (const std::optional<int> value = channel.pop()) sum += *value;
    });
  }
  for (std::thread& writer : writers) writer.join();
  channel.close();
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(sums[0] + sums[1], 3 * 500 * 501 / 2);
}

TEST(ChannelTest, TellsTheReaderOfAFailureAfterTheValuesBeforeIt) {
  Channel<int> channel(4);
  channel.push(7);
  channel.fail(std::make_exception_ptr(std::runtime_error("broken")));
  channel.fail(std::make_exception_ptr(std::runtime_error("later")));
  EXPECT_FALSE(channel.push(8));
  EXPECT_EQ(channel.pop(), 7);
  try {
    channel.pop();
    FAIL() << "pop() gave no error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "broken");
  }
}

TEST(ChannelTest, CancelWakesAWriterThatWaitsAndDropsTheRest) {
  Channel<int> channel(1);
  channel.push(1);
  std::thread writer([&] { EXPECT_FALSE(channel.push(2)); });
  channel.cancel();
  writer.join();
  EXPECT_EQ(channel.pop(), std::nullopt);
}

TEST(ChannelTest, CloseWakesAReaderThatWaits) {
  Channel<int> channel(1);
  std::thread reader([&] { EXPECT_EQ(channel.pop(), std::nullopt); });
  channel.close();
  reader.join();
}

TEST(ChannelTest, WaitsForAValueUntilATime) {
  Channel<int> channel(1);
  const auto soon = [] { return std::chrono::steady_clock::now() + std::chrono::milliseconds(5); };
  EXPECT_FALSE(channel.wait_until(soon()));
  channel.push(1);
  EXPECT_TRUE(channel.wait_until(soon()));
  channel.pop();
  channel.close();
  EXPECT_TRUE(channel.wait_until(soon()));
}

}  // namespace
}  // namespace flotilla::data

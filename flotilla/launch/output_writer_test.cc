#include "flotilla/launch/output_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <string>

#include "flotilla/base/fd.h"
#include "flotilla/testing/patience.h"

namespace flotilla::launch {
namespace {

using namespace std::chrono_literals;
using testing::EndsWith;
using testing::HasSubstr;
using testing::StartsWith;

struct Pipe {
  Pipe() {
    int ends[2] = {};
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    read = Fd(ends[0]);
    write = Fd(ends[1]);
    fcntl(write.get(), F_SETPIPE_SZ, 4096);
  }
  // All that is there, and what comes while it is read; until nothing comes for a moment.
  std::string take() {
    std::string text;
    pollfd ready = {read.get(), POLLIN, 0};
    while (::poll(&ready, 1, 300) > 0) {
      char bytes[4096];
      const ssize_t got = ::read(read.get(), bytes, sizeof bytes);
      if (got <= 0) break;
      text.append(bytes, static_cast<size_t>(got));
    }
    return text;
  }

  Fd read;
  Fd write;
};

std::string line(int number) { return fmt::format("line {:09}\n", number); }

TEST(OutputWriter, WritesInOrder) {
  Pipe pipe;
  OutputWriter writer;
  std::string all;
  for (int i = 0; i < 1000; ++i) {
    writer.write(pipe.write.get(), line(i));
    all += line(i);
  }
  EXPECT_EQ(pipe.take(), all);
  EXPECT_TRUE(writer.settle(1s));
}

TEST(OutputWriter, NeverWaitsForAReaderAndSaysWhatIsMissing) {
  Pipe stuck, read;
  OutputWriter writer;
  const Stopwatch watch;
  constexpr int kLines = 200'000;
  ASSERT_GT(kLines * line(0).size(), 2 * OutputWriter::kRoom);
  for (int i = 0; i < kLines; ++i) writer.write(stuck.write.get(), line(i));
  EXPECT_FALSE(writer.has_room(stuck.write.get()));
  // Another one is not held up by it.
  writer.write(read.write.get(), "beside it\n");
  EXPECT_EQ(read.take(), "beside it\n");
  EXPECT_FALSE(writer.settle(50ms));
  EXPECT_LT(watch.time(), 20s);

  const std::string text = stuck.take();
  EXPECT_THAT(text, StartsWith(line(0) + line(1)));
  EXPECT_THAT(text,
              EndsWith(" lines are missing here, because the output before them was not read\n"));
  const auto shown = std::count(text.begin(), text.end(), '\n') - 1;
  EXPECT_THAT(text, HasSubstr(fmt::format("fleetrun: {} lines are missing", kLines - shown)));
  pollfd room = {writer.fd(), POLLIN, 0};
  EXPECT_EQ(::poll(&room, 1, 1000), 1);
  EXPECT_TRUE(writer.has_room(stuck.write.get()));
}

TEST(OutputWriter, EndsAlthoughNobodyReads) {
  Pipe stuck;
  const Stopwatch watch;
  {
    OutputWriter writer;
    writer.write(stuck.write.get(), std::string(100'000, 'x'));
    writer.finish(100ms);
    writer.write(stuck.write.get(), "nobody");  // is given up
  }
  EXPECT_LT(watch.time(), OutputWriter::kPatience / 2);
}

TEST(OutputWriter, ForgetsAClosedReader) {
  signal(SIGPIPE, SIG_IGN);
  Pipe closed;
  closed.read.reset();
  OutputWriter writer;
  for (int i = 0; i < 10; ++i) writer.write(closed.write.get(), std::string(100'000, 'x'));
  EXPECT_TRUE(writer.settle(5s));
  EXPECT_TRUE(writer.has_room(closed.write.get()));
}

}  // namespace
}  // namespace flotilla::launch

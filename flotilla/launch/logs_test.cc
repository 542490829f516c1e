#include "flotilla/launch/logs.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <poll.h>

#include <fstream>
#include <thread>

#include "flotilla/testing/temp_dir.h"

namespace flotilla::launch {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;
using testing::SizeIs;

const std::string kLost = "\xEF\xBF\xBD";

class LogsTest : public testing::Test, protected TempDir {
 protected:
  LogsTest() {
    int ends[2] = {};
    EXPECT_EQ(pipe2(ends, O_CLOEXEC), 0);
    read_ = Fd(ends[0]);
    write_ = Fd(ends[1]);
  }

  void add(const std::string& name, const std::string& text) const {
    std::ofstream(file(name), std::ios::binary | std::ios::app) << text;
  }

  // What comes out of the mirror until it wants to be called no more.
  std::string shown(Mirror& mirror) {
    mirror.pump(writer_);
    while (const auto due = mirror.due()) {
      std::this_thread::sleep_until(*due);
      mirror.pump(writer_);
    }
    return taken();
  }

  std::string taken() {
    writer_.settle();
    std::string text;
    pollfd ready = {read_.get(), POLLIN, 0};
    while (::poll(&ready, 1, 0) > 0) {
      char bytes[4096];
      const ssize_t got = ::read(read_.get(), bytes, sizeof bytes);
      if (got <= 0) break;
      text.append(bytes, static_cast<size_t>(got));
    }
    return text;
  }

  Fd read_;
  Fd write_;
  OutputWriter writer_;
};

TEST_F(LogsTest, LastLinesAreTextWhateverWasWritten) {
  const std::string log = put("log", "f\xFCr\n\xE6\x89\xB9\nends inside \xE6\x89");
  EXPECT_THAT(last_lines(log, 0, 20),
              ElementsAre("f" + kLost + "r", "批", "ends inside " + kLost + kLost));
}

TEST_F(LogsTest, OfALineThatIsWrittenOverTheLastStateIsShown) {
  const std::string log = put("log", "start\r\n 10 %\r 20 %\r 30 %\r\nValueError: x");
  EXPECT_THAT(last_lines(log, 0, 20), ElementsAre("start", " 30 %", "ValueError: x"));
}

TEST_F(LogsTest, EndlessLinesAreCut) {
  const std::string log = put("log", std::string(1 << 20, 'x'));
  const std::vector<std::string> lines = last_lines(log, 0, 20);
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_LT(lines[0].size(), 4096U);
}

TEST_F(LogsTest, ProgressBarsAreShownAsTheyCome) {
  Mirror mirror(write_.get());
  put("log", "");
  mirror.follow(file("log"), 0, "[w] ");
  add("log", "epoch 1: ");
  EXPECT_EQ(shown(mirror), "[w] epoch 1: ");
  add("log", "...");
  EXPECT_EQ(shown(mirror), "...");
  add("log", "\n\r 10 %");
  EXPECT_EQ(shown(mirror), "\n[w] \r[w]  10 %");
  add("log", "\r 20 %\r 30 %\r");
  EXPECT_EQ(shown(mirror), "\r[w]  20 %\r[w]  30 %\r");
  add("log", "\ndone");
  EXPECT_TRUE(mirror.drain(writer_));
  EXPECT_EQ(taken(), "\n[w] done\n");
}

TEST_F(LogsTest, AnUnfinishedLineEndsWhereAnotherProcessWrites) {
  Mirror mirror(write_.get());
  put("a", "");
  put("b", "");
  mirror.follow(file("a"), 0, "[a] ");
  mirror.follow(file("b"), 0, "[b] ");
  add("a", "loading");
  EXPECT_EQ(shown(mirror), "[a] loading");
  add("b", "one\ntwo\n");
  EXPECT_EQ(shown(mirror), "\n[b] one\n[b] two\n");
  add("a", "\nnext\n");
  EXPECT_EQ(shown(mirror), "[a] next\n");
}

TEST_F(LogsTest, LinesThatAreWrittenInTwoPartsStayWhole) {
  Mirror mirror(write_.get());
  put("a", "first ");
  put("b", "second ");
  mirror.follow(file("a"), 0, "[a] ");
  mirror.follow(file("b"), 0, "[b] ");
  mirror.pump(writer_);
  EXPECT_EQ(taken(), "");
  add("a", "line\n");
  add("b", "line\n");
  EXPECT_EQ(shown(mirror), "[a] first line\n[b] second line\n");
}

TEST_F(LogsTest, APumpReturnsHoweverMuchThereIs) {
  const Fd null(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  Mirror mirror(null.get());
  put("log", std::string(8 << 20, 'x'));
  mirror.follow(file("log"), 0, "");
  int pumps = 0;
  do {
    writer_.settle();
    mirror.pump(writer_);
    ++pumps;
  } while (pumps < 1000 && mirror.due());
  EXPECT_GE(pumps, 8) << "of 8 MB at most 1 MB at once";
  EXPECT_LT(pumps, 1000);
}

TEST_F(LogsTest, AfterAFailureASlowReaderGetsTheEnd) {
  Mirror mirror(write_.get());
  std::string text;
  while (text.size() < (4U << 20)) text += "a line of some length, as they are\n";
  put("log", text + "the last line\n");
  mirror.follow(file("log"), 0, "");
  std::string read;
  std::jthread reader([&](const std::stop_token& stop) {
    while (!stop.stop_requested()) {
      pollfd ready = {read_.get(), POLLIN, 0};
      if (::poll(&ready, 1, 10) <= 0) continue;
      char bytes[4096];
      const ssize_t got = ::read(read_.get(), bytes, sizeof bytes);
      if (got > 0) read.append(bytes, static_cast<size_t>(got));
      if (read.size() < (1U << 20)) std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  });
  EXPECT_TRUE(mirror.drain(writer_, std::chrono::milliseconds(1)));
  EXPECT_TRUE(writer_.settle());
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  reader.request_stop();
  reader.join();
  EXPECT_THAT(read, HasSubstr("MB of output are omitted here"));
  EXPECT_THAT(read, HasSubstr(file("log")));
  EXPECT_THAT(read, EndsWith("the last line\n"));
  EXPECT_LT(read.size(), text.size());
}

}  // namespace
}  // namespace flotilla::launch

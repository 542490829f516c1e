// Processes as threads against a real store.

#include "flotilla/job/board.h"

#include <gmock/gmock.h>

#include <future>
#include <stdexcept>
#include <thread>

#include "flotilla/base/error.h"
#include "flotilla/rpc/store_server.h"
#include "flotilla/testing/patience.h"

namespace flotilla::job {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class BoardTest : public testing::Test {
 protected:
  Membership::Options member(const char* role, int64_t rank) {
    return {.address = server.address(),
            .token = "secret",
            .self = {.role = role, .rank = rank, .host = "here", .pid = 1000 + rank}};
  }

  rpc::StoreServer server{{.token = "secret"}};
};

TEST_F(BoardTest, WhatOneSetsTheOtherWaitsFor) {
  Membership one(member("worker", 0)), other(member("server", 0));
  Board board(one), far(other);
  auto waited =
      std::async(std::launch::async, [&] { return far.wait_for("ready", "waits for the tables"); });
  board.set("ready", "1");
  EXPECT_EQ(waited.get(), "1");
  EXPECT_EQ(far.find("ready"), "1");
  EXPECT_EQ(far.find("server/0"), std::nullopt);
}

TEST_F(BoardTest, ALeaseGoesWithItsProcess) {
  Membership other(member("server", 0));
  Board far(other);
  std::promise<void> gone;
  far.on_change([&](const std::string& key, const std::optional<std::string>& value) {
    if (key == "alive/3" && !value) gone.set_value();
  });
  {
    Membership one(member("worker", 3));
    Board board(one);
    board.set_leased("alive/3", "0");
    far.wait_for("alive/3", "waits");
  }
  EXPECT_TRUE(ready_soon(gone.get_future()));
  EXPECT_TRUE(far.entries().empty());
}

TEST_F(BoardTest, WaitsEndWithTheJob) {
  Membership one(member("worker", 0));
  Board board(one);
  auto waited =
      std::async(std::launch::async, [&] { board.wait_for("ready", "waits for tables"); });
  server.stop("worker 1 failed");
  try {
    waited.get();
    FAIL() << "it waited for nothing";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnavailable);
    EXPECT_THAT(error.what(), HasSubstr("worker 1 failed; this process waits for tables"));
  }
}

TEST_F(BoardTest, WhoeverWaitsCanBeInterrupted) {
  Membership one(member("worker", 0));
  int looked = 0;
  Board board(one, [&] {
    if (++looked == 3) throw std::runtime_error("Ctrl-C");
  });
  EXPECT_THROW(board.wait_for("ready", "waits"), std::runtime_error);
}

TEST_F(BoardTest, TheStoreMayTellMoreThanTheBoardLives) {
  Membership one(member("worker", 0)), other(member("worker", 1));
  Board far(other);
  { Board board(one); }
  far.set("ready", "1");
  far.wait_for("ready", "waits");
}

}  // namespace
}  // namespace flotilla::job

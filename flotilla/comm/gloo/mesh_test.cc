#include "flotilla/comm/gloo/mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "flotilla/base/error.h"
#include "flotilla/rpc/store_server.h"
#include "flotilla/testing/errors.h"

namespace flotilla::comm {
namespace {

using ::testing::HasSubstr;

class Meshes : public ::testing::Test {
 protected:
  static rpc::StoreClient::Options member(const rpc::StoreServer& server, int rank) {
    return {.address = server.address(),
            .token = "t",
            .self = {.role = "worker", .rank = rank, .host = "here"}};
  }

  // What becomes of rank r's mesh: "", or why it was not made.
  std::future<std::string> start(int rank) {
    return std::async(std::launch::async, [this, rank]() -> std::string {
      rpc::StoreClient store(member(server_, rank));
      try {
        Mesh mesh(store, {.name = "m", .rank = rank, .hosts = {0, 1}, .address = "127.0.0.1"});
        store.barrier("made", 2);  // nobody leaves before the other has looked
        return "";
      } catch (const Error& error) {
        store.cancel(error.what());
        server_.stop("a rank has given up");
        return error.sentence();
      }
    });
  }

  rpc::StoreServer server_{{.token = "t"}};
};

TEST_F(Meshes, ConnectThoseWhoKnowTheirWords) {
  auto first = start(0);
  auto second = start(1);
  EXPECT_EQ(first.get(), "");
  EXPECT_EQ(second.get(), "");
}

TEST_F(Meshes, RefuseWhoeverDoesNot) {
  auto second = start(1);
  rpc::StoreClient store(member(server_, 2));
  // Rank 0 gets another word than rank 1 expects: it is as good as unknown.
  std::string said = store.get("m/gloo/1");
  const size_t word = said.size() - 2 * 32;
  said[word] = said[word] == '0' ? '1' : '0';
  store.set("m/gloo/1", said);
  auto first = start(0);
  EXPECT_THAT(second.get(), HasSubstr("cannot connect to rank 0 on host 127.0.0.1: another process "
                                      "has connected in its place"));
  first.get();
}

// Whether this one connects to the other and waits for its word, or waits to be connected to, is a
// matter of their addresses: both are waits of Gloo's.
TEST_F(Meshes, WaitForARankThatSaysNothingUntilTheJobEnds) {
  for (int turn = 0; turn < 4; ++turn) {
    rpc::StoreServer other({.token = "t"});
    auto mute = std::async(std::launch::async, [&] {
      rpc::StoreClient store(member(other, 0));
      return refusal_of([&] {
        Mesh(store, {.name = "m", .rank = 0, .hosts = {0, 1}, .address = "127.0.0.1"});
      });
    });
    rpc::StoreServer server({.token = "t"});
    rpc::StoreClient store(member(server, 1));
    auto waiting = std::async(std::launch::async, [&] {
      return refusal_of([&] {
        Mesh(store, {.name = "m", .rank = 1, .hosts = {0, 1}, .address = "127.0.0.1"});
      });
    });
    // What rank 0 has said reaches rank 1, but nothing reaches rank 0.
    rpc::StoreClient between(member(other, 2));
    store.set("m/gloo/0", between.get("m/gloo/0"));
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    server.stop("worker 5 was killed by signal 9");
    EXPECT_EQ(waiting.get(), "worker 5 was killed by signal 9");
    other.stop("it is over");
    EXPECT_EQ(mute.get(), "it is over");
  }
}

}  // namespace
}  // namespace flotilla::comm

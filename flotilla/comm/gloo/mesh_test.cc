#include "flotilla/comm/gloo/mesh.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "flotilla/base/error.h"
#include "flotilla/rpc/store_server.h"

namespace flotilla::comm {
namespace {

using ::testing::HasSubstr;

class Meshes : public ::testing::Test {
 protected:
  // What becomes of rank r's mesh: "", or why it was not made.
  std::future<std::string> start(int rank) {
    return std::async(std::launch::async, [this, rank]() -> std::string {
      rpc::StoreClient store({.address = server_.address(),
                              .token = "t",
                              .self = {.role = "worker", .rank = rank, .host = "here"}});
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
  rpc::StoreClient store({.address = server_.address(),
                          .token = "t",
                          .self = {.role = "worker", .rank = 2, .host = "here"}});
  // Rank 0 gets another word than rank 1 expects: it is as good as a stranger.
  std::string said = store.get("m/gloo/1");
  const size_t word = said.size() - 2 * 32;
  said[word] = said[word] == '0' ? '1' : '0';
  store.set("m/gloo/1", said);
  auto first = start(0);
  EXPECT_THAT(second.get(),
              HasSubstr("rank 0 on host 127.0.0.1 cannot be connected to: somebody else has "
                        "connected in its place"));
  first.get();
}

}  // namespace
}  // namespace flotilla::comm

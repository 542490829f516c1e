// Ranks of one host meet while others are in their way: another user, a process that says nothing,
// one that says something else.

#include "flotilla/comm/shm/neighbours.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>

#include <array>
#include <cstring>
#include <future>
#include <memory>

#include "flotilla/base/error.h"
#include "flotilla/rpc/store_server.h"
#include "flotilla/testing/another_user.h"
#include "flotilla/testing/patience.h"

namespace flotilla::comm {
namespace {

using ::flotilla::testing::AnotherUser;
using ::testing::HasSubstr;

struct Name {
  sockaddr_un bytes = {};
  socklen_t length = 0;

  explicit Name(const std::string& name) {
    bytes.sun_family = AF_UNIX;
    std::memcpy(bytes.sun_path + 1, name.data(), name.size());
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* plain() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

int seqpacket() { return ::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0); }

Fd connect_to(const Name& name) {
  Fd fd(seqpacket());
  EXPECT_EQ(::connect(fd.get(), name.plain(), name.length), 0);
  return fd;
}

struct Greeting {
  int32_t rank = -1;
  std::array<char, 32> word = {};
};

Greeting greeting_of(int rank, const std::string& word) {
  Greeting greeting = {.rank = rank};
  word.copy(greeting.word.data(), greeting.word.size());
  return greeting;
}

// With a descriptor, as ranks do. Only calls of the system.
bool greet(int socket, Greeting greeting) {
  const int proof = ::memfd_create("proof", MFD_CLOEXEC);
  iovec data = {&greeting, sizeof greeting};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* head = CMSG_FIRSTHDR(&message);
  head->cmsg_level = SOL_SOCKET;
  head->cmsg_type = SCM_RIGHTS;
  head->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(head), &proof, sizeof proof);
  return ::sendmsg(socket, &message, MSG_NOSIGNAL) == sizeof greeting;
}

// Whether the other end closes it, within 10 s.
bool closed(int socket) {
  pollfd one = {socket, POLLIN, 0};
  char byte = 0;
  return ::poll(&one, 1, 10'000) == 1 && ::recv(socket, &byte, 1, 0) <= 0;
}

class NeighboursTest : public ::testing::Test {
 protected:
  using Met = std::future<std::unique_ptr<Neighbours>>;

  std::unique_ptr<rpc::StoreClient> join(int rank) {
    return std::make_unique<rpc::StoreClient>(
        rpc::StoreClient::Options{.address = server_.address(),
                                  .token = "t",
                                  .self = {.role = "worker", .rank = rank, .host = "here"}});
  }
  Met meet(int rank) {
    return std::async(std::launch::async, [this, rank] {
      clients_[static_cast<size_t>(rank)] = join(rank);
      return std::make_unique<Neighbours>(*clients_[static_cast<size_t>(rank)], "n", rank, 2, 0);
    });
  }
  // Where rank 0 listens, and its word.
  std::pair<Name, std::string> door_of_first() {
    const std::string said = visitor_->get("n/socket/0");
    const size_t blank = said.rfind(' ');
    return {Name(said.substr(2, blank - 2)), said.substr(blank + 1)};
  }
  // That the two hand each other what they have.
  static void expect_connected(Neighbours& a, Neighbours& b) {
    EXPECT_EQ(a.here(), (std::vector<int>{0, 1}));
    EXPECT_EQ(b.here(), (std::vector<int>{0, 1}));
    const Fd memory(::memfd_create("given", MFD_CLOEXEC));
    ASSERT_TRUE(b.give(0, {.region = 7, .bytes = 1}, memory.get()));
    const auto taken = a.take(1);
    ASSERT_TRUE(taken.has_value());
    EXPECT_EQ(taken->first.region, 7);
    EXPECT_FALSE(a.gone(1));
  }

  rpc::StoreServer server_{{.token = "t"}};
  std::unique_ptr<rpc::StoreClient> visitor_ = join(100);
  std::array<std::unique_ptr<rpc::StoreClient>, 2> clients_;
};

TEST_F(NeighboursTest, AnotherUserTakesNobodysPlaceEvenWithTheWord) {
  FLT_NEEDS_ANOTHER_USER();
  Met first = meet(0);
  const auto [name, word] = door_of_first();
  const Greeting greeting = greeting_of(1, word);
  AnotherUser another([&, name = name] {
    const int socket = seqpacket();
    const bool came = ::connect(socket, name.plain(), name.length) == 0;
    greet(socket, greeting);
    return came && closed(socket);
  });
  EXPECT_TRUE(another.done());
  Met second = meet(1);
  const auto a = first.get(), b = second.get();
  expect_connected(*a, *b);
}

TEST_F(NeighboursTest, NobodyConnectsToAnotherUsersSocket) {
  FLT_NEEDS_ANOTHER_USER();
  const std::string word(32, 'w');
  const std::string place = "flotilla-test-" + rpc::new_token();
  const Name name(place);
  AnotherUser another([&] {
    const int socket = seqpacket();
    return ::bind(socket, name.plain(), name.length) == 0 && ::listen(socket, 8) == 0;
  });
  ASSERT_TRUE(another.done());
  // As if rank 0 had gone, and another user had taken its address.
  visitor_->set("n/socket/0", "0 " + place + " " + word);
  visitor_->set("n/near/0", "");
  const auto second = meet(1).get();
  EXPECT_EQ(second->hosts(), (std::vector<std::vector<int>>{{0}, {1}}));
  EXPECT_FALSE(second->reached(0));
}

TEST_F(NeighboursTest, WhoeverSaysNothingOrSomethingElseHoldsNobodyUp) {
  Met first = meet(0);
  const auto [name, word] = door_of_first();
  std::vector<Fd> silent;
  for (int i = 0; i < 100; ++i) silent.push_back(connect_to(name));
  const auto refused = [&, name = name](const Greeting& greeting) {
    const Fd fd = connect_to(name);
    return greet(fd.get(), greeting) && closed(fd.get());
  };
  EXPECT_TRUE(refused(greeting_of(1, std::string(32, 'x'))));
  EXPECT_TRUE(refused(greeting_of(0, word)));  // no rank that could come
  EXPECT_TRUE(refused(greeting_of(2, word)));
  const Fd without_proof = connect_to(name);
  const Greeting right = greeting_of(1, word);
  ASSERT_EQ(::send(without_proof.get(), &right, sizeof right, 0), sizeof right);
  EXPECT_TRUE(closed(without_proof.get()));
  Met second = meet(1);
  const auto a = first.get(), b = second.get();
  expect_connected(*a, *b);
}

TEST_F(NeighboursTest, TheEndOfTheJobEndsTheWaitForARankThatNeverComes) {
  Met first = meet(0);
  // Rank 1 says that it has connected, but has not.
  visitor_->set("n/socket/1", "0 nowhere " + std::string(32, 'w'));
  visitor_->set("n/near/1", "0");
  ASSERT_TRUE(soon([&] { return visitor_->find("n/near/0").has_value(); }));
  EXPECT_EQ(first.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  server_.stop("worker 1 is gone");
  try {
    first.get();
    ADD_FAILURE() << "it did not end";
  } catch (const Error& error) {
    EXPECT_THAT(error.sentence(), HasSubstr("worker 1 is gone"));
  }
}

TEST_F(NeighboursTest, AFullQueueOfConnectionsIsWaitedForUntilTheJobEnds) {
  const std::string place = "flotilla-test-" + rpc::new_token();
  const Name name(place);
  const Fd listener(seqpacket());
  ASSERT_EQ(::bind(listener.get(), name.plain(), name.length), 0);
  ASSERT_EQ(::listen(listener.get(), 0), 0);
  const Fd fills = connect_to(name);
  visitor_->set("n/socket/0", "0 " + place + " " + std::string(32, 'w'));
  Met second = meet(1);
  EXPECT_EQ(second.wait_for(std::chrono::milliseconds(200)), std::future_status::timeout);
  server_.stop("worker 0 is gone");
  try {
    second.get();
    ADD_FAILURE() << "it did not end";
  } catch (const Error& error) {
    EXPECT_THAT(error.sentence(), HasSubstr("worker 0 is gone"));
  }
}

}  // namespace
}  // namespace flotilla::comm

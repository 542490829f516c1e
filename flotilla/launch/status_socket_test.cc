#include "flotilla/launch/status_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <cstring>
#include <thread>

#include "flotilla/testing/another_user.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/patience.h"

namespace flotilla::launch {
namespace {

using ::testing::Contains;
using ::testing::Not;
using namespace std::chrono_literals;

struct Name {
  sockaddr_un bytes = {};
  socklen_t length = 0;

  explicit Name(pid_t pid) {
    const std::string name = fmt::format("flotilla-launcher-{}", pid);
    bytes.sun_family = AF_UNIX;
    std::memcpy(bytes.sun_path + 1, name.data(), name.size());
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  }
  const sockaddr* plain() const { return reinterpret_cast<const sockaddr*>(&bytes); }
};

// A launcher's loop, as far as it answers.
class Answering {
 public:
  explicit Answering(std::string text)
      : text_(std::move(text)), thread_([this](const std::stop_token& stop) {
          while (!stop.stop_requested()) {
            pollfd one = {socket_.fd(), POLLIN, 0};
            ++looks_;
            if (::poll(&one, 1, 20) == 1) socket_.answer([this] { return text_; });
          }
        }) {}

  int looks() const { return looks_; }

 private:
  const std::string text_;
  StatusSocket socket_;
  std::atomic<int> looks_ = 0;
  std::jthread thread_;
};

TEST(StatusSocket, AnswersWhoeverAsksAndGoesWithItsOwner) {
  const std::string long_text(1 << 16, 'x');
  {
    const Answering launcher(long_text);
    EXPECT_THAT(running_launchers(), Contains(getpid()));
    EXPECT_EQ(ask_launcher(getpid()), long_text);
  }
  EXPECT_THAT(running_launchers(), Not(Contains(getpid())));
  EXPECT_REFUSED(ask_launcher(getpid()),
                 fmt::format("process {} is not a launcher of this user on this host", getpid()));
}

TEST(StatusSocket, ANameThatAnotherUserHasTakenIsNotAsked) {
  FLT_NEEDS_ANOTHER_USER();
  const Name name(getpid());
  testing::AnotherUser another([&] {
    const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
    return ::bind(socket, name.plain(), name.length) == 0 && ::listen(socket, 8) == 0;
  });
  ASSERT_TRUE(another.done());
  EXPECT_THAT(running_launchers(), Not(Contains(getpid())));
  EXPECT_REFUSED(ask_launcher(getpid()),
                 fmt::format("process {} is not a launcher of this user on this host", getpid()));
  // The launcher whose name it is goes on without.
  StatusSocket socket;
  EXPECT_EQ(socket.fd(), -1);
}

TEST(StatusSocket, AnotherUserGetsNoAnswerAndHoldsNobodyUp) {
  FLT_NEEDS_ANOTHER_USER();
  const Answering launcher("here");
  const Name name(getpid());
  testing::AnotherUser another([&] {
    bool nothing = true;
    for (int i = 0; i < 100; ++i) {
      const int socket = ::socket(AF_UNIX, SOCK_STREAM, 0);
      char byte = 0;
      nothing = nothing && ::connect(socket, name.plain(), name.length) == 0 &&
                ::recv(socket, &byte, 1, 0) <= 0;
    }
    return nothing;
  });
  EXPECT_TRUE(another.done());
  EXPECT_EQ(ask_launcher(getpid()), "here");
}

TEST(StatusSocket, DoesNotSpinWhereThereAreNoDescriptors) {
  const Answering launcher("here");
  const Name name(getpid());
  const Fd asks(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit tight = {.rlim_cur = 3, .rlim_max = before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &tight), 0);
  ASSERT_EQ(::connect(asks.get(), name.plain(), name.length), 0);
  const int began = launcher.looks();
  std::this_thread::sleep_for(300ms);
  const int looks = launcher.looks() - began;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_LE(looks, 100);  // thousands where it spins
  char said[5] = {};
  EXPECT_EQ(::recv(asks.get(), said, 4, MSG_WAITALL), 4);
  EXPECT_STREQ(said, "here");
}

}  // namespace
}  // namespace flotilla::launch

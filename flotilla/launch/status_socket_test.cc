#include "flotilla/launch/status_socket.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <unistd.h>

#include <thread>

#include "flotilla/testing/errors.h"

namespace flotilla::launch {
namespace {

TEST(StatusSocket, AnswersWhoeverAsksAndGoesWithItsOwner) {
  const std::string long_text(1 << 16, 'x');
  {
    const StatusSocket socket;
    EXPECT_THAT(running_launchers(), ::testing::Contains(getpid()));
    std::string heard;
    std::jthread asks([&] { heard = ask_launcher(getpid()); });
    pollfd one = {socket.fd(), POLLIN, 0};
    ASSERT_EQ(::poll(&one, 1, 10000), 1);
    socket.answer([&] { return long_text; });
    asks.join();
    EXPECT_EQ(heard, long_text);
    socket.answer([]() -> std::string {
      ADD_FAILURE() << "nobody asked";
      return {};
    });
  }
  EXPECT_REFUSED(ask_launcher(getpid()),
                 fmt::format("process {} is no launcher that runs on this host", getpid()));
}

}  // namespace
}  // namespace flotilla::launch

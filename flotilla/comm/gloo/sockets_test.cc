#include "flotilla/comm/gloo/sockets.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>

#include "flotilla/base/fd.h"

namespace flotilla::comm {
namespace {

Fd tcp_socket() { return Fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)); }

sockaddr_storage name_of(int fd) {
  sockaddr_storage address = {};
  socklen_t bytes = sizeof address;
  EXPECT_EQ(::getsockname(fd, reinterpret_cast<sockaddr*>(&address), &bytes), 0);
  return address;
}

int user_timeout(int fd) {
  int value = 0;
  socklen_t bytes = sizeof value;
  EXPECT_EQ(::getsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &value, &bytes), 0);
  return value;
}

TEST(LimitSilence, FindsBothEndsOfAConnectionAndNoOther) {
  const Fd listener = tcp_socket();
  sockaddr_in loopback = {};
  loopback.sin_family = AF_INET;
  loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(::bind(listener.get(), reinterpret_cast<sockaddr*>(&loopback), sizeof loopback), 0);
  ASSERT_EQ(::listen(listener.get(), 2), 0);
  const sockaddr_storage address = name_of(listener.get());
  const Fd client = tcp_socket();
  ASSERT_EQ(
      ::connect(client.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(sockaddr_in)), 0);
  const Fd server(::accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));

  sockaddr_storage unused = {};
  unused.ss_family = AF_INET;
  reinterpret_cast<sockaddr_in&>(unused).sin_port = 1;
  EXPECT_FALSE(limit_silence(unused, unused, std::chrono::seconds(8)));
  EXPECT_EQ(user_timeout(client.get()), 0);
  EXPECT_TRUE(limit_silence(unused, address, std::chrono::seconds(8)));
  EXPECT_EQ(user_timeout(client.get()), 8000);
  EXPECT_EQ(user_timeout(server.get()), 0);
  EXPECT_TRUE(limit_silence(address, unused, std::chrono::seconds(9)));
  EXPECT_EQ(user_timeout(server.get()), 9000);
}

}  // namespace
}  // namespace flotilla::comm

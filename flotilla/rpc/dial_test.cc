#include "flotilla/rpc/dial.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <sys/socket.h>

namespace flotilla::rpc {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

// A port of the loopback network that is bound, and listens if it is asked to.
struct Port {
  Fd socket{::socket(AF_INET, SOCK_STREAM, 0)};
  int64_t number = 0;

  explicit Port(bool listens) {
    sockaddr_in address = {};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    ::bind(socket.get(), reinterpret_cast<sockaddr*>(&address), size);
    if (listens) ::listen(socket.get(), 4);
    getsockname(socket.get(), reinterpret_cast<sockaddr*>(&address), &size);
    number = ntohs(address.sin_port);
  }
};

TEST(DialTest, ConnectsToWhoeverListens) {
  const Port port(true);
  for (const char* host : {"127.0.0.1", "localhost"}) {
    const Dialed dialed = dial({host, port.number}, 1s);
    EXPECT_TRUE(dialed.ok()) << dialed.problem;
    EXPECT_LT(dialed.seconds, 1);
    EXPECT_EQ(dialed.problem, "");
  }
}

TEST(DialTest, TellsAClosedPortFromANameThatIsNone) {
  const Port port(false);
  const Dialed closed = dial({"127.0.0.1", port.number}, 1s);
  EXPECT_FALSE(closed.ok());
  EXPECT_TRUE(closed.listens_not);
  EXPECT_EQ(closed.problem, fmt::format("nothing listens on its port {}", port.number));
  const Dialed nameless = dial({"no host has this name", 1}, 1s);
  EXPECT_FALSE(nameless.ok());
  EXPECT_TRUE(nameless.unresolved);
  EXPECT_FALSE(nameless.listens_not);
  EXPECT_THAT(nameless.problem, HasSubstr("its name cannot be resolved"));
}

TEST(DialTest, KnowsANameThatIsNone) {
  EXPECT_EQ(look_up("127.0.0.1"), Name::kKnown);
  EXPECT_EQ(look_up("::1"), Name::kKnown);
  EXPECT_EQ(look_up("localhost"), Name::kKnown);
  EXPECT_EQ(look_up("no host has this name"), Name::kUnknown);
}

TEST(DialTest, EndsWhenNobodyAnswers) {
  // A queue that is full makes the kernel drop what comes: nobody answers.
  Port port(true);
  ::listen(port.socket.get(), 0);
  std::vector<Dialed> filling;
  for (int i = 0; i < 3; ++i) filling.push_back(dial({"127.0.0.1", port.number}, 50ms));
  const Dialed dialed = dial({"127.0.0.1", port.number}, 100ms);
  EXPECT_FALSE(dialed.ok());
  EXPECT_FALSE(dialed.listens_not);
  EXPECT_THAT(dialed.problem, HasSubstr("it does not answer on port"));
  // And when it is told to.
  int asked = 0;
  EXPECT_FALSE(dial({"127.0.0.1", port.number}, 10min, [&] { return ++asked == 3; }).ok());
}

}  // namespace
}  // namespace flotilla::rpc

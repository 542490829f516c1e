// Hosts as threads, on addresses of the loopback network.

#include "flotilla/launch/check_hosts.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include <future>

#include "flotilla/launch/ports.h"

namespace flotilla::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

const std::vector<std::string> kHosts = {"127.0.0.1", "127.0.0.2", "127.0.0.3"};

int64_t free_port() { return listen_on("127.0.0.1", 0).port; }

std::future<CheckHostsReport> check(const CheckHostsOptions& options) {
  return std::async(std::launch::async, check_hosts, options);
}

TEST(CheckHostsTest, AllIsWellAndQuick) {
  const int64_t port = free_port();
  std::vector<std::future<CheckHostsReport>> reports;
  for (int64_t i = 0; i < 3; ++i) {
    reports.push_back(check({.hosts = kHosts, .self = i, .port = port}));
  }
  for (auto& each : reports) {
    const CheckHostsReport report = each.get();
    EXPECT_TRUE(report.ok()) << text_of(report);
    EXPECT_EQ(report.ways.size(), 6u);
    EXPECT_THAT(text_of(report), HasSubstr("all hosts reach each other and have the same list"));
  }
}

TEST(CheckHostsTest, AHostThatDoesNotRunIsNamedByTheOthers) {
  const int64_t port = free_port();
  auto first = check({.hosts = kHosts, .self = 0, .port = port, .seconds = 1});
  auto second = check({.hosts = kHosts, .self = 1, .port = port, .seconds = 1});
  for (auto* each : {&first, &second}) {
    const std::string text = text_of(each->get());
    EXPECT_THAT(text,
                HasSubstr(fmt::format(
                    "network: from 127.0.0.1 to 127.0.0.3: nothing listens on its port {}", port)));
    EXPECT_THAT(text, HasSubstr("network: from 127.0.0.2 to 127.0.0.3"));
    EXPECT_THAT(text, Not(HasSubstr("network: from 127.0.0.3")));
    EXPECT_THAT(text, Not(HasSubstr("from 127.0.0.1 to 127.0.0.2")));
  }
}

TEST(CheckHostsTest, AListInAnotherOrderIsNoFaultOfTheNetwork) {
  const int64_t port = free_port();
  const std::vector<std::string> two = {"127.0.0.1", "127.0.0.2"};
  auto first = check({.hosts = two, .self = 0, .port = port});
  auto second = check({.hosts = {two[1], two[0]}, .self = 0, .port = port});
  const CheckHostsReport report = first.get();
  EXPECT_THAT(report.lists,
              ElementsAre("host 127.0.0.2 has the list in another order: 127.0.0.2,127.0.0.1, but "
                          "host 127.0.0.1 has 127.0.0.1,127.0.0.2"));
  EXPECT_THAT(text_of(report), Not(HasSubstr("network:")));
  EXPECT_FALSE(second.get().ok());
}

TEST(CheckHostsTest, WaysTravelAsText) {
  const Way broken = {"a", "b", 0, "nothing listens"};
  const std::optional<Way> read = parse_way(text_of(broken));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->to, "b");
  EXPECT_EQ(read->problem, "nothing listens");
  EXPECT_THAT(parse_way(text_of(Way{"a", "b", 0.001, ""}))->problem, IsEmpty());
  EXPECT_FALSE(parse_way("a b"));
}

}  // namespace
}  // namespace flotilla::launch

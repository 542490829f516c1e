#include "flotilla/base/endpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flotilla {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(EndpointTest, SplitsListsAtCommas) {
  EXPECT_THAT(split_list("a,b"), ElementsAre("a", "b"));
  EXPECT_THAT(split_list(" a b ,\tc\n"), ElementsAre("a b", "c"));
  EXPECT_THAT(split_list("a,,b,"), ElementsAre("a", "", "b", ""));
  EXPECT_THAT(split_list(","), ElementsAre("", ""));
  EXPECT_THAT(split_list(""), IsEmpty());
  EXPECT_THAT(split_list("  "), IsEmpty());
}

TEST(EndpointTest, FindsHostAndPort) {
  struct Case {
    const char* text;
    const char* host;
    int64_t port;
  };
  for (const Case& c : {Case{"10.0.0.1:6170", "10.0.0.1", 6170}, Case{"node-2:1", "node-2", 1},
                        Case{"[fe80::1]:65535", "fe80::1", 65535}}) {
    const std::optional<Endpoint> found = find_endpoint(c.text);
    ASSERT_TRUE(found) << c.text;
    EXPECT_EQ(found->host, c.host);
    EXPECT_EQ(found->port, c.port);
    EXPECT_EQ(found->text(), c.text);
    EXPECT_EQ(host_of(c.text), c.host);
  }
}

TEST(EndpointTest, FindsNothingInWhatIsNoEndpoint) {
  for (const char* text : {"", "a", ":1", "a:", "a:0", "a:65536", "a:-1", "a:+1", "a:1x", "a: 1",
                           "fe80::1:6170", "[]:1", "[:1"}) {
    EXPECT_FALSE(find_endpoint(text)) << text;
    EXPECT_EQ(host_of(text), text);
  }
}

}  // namespace
}  // namespace flotilla

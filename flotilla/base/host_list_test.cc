#include "flotilla/base/host_list.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "flotilla/testing/errors.h"

namespace flotilla {
namespace {

using testing::ElementsAre;

TEST(HostListTest, ExpandsShortForms) {
  EXPECT_THAT(expand_hosts("login", "L"), ElementsAre("login"));
  EXPECT_THAT(expand_hosts("a,b", "L"), ElementsAre("a", "b"));
  EXPECT_THAT(expand_hosts("n[1-3,7],m[08-10]b", "L"),
              ElementsAre("n1", "n2", "n3", "n7", "m08b", "m09b", "m10b"));
  EXPECT_THAT(expand_hosts("r[1-2]n[1,3]", "L"), ElementsAre("r1n1", "r1n3", "r2n1", "r2n3"));
  EXPECT_THAT(expand_hosts("10.0.0.[9-11]", "L"),
              ElementsAre("10.0.0.9", "10.0.0.10", "10.0.0.11"));
  for (const char* text : {"", ",", "a,", "n[", "n[]", "n[1", "n]", "n[a]", "n[2-1]", "n[1-2-3]",
                           "n[1-9999999]", "n[-1]"}) {
    EXPECT_REFUSED(expand_hosts(text, "L"),
                   fmt::format("L must be a list of machines such as node[1-3,7],login, but is "
                               "\"{}\"",
                               text));
  }
}

}  // namespace
}  // namespace flotilla

#include "flotilla/launch/spawn.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include "flotilla/base/error.h"

namespace flotilla::launch {
namespace {

TEST(SpawnTest, AProcessThatHasNoDescriptorsLeftSaysSo) {
#ifdef __SANITIZE_ADDRESS__
  GTEST_SKIP() << "the sanitizer needs a descriptor to look at memory";
#endif
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none = {.rlim_cur = 0, .rlim_max = before.rlim_max};
  std::string sentence = "started";
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  try {
    const Child child({.words = {"true"}});
  } catch (const Error& error) {
    sentence = error.sentence();
  }
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(sentence, "no pipe could be made: Too many open files");
}

}  // namespace
}  // namespace flotilla::launch

#include "flotilla/device/cpu/isa.h"

#include <gmock/gmock.h>

#include <csignal>

#include "flotilla/device/cpu/simd.h"

namespace flotilla {
namespace {

TEST(Isa, GivesTheSameAnswerTwiceAndANameForIt) {
  EXPECT_EQ(isa(), isa());
  EXPECT_THAT(name_of(isa()), testing::AnyOf("sse41", "avx2", "avx512", "avx512_bf16", "amx"));
}

TEST(Isa, LeavesTheSignalHandlerAsItWas) {
  isa();
  struct sigaction now = {};
  ASSERT_EQ(sigaction(SIGILL, nullptr, &now), 0);
  EXPECT_EQ(now.sa_handler, SIG_DFL);
}

TEST(Isa, SimdRunsItsBodyOnce) {
  int runs = 0;
  simd([&] { ++runs; });
  EXPECT_EQ(runs, 1);
}

}  // namespace
}  // namespace flotilla

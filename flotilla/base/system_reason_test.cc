#include "flotilla/base/system_reason.h"

#include <gtest/gtest.h>

#include <cerrno>

namespace flotilla {
namespace {

TEST(SystemReason, SaysWhatToDoWhereADiskIsFull) {
  EXPECT_EQ(system_reason(ENOSPC),
            "No space left on device; free some space, or choose another folder");
  EXPECT_EQ(system_reason(EDQUOT),
            "Disk quota exceeded; free some space, or choose another folder");
  EXPECT_EQ(system_reason(EACCES), "Permission denied");
}

}  // namespace
}  // namespace flotilla

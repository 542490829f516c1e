#include "flotilla/data/shared_blocks.h"

#include <sys/mman.h>
#include <unistd.h>

#include "flotilla/testing/errors.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace flotilla::data {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A memfd that holds the numbers 0, 1, 2, ...
class Memory {
 public:
  explicit Memory(int64_t numbers) : fd_(memfd_create("test", MFD_CLOEXEC)), bytes_(numbers * 8) {
    for (int64_t i = 0; i < numbers; ++i) {
      EXPECT_EQ(write(fd_, &i, sizeof i), static_cast<ssize_t>(sizeof i));
    }
  }
  ~Memory() { close(fd_); }

  int fd() const { return fd_; }
  int64_t bytes() const { return bytes_; }

 private:
  const int fd_;
  const int64_t bytes_;
};

TEST(SharedBlocks, GivesViewsAndSaysWhenTheyAreGone) {
  SharedBlocks blocks;
  {
    const Memory memory(16);
    blocks.map(3, memory.fd(), memory.bytes());
  }
  std::vector<Tensor> tensors = blocks.take(3, {{i64, Shape{2, 2}, 0}, {i64, Shape{3}, 64}});
  EXPECT_EQ(tensors[0].data<int64_t>()[3], 3);
  EXPECT_EQ(tensors[1].data<int64_t>()[0], 8);
  EXPECT_THAT(blocks.returned(), IsEmpty());
  tensors.pop_back();
  EXPECT_THAT(blocks.returned(), IsEmpty());
  tensors.clear();
  EXPECT_THAT(blocks.returned(), ElementsAre(3));
  EXPECT_THAT(blocks.returned(), IsEmpty());
  EXPECT_THAT(blocks.take(3, {}), IsEmpty());
  EXPECT_THAT(blocks.returned(), ElementsAre(3));
}

TEST(SharedBlocks, TensorsOutliveThem) {
  Tensor kept;
  {
    SharedBlocks blocks;
    const Memory memory(4);
    blocks.map(0, memory.fd(), memory.bytes());
    kept = blocks.take(0, {{i64, Shape{4}, 0}})[0];
  }
  EXPECT_EQ(kept.data<int64_t>()[2], 2);
}

TEST(SharedBlocks, RefusesWhatGoesBeyondABlock) {
  SharedBlocks blocks;
  const Memory memory(4);
  blocks.map(0, memory.fd(), memory.bytes());
  EXPECT_REFUSED(blocks.take(0, {{i64, Shape{4}, 8}}),
                 "an array of 32 bytes at 8 goes beyond the 32 bytes of a worker's block");
  EXPECT_REFUSED(blocks.take(1, {}), "block 1 of a worker's memory is not mapped");
}

}  // namespace
}  // namespace flotilla::data

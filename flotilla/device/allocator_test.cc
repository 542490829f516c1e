#include "flotilla/device/allocator.h"

#include <gmock/gmock.h>

#include <cstring>
#include <set>

#include "flotilla/base/error.h"
#include "flotilla/device/pool.h"

namespace flotilla {
namespace {

bool aligned(const void* data) { return reinterpret_cast<uintptr_t>(data) % 64 == 0; }

TEST(Buffer, IsAlignedAndZero) {
  for (const int64_t bytes : {0, 1, 63, 64, 1000, 5 << 20}) {
    const std::shared_ptr<Buffer> buffer = Buffer::make(bytes);
    EXPECT_TRUE(aligned(buffer->data()));
    EXPECT_GE(buffer->size(), bytes);
    const char* data = static_cast<const char*>(buffer->data());
    EXPECT_EQ(std::count(data, data + bytes, 0), bytes);
  }
}

TEST(Buffer, CountsWhatIsAliveAndTheMostThereWas) {
  const MemoryUse before = memory_use();
  {
    const std::shared_ptr<Buffer> small = Buffer::make(1000), large = Buffer::make(5 << 20);
    EXPECT_EQ(memory_use().live - before.live, small->size() + large->size());
    EXPECT_GE(memory_use().peak, memory_use().live);
  }
  EXPECT_EQ(memory_use().live, before.live);
  EXPECT_GE(memory_use().peak, before.live + (5 << 20));
}

TEST(Buffer, BorrowedMemoryIsNeitherCountedNorFreed) {
  char bytes[64] = {1};
  const MemoryUse before = memory_use();
  {
    const std::shared_ptr<Buffer> buffer = Buffer::borrow(bytes, 64, nullptr);
    EXPECT_EQ(buffer->data(), bytes);
    EXPECT_EQ(memory_use().live, before.live);
  }
  EXPECT_EQ(bytes[0], 1);
}

TEST(Buffer, SaysHowMuchWasAskedForWhenThereIsNotEnough) {
  const int64_t bytes = int64_t{1} << 50;
  EXPECT_THAT([=] { Buffer::make(bytes); },
              testing::ThrowsMessage<Error>(
                  testing::HasSubstr("cannot allocate a buffer of 1125899906842624 bytes")));
  EXPECT_THROW(Buffer::make(-1), Error);
  EXPECT_THROW(Buffer::make(std::numeric_limits<int64_t>::max()), Error);
}

TEST(Pool, GivesAtLeastWhatIsAskedAndWastesLittle) {
  Pool pool;
  for (int64_t bytes = 0; bytes < 100000; bytes = bytes * 9 / 8 + 1) {
    const Pool::Block block = pool.take(bytes);
    EXPECT_TRUE(aligned(block.data()));
    EXPECT_GE(block.size(), bytes);
    EXPECT_LE(block.size(), std::max<int64_t>(256, bytes + bytes / 4 + 64)) << bytes;
    std::memset(block.data(), 1, static_cast<size_t>(bytes));
  }
}

TEST(Pool, ReusesWhatCameBack) {
  Pool pool;
  const void* first = pool.take(1000).data();
  EXPECT_EQ(pool.take(1010).data(), first);
  const MemoryUse before = memory_use();
  for (int i = 0; i < 100; ++i) {
    const Pool::Block a = pool.take(900 + i), b = pool.take(90);
    EXPECT_NE(a.data(), b.data());
  }
  EXPECT_LE(memory_use().live - before.live, 1024 + 256);
}

TEST(Pool, BlocksInUseDoNotOverlap) {
  Pool pool;
  std::vector<Pool::Block> blocks;
  std::set<void*> addresses;
  for (int i = 0; i < 20; ++i) {
    blocks.push_back(pool.take(500));
    EXPECT_TRUE(addresses.insert(blocks.back().data()).second);
  }
  EXPECT_EQ(pool.idle_bytes(), 0);
  blocks.clear();
  EXPECT_GE(pool.idle_bytes(), 20 * 500);
  pool.trim();
  EXPECT_EQ(pool.idle_bytes(), 0);
}

TEST(Pool, AMovedBlockGoesBackOnce) {
  Pool pool;
  Pool::Block a = pool.take(300);
  Pool::Block b = std::move(a);
  EXPECT_EQ(a.data(), nullptr);
  b = pool.take(300);
  EXPECT_EQ(pool.idle_bytes(), 320);
}

}  // namespace
}  // namespace flotilla

#include "flotilla/ps/merged_keys.h"

#include <gmock/gmock.h>

namespace flotilla::ps {
namespace {

using Floats = std::vector<float>;

const std::vector<int64_t> kIds = {5, 7, 5, 9, 5};
const Floats kValues = {1, 2, 10, 20, 3, 4, 7, 8, 100, 200};

Floats row(const MergedKeys::Key& key) { return {key.values, key.values + 2}; }
bool none(uint64_t) { return false; }

TEST(MergedKeysTest, RowsOfEqualKeysAreAddedUpInTheOrderInWhichTheyCome) {
  MergedKeys merged;
  const Keys keys{.ids = kIds.data(), .count = kIds.size()};
  merged.merge(keys, kValues.data(), 2, MergedKeys::Equal::kSum, none);
  ASSERT_EQ(merged.size(), 3u);
  EXPECT_EQ(merged[0].key, 5);
  EXPECT_EQ(merged[0].count, 3u);
  EXPECT_EQ(row(merged[0]), (Floats{104, 206}));
  EXPECT_EQ(merged[1].key, 7);
  EXPECT_EQ(merged[1].values, kValues.data() + 2) << "one row is not copied";
  EXPECT_EQ(merged[2].key, 9);
}

TEST(MergedKeysTest, TheLastOneMayCount) {
  MergedKeys merged;
  const Keys keys{.ids = kIds.data(), .count = kIds.size()};
  merged.merge(keys, kValues.data(), 2, MergedKeys::Equal::kLast, none);
  EXPECT_EQ(row(merged[0]), (Floats{100, 200}));
  EXPECT_EQ(merged[0].count, 1u);
}

TEST(MergedKeysTest, SomeOfTheKeysMayBeOfOthersOrLeftOut) {
  MergedKeys merged;
  const std::vector<uint32_t> where = {1, 3, 4};
  const Keys keys{.ids = kIds.data(), .where = where.data(), .count = where.size()};
  merged.merge(keys, kValues.data(), 2, MergedKeys::Equal::kSum,
               [](uint64_t hash) { return hash == hash_of(9); });
  ASSERT_EQ(merged.size(), 2u);
  EXPECT_EQ(merged[0].key, 7);
  EXPECT_EQ(row(merged[1]), (Floats{100, 200}));
  merged.merge({}, nullptr, 2, MergedKeys::Equal::kSum, none);
  EXPECT_EQ(merged.size(), 0u);
}

}  // namespace
}  // namespace flotilla::ps

// flotilla/ps/cold_rows_test.cc
//
// Tables that keep a part of their rows in memory and the rest on disk.

#include "flotilla/ps/cold_rows.h"

#include <gmock/gmock.h>

#include <limits>
#include <map>
#include <numeric>
#include <random>

#include "flotilla/ps/sparse_table.h"
#include "flotilla/ps/store.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla::ps {
namespace {

using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;

class Cold : public ::testing::Test, protected TempDir {
 protected:
  void SetUp() override {
    if (!ColdRows::available()) GTEST_SKIP() << "RocksDB is not installed";
  }
};

std::vector<std::byte> row_of(int number) { return std::vector<std::byte>(12, std::byte(number)); }

TEST_F(Cold, RowsComeBackOnce) {
  ColdRows rows(dir_ / "cold");
  const Ids keys = {0, -1, 5, std::numeric_limits<int64_t>::min(),
                    std::numeric_limits<int64_t>::max()};
  for (size_t i = 0; i < keys.size(); ++i) rows.put(keys[i], row_of(static_cast<int>(i)));
  rows.flush();
  EXPECT_EQ(rows.size(), 5);
  std::map<int64_t, std::vector<std::byte>> seen;
  for (int shard = 0; shard < kShards; ++shard) {
    rows.for_each(shard, [&](int64_t key, std::span<const std::byte> row) {
      EXPECT_EQ(shard_of(key), shard);
      seen[key].assign(row.begin(), row.end());
    });
  }
  EXPECT_EQ(seen.size(), 5u);
  std::vector<std::byte> row;
  for (size_t i = 0; i < keys.size(); ++i) {
    EXPECT_EQ(seen[keys[i]], row_of(static_cast<int>(i)));
    EXPECT_TRUE(rows.take(keys[i], row));
    EXPECT_EQ(row, row_of(static_cast<int>(i)));
    EXPECT_FALSE(rows.take(keys[i], row));
  }
  EXPECT_FALSE(rows.take(7, row));
  EXPECT_EQ(rows.size(), 0);
}

// Whatever is in memory and whatever on disk, it is the same table.
TEST_F(Cold, ATableOnDiskIsTheSameTable) {
  const std::string text =
      "table 1 w sparse width=3 rule=adam(row_powers=1) init=uniform(-1, 1) seed=9 "
      "admit=probability(0.7) scores=true";
  ShardPool pool(1), three(3);
  SparseTable all(parse_table(text), {}, 1);
  SparseTable some(parse_table(text + " memory=120"), {}, 1, dir_ / "some");
  SparseTable few(parse_table(text + " memory=30"), {}, 3, dir_ / "few");
  std::mt19937_64 random(3);
  for (int step = 0; step < 60; ++step) {
    Ids ids(random() % 60);
    for (int64_t& id : ids) id = static_cast<int64_t>(random() % 600);
    Floats grads(ids.size() * 3);
    for (float& g : grads) g = static_cast<float>(random() % 1000) * 0.001f - 0.5f;
    for (SparseTable* table : {&all, &some, &few}) {
      ShardPool& served = table == &few ? three : pool;
      table->push(served, ids, grads, {.round = {.lr = 0.01f}});
      if (step % 20 == 19)
        table->shrink(served, {.max_unseen = 2, .min_score = 0.3f, .decay = 0.8f});
    }
  }
  const SparseStats stats = all.stats(pool);
  EXPECT_GT(stats.rows, 150);
  Ids keys(600);
  std::iota(keys.begin(), keys.end(), int64_t{0});
  Floats expected(600 * 11), found(600 * 11);
  // The tables on disk are saved and loaded again as they are, too.
  SparseTable again(parse_table(text + " memory=50"), {}, 1, dir_ / "again");
  std::vector<std::byte> bytes;
  for (int shard = 0; shard < kShards; ++shard) {
    some.part(0).save(shard, bytes);
    again.part(0).load(shard, bytes, 1);
  }
  all.pull_with_state(pool, keys, expected);
  for (SparseTable* table : {&some, &few, &again}) {
    ShardPool& served = table == &few ? three : pool;
    EXPECT_EQ(table->stats(served).rows, stats.rows);
    EXPECT_EQ(table->stats(served).evicted, table == &again ? 0 : stats.evicted);
    EXPECT_GT(table->stats(served).cold, 20);
    table->pull_with_state(served, keys, found);
    EXPECT_EQ(found, expected);
  }
}

TEST_F(Cold, MemoryStaysWithinItsBounds) {
  SparseTable table(parse_table("table 1 w sparse width=4 rule=sgd memory=1000"), {}, 1,
                    dir_ / "cold");
  ShardPool pool(1);
  for (int64_t begin = 0; begin < 20000; begin += 500) {
    Ids ids(500);
    std::iota(ids.begin(), ids.end(), begin);
    Floats values(2000);
    table.pull(pool, ids, values);
    const SparseStats stats = table.stats(pool);
    ASSERT_LE(stats.rows - stats.cold, 1000);
    ASSERT_EQ(stats.rows, begin + 500);
  }
  // 1500 rows of 48 bytes and the smallest indices.
  EXPECT_LT(table.stats(pool).bytes, 1500 * 48 + 256 * 16 * 8 * 2);
}

TEST_F(Cold, AStoreContinuesWhereItWas) {
  const TableSpec spec = parse_table("table 1 w sparse width=2 rule=sgd memory=16");
  Ids keys(100);
  std::iota(keys.begin(), keys.end(), int64_t{0});
  for (int run = 1; run <= 4; ++run) {
    Store store({.directory = dir_ / "store"});
    store.create(spec);
    const Floats ones(200, 1);
    store.push({.changes = {{.table = 1, .lr = -1, .keys = keys, .values = ones}}});
    if (run == 2) store.snapshot();
    Floats found(200);
    store.pull(1, keys, found);
    EXPECT_EQ(found, Floats(200, static_cast<float>(run)));
    EXPECT_GE(store.stats().tables[0].sparse.cold, 84);
  }
  Store store({.directory = dir_ / "store"});
  store.save(dir_ / "saved");
  for (int load = 1; load <= 2; ++load) {
    const Floats ones(200, 1);
    store.push({.changes = {{.table = 1, .lr = -1, .keys = keys, .values = ones}}});
    store.load(dir_ / "saved");
    Floats found(200);
    store.pull(1, keys, found);
    EXPECT_EQ(found, Floats(200, 4));
    EXPECT_GE(store.stats().tables[0].sparse.cold, 84);
    EXPECT_FALSE(std::filesystem::exists(dir_ / "store" / "cold.1.0"));
  }
  EXPECT_REFUSED(Store({}).create(spec),
                 "table w keeps rows on disk, but there is no directory for them");
}

}  // namespace
}  // namespace flotilla::ps

// flotilla/ps/sparse_table_test.cc

#include "flotilla/ps/sparse_table.h"

#include <gmock/gmock.h>

#include <atomic>
#include <cmath>
#include <limits>
#include <map>
#include <random>
#include <set>

#include "flotilla/ps/initial.h"
#include "flotilla/testing/errors.h"
#include "flotilla/update/adam.h"

namespace flotilla::ps {
namespace {

using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;
using ::testing::Each;
using ::testing::ElementsAre;

constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

// A table with the threads that serve it.
struct Served {
  explicit Served(const std::string& text, int owners = 1, Share share = {})
      : pool(owners), table(parse_table(text), share, owners) {}

  Floats pull(const Ids& ids, bool create = true) {
    Floats values(ids.size() * static_cast<size_t>(table.spec().width));
    table.pull(pool, ids, values, create);
    return values;
  }
  Floats whole(const Ids& ids) {
    Floats rows(ids.size() * static_cast<size_t>(table.spec().width + table.state_width()));
    table.pull_with_state(pool, ids, rows);
    return rows;
  }
  void push(const Ids& ids, const Floats& values, const Effect& effect = {.round = {.lr = 1}}) {
    table.push(pool, ids, values, effect);
  }
  SparseStats stats() { return table.stats(pool); }

  ShardPool pool;
  SparseTable table;
};

TEST(SparseTable, EveryKeyHasARowOfItsOwn) {
  Served served("table 0 w sparse width=3 rule=sgd init=uniform(-1, 1) seed=4");
  const Ids ids = {0, -1, 1, kLeast, kMost, kLeast + 1, int64_t{1} << 62, -77};
  const Floats first = served.pull(ids);
  Floats expected;
  for (const int64_t id : ids) {
    Floats row(3);
    fill_initial(served.table.spec(), id, row);
    expected.insert(expected.end(), row.begin(), row.end());
  }
  EXPECT_EQ(first, expected);
  EXPECT_EQ(served.stats().rows, 8);
  for (size_t i = 0; i < ids.size(); ++i) {
    served.push({ids[i]}, Floats(3, static_cast<float>(i)), {.action = Action::kAssign});
  }
  const Floats second = served.pull(ids);
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(second[i * 3], static_cast<float>(i));
}

TEST(SparseTable, DuplicatesAreAddedUpBeforeTheRuleSeesThem) {
  Served served("table 0 w sparse width=2 rule=adagrad(epsilon=0)");
  served.push({7, 8, 7, 7}, {1, 2, 5, 5, 3, 0, -1, 2});
  Served once("table 0 w sparse width=2 rule=adagrad(epsilon=0)");
  once.push({8, 7}, {5, 5, 3, 4});
  EXPECT_EQ(served.whole({7, 8}), once.whole({7, 8}));
  EXPECT_EQ(served.stats().pushed, 2);
}

TEST(SparseTable, ScaleComesAfterTheSum) {
  Served served("table 0 w sparse width=1 rule=sgd");
  served.push({7, 7}, {2, 6}, {.round = {.lr = 1}, .scale = 0.5f});
  EXPECT_THAT(served.pull({7}), ElementsAre(-4));
}

TEST(SparseTable, ARowThatIsNotFiniteIsRefusedAndCounted) {
  Served served("table 0 w sparse width=2 rule=sgd");
  const float nan = std::nanf(""), inf = INFINITY, most = std::numeric_limits<float>::max();
  served.push({1, 2, 3, 4, 4}, {1, nan, -inf, 1, 1, 1, most, 0, most, 0});
  EXPECT_THAT(served.pull({1, 2, 3, 4}), ElementsAre(0, 0, 0, 0, -1, -1, 0, 0));
  EXPECT_EQ(served.stats().refused, 3);
  EXPECT_EQ(served.stats().pushed, 1);
}

TEST(SparseTable, AdamIsTheOpsAdamOnTheRowsThatCome) {
  Served served("table 0 w sparse width=5 rule=adam init=normal(0, 1) seed=2");
  Floats row = served.pull({42}), m(5), v(5);
  Rule rule(served.table.spec());
  Powers powers = rule.first_powers();
  for (int step = 1; step <= 20; ++step) {
    const Floats grad = {0.1f * step, -1, 0, 2, -0.5f};
    served.push({42}, grad,
                {.round = {.lr = 0.1f, .beta1_power = powers.beta1, .beta2_power = powers.beta2}});
    update::adam(row, grad, m, v,
                 {.lr = 0.1f, .beta1_power = powers.beta1, .beta2_power = powers.beta2});
    powers = rule.next(powers);
  }
  Floats expected = row;
  expected.insert(expected.end(), m.begin(), m.end());
  expected.insert(expected.end(), v.begin(), v.end());
  EXPECT_EQ(served.whole({42}), expected);
}

TEST(SparseTable, RowsMayCountTheirOwnSteps) {
  Served served("table 0 w sparse width=1 rule=adam(row_powers=1)");
  served.push({1}, {3}, {.round = {.lr = 0.5f}});
  served.push({2}, {3}, {.round = {.lr = 0.5f}});
  // The first step of Adam is the learning rate, for each row.
  EXPECT_NEAR(served.pull({1})[0], -0.5, 1e-6);
  EXPECT_NEAR(served.pull({2})[0], -0.5, 1e-6);
}

TEST(SparseTable, DecayReachesTheRowsThatCome) {
  Served served("table 0 w sparse width=2 rule=sgd l1=0.5 l2=0.25 init=constant(4)");
  served.push({1}, {0, 1});
  EXPECT_THAT(served.pull({1, 2}), ElementsAre(2.5f, 1.5f, 4, 4));
}

TEST(SparseTable, DeltasAreAddedAndAssignedValuesStay) {
  Served served("table 0 w sparse width=1 rule=adam init=constant(1)");
  served.push({5, 6, 5}, {1, 2, 4}, {.action = Action::kDelta});
  served.push({9, 9}, {1, 2}, {.action = Action::kAssign});
  EXPECT_THAT(served.pull({5, 6, 9}), ElementsAre(6, 3, 2));
}

TEST(SparseTable, APullThatCreatesNothing) {
  Served served("table 0 w sparse width=4 rule=sgd init=uniform(-1, 1)");
  const Floats seen = served.pull({3}, false);
  EXPECT_EQ(served.stats().rows, 0);
  EXPECT_EQ(served.pull({3}), seen);
}

TEST(SparseTable, AdmissionByCount) {
  Served served("table 0 w sparse width=2 rule=sgd init=constant(1) admit=count(3)");
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(served.pull({7}), Each(0));
    served.push({7}, {1, 1});
  }
  EXPECT_EQ(served.stats().waiting, 1);
  EXPECT_EQ(served.stats().rows, 0);
  served.push({7}, {1, 1});
  EXPECT_THAT(served.pull({7}), Each(1));
  served.push({7}, {1, 1});
  EXPECT_THAT(served.pull({7}), Each(0));
  EXPECT_EQ(served.stats().waiting, 0);
  // Repetitions in one push are appearances too.
  served.push({8, 8, 8}, Floats(6, 1));
  EXPECT_THAT(served.pull({8}), Each(1));
}

TEST(SparseTable, ShrinkByUnseen) {
  Served served("table 0 w sparse width=1 rule=sgd init=constant(1)");
  served.push({1, 2, 3}, {1, 1, 1});
  EXPECT_EQ(served.table.shrink(served.pool, {.max_unseen = 2}), 0);
  EXPECT_EQ(served.table.shrink(served.pool, {.max_unseen = 2}), 0);
  served.push({2}, {1});
  EXPECT_EQ(served.table.shrink(served.pool, {.max_unseen = 2}), 2);
  EXPECT_EQ(served.stats().rows, 1);
  EXPECT_EQ(served.stats().evicted, 2);
  EXPECT_THAT(served.pull({1, 2, 3}), ElementsAre(1, -1, 1));
}

TEST(SparseTable, ShrinkByScore) {
  Served served("table 0 w sparse width=1 rule=sgd scores=true");
  for (int i = 0; i < 4; ++i) served.push({1}, {1});
  served.push({2}, {1});
  EXPECT_EQ(served.table.shrink(served.pool, {.min_score = 1, .decay = 0.5f}), 1);
  EXPECT_THAT(served.pull({1, 2}, false), ElementsAre(-4, 0));
  EXPECT_EQ(served.table.shrink(served.pool, {.min_score = 1, .decay = 0.5f}), 0);
  EXPECT_EQ(served.table.shrink(served.pool, {.min_score = 1, .decay = 0.5f}), 1);
}

TEST(SparseTable, MemoryOfRowsThatWentIsUsedAgain) {
  Served served("table 0 w sparse width=4 rule=sgd");
  Ids ids(10000);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i);
  served.push(ids, Floats(ids.size() * 4, 1));
  const int64_t bytes = served.stats().bytes;
  for (int round = 0; round < 5; ++round) {
    EXPECT_EQ(served.table.shrink(served.pool, {.max_unseen = 1}), 0);
    EXPECT_EQ(served.table.shrink(served.pool, {.max_unseen = 1}), 10000);
    for (int64_t& id : ids) id += 10000;
    served.push(ids, Floats(ids.size() * 4, 1));
  }
  EXPECT_LE(served.stats().bytes, bytes + bytes / 4);  // some indices may have grown
}

TEST(SparseTable, RefusesTheKeysOfOtherServers) {
  Served served("table 0 w sparse width=1 rule=sgd", 1, {1, 2});
  int64_t own = 0, other = 0;
  while (shard_of(own) % 2 != 1) ++own;
  while (shard_of(other) % 2 != 0) ++other;
  served.pull({own});
  EXPECT_REFUSED(
      served.pull({own, other}),
      fmt::format("key {} of table w belongs to server 0, but this is server 1 of 2", other));
}

// Against a plain map, with any number of owners, the bits are the same.
TEST(SparseTable, AnyNumberOfOwnersGivesTheSameBits) {
  const std::string text =
      "table 0 w sparse width=3 rule=adam(row_powers=1) l2=0.01 init=uniform(-1, 1) seed=9 "
      "admit=probability(0.5) scores=true";
  std::vector<std::unique_ptr<Served>> tables;
  for (const int owners : {1, 2, 3, 7}) tables.push_back(std::make_unique<Served>(text, owners));
  std::mt19937_64 random(3);
  std::set<int64_t> seen;
  for (int step = 0; step < 60; ++step) {
    Ids ids(random() % 300);
    for (int64_t& id : ids) id = static_cast<int64_t>(random() % 500 << 55);
    seen.insert(ids.begin(), ids.end());
    Floats grads(ids.size() * 3);
    for (float& g : grads) g = static_cast<float>(random() % 1000) * 0.001f - 0.5f;
    for (const auto& served : tables) {
      served->push(ids, grads, {.round = {.lr = 0.01f}});
      if (step % 7 == 0) served->table.shrink(served->pool, {.max_unseen = 3, .decay = 0.9f});
    }
  }
  const Ids all(seen.begin(), seen.end());
  for (const auto& served : tables) {
    EXPECT_EQ(served->whole(all), tables[0]->whole(all));
    EXPECT_EQ(served->stats().rows, tables[0]->stats().rows);
    EXPECT_EQ(served->stats().waiting, tables[0]->stats().waiting);
    EXPECT_EQ(served->stats().evicted, tables[0]->stats().evicted);
  }
  EXPECT_GT(tables[0]->stats().rows, 100);
}

TEST(SparseTable, ShardsTravelAsBytes) {
  const std::string text =
      "table 0 w sparse width=3 rule=momentum init=uniform(-1, 1) admit=count(2) scores=true";
  Served from(text, 2), to(text, 3);
  Ids ids(2000);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i * i);
  from.push(ids, Floats(6000, 0.5f));
  from.push({ids.begin(), ids.begin() + 1500}, Floats(4500, 0.25f));
  from.push({ids.begin(), ids.begin() + 1000}, Floats(3000, 0.25f));
  from.table.shrink(from.pool, {});
  std::vector<std::byte> bytes;
  for (int shard = 0; shard < kShards; ++shard) {
    from.table.part(from.table.owner_of(shard)).save(shard, bytes);
    to.table.part(to.table.owner_of(shard)).load(shard, bytes, 1);
  }
  EXPECT_EQ(to.whole(ids), from.whole(ids));
  EXPECT_EQ(to.stats().rows, 1500);
  EXPECT_EQ(to.stats().waiting, 500);
  // What follows does not depend on which of the two it happens to.
  for (Served* served : {&from, &to}) {
    served->push(ids, Floats(6000, 0.5f), {.round = {.lr = 1}, .lsn = 2});
    served->table.shrink(served->pool, {.max_unseen = 1, .min_score = 2}, 3);
  }
  EXPECT_EQ(to.whole(ids), from.whole(ids));
  EXPECT_EQ(to.stats().rows, from.stats().rows);
  // A record that the bytes contain is left out.
  const Floats before = to.whole(ids);
  to.push(ids, Floats(6000, 0.5f), {.round = {.lr = 1}, .lsn = 1});
  EXPECT_EQ(to.whole(ids), before);
}

TEST(SparseTable, RefusesShardsThatMakeNoSense) {
  Served served("table 0 w sparse width=1 rule=sgd");
  served.push({0}, {1});
  const int shard = shard_of(0);
  std::vector<std::byte> bytes;
  served.table.part(0).save(shard, bytes);
  Served other("table 0 w sparse width=1 rule=sgd");
  const int wrong = (shard + 1) % kShards;
  EXPECT_REFUSED(other.table.part(0).load(wrong, bytes, 1),
                 fmt::format("key 0 does not belong in shard {} of table w", wrong));
  bytes.pop_back();
  EXPECT_REFUSED(
      other.table.part(0).load(shard, bytes, 1),
      fmt::format("shard {} of table w has 35 bytes, which cannot hold 1 rows and 0 pending keys",
                  shard));
}

TEST(ShardPool, ErrorsOfOwnersReachTheCaller) {
  for (const int owners : {1, 3}) {
    ShardPool pool(owners);
    EXPECT_REFUSED(pool.run([](int owner) { require(owner != 0, "owner {} is ill", owner); }),
                   "owner 0 is ill");
    std::atomic<int> sum = 0;
    pool.run([&](int owner) { sum += owner + 1; });
    EXPECT_EQ(sum, owners * (owners + 1) / 2);
  }
}

}  // namespace
}  // namespace flotilla::ps

// flotilla/ps/store_test.cc

#include "flotilla/ps/store.h"

#include <gmock/gmock.h>

#include <fstream>
#include <map>
#include <numeric>
#include <random>
#include <set>
#include <thread>

#include "flotilla/base/error.h"
#include "flotilla/ps/round_merge.h"
#include "flotilla/ps/snapshot.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla::ps {
namespace {

using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;
using ::testing::Contains;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

const TableSpec kSparse =
    parse_table("table 1 emb sparse width=3 rule=adam init=uniform(-1, 1) seed=5 l2=0.01");
const TableSpec kDense = parse_table("table 2 fc dense width=100 rule=adam init=normal(0, 1)");

// The n-th push of a worker, the same every time.
struct Made {
  explicit Made(uint64_t worker, uint64_t n, const Slice& slice = {0, 100}) {
    std::mt19937_64 random(worker * 1000003 + n);
    keys.resize(random() % 40);
    for (int64_t& key : keys) key = static_cast<int64_t>(random() % 200) - 100;
    rows.resize(keys.size() * 3);
    dense.resize(static_cast<size_t>(slice.size()));
    for (Floats* values : {&rows, &dense}) {
      for (float& x : *values) x = static_cast<float>(random() % 2001) * 0.001f - 1;
    }
    push = {.ids = {{worker, n}},
            .changes = {{.table = 1, .lr = 0.01f, .keys = keys, .values = rows},
                        {.table = 2, .lr = 0.02f, .values = dense}}};
  }

  Ids keys;
  Floats rows, dense;
  Push push;
};

// All that can be seen of a store: the rows of all keys with their state, and the dense table.
Floats look(Store& store) {
  Ids keys(200);
  std::iota(keys.begin(), keys.end(), int64_t{-100});
  Floats rows(200 * 9), dense(static_cast<size_t>(store.slice(2).size()));
  store.pull_rows(1, keys, rows);
  store.pull_dense(2, dense);
  rows.insert(rows.end(), dense.begin(), dense.end());
  return rows;
}

void create_tables(Store& store) {
  store.create(kSparse);
  store.create(kDense);
}

// What a store must look like after the pushes 1 to n of one worker.
Floats expected_after(uint64_t n) {
  Store store({});
  create_tables(store);
  for (uint64_t i = 1; i <= n; ++i) store.push(Made(9, i).push);
  return look(store);
}

class StoreTest : public ::testing::Test, protected TempDir {
 protected:
  StoreOptions options(int owners = 1) const {
    return {.directory = dir_ / "store", .log_options = {.sync = Sync::kOff}, .owners = owners};
  }
};

TEST_F(StoreTest, ContinuesWhereItWas) {
  for (const int owners : {1, 3}) {
    std::filesystem::remove_all(dir_ / "store");
    for (uint64_t n = 1; n <= 30; ++n) {
      Store store(options(owners));
      create_tables(store);
      EXPECT_EQ(store.last_push(9), n - 1);
      EXPECT_EQ(store.push(Made(9, n).push), Store::Outcome::kApplied);
      if (n % 4 == 0) store.snapshot();
      if (n % 10 != 0) continue;
      EXPECT_EQ(look(store), expected_after(n)) << n << " of " << owners;
    }
  }
}

TEST_F(StoreTest, APushIsAppliedOnce) {
  Store store(options());
  create_tables(store);
  EXPECT_EQ(store.push(Made(9, 1).push), Store::Outcome::kApplied);
  EXPECT_EQ(store.push(Made(9, 1).push), Store::Outcome::kRepeated);
  EXPECT_REFUSED(store.push(Made(9, 3).push),
                 "push 3 of worker 9 is out of order: the last one was 1");
  EXPECT_EQ(store.push(Made(9, 2).push), Store::Outcome::kApplied);
  EXPECT_EQ(store.push(Made(9, 1).push), Store::Outcome::kRepeated);
  EXPECT_EQ(look(store), expected_after(2));
  EXPECT_EQ(store.stats().repeated, 2);
}

// The numbers of Paddle 1.8.5's synchronous servers: learning rate 1, gradients 1 and 3 of two
// workers, row 7 looked up twice by each, row 8 by one.
TEST_F(StoreTest, ARoundOfWorkersIsOnePush) {
  Store store(options());
  store.create(parse_table("table 1 emb sparse width=1 rule=sgd init=constant(5)"));
  store.create(parse_table("table 2 fc dense width=1 rule=sgd init=constant(10)"));
  const Ids keys1 = {7, 7, 8}, keys2 = {7, 7};
  const Floats rows1 = {1, 1, 1}, rows2 = {3, 3}, dense1 = {1}, dense2 = {3};
  const std::vector<Push> pushes = {
      {.ids = {{1, 1}},
       .changes = {{.table = 1, .lr = 1, .keys = keys1, .values = rows1},
                   {.table = 2, .lr = 1, .values = dense1}}},
      {.ids = {{2, 1}},
       .changes = {{.table = 2, .lr = 1, .values = dense2},
                   {.table = 1, .lr = 1, .keys = keys2, .values = rows2}}}};
  const MergedRound round = merge_round(pushes);
  EXPECT_EQ(store.push(round.push), Store::Outcome::kApplied);
  EXPECT_EQ(store.push(round.push), Store::Outcome::kRepeated);
  Floats found(2), dense(1);
  store.pull(1, Ids{7, 8}, found);
  store.pull_dense(2, dense);
  EXPECT_THAT(found, ElementsAre(1, 4.5f));
  EXPECT_THAT(dense, ElementsAre(8));
  Push mixed = round.push;
  mixed.ids = {{1, 1}, {2, 2}};
  EXPECT_REFUSED(store.push(mixed),
                 "of the 2 pushes of a round, 1 were already applied and the rest were not");
  std::vector<Push> other = pushes;
  other[1].changes[1].lr = 2;
  EXPECT_EQ(merge_round(other).push.changes[0].lr, 1);
  other[1].changes[1].action = Action::kDelta;
  EXPECT_REFUSED(merge_round(other),
                 "the workers of a round do different things to table 1: actions 0 and 1, scales 1 "
                 "and 1");
  other[1].changes.pop_back();
  EXPECT_REFUSED(merge_round(other), "the workers of a round push to 2 and to 1 tables");
}

TEST_F(StoreTest, RefusesPushesThatMakeNoSense) {
  Store store(options());
  create_tables(store);
  const Floats four(4);
  const Ids one(1);
  EXPECT_REFUSED(store.push({.changes = {{.table = 5}}}), "there is no table 5");
  EXPECT_REFUSED(store.push({.changes = {{.table = 1, .keys = one, .values = four}}}),
                 "a push to table emb must have 3 floats, but has 4 with 1 keys");
  EXPECT_REFUSED(store.push({.changes = {{.table = 2, .values = four}}}),
                 "a push to table fc must have 100 floats, but has 4 with 0 keys");
  TableSpec other = kSparse;
  other.width = 4;
  EXPECT_THAT(refusal_of([&] { store.create(other); }),
              HasSubstr("must be the same as the existing one"));
  EXPECT_EQ(store.tables().size(), 2u);
  EXPECT_EQ(store.stats().records, 2u);
}

TEST_F(StoreTest, ATableKeepsItsSeed) {
  Store store(options());
  create_tables(store);
  TableSpec again = kSparse;
  again.seed = 6;
  store.create(again);
  EXPECT_THAT(store.tables(), Contains(kSparse));
}

TEST_F(StoreTest, ADirectoryHasOneUser) {
  Store store(options());
  EXPECT_REFUSED(Store(options()),
                 "another process is using the tables in " + (dir_ / "store").string());
}

TEST_F(StoreTest, ShrinkIsPartOfTheLog) {
  Floats before;
  {
    Store store(options());
    create_tables(store);
    for (uint64_t n = 1; n <= 5; ++n) store.push(Made(9, n).push);
    EXPECT_EQ(store.shrink(1, {.max_unseen = 1}), 0);
    for (uint64_t n = 6; n <= 8; ++n) store.push(Made(9, n).push);
    EXPECT_GT(store.shrink(1, {.max_unseen = 1}), 0);
    before = look(store);
  }
  Store store(options(2));
  EXPECT_EQ(look(store), before);
  EXPECT_REFUSED(store.shrink(2, {}), "the dense table fc has no rows to shrink");
}

// Snapshots are made while four threads push; whatever is in a snapshot and whatever in the log
// after it, together they are the same.
TEST_F(StoreTest, SnapshotsDoNotStopPushes) {
  for (const int owners : {1, 2}) {
    std::filesystem::remove_all(dir_ / "store");
    Floats before;
    {
      Store store(options(owners));
      create_tables(store);
      std::vector<std::thread> workers;
      std::atomic<int> working = 4, snapshots = 0;
      for (uint64_t worker = 1; worker <= 4; ++worker) {
        workers.emplace_back([&, worker] {
          for (uint64_t n = 1; n <= 150; ++n) {
            // On a busy machine the pushes might all be made before the first snapshot is.
            while (n > 75 && snapshots == 0) std::this_thread::yield();
            store.push(Made(worker, n).push);
          }
          --working;
        });
      }
      for (; working > 0; ++snapshots) store.snapshot();
      for (std::thread& worker : workers) worker.join();
      EXPECT_EQ(store.stats().records, 602u);
      before = look(store);
    }
    Store store(options(3));
    EXPECT_EQ(look(store), before);
    for (uint64_t worker = 1; worker <= 4; ++worker) EXPECT_EQ(store.last_push(worker), 150u);
  }
}

TEST_F(StoreTest, ManyPushesShareAWrite) {
  Store store({.directory = dir_ / "store", .log_options = {.sync = Sync::kEach}});
  create_tables(store);
  std::vector<std::thread> workers;
  for (uint64_t worker = 1; worker <= 8; ++worker) {
    workers.emplace_back([&, worker] {
      for (uint64_t n = 1; n <= 50; ++n) store.push(Made(worker, n).push);
    });
  }
  for (std::thread& worker : workers) worker.join();
  EXPECT_EQ(store.stats().records, 402u);
  EXPECT_LT(store.stats().writes, 402);
}

TEST_F(StoreTest, ADamagedSnapshotIsPassedOver) {
  {
    Store store(options());
    create_tables(store);
    for (uint64_t n = 1; n <= 9; ++n) {
      store.push(Made(9, n).push);
      if (n % 3 == 0) store.snapshot();
    }
  }
  std::fstream file(dir_ / "store/snapshot.0000000003/table.1",
                    std::ios::in | std::ios::out | std::ios::binary);
  file.seekp(300);
  file.put('\x7f');
  file.close();
  Store store(options());
  EXPECT_EQ(look(store), expected_after(9));
  EXPECT_EQ(store.stats().snapshot_record, 8u);
}

TEST_F(StoreTest, OldSnapshotsAndLogsGo) {
  Store store(options());
  create_tables(store);
  for (uint64_t n = 1; n <= 20; ++n) {
    store.push(Made(9, n).push);
    store.snapshot();
  }
  int logs = 0, snapshots = 0;
  for (const auto& entry : std::filesystem::directory_iterator(dir_ / "store")) {
    const std::string name = entry.path().filename();
    logs += name.starts_with("log.");
    snapshots += name.starts_with("snapshot.");
  }
  EXPECT_EQ(snapshots, 2);
  EXPECT_LE(logs, 2);
}

// Saved by three servers, loaded by two, saved by these and loaded by one: nothing is lost.
TEST_F(StoreTest, AnyNumberOfServersLoadsACheckpoint) {
  const Floats expected = expected_after(12);
  const auto save_all = [&](int servers, const std::string& from, const std::string& to) {
    for (int server = 0; server < servers; ++server) {
      const Share share = {server, servers};
      Store store({.share = share, .owners = 2});
      create_tables(store);
      if (!from.empty()) {
        store.load(file(from));
      } else {
        for (uint64_t n = 1; n <= 12; ++n) {
          Made made(9, n);
          Ids keys;
          Floats rows;
          for (size_t i = 0; i < made.keys.size(); ++i) {
            if (!share.holds(shard_of(made.keys[i]))) continue;
            keys.push_back(made.keys[i]);
            rows.insert(rows.end(), made.rows.begin() + static_cast<long>(i) * 3,
                        made.rows.begin() + static_cast<long>(i) * 3 + 3);
          }
          made.push.changes[0].keys = keys;
          made.push.changes[0].values = rows;
          const Slice slice = store.slice(2);
          made.push.changes[1].values =
              std::span(made.dense)
                  .subspan(static_cast<size_t>(slice.begin), static_cast<size_t>(slice.size()));
          store.push(made.push);
        }
      }
      store.save(file(to));
    }
  };
  save_all(3, "", "three");
  save_all(2, "three", "two");
  Store store(options());
  store.load(file("two"));
  EXPECT_EQ(look(store), expected);
  EXPECT_EQ(store.push(Made(9, 1).push), Store::Outcome::kApplied);  // the ids are another job's
  std::filesystem::remove_all(file("two/server-1-of-2"));
  Store other({});
  EXPECT_THAT(refusal_of([&] { other.load(file("two")); }), HasSubstr("cannot read"));
  EXPECT_REFUSED(
      other.load(file("three/server-0-of-3")),
      file("three/server-0-of-3") + " holds no checkpoint: there is no server-0-of-<n> in it");
}

TEST_F(StoreTest, ACheckpointGoesIntoTablesOfTheSameForm) {
  {
    Store store({});
    create_tables(store);
    store.push(Made(9, 1).push);
    store.save(file("saved"));
  }
  // Another seed, other numbers for the rule, another id.
  const TableSpec like = parse_table("table 7 emb sparse width=3 rule=adamw(coeff=0.5) seed=6");
  {
    Store store(options());
    EXPECT_FALSE(store.recovered());
    store.create(like);
    store.load(file("saved"));
  }
  Store store(options());
  EXPECT_TRUE(store.recovered());
  std::map<int64_t, Floats> rows;
  for (int shard = 0; shard < kShards; ++shard) {
    Ids keys;
    Floats values;
    store.collect(7, shard, keys, values);
    for (size_t i = 0; i < keys.size(); ++i) {
      rows[keys[i]].assign(values.begin() + static_cast<long>(i) * 3,
                           values.begin() + static_cast<long>(i) * 3 + 3);
    }
  }
  const Made made(9, 1);
  EXPECT_EQ(rows.size(), std::set<int64_t>(made.keys.begin(), made.keys.end()).size());
  Store origin({});
  create_tables(origin);
  origin.push(made.push);
  for (const auto& [key, row] : rows) {
    Floats expected(3);
    origin.pull(1, Ids{key}, expected);
    EXPECT_EQ(row, expected) << key;
  }
  Store other({});
  other.create(parse_table("table 1 emb sparse width=3 rule=sgd"));
  EXPECT_REFUSED(other.load(file("saved")),
                 "the saved table \"" + print(kSparse) +
                     "\" has a different form than \"table 1 emb sparse width=3 rule=sgd\"");
}

// The rows that a checkpoint holds, by what its manifests say.
int64_t rows_in(const std::filesystem::path& checkpoint) {
  int64_t rows = 0;
  for (const TableManifest& table : read_manifest(checkpoint / "server-0-of-1").tables) {
    if (table.spec.kind != TableSpec::kSparse) continue;
    for (const Piece& piece : table.pieces) rows += piece.rows;
  }
  return rows;
}

int64_t keys_of(std::initializer_list<uint64_t> pushes) {
  std::set<int64_t> keys;
  for (const uint64_t n : pushes) {
    const Made made(9, n);
    keys.insert(made.keys.begin(), made.keys.end());
  }
  return static_cast<int64_t>(keys.size());
}

TEST_F(StoreTest, ADeltaHoldsWhatHasChangedSinceTheLastThatCounts) {
  const SaveOptions base = {.mode = SaveMode::kBase}, delta = {.mode = SaveMode::kDelta};
  {
    Store store(options());
    create_tables(store);
    store.push(Made(9, 1).push);
    store.push(Made(9, 2).push);
    store.save(file("base"), base);
    store.saved(base);
    store.push(Made(9, 3).push);
    store.snapshot();  // brings along what is new
  }
  Store store(options());
  EXPECT_EQ(rows_in(file("base")), keys_of({1, 2}));
  store.save(file("failed"), delta);
  store.push(Made(9, 4).push);
  store.save(file("one"), delta);  // nobody has said that the one before is safe
  store.saved(delta);
  EXPECT_EQ(rows_in(file("failed")), keys_of({3}));
  EXPECT_EQ(rows_in(file("one")), keys_of({3, 4}));
  store.push(Made(9, 5).push);
  store.save(file("two"), delta);
  EXPECT_EQ(rows_in(file("two")), keys_of({5}));
  Store again({});
  for (const char* saved : {"base", "one", "two"}) again.load(file(saved));
  EXPECT_EQ(look(again), expected_after(5));
  again.save(file("after"), delta);
  EXPECT_EQ(rows_in(file("after")), 0);  // what was loaded is not new
}

TEST_F(StoreTest, OneTableIsSavedAndLoadedAlone) {
  Store store({});
  create_tables(store);
  store.push(Made(9, 1).push);
  store.save(file("rows"), {.table = kSparse.id});
  store.save(file("all"));
  EXPECT_REFUSED(store.save(file("none"), {.table = 99}), "there is no table 99");
  Store rows({}), one({});
  rows.load(file("rows"));
  one.load(file("all"), kSparse.id);
  for (Store* other : {&rows, &one}) {
    ASSERT_EQ(other->tables().size(), 1u);
    EXPECT_EQ(other->tables()[0], kSparse);
    EXPECT_EQ(other->stats().tables[0].sparse.rows, keys_of({1}));
  }
  EXPECT_REFUSED(one.load(file("all"), 99), file("all") + " does not contain table 99");
}

// What a load leaves is what was saved and what came after it, also after a restart.
TEST_F(StoreTest, ALoadTakesThePlaceOfWhatIsThere) {
  for (const int owners : {1, 3}) {
    std::filesystem::remove_all(dir_ / "store");
    {
      Store store(options(owners));
      create_tables(store);
      for (uint64_t n = 1; n <= 3; ++n) store.push(Made(9, n).push);
      store.save(file("three"));
      for (uint64_t n = 4; n <= 9; ++n) store.push(Made(8, n - 3).push);
      store.snapshot();
      store.load(file("three"));
      EXPECT_EQ(look(store), expected_after(3));
      EXPECT_EQ(store.stats().tables[0].sparse.rows, keys_of({1, 2, 3}));
      EXPECT_EQ(store.last_push(8), 6u);  // what was applied is not applied again
      store.push(Made(9, 4).push);
    }
    Store store(options(owners));
    EXPECT_EQ(look(store), expected_after(4));
    EXPECT_EQ(store.last_push(9), 4u);
  }
}

TEST_F(StoreTest, ALoadThatFailsChangesNothing) {
  Store store(options(2));
  create_tables(store);
  store.push(Made(9, 1).push);
  store.save(file("saved"));
  store.push(Made(9, 2).push);
  // The last table of the checkpoint is damaged: the first was read by then.
  std::fstream damaged(file("saved/server-0-of-1/table.2"), std::ios::in | std::ios::out);
  damaged.seekp(40).put('x');
  damaged.close();
  EXPECT_THROW(store.check_checkpoint(file("saved")), Error);
  EXPECT_THROW(store.load(file("saved")), Error);
  EXPECT_EQ(look(store), expected_after(2));
  store.snapshot();
  store.load(file("saved"), kSparse.id);
  Floats found(3), expected(3);
  const Ids key = {Made(9, 1).keys.at(0)};
  store.pull(1, key, found);
  Store before({});
  create_tables(before);
  before.push(Made(9, 1).push);
  before.pull(1, key, expected);
  EXPECT_EQ(found, expected);
}

TEST_F(StoreTest, PushesMayGoOnDuringLoads) {
  Store store(options(2));
  store.create(parse_table("table 1 emb sparse width=1 rule=sgd"));
  const float one = 1;
  const int64_t key = 3;
  const auto push = [&](uint64_t n) {
    store.push({.ids = {{7, n}},
                .changes = {{.table = 1, .lr = -1, .keys = {&key, 1}, .values = {&one, 1}}}});
  };
  push(1);
  store.save(file("saved"));
  std::jthread pushes([&] {
    for (uint64_t n = 2; n <= 400; ++n) push(n);
  });
  for (int i = 0; i < 5; ++i) store.load(file("saved"));
  pushes.join();
  store.load(file("saved"));
  push(401);
  float found = 0;
  store.pull(1, {&key, 1}, {&found, 1});
  EXPECT_EQ(found, 2);
}

TEST_F(StoreTest, WithoutALogSnapshotsRemain) {
  StoreOptions without = options();
  without.log = false;
  {
    Store store(without);
    create_tables(store);
    for (uint64_t n = 1; n <= 4; ++n) store.push(Made(9, n).push);
    store.snapshot();
    store.push(Made(9, 5).push);
  }
  Store store(without);
  EXPECT_EQ(store.last_push(9), 4u);
  EXPECT_EQ(look(store), expected_after(4));
}

TEST(Manifest, GoesThereAndBack) {
  const Manifest manifest = {
      .record = 12,
      .share = {1, 3},
      .delta = true,
      .last_pushes = {{1, 2}, {~uint64_t{0}, 7}},
      .tables = {
          {.spec = kSparse,
           .powers = {0.1f, 0.2f},
           .pieces = {{.shard = 4, .record = 13, .rows = 5, .offset = 0, .bytes = 9, .crc = 1},
                      {.shard = 7, .record = 14, .rows = 0, .offset = 9, .bytes = 2, .crc = 0}}},
          {.spec = kDense, .pieces = {{.slice = {16, 32}, .bytes = 99, .crc = 0xffffffff}}}}};
  const std::string text = print(manifest);
  EXPECT_EQ(parse_manifest(text), manifest);
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_THROW(parse_manifest(std::string_view(text).substr(0, size)), Error) << size;
  }
  for (size_t at = 0; at < text.size(); ++at) {
    std::string wrong = text;
    wrong[at] ^= 1;
    EXPECT_THROW(parse_manifest(wrong), Error) << at;
  }
}

}  // namespace
}  // namespace flotilla::ps

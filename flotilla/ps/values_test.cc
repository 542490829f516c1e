// flotilla/ps/values_test.cc
//
// The file `ready`, the log and the snapshots of a folder from which something was lost: a store
// goes on with all that it had, or refuses.

#include "flotilla/ps/values.h"

#include <gmock/gmock.h>

#include <functional>

#include "flotilla/ps/store.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla::ps {
namespace {

namespace fs = std::filesystem;
using ::testing::Each;
using ::testing::HasSubstr;
using Floats = std::vector<float>;

constexpr uint64_t kId = 0xabc;

TEST(Values, GoThereAndBack) {
  for (const Values& values : {Values{}, Values{.id = ~uint64_t{0}, .used = true}, Values{kId},
                               Values{kId, true, 7, true}, Values{kId, true, 7}}) {
    EXPECT_EQ(parse_values(print(values)), values);
  }
  for (const char* wrong :
       {"", "values ", "values 1", "values g used", "values 1 used ", "values 1  used",
        "value 1 used", "values 1 Used", "values -1 used", "values 1 used 0", "values 1 used 7 ",
        "values 1 used x", "values 1 loadedloaded"}) {
    EXPECT_THAT(refusal_of([&] { parse_values(wrong); }), HasSubstr("must be \"values <id> used\""))
        << wrong;
  }
}

// Of servers with folders called /0, /1, ...
std::vector<ServerValues> servers(const std::vector<Values>& each) {
  std::vector<ServerValues> all;
  for (const Values& values : each) all.push_back({values, "/" + std::to_string(all.size())});
  return all;
}

constexpr char kAdvice[] =
    "restore the files of that server, or start with an empty --ps_dir, from a checkpoint if there "
    "is one (fleet.init_server(dir))";

TEST(Values, OfServersBelongTogetherOrAreRefused) {
  const Values none, first = {kId}, used = {kId, true}, other = {7}, strange = {8, true},
                     again = {kId, true, 9};
  using All = std::vector<Values>;
  for (const All& all : {All{used}, All{first, first}, All{used, first}, All{used, used, used}}) {
    EXPECT_TRUE(have_values(servers(all)));
    EXPECT_FALSE(are_as_loaded(servers(all)));
  }
  // Nobody has learned anything: a job was killed between two servers.
  for (const All& all : {All{none}, All{none, none}, All{first, none}, All{first, other}}) {
    EXPECT_FALSE(have_values(servers(all)));
  }
  const std::string advice = kAdvice;
  EXPECT_REFUSED(have_values(servers({used, none})),
                 "server 0 has tables that were trained or loaded, but server 1 has none, as if "
                 "its folder /1 were lost: " +
                     advice);
  EXPECT_REFUSED(have_values(servers({first, first, none, used})),
                 "server 3 has tables that were trained or loaded, but server 2 has none, as if "
                 "its folder /2 were lost: " +
                     advice);
  EXPECT_THAT(refusal_of([&] {
                have_values(std::vector<ServerValues>{{used}, {none}});
              }),
              HasSubstr("its folder (in memory) were lost"));
  for (const All& all : {All{used, other}, All{used, strange}, All{used, again}}) {
    EXPECT_REFUSED(have_values(servers(all)),
                   "servers 0 and 1 have tables that do not belong together, as if the folder of "
                   "one, /0 or /1, were that of another job, or a load had reached only one: " +
                       advice);
  }
}

// Both have loaded checkpoint 9; kId is what they were told afterwards.
TEST(Values, OfACheckpointGoOnUntilSomebodyHasLearned) {
  const Values loaded = {9, true, 9, true}, named = {kId, true, 9, true}, trained = {kId, true, 9},
               newer = {10, true, 10, true}, old = {9, true};
  using All = std::vector<Values>;
  // Wherever the job was killed that told them.
  for (const All& all : {All{loaded}, All{loaded, loaded}, All{named, loaded},
                         All{loaded, named, named}, All{{kId + 1, true, 9, true}, named}}) {
    EXPECT_TRUE(have_values(servers(all)));
    EXPECT_TRUE(are_as_loaded(servers(all)));
  }
  for (const All& all : {All{trained, trained}, All{named, trained}, All{old, old}}) {
    EXPECT_TRUE(have_values(servers(all)));
    EXPECT_FALSE(are_as_loaded(servers(all)));
  }
  // The last is of a folder from before checkpoints were written.
  for (const All& all : {All{trained, loaded}, All{{kId, true}, loaded}, All{old, loaded}}) {
    EXPECT_REFUSED(have_values(servers(all)),
                   std::string("server 0 has tables that were trained, but server 1 has those of a "
                               "checkpoint that it has loaded since, as if its folder /1 had been "
                               "lost: ") +
                       kAdvice);
  }
  EXPECT_THAT(refusal_of([&] {
                have_values(servers({loaded, newer}));
              }),
              HasSubstr("servers 0 and 1 have tables that do not belong together"));
  EXPECT_THAT(refusal_of([&] {
                have_values(servers({loaded, {}}));
              }),
              HasSubstr("server 1 has none"));
}

class ReadyMarkTest : public ::testing::Test, protected TempDir {
 protected:
  StoreOptions options(Share share = {0, 1}) const {
    return {.directory = dir_ / "store", .log_options = {.sync = Sync::kOff}, .share = share};
  }
  fs::path in_store(const std::string& name) const { return dir_ / "store" / name; }
  std::string mark() const { return get("store/ready"); }
  static void push(Store& store, Action action, float value, uint64_t sequence) {
    const Floats values(4, value);
    store.push({.ids = {{9, sequence}},
                .changes = {{.table = 2, .action = action, .lr = 1, .values = values}}});
  }
  // First values of 10, and `steps` gradients of 1.
  void train(int steps = 1, bool snapshot = false) {
    Store store(options());
    store.create(parse_table("table 2 fc dense width=4 rule=sgd"));
    push(store, Action::kAssign, 10, 1);
    EXPECT_EQ(store.values(), Values());
    store.set_values(kId);
    EXPECT_EQ(store.values(), Values{kId});
    for (int step = 0; step < steps; ++step) {
      push(store, Action::kGradient, 1, 2 + static_cast<uint64_t>(step));
    }
    if (snapshot) store.snapshot();
  }
  void expect_continues(float value = 9) {
    for (int start = 0; start < 2; ++start) {
      Store store(options());
      EXPECT_EQ(store.values(), (Values{kId, value < 10}));
      Floats values(4);
      store.pull_dense(2, values);
      EXPECT_THAT(values, Each(value));
    }
    EXPECT_EQ(read_ready_mark(dir_ / "store").mark->id, kId);
  }
  std::string refusal() {
    return refusal_of([&] { Store store(options()); });
  }
  void remove_logs() {
    for (const auto& entry : fs::directory_iterator(dir_ / "store")) {
      if (entry.path().filename().native().starts_with("log.")) fs::remove(entry.path());
    }
  }
};

TEST_F(ReadyMarkTest, TheLogHasWhatItSays) {
  train(0);
  expect_continues(10);
  for (const bool snapshot : {false, true}) {
    fs::remove_all(dir_ / "store");
    train(1, snapshot);
    expect_continues();
    const std::string whole = mark();
    EXPECT_THAT(whole, HasSubstr("server 0 of 1\nvalues abc record 3\n"));
    fs::remove(in_store("ready"));
    expect_continues();
    for (const std::string& text :
         {std::string(), std::string("\n"), whole.substr(0, whole.size() / 2), whole + " ",
          std::string(64, '\0')}) {
      put("store/ready", text);
      expect_continues();
    }
    // Another job's, of a time that this one has passed too.
    write_ready_mark(dir_ / "store", {{1, 2}, 77, 2});
    expect_continues();
    // What a write left that was cut short.
    put("store/ready.unfinished", "flo");
    expect_continues();
    EXPECT_FALSE(fs::exists(in_store("ready.unfinished")));
  }
}

TEST_F(ReadyMarkTest, SaysThatTheLogIsGone) {
  train();
  remove_logs();
  EXPECT_EQ(refusal(), in_store("ready").string() +
                           " says that the tables had values at record 3, but the log and the "
                           "snapshots beside it end at record 0: restore the missing files, or "
                           "start with an empty folder, from a checkpoint if there is one");
  EXPECT_EQ(refusal(), refusal());
  // The same of a folder from before ids were written.
  put("store/ready", "");
  EXPECT_THAT(refusal(), HasSubstr("had values at record 1, but"));
  // With the mark, too, nothing is left to go by.
  fs::remove(in_store("ready"));
  EXPECT_EQ(Store(options()).values(), Values());
}

TEST_F(ReadyMarkTest, ASnapshotWithoutALogIsRefused) {
  train(1, /*snapshot=*/true);
  remove_logs();
  EXPECT_EQ(
      refusal(),
      (dir_ / "store").string() +
          " has a snapshot up to record 4, but not the log of what came after it: restore the "
          "files log.*, or start with an empty folder, from a checkpoint if there is one");
}

TEST_F(ReadyMarkTest, OfTablesWithoutValuesIsRefused) {
  { Store(options()).create(parse_table("table 2 fc dense width=4 rule=sgd")); }
  EXPECT_EQ(Store(options()).values(), Values());
  write_ready_mark(dir_ / "store", {{0, 1}, kId, 1});
  EXPECT_EQ(refusal(), in_store("ready").string() +
                           " says that the tables have values, but the log and the snapshots "
                           "beside it do not: remove it if it is from another folder");
}

TEST_F(ReadyMarkTest, TheFolderOfAnotherServerIsRefused) {
  train();
  EXPECT_EQ(refusal_of([&] {
              Store store(options({1, 2}));
            }),
            "the log belongs to server 0 of 1, but this is server 1 of 2");
}

// Trained, but nobody has said so: a folder from before ids were written.
TEST_F(ReadyMarkTest, AFolderWithoutIdsCountsAsOne) {
  {
    Store store(options());
    store.create(parse_table("table 2 fc dense width=4 rule=sgd"));
    push(store, Action::kAssign, 10, 1);
  }
  put("store/ready", "");
  EXPECT_EQ(Store(options()).values(), Values{kUnnamedValues});
  fs::remove(in_store("ready"));
  {
    Store store(options());
    EXPECT_EQ(store.values(), Values());
    push(store, Action::kGradient, 1, 2);
    EXPECT_EQ(store.values(), (Values{kUnnamedValues, true}));
  }
  EXPECT_EQ(Store(options()).values(), (Values{kUnnamedValues, true}));
}

TEST_F(ReadyMarkTest, ACheckpointIsTheSameForAllWhoLoadIt) {
  train();
  Store(options()).save(dir_ / "saved");
  Values loaded[2];
  for (int server = 0; server < 2; ++server) {
    StoreOptions mine = options({server, 2});
    mine.directory = dir_ / "loaded" / std::to_string(server);
    for (int start = 0; start < 2; ++start) {
      Store store(mine);
      if (start == 0) store.load(dir_ / "saved");
      loaded[server] = store.values();
      EXPECT_TRUE(loaded[server].used && loaded[server].as_loaded);
    }
  }
  EXPECT_EQ(loaded[0], loaded[1]);
  EXPECT_EQ(loaded[0].id, loaded[0].checkpoint);
  // Later it is another one, but it is loaded into the same job.
  {
    Store store(options());
    push(store, Action::kGradient, 1, 3);
    store.save(dir_ / "saved");
    store.load(dir_ / "saved");
    EXPECT_NE(store.values().checkpoint, loaded[0].checkpoint);
    EXPECT_EQ(store.values(), (Values{kId, true, store.values().checkpoint}));
    EXPECT_EQ(read_ready_mark(dir_ / "store").mark->id, kId);
  }
  // A load that fails changes nothing.
  Store store(options());
  const Values before = store.values();
  EXPECT_THROW(store.load(dir_ / "nowhere"), std::exception);
  EXPECT_EQ(store.values(), before);
}

// What is done to the first of two servers that have loaded a checkpoint, before the folder of the
// second is lost and it loads the checkpoint again.
TEST_F(ReadyMarkTest, ACheckpointThatIsLoadedAgainMeetsOnlyWhatItHolds) {
  train();
  Store(options()).save(dir_ / "saved");
  const auto store_of = [&](int server) {
    StoreOptions mine = options({server, 2});
    mine.directory = dir_ / "two" / std::to_string(server);
    return Store(mine);
  };
  using Change = std::function<void(Store&)>;
  const Change nothing = [](Store&) {}, name = [](Store& store) { store.set_values(kId); };
  const Change learn = [](Store& store) {
    store.set_values(kId);
    const Floats gradient(static_cast<size_t>(store.slice(2).size()), 1);
    store.push({.ids = {{9, 1}},
                .changes = {{.table = 2, .action = Action::kGradient, .values = gradient}}});
  };
  const Change learn_and_snapshot = [&](Store& store) {
    learn(store);
    store.snapshot();
  };
  for (const auto& [change, fits] :
       {std::pair{nothing, true}, std::pair{name, true}, std::pair{learn, false},
        std::pair{learn_and_snapshot, false}}) {
    fs::remove_all(dir_ / "two");
    for (const int server : {0, 1}) store_of(server).load(dir_ / "saved");
    {
      Store first = store_of(0);
      change(first);
    }
    fs::remove_all(dir_ / "two" / "1");
    store_of(1).load(dir_ / "saved");
    const std::vector<ServerValues> all = servers({store_of(0).values(), store_of(1).values()});
    if (fits) {
      EXPECT_TRUE(have_values(all));
    } else {
      EXPECT_THAT(refusal_of([&] { have_values(all); }),
                  HasSubstr("server 1 has those of a checkpoint that it has loaded since, as if "
                            "its folder /1 had been lost"));
    }
  }
}

}  // namespace
}  // namespace flotilla::ps

// flotilla/ps/worker_test.cc

#include "flotilla/ps/worker.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <map>
#include <random>
#include <thread>

#include "flotilla/base/error.h"
#include "flotilla/ps/client.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/local_servers.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla::ps {
namespace {

using ::testing::ContainsRegex;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using testing::LocalServers;
using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;

constexpr uint32_t kEmb = 1;
constexpr uint32_t kFc = 2;

std::vector<TableSpec> tables_of(const std::string& rule, int64_t dense_width = 1) {
  return {parse_table("table 1 emb sparse width=1 rule=" + rule + " init=constant(5)"),
          parse_table(fmt::format("table 2 fc dense width={} rule={}", dense_width, rule))};
}

// A worker whose dense parameter is one array that starts at 10.
struct TestWorker {
  TestWorker(LocalServers& servers, WorkerOptions options, const std::vector<TableSpec>& tables,
             size_t width = 1)
      : worker(options), parameter(width, 10) {
    std::shared_ptr<Client> client = servers.client(options.rank);
    client->create(tables);
    worker.connect(client, tables);
  }
  void give() {
    const std::span<const float> parts[] = {parameter};
    worker.give(kFc, parts);
  }
  // Every id of `ids`, and every float of the parameter, gets this gradient.
  void step(const Ids& ids, float gradient) {
    Floats rows(ids.size()), gradients(ids.size(), gradient), dense(parameter.size(), gradient);
    const Lookup lookup = {ids, rows.data()};
    worker.lookup(kEmb, {&lookup, 1}, Worker::kNoPadding, false);
    worker.push_rows(kEmb, {{ids, gradients.data()}}, Worker::kNoPadding, 1);
    worker.push_dense(kFc, {dense}, 1);
    worker.end_step();
    const std::span<float> parts[] = {parameter};
    worker.refresh(kFc, parts);
    seen = rows;
  }
  Floats rows(const Ids& ids) {
    Floats rows(ids.size());
    const Lookup lookup = {ids, rows.data()};
    worker.lookup(kEmb, {&lookup, 1}, Worker::kNoPadding, true);
    return rows;
  }

  Worker worker;
  Floats parameter;
  Floats seen;
};

void run_workers(int workers, const std::function<void(int rank)>& body) {
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < workers; ++rank) threads.emplace_back([&, rank] { body(rank); });
}

// The numbers of the document's reference: two workers with gradients 1 and 3, learning rate 1.
TEST(Worker, ASynchronousRoundAveragesDenseAndSparse) {
  for (const int count : {1, 2, 3}) {
    LocalServers servers(count, 2);
    std::vector<std::unique_ptr<TestWorker>> workers;
    for (int rank = 0; rank < 2; ++rank) {
      workers.push_back(std::make_unique<TestWorker>(
          servers, WorkerOptions{.mode = Mode::kSync, .rank = rank, .workers = 2},
          tables_of("sgd")));
    }
    workers[0]->give();
    run_workers(2, [&](int rank) {
      TestWorker& worker = *workers[static_cast<size_t>(rank)];
      // Row 7 twice for each; row 8 for worker 0 alone.
      worker.step(rank == 0 ? Ids{7, 7, 8} : Ids{7, 7}, rank == 0 ? 1 : 3);
      EXPECT_THAT(worker.parameter, ElementsAre(8));
      EXPECT_THAT(worker.rows({7, 8}), ElementsAre(1, 4.5f));
      for (const float expected : {6.0f, 4.0f, 2.0f}) {
        worker.step({100}, rank == 0 ? 1 : 3);
        EXPECT_THAT(worker.parameter, ElementsAre(expected));
      }
    });
  }
}

TEST(Worker, RowsOfTheNextStepComeWithTheAnswerToThisOne) {
  const std::vector<Ids> batches = {{1, 2, 3, 2}, {2, 9}, {9, 9, 4, 1, 70}, {5}};
  for (const auto& [mode, count] :
       {std::pair(Mode::kSync, 1), {Mode::kAsync, 1}, {Mode::kHalfAsync, 1}, {Mode::kSync, 3}}) {
    std::vector<Floats> seen[2];
    int64_t requests[2] = {};
    for (const int ahead : {0, 1}) {
      LocalServers servers(count, 1);
      TestWorker test(servers, {.mode = mode}, tables_of("adagrad"));
      test.give();
      EXPECT_TRUE(test.worker.looks_ahead());
      const int64_t before = servers.service(0).stats().requests;
      for (size_t i = 0; i < batches.size(); ++i) {
        if (ahead == 1 && i + 1 < batches.size()) {
          test.worker.expect({{.now = batches[i].data(), .next = batches[i + 1]}});
        }
        test.step(batches[i], 1);
        seen[ahead].push_back(test.seen);
      }
      requests[ahead] = servers.service(0).stats().requests - before;
      // What comes may be another batch after all, or the tables may have changed.
      test.worker.expect({{.now = batches[0].data(), .next = batches[1]}});
      test.step(batches[0], 1);
      test.step({70, 2}, 1);
      seen[ahead].push_back(test.seen);
      test.worker.expect({{.now = batches[0].data(), .next = batches[1]}});
      test.step(batches[0], 1);
      test.worker.flush();
      test.step(batches[1], 1);
      seen[ahead].push_back(test.seen);
    }
    EXPECT_EQ(seen[0], seen[1]);
    if (count > 1) continue;
    EXPECT_EQ(requests[0], 8);
    EXPECT_EQ(requests[1], 5);  // one for each step, but for the first
  }
  LocalServers servers(1, 1);
  EXPECT_FALSE(TestWorker(servers, {.mode = Mode::kAsync, .send_queue = 1}, tables_of("sgd"))
                   .worker.looks_ahead());
}

TEST(Worker, AnAsynchronousPushIsAnUpdateOfItsOwn) {
  for (const Mode mode : {Mode::kAsync, Mode::kHalfAsync}) {
    LocalServers servers(2, 2);
    const std::vector<TableSpec> tables = tables_of("sgd");
    TestWorker first(servers, {.mode = mode, .rank = 0, .workers = 2, .send_queue = 3}, tables);
    TestWorker second(servers, {.mode = mode, .rank = 1, .workers = 2}, tables);
    first.give();
    run_workers(2, [&](int rank) {
      TestWorker& worker = rank == 0 ? first : second;
      for (int i = 0; i < 4; ++i) worker.step({7}, rank == 0 ? 1 : 3);
      worker.worker.flush();
    });
    EXPECT_THAT(first.rows({7}), ElementsAre(5 - 4 - 12));
    const std::span<float> parts[] = {first.parameter};
    first.worker.take(kFc, parts);
    EXPECT_THAT(first.parameter, ElementsAre(10 - 4 - 12));
  }
}

TEST(Worker, MergedPushesAreSummedUnderSgdAndAveragedOtherwise) {
  for (const bool sgd : {true, false}) {
    LocalServers servers(1, 1);
    const std::vector<TableSpec> tables = tables_of(sgd ? "sgd" : "adagrad(epsilon=0)", 3);
    TestWorker one(servers, {.mode = Mode::kAsync, .send_queue = 64, .max_merge = 4}, tables, 3);
    one.give();
    for (int i = 0; i < 40; ++i) one.step({7, 9}, 1);
    one.worker.flush();
    const StoreStats stats = servers.store(0).stats();
    const auto pushes = static_cast<int64_t>(stats.records) - 3;  // two tables, first values
    EXPECT_LE(pushes, 40);
    EXPECT_GE(pushes, 10);
    const std::span<float> parts[] = {one.parameter};
    one.worker.take(kFc, parts);
    if (sgd) {
      EXPECT_THAT(one.parameter, Each(10 - 40));
      EXPECT_THAT(one.rows({7, 9}), Each(5 - 40));
    } else {
      float expected = 10, moment = 0;
      for (int64_t i = 0; i < pushes; ++i) expected -= 1 / std::sqrt(moment += 1);
      EXPECT_THAT(one.parameter, Each(::testing::FloatNear(expected, 1e-4f)));
    }
  }
}

TEST(Worker, GeoSendsDifferencesEveryKSteps) {
  for (const int count : {1, 2}) {
    LocalServers servers(count, 2);
    const std::vector<TableSpec> tables = tables_of("sgd", 2);
    std::vector<std::unique_ptr<Worker>> workers;
    std::vector<Floats> dense(2, {10, 20}), rows(2, {1, 2, 3, 4});
    for (int rank = 0; rank < 2; ++rank) {
      workers.push_back(
          std::make_unique<Worker>(WorkerOptions{.mode = Mode::kGeo, .rank = rank, .workers = 2}));
      std::shared_ptr<Client> client = servers.client(rank);
      client->create(tables);
      workers.back()->connect(client, tables);
    }
    const std::span<const float> first_dense[] = {dense[0]}, first_rows[] = {rows[0]};
    workers[0]->give(kFc, first_dense);
    workers[0]->give(kEmb, first_rows);
    dense[1] = {0, 0};
    rows[1] = {0, 0, 0, 0};
    const std::span<float> other_dense[] = {dense[1]}, other_rows[] = {rows[1]};
    workers[1]->take(kFc, other_dense);
    workers[1]->take(kEmb, other_rows);
    EXPECT_EQ(dense[1], dense[0]);
    EXPECT_EQ(rows[1], rows[0]);
    const auto step = [&](size_t rank, float change, const Ids& ids) {
      for (float& value : dense[rank]) value += change;
      for (const int64_t id : ids) rows[rank][static_cast<size_t>(id)] += change;
      const std::span<float> parts[] = {dense[rank]};
      workers[rank]->geo_dense(kFc, parts, 2);
      const std::span<const int64_t> used[] = {ids};
      workers[rank]->geo_rows(kEmb, used, rows[rank], 2);
    };
    step(0, 2, {0, 2});
    EXPECT_THAT(dense[0], ElementsAre(12, 22)) << "nothing is exchanged before the second step";
    step(0, 2, {0});
    // The servers have 10 + 4 / 2; nobody else has added anything.
    EXPECT_THAT(dense[0], ElementsAre(14, 24));
    EXPECT_THAT(rows[0], ElementsAre(1 + 4, 2, 3 + 2, 4));
    step(1, -1, {3});
    step(1, -1, {3, 3});
    // The servers: 12 - 1; the worker: 8, and the 2 that the other has added.
    EXPECT_THAT(dense[1], ElementsAre(10, 20));
    EXPECT_THAT(rows[1], ElementsAre(1, 2, 3, 4 - 3));
  }
}

TEST(Worker, PaddingReadsAsZerosAndIsNotPushed) {
  LocalServers servers(2, 1);
  TestWorker one(servers, {.mode = Mode::kHalfAsync}, tables_of("sgd"));
  const Ids ids = {0, 3, 0, 4};
  Floats rows(4, -1);
  const Lookup lookup = {ids, rows.data()};
  one.worker.lookup(kEmb, {&lookup, 1}, 0, false);
  EXPECT_THAT(rows, ElementsAre(0, 5, 0, 5));
  const Floats gradients = {1, 1, 1, 1};
  one.worker.push_rows(kEmb, {{ids, gradients.data()}}, 0, 1);
  one.worker.end_step();
  EXPECT_THAT(one.rows({0, 3, 4}), ElementsAre(5, 4, 4));
  EXPECT_EQ(one.worker.client().tables().size(), 2u);
  int64_t rows_made = 0;
  for (const int server : {0, 1}) rows_made += servers.store(server).stats().tables[0].sparse.rows;
  EXPECT_EQ(rows_made, 2) << "the padding has no row, and looking makes none";
}

TEST(Worker, OneRequestFetchesTheRowsOfAllTables) {
  for (const int count : {1, 2}) {
    LocalServers servers(count, 1);
    const std::vector<TableSpec> tables = {
        parse_table("table 1 emb sparse width=3 rule=sgd init=constant(5)"),
        parse_table("table 3 wide sparse width=1 rule=sgd init=uniform(-1, 1) seed=9")};
    Worker worker({.mode = Mode::kHalfAsync});
    const std::shared_ptr<Client> client = servers.client(0);
    client->create(tables);
    worker.connect(client, tables);
    const auto requests = [&] {
      int64_t all = 0;
      for (int i = 0; i < count; ++i) all += servers.service(i).stats().requests;
      return all;
    };
    const Ids ids = {1, 2, 3, 4, 5, 2, 6}, others = {70, 80, 90, 0};
    Floats rows(21), wide(4), alone(4);
    const Lookup emb_lookup = {ids, rows.data()}, wide_lookup = {others, wide.data()};
    const int64_t before = requests();
    worker.prefetch(std::vector<TableIds>{{1, {ids}}, {3, {others}, 0}}, false);
    worker.lookup(1, {&emb_lookup, 1}, Worker::kNoPadding, false);
    worker.lookup(3, {&wide_lookup, 1}, 0, false);
    EXPECT_EQ(requests() - before, count);
    EXPECT_THAT(rows, Each(5));
    EXPECT_EQ(wide[3], 0);
    const Lookup again = {others, alone.data()};
    worker.lookup(3, {&again, 1}, 0, false);  // what was fetched counts once
    EXPECT_GT(requests() - before, count);
    EXPECT_EQ(alone, wide);
  }
}

TEST(Worker, AStepBeforeTheConnectionSaysWhatToDo) {
  Worker worker({});
  EXPECT_THAT(refusal_of([&] { worker.end_step(); }), HasSubstr("call fleet.init_worker() first"));
  bool asked = false;
  worker.connect_by([&] { asked = true; });
  EXPECT_THAT(refusal_of([&] { worker.end_step(); }),
              HasSubstr("this worker is not connected to them yet"));
  EXPECT_TRUE(asked);
}

// ---- Rounds -------------------------------------------------------------------------------------

TEST(Worker, WhoeverHasNoDataLeavesTheRound) {
  LocalServers servers(2, 2);
  std::vector<std::unique_ptr<TestWorker>> workers;
  for (int rank = 0; rank < 2; ++rank) {
    workers.push_back(std::make_unique<TestWorker>(
        servers, WorkerOptions{.mode = Mode::kSync, .rank = rank, .workers = 2}, tables_of("sgd")));
  }
  workers[0]->give();
  run_workers(2, [&](int rank) {
    TestWorker& worker = *workers[static_cast<size_t>(rank)];
    for (int i = 0; i < (rank == 0 ? 100 : 103); ++i) worker.step({7}, rank == 0 ? 1 : 3);
    worker.worker.client().announce({.version = 1, .state = Presence::kLeft});
  });
  EXPECT_THAT(workers[1]->parameter, ElementsAre(10 - 100 * 2 - 3 * 3));
}

TEST(Worker, AWorkerThatIsAwayIsNotWaitedForAndComesBack) {
  LocalServers servers(1, 2);
  const std::vector<TableSpec> tables = tables_of("sgd");
  TestWorker first(servers, {.mode = Mode::kSync, .rank = 0, .workers = 2}, tables);
  TestWorker second(servers, {.mode = Mode::kSync, .rank = 1, .workers = 2}, tables);
  first.give();
  second.worker.client().announce({.version = 1, .state = Presence::kAway});
  first.step({7}, 1);
  EXPECT_THAT(first.parameter, ElementsAre(9));
  second.worker.client().announce({.version = 2, .state = Presence::kPresent});
  // What the job's store says later is older, and changes nothing.
  servers.service(0).announce({.rank = 1, .version = 1, .state = Presence::kAway});
  EXPECT_THAT(servers.service(0).missing(), ElementsAre(0, 1));
  run_workers(2, [&](int rank) { (rank == 0 ? first : second).step({7}, rank == 0 ? 1 : 3); });
  EXPECT_THAT(first.parameter, ElementsAre(7));
  // One whose process died goes too, and is back with its next attempt.
  servers.service(0).gone(1, 0);
  first.step({7}, 1);
  EXPECT_THAT(first.parameter, ElementsAre(6));
  servers.service(0).announce({.rank = 1, .attempt = 1, .state = Presence::kPresent});
  EXPECT_THAT(servers.service(0).missing(), ElementsAre(0, 1));
}

TEST(Worker, ABrokenWaitEndsWithItsReason) {
  LocalServers servers(1, 2);
  TestWorker first(servers, {.mode = Mode::kSync, .rank = 0, .workers = 2}, tables_of("sgd"));
  first.give();
  std::jthread waits([&] {
    try {
      first.step({7}, 1);
      ADD_FAILURE() << "nobody was there";
    } catch (const Error& error) {
      EXPECT_THAT(error.sentence(), HasSubstr("worker 1 was killed"));
    }
  });
  while (servers.service(0).stats().parked == 0) std::this_thread::yield();
  first.worker.abort("worker 1 was killed");
  servers.service(0).stop("the job ends");
}

// ---- Servers that die ---------------------------------------------------------------------------

// Kills a server while workers train, many times; what comes out is what an undisturbed run gives.
Floats train(Mode mode, int kills, const std::filesystem::path& directory) {
  LocalServers servers(2, 2, directory);
  const std::vector<TableSpec> tables = {
      parse_table("table 1 emb sparse width=1 rule=adam init=uniform(-1, 1) seed=3"),
      parse_table("table 2 fc dense width=50 rule=adam")};
  std::vector<std::unique_ptr<TestWorker>> workers;
  for (int rank = 0; rank < 2; ++rank) {
    workers.push_back(std::make_unique<TestWorker>(
        servers, WorkerOptions{.mode = mode, .rank = rank, .workers = 2}, tables, 50));
  }
  workers[0]->give();
  std::atomic<bool> done = false;
  std::jthread killer([&] {
    std::mt19937 random(5);
    for (int i = 0; i < kills && !done; ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(random() % 20));
      const int victim = static_cast<int>(random() % 2);
      servers.kill(victim);
      servers.start(victim);
    }
  });
  run_workers(2, [&](int rank) {
    TestWorker& worker = *workers[static_cast<size_t>(rank)];
    std::mt19937 random(static_cast<unsigned>(rank));
    for (int i = 0; i < 200; ++i) {
      Ids ids(20);
      for (int64_t& id : ids) id = static_cast<int64_t>(random() % 100);
      worker.step(ids, static_cast<float>(random() % 100) / 50 - 1);
      if (kills > 0 && i % 10 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    worker.worker.flush();
  });
  done = true;
  killer.join();
  Ids ids(100);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i);
  Floats all = workers[0]->rows(ids);
  const std::span<float> parts[] = {workers[0]->parameter};
  workers[0]->worker.take(kFc, parts);
  all.insert(all.end(), workers[0]->parameter.begin(), workers[0]->parameter.end());
  return all;
}

TEST(Worker, SynchronousTrainingDoesNotNoticeThatServersDie) {
  const TempDir quiet, disturbed;
  EXPECT_EQ(train(Mode::kSync, 0, quiet.path()), train(Mode::kSync, 30, disturbed.path()));
}

TEST(Worker, EveryPushIsAppliedOnceHoweverOftenServersDie) {
  const TempDir directory;
  LocalServers servers(2, 2, directory.path());
  const std::vector<TableSpec> tables = tables_of("sgd");
  std::vector<std::unique_ptr<TestWorker>> workers;
  for (int rank = 0; rank < 2; ++rank) {
    workers.push_back(std::make_unique<TestWorker>(
        servers, WorkerOptions{.mode = Mode::kAsync, .rank = rank, .workers = 2, .send_queue = 4},
        tables));
  }
  workers[0]->give();
  std::jthread killer([&](const std::stop_token& stop) {
    for (int i = 0; !stop.stop_requested(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
      servers.kill(i % 2);
      servers.start(i % 2);
    }
  });
  run_workers(2, [&](int rank) {
    TestWorker& worker = *workers[static_cast<size_t>(rank)];
    for (int i = 0; i < 300; ++i) worker.step({7, 8}, rank == 0 ? 1 : 3);
    worker.worker.flush();
  });
  killer.request_stop();
  killer.join();
  EXPECT_THAT(workers[0]->rows({7, 8}), Each(5 - 300 * 4));
  const std::span<float> parts[] = {workers[0]->parameter};
  workers[0]->worker.take(kFc, parts);
  EXPECT_THAT(workers[0]->parameter, ElementsAre(10 - 300 * 4));
}

// A limit on the length of files stands for the end of the disk.
TEST(Worker, AFullDiskIsToldAtOnceAndChangesNothing) {
  ::signal(SIGXFSZ, SIG_IGN);
  for (const Mode mode : {Mode::kSync, Mode::kAsync}) {
    const TempDir directory;
    LocalServers servers(1, 1, directory.path());
    TestWorker worker(servers, {.mode = mode}, tables_of("sgd"));
    worker.give();
    worker.step({7}, 1);
    rlimit before = {};
    ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
    const rlimit tight = {1, before.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
    const std::string said = message_of([&] { worker.step({7}, 1); });
    ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
    EXPECT_THAT(said, ContainsRegex("cannot write .*: File too large\n  server 0"));
    worker.step({7}, 1);
    EXPECT_THAT(worker.rows({7}), ElementsAre(3));
    EXPECT_THAT(worker.parameter, ElementsAre(8));
  }
}

// ---- Checkpoints --------------------------------------------------------------------------------

TEST(Client, WhatIsSavedLoadsOnAnotherNumberOfServers) {
  const TempDir directory;
  const std::string saved = (directory.path() / "saved").string();
  Ids ids(300);
  for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i) * 1'000'000'007 - 50;
  const std::vector<TableSpec> tables = {
      parse_table("table 1 emb sparse width=1 rule=sgd init=uniform(-1, 1) seed=3"),
      parse_table("table 2 fc dense width=50 rule=momentum")};
  LocalServers three(3, 1);
  TestWorker before(three, {.mode = Mode::kHalfAsync}, tables, 50);
  before.give();
  EXPECT_FALSE(have_values(before.worker.client().values()));
  before.step(ids, 0.25f);
  before.worker.client().save(saved);
  before.worker.client().save(saved);  // in the place of the one before
  LocalServers two(2, 1);
  const std::shared_ptr<Client> client = two.client(0);
  client->load(saved);
  EXPECT_TRUE(have_values(client->values()));
  EXPECT_EQ(client->tables(), tables);
  TestWorker after(two, {.mode = Mode::kHalfAsync}, tables, 50);
  const std::span<float> parts[] = {after.parameter};
  after.worker.take(kFc, parts);
  EXPECT_EQ(after.parameter, before.parameter);
  EXPECT_EQ(after.rows(ids), before.rows(ids));
  std::map<int64_t, float> seen;
  client->for_each_row(tables[0], [&](std::span<const int64_t> keys, std::span<const float> rows) {
    for (size_t i = 0; i < keys.size(); ++i) seen[keys[i]] = rows[i];
  });
  EXPECT_EQ(seen.size(), ids.size());
  EXPECT_EQ(seen.at(ids[5]), before.rows({ids[5]})[0]);
  EXPECT_EQ(client->shrink(kEmb, {.max_unseen = 0}), 0);
  EXPECT_THAT(client->metrics(0), HasSubstr("flotilla_ps_rows{table=\"emb\"} "));
}

TEST(Service, RefusesWhatIsNoRequest) {
  LocalServers servers(1, 2);
  const std::shared_ptr<Client> client = servers.client(0);
  client->create(tables_of("sgd"));
  EXPECT_THAT(refusal_of([&] { client->create({parse_table("table 1 other dense width=4")}); }),
              HasSubstr("must be the same as the existing one"));
  // A job of another size, and a server that there is not.
  Client outsider(
      {.self = {0, 3}, .connect = [&](int, const auto&) { return servers.channel(0); }});
  EXPECT_REFUSED(outsider.snapshot(),
                 "worker 0 was started in a job of 3 workers, but this server in one of 2");
  Client nowhere({.connect = [](int, const auto&) -> std::shared_ptr<Channel> {
    refuse("there is no such server");
  }});
  EXPECT_REFUSED(nowhere.snapshot(), "there is no such server");
  EXPECT_EQ(servers.service(0).stats().refused, 2);
}

}  // namespace
}  // namespace flotilla::ps

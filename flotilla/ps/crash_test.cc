// flotilla/ps/crash_test.cc
//
// Real processes, killed at random moments while they push, snapshot and save: what they have
// acknowledged is there afterwards, once, to the bit. A seeded sample; FLT_TEST_FULL makes it long.

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <poll.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <functional>
#include <numeric>
#include <random>
#include <thread>

#include "flotilla/base/fd.h"
#include "flotilla/ps/store.h"
#include "flotilla/testing/patience.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla::ps {
namespace {

using Ids = std::vector<int64_t>;
using Floats = std::vector<float>;

// Runs `work` in a process of its own, which tells numbers by `say`, and kills it after `life` at
// the latest, or that long after its first word. Returns what it said. The caller has no other
// threads, so a fork is safe.
std::vector<uint64_t> run_and_kill(
    const std::function<void(std::function<void(uint64_t)> say)>& work,
    std::chrono::microseconds life, bool from_first_word = false) {
  constexpr std::chrono::minutes kPatience(1);
  int ends[2];
  if (::pipe(ends) != 0) return {};
  Fd read_end(ends[0]), write_end(ends[1]);
  const pid_t child = ::fork();
  if (child == 0) {
    const int fd = write_end.get();
    int code = 0;
    try {
      work([fd](uint64_t number) {
        if (::write(fd, &number, sizeof number) != sizeof number) ::_exit(3);
      });
    } catch (const std::exception& error) {
      fmt::print(stderr, "{}\n", error.what());
      code = 1;
    }
    ::_exit(code);
  }
  write_end.reset();
  // The pipe is emptied meanwhile, or the child would wait for room in it.
  auto end = std::chrono::steady_clock::now() + (from_first_word ? kPatience : life);
  std::vector<uint64_t> said;
  bool killed = false;
  for (;;) {
    const auto left = std::chrono::duration_cast<std::chrono::microseconds>(
        end - std::chrono::steady_clock::now());
    if (left.count() <= 0 && !killed) {
      ::kill(child, SIGKILL);
      killed = true;
    }
    pollfd ready = {read_end.get(), POLLIN, 0};
    const timespec wait = {0,
                           killed ? 100'000'000 : std::min<long>(left.count() * 1000, 999'999'999)};
    if (::ppoll(&ready, 1, &wait, nullptr) == 0) continue;
    uint64_t numbers[1024];
    const ssize_t got = ::read(read_end.get(), numbers, sizeof numbers);
    if (got <= 0) break;
    if (from_first_word && said.empty()) end = std::chrono::steady_clock::now() + life;
    said.insert(said.end(), numbers, numbers + got / 8);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  EXPECT_TRUE(WIFSIGNALED(status) || WEXITSTATUS(status) == 0) << "the child failed by itself";
  return said;
}

constexpr uint64_t kWorker = 77;

void create_tables(Store& store) {
  store.create(parse_table("table 1 emb sparse width=4 rule=adam init=uniform(-1, 1) seed=3"));
  store.create(parse_table("table 2 fc dense width=64 rule=momentum init=normal(0, 1)"));
}

void push(Store& store, uint64_t n, bool with_id = true) {
  std::mt19937_64 random(n);
  Ids keys(random() % 30);
  for (int64_t& key : keys) key = static_cast<int64_t>(random() % 300);
  Floats rows(keys.size() * 4), dense(64);
  for (Floats* values : {&rows, &dense}) {
    for (float& x : *values) x = static_cast<float>(random() % 2001) * 0.001f - 1;
  }
  Push made = {.changes = {{.table = 1, .lr = 0.01f, .keys = keys, .values = rows},
                           {.table = 2, .lr = 0.01f, .values = dense}}};
  if (with_id) made.ids = {{kWorker, n}};
  store.push(made);
}

Floats look(Store& store) {
  Ids keys(300);
  std::iota(keys.begin(), keys.end(), int64_t{0});
  Floats rows(300 * 12), dense(64);
  store.pull_rows(1, keys, rows);
  store.pull_dense(2, dense);
  rows.insert(rows.end(), dense.begin(), dense.end());
  return rows;
}

// A store that nothing happens to, at any number of pushes in ascending order.
class Undisturbed {
 public:
  Undisturbed() { create_tables(store_); }
  Floats after(uint64_t n) {
    while (done_ < n) push(store_, ++done_);
    return look(store_);
  }

 private:
  Store store_{{}};
  uint64_t done_ = 0;
};

class Crash : public ::testing::Test, protected TempDir {
 protected:
  StoreOptions options(int owners) const {
    return {.directory = dir_ / "store",
            .log_options = {.sync = Sync::kOff, .file_bytes = 20000},
            .owners = owners};
  }
  // Whether there is to be another kill: `kills` of them, and more where the machine is so busy
  // that too little was done between them.
  static bool goes_on(int kill, int kills, bool enough) {
    return kill < kills || (!enough && kill < 30 * kills);
  }
  // The later, the longer, for the same reason.
  std::chrono::microseconds life(int kill, int kills) {
    const int longest = 60000 * (1 + kill / kills);
    return std::chrono::microseconds(std::uniform_int_distribution<int>(0, longest)(random_));
  }

  std::mt19937_64 random_{11};
};

TEST_F(Crash, WhatWasAcknowledgedIsThereOnce) {
  Undisturbed undisturbed;
  uint64_t acknowledged = 0;
  const int kills = in_full() ? 150 : 25;
  for (int kill = 0; goes_on(kill, kills, acknowledged > 20); ++kill) {
    const int owners = 1 + kill % 2;
    const std::vector<uint64_t> said = run_and_kill(
        [&](const auto& say) {
          Store store(options(owners));
          create_tables(store);
          const std::jthread snapshots([&](const std::stop_token& stop) {
            while (!stop.stop_requested()) store.snapshot();
          });
          for (uint64_t n = store.last_push(kWorker) + 1;; ++n) {
            push(store, n);
            say(n);
          }
        },
        life(kill, kills), kill % 3 != 0);
    if (!said.empty()) acknowledged = said.back();
    Store store(options(1));
    const uint64_t last = store.last_push(kWorker);
    // One more may be in the log, with its acknowledgement still on the way.
    ASSERT_TRUE(last == acknowledged || last == acknowledged + 1) << last << ' ' << acknowledged;
    acknowledged = last;
    if (store.tables().size() < 2) continue;  // killed before there were any
    ASSERT_EQ(look(store), undisturbed.after(last)) << "after kill " << kill;
  }
  EXPECT_GT(acknowledged, 20u);
}

TEST_F(Crash, TheLastGoodCheckpointLoads) {
  Undisturbed undisturbed;
  uint64_t saved = 0;
  const int kills = in_full() ? 100 : 15;
  for (int kill = 0; goes_on(kill, kills, saved > 3); ++kill) {
    const std::vector<uint64_t> said = run_and_kill(
        [&](const auto& say) {
          Store store(options(1));
          create_tables(store);
          for (uint64_t n = store.last_push(kWorker) + 1;; ++n) {
            push(store, n);
            say(2 * n);  // an announcement
            store.save(dir_ / "checkpoint");
            say(2 * n + 1);
          }
        },
        life(kill, kills), kill % 3 != 0);
    // The last that was announced, or the one before it.
    uint64_t announced = saved;
    for (const uint64_t number : said) {
      announced = std::max(announced, number / 2);
      if (number % 2 == 1) saved = std::max(saved, number / 2);
    }
    if (saved == 0) continue;
    Store store({});
    store.load(dir_ / "checkpoint");
    const Floats found = look(store);
    bool is_one = found == undisturbed.after(saved);
    if (!is_one && announced > saved) {
      is_one = found == undisturbed.after(announced);
      saved = announced;
    }
    ASSERT_TRUE(is_one) << "after kill " << kill << ", saved " << saved;
  }
  EXPECT_GT(saved, 3u);
}

// Worker kWorker pushes; now and then the store goes back to what it was after the first push. The
// ids go on. Said: 2 n when push n is done, 2 n + 1 when a load after push n is.
TEST_F(Crash, ALoadIsThereWholeOrNotAtAll) {
  {
    Store store({});
    create_tables(store);
    push(store, 1);
    store.save(dir_ / "checkpoint");
  }
  const auto after = [&](uint64_t begin, uint64_t end) {  // pushes (begin, end] after the load
    Store store({});
    store.load(dir_ / "checkpoint");
    for (uint64_t n = begin + 1; n <= end; ++n) push(store, n, /*with_id=*/false);
    return look(store);
  };
  uint64_t loaded = 0, last = 0;
  bool ever = false;
  const int kills = in_full() ? 60 : 12;
  for (int kill = 0; goes_on(kill, kills, loaded > 3); ++kill) {
    const std::vector<uint64_t> said = run_and_kill(
        [&](const auto& say) {
          Store store(options(1));
          create_tables(store);
          for (uint64_t n = store.last_push(kWorker) + 1;; ++n) {
            push(store, n);
            say(2 * n);
            if (n % 3 != 0) continue;
            store.load(dir_ / "checkpoint");
            say(2 * n + 1);
          }
        },
        life(kill, kills), kill % 3 != 0);
    for (const uint64_t number : said) {
      if (number % 2 == 1) loaded = std::max(loaded, number / 2), ever = true;
    }
    Store store(options(1));
    last = store.last_push(kWorker);
    if (!ever || store.tables().size() < 2) continue;
    const Floats found = look(store);
    // A load after push `last` may be done without having said so.
    bool is_one = found == after(loaded, last);
    if (!is_one && last % 3 == 0) {
      is_one = found == after(last, last);
      loaded = last;
    }
    ASSERT_TRUE(is_one) << "after kill " << kill << ", loaded " << loaded << ", last " << last;
  }
  EXPECT_GT(loaded, 3u);
}

// Every push adds 1 to one row and to the dense table: the sums say whether one was lost or came
// twice, however long this goes on.
TEST_F(Crash, SumsStayExactOverManyRestarts) {
  const uint64_t pushes = in_full() ? 1'000'000 : 100'000;
  const int64_t rows = 1000;
  const auto create = [](Store& store) {
    store.create(parse_table("table 1 emb sparse width=1 rule=sgd"));
    store.create(parse_table("table 2 fc dense width=1 rule=sgd"));
  };
  uint64_t last = 0;
  int restarts = 0;
  for (; last < pushes && !HasFailure(); ++restarts) {
    // In a long run most lives are long enough for a snapshot: the log that a start reads stays
    // short.
    const uint64_t longest = in_full() ? 300 : 30;
    const std::chrono::milliseconds time(5 + random_() % longest + static_cast<uint64_t>(restarts));
    run_and_kill(
        [&](const auto&) {
          Store store({.directory = dir_ / "store", .log_options = {.file_bytes = 1 << 20}});
          create(store);
          const std::jthread snapshots([&](const std::stop_token& stop) {
            while (!stop.stop_requested()) {
              std::this_thread::sleep_for(std::chrono::milliseconds(20));
              store.snapshot();
            }
          });
          const float one = 1;
          for (uint64_t n = store.last_push(kWorker) + 1; n <= pushes; ++n) {
            const int64_t key = static_cast<int64_t>(n) % rows;
            store.push({.ids = {{kWorker, n}},
                        .changes = {{.table = 1, .lr = -1, .keys = {&key, 1}, .values = {&one, 1}},
                                    {.table = 2, .lr = -1, .values = {&one, 1}}}});
          }
        },
        time);
    Store store({.directory = dir_ / "store"});
    ASSERT_GE(store.last_push(kWorker), last);
    last = store.last_push(kWorker);
    if (store.tables().size() < 2) continue;
    Ids keys(static_cast<size_t>(rows));
    std::iota(keys.begin(), keys.end(), int64_t{0});
    Floats found(keys.size()), dense(1);
    store.pull(1, keys, found, false);
    store.pull_dense(2, dense);
    ASSERT_EQ(dense[0], static_cast<float>(last));
    for (int64_t key = 0; key < rows; ++key) {
      const auto n = static_cast<int64_t>(last);
      const int64_t expected = n / rows + (key != 0 && key <= n % rows);
      ASSERT_EQ(found[static_cast<size_t>(key)], static_cast<float>(expected)) << key;
    }
  }
  EXPECT_GT(restarts, 1);
}

}  // namespace
}  // namespace flotilla::ps

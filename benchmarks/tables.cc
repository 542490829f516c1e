// benchmarks/tables.cc
//
// How fast a sparse table is by itself, on one thread: rows pulled and pushed per second of its
// processor, and bytes per row. Prints one JSON line per measurement; tables.py shows them.
//
//   bench_tables ROWS SECONDS

#include <fmt/format.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "flotilla/ps/sparse_table.h"
#include "flotilla/ps/store.h"

namespace flotilla::ps {
namespace {

constexpr size_t kBatch = 512 * 26;  // a batch of Wide&Deep
constexpr int64_t kWidth = 10;

// Keys from 0 to n - 1, spread over the whole range of int64 as hashed features are.
int64_t key_of(uint64_t number) {
  return static_cast<int64_t>(hash_of(static_cast<int64_t>(number)));
}

// Numbers below n of which the k-th is drawn 1 / (k + 1) as often as the first, by inverting the
// integral of the density.
uint64_t zipf(std::mt19937_64& random, uint64_t n) {
  const double u = std::uniform_real_distribution<double>(0, 1)(random);
  const auto drawn = static_cast<uint64_t>(std::exp(u * std::log(static_cast<double>(n) + 1)));
  return std::min(drawn, n) - 1;
}

std::vector<std::vector<int64_t>> batches(bool skewed, uint64_t rows) {
  std::mt19937_64 random(1);
  std::vector<std::vector<int64_t>> made(64);
  for (auto& batch : made) {
    for (size_t i = 0; i < kBatch; ++i) {
      batch.push_back(key_of(skewed ? zipf(random, rows) : random() % rows));
    }
  }
  return made;
}

// A worker sends each key of a batch once.
void remove_duplicates(std::vector<std::vector<int64_t>>& batches) {
  for (auto& batch : batches) {
    std::sort(batch.begin(), batch.end());
    batch.erase(std::unique(batch.begin(), batch.end()), batch.end());
  }
}

// What this thread has had of a processor: others may have the rest of it.
double processor_seconds() {
  timespec now = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

template <typename F>
double rows_per_second(const std::vector<std::vector<int64_t>>& batches, double seconds, F f) {
  const double begin = processor_seconds();
  size_t rows = 0;
  double taken = 0;
  for (size_t i = 0; taken < seconds; ++i) {
    const std::vector<int64_t>& batch = batches[i % batches.size()];
    f(batch);
    rows += batch.size();
    taken = processor_seconds() - begin;
  }
  return static_cast<double>(rows) / taken;
}

void say(const std::string& rule, const std::string& what, const std::string& keys, uint64_t rows,
         double value) {
  fmt::print(
      "{{\"rule\": \"{}\", \"what\": \"{}\", \"keys\": \"{}\", \"rows\": {}, \"value\": {}}}\n",
      rule, what, keys, rows, value);
  std::fflush(stdout);
}

void measure(const std::string& rule, uint64_t rows, double seconds) {
  SparseTable table({.name = "bench",
                     .width = kWidth,
                     .rule = {.name = rule},
                     .initial = {Initial::kUniform, -0.01f, 0.01f},
                     .seed = 1},
                    {}, 1);
  ShardPool pool(1);
  std::vector<float> values(kBatch * kWidth), gradients(kBatch * kWidth, 0.01f);
  const auto width = static_cast<size_t>(kWidth);
  std::vector<std::vector<int64_t>> all;
  for (uint64_t i = 0; i < rows; ++i) {
    if (i % kBatch == 0) all.emplace_back();
    all.back().push_back(key_of(i));
  }
  const double begin = processor_seconds();
  for (const auto& batch : all)
    table.pull(pool, batch, std::span(values).first(batch.size() * width));
  const double taken = processor_seconds() - begin;
  say(rule, "create", "all", rows, static_cast<double>(rows) / taken);
  const SparseStats stats = table.stats(pool);
  say(rule, "bytes", "all", rows,
      static_cast<double>(stats.bytes) / static_cast<double>(stats.rows));
  for (const bool skewed : {false, true}) {
    const std::string keys = skewed ? "zipf" : "uniform";
    auto requests = batches(skewed, rows);
    const auto pull = [&](const std::vector<int64_t>& ids) {
      table.pull(pool, ids, std::span(values).first(ids.size() * width));
    };
    const auto push = [&](const std::vector<int64_t>& ids) {
      table.push(pool, ids, std::span(gradients).first(ids.size() * width),
                 {.round = {.lr = 0.01f, .beta1_power = 0.9f, .beta2_power = 0.999f}});
    };
    say(rule, "pull", keys, rows, rows_per_second(requests, seconds, pull));
    say(rule, "push", keys, rows, rows_per_second(requests, seconds, push));
    remove_duplicates(requests);
    say(rule, "pull once", keys, rows, rows_per_second(requests, seconds, pull));
    say(rule, "push once", keys, rows, rows_per_second(requests, seconds, push));
  }
}

// Pushes of a worker through the log, with what it takes to write it.
void measure_log(uint64_t rows, double seconds) {
  const std::filesystem::path directory =
      std::filesystem::temp_directory_path() / fmt::format("flotilla_bench_{}", ::getpid());
  {
    Store store({.directory = directory, .log_options = {.sync = Sync::kOff}});
    store.create({.id = 1, .name = "bench", .width = kWidth, .rule = {.name = "adam"}});
    auto requests = batches(true, rows);
    remove_duplicates(requests);
    const std::vector<float> gradients(kBatch * kWidth, 0.01f);
    uint64_t sequence = 0;
    const double rate = rows_per_second(requests, seconds, [&](const std::vector<int64_t>& ids) {
      const std::span<const float> values = std::span(gradients).first(ids.size() * kWidth);
      store.push({.ids = {{1, ++sequence}},
                  .changes = {{.table = 1, .lr = 0.01f, .keys = ids, .values = values}}});
    });
    say("adam", "logged push once", "zipf", rows, rate);
  }
  std::filesystem::remove_all(directory);
}

}  // namespace
}  // namespace flotilla::ps

int main(int count, char** words) {
  if (count != 3) {
    fmt::print(stderr, "usage: bench_tables ROWS SECONDS\n");
    return 2;
  }
  for (const std::string rule : {"sgd", "adam"}) {
    flotilla::ps::measure(rule, std::strtoull(words[1], nullptr, 10),
                          std::strtod(words[2], nullptr));
  }
  flotilla::ps::measure_log(std::strtoull(words[1], nullptr, 10), std::strtod(words[2], nullptr));
  return 0;
}

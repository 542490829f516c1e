#include "flotilla/data/shard.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <random>

#include "flotilla/testing/errors.h"

namespace flotilla::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// What all ranks took: how often each sample, and each rank's own.
struct Taken {
  std::map<int64_t, int64_t> times = {};
  std::vector<std::vector<int64_t>> by_rank = {};
  ShardCounts counts = {};
};

Taken take_samples(int64_t size, ShardOptions options) {
  Taken taken;
  for (options.rank = 0; options.rank < options.ranks; ++options.rank) {
    const SampleShard shard = shard_samples(size, options);
    for (const int64_t index : shard.indices) ++taken.times[index];
    taken.by_rank.push_back(shard.indices);
    taken.counts = shard.counts;
  }
  return taken;
}

// Sample s of file f is known by the number of samples in the files before f, plus s.
Taken take_files(const std::vector<int64_t>& files, ShardOptions options) {
  std::vector<int64_t> first(files.size(), 0);
  std::partial_sum(files.begin(), files.end() - 1, first.begin() + 1);
  Taken taken;
  for (options.rank = 0; options.rank < options.ranks; ++options.rank) {
    const FileShard shard = shard_files(files, options);
    std::vector<int64_t>& mine = taken.by_rank.emplace_back();
    for (const FilePart& part : shard.parts) {
      EXPECT_GT(part.count, 0);
      EXPECT_LE(part.begin + part.count, files[part.file]);
      for (int64_t i = 0; i < part.count; ++i) mine.push_back(first[part.file] + part.begin + i);
    }
    for (const int64_t index : mine) ++taken.times[index];
    taken.counts = shard.counts;
  }
  return taken;
}

int64_t sum_of_times(const Taken& taken) {
  int64_t sum = 0;
  for (const auto& [index, times] : taken.times) sum += times;
  return sum;
}

// What holds for every layout: counts are what the ranks got, in batches too; nothing outside the
// set; each sample as often as the options say.
void expect_fair(const Taken& taken, int64_t size, const ShardOptions& o) {
  const int64_t total = size * o.passes;
  for (size_t rank = 0; rank < taken.by_rank.size(); ++rank) {
    const int64_t n = std::ssize(taken.by_rank[rank]);
    ASSERT_EQ(n, taken.counts.samples[rank]);
    const int64_t batches = o.drop_last ? n / o.batch_size : (n + o.batch_size - 1) / o.batch_size;
    ASSERT_EQ(batches, taken.counts.batches[rank]);
  }
  for (const auto& [index, times] : taken.times) ASSERT_TRUE(0 <= index && index < size);

  if (o.with_replacement) {
    ASSERT_TRUE(taken.counts.equal());
    for (const std::vector<int64_t>& mine : taken.by_rank) ASSERT_EQ(std::ssize(mine), total);
    for (int64_t i = 0; i < size; ++i) ASSERT_EQ(taken.times.at(i), o.ranks * o.passes);
    return;
  }
  ASSERT_EQ(sum_of_times(taken), total - taken.counts.dropped + taken.counts.repeated);
  if (o.tail == Tail::kKeep) {
    ASSERT_EQ(taken.counts.equal(), taken.counts.why_unequal().empty());
    for (int64_t i = 0; i < size; ++i) ASSERT_EQ(taken.times.at(i), o.passes);
    return;
  }
  ASSERT_TRUE(taken.counts.equal());
  if (o.tail == Tail::kDrop) {
    ASSERT_EQ(taken.counts.repeated, 0);
    for (const auto& [index, times] : taken.times) ASSERT_LE(times, o.passes);
    ASSERT_TRUE(o.whole_files || taken.counts.dropped < o.ranks);
  } else {
    ASSERT_EQ(taken.counts.dropped, 0);
    for (int64_t i = 0; i < size; ++i) ASSERT_GE(taken.times.at(i), o.passes);
    ASSERT_TRUE(o.whole_files || taken.counts.repeated < o.ranks);
  }
}

// Options of which each combination is drawn, over random sizes.
ShardOptions random_options(std::mt19937& random) {
  const auto upto = [&](int64_t most) { return 1 + static_cast<int64_t>(random() % most); };
  constexpr Tail kTails[] = {Tail::kDrop, Tail::kPad, Tail::kKeep};
  return {.ranks = upto(9),
          .batch_size = upto(7),
          .drop_last = random() % 2 == 0,
          .with_replacement = random() % 2 == 0,
          .passes = upto(4),
          .shuffle = random() % 2 == 0,
          .seed = random(),
          .epoch = static_cast<int64_t>(random() % 5),
          .tail = kTails[random() % 3],
          .whole_files = random() % 2 == 0};
}

std::string describe(int64_t size, const ShardOptions& o) {
  return fmt::format(
      "size {} ranks {} batch {} drop_last {} replacement {} passes {} shuffle {} "
      "tail {} whole_files {}",
      size, o.ranks, o.batch_size, o.drop_last, o.with_replacement, o.passes, o.shuffle,
      static_cast<int>(o.tail), o.whole_files);
}

TEST(ShardTest, DividesSamplesFairlyWhateverTheOptions) {
  std::mt19937 random(1);
  int divided = 0;
  for (int round = 0; round < 4000; ++round) {
    const ShardOptions options = random_options(random);
    const int64_t size = 1 + static_cast<int64_t>(random() % 200);
    SCOPED_TRACE(describe(size, options));
    Taken taken;
    const std::string refusal = refusal_of([&] { taken = take_samples(size, options); });
    if (refusal != "(not refused)") {
      // Only what cannot be even is refused: some rank would have no batch.
      const int64_t least = options.drop_last ? options.batch_size : 1;
      const int64_t total = size * options.passes;
      const int64_t each = options.with_replacement ? total
                           : options.tail == Tail::kPad
                               ? (total + options.ranks - 1) / options.ranks
                               : total / options.ranks;
      ASSERT_LT(each, least) << refusal;
      ASSERT_NE(options.tail, Tail::kKeep);
      continue;
    }
    ++divided;
    ASSERT_NO_FATAL_FAILURE(expect_fair(taken, size, options));
  }
  EXPECT_GT(divided, 3000);
}

TEST(ShardTest, DividesFilesFairlyWhateverTheOptions) {
  std::mt19937 random(2);
  int divided = 0;
  for (int round = 0; round < 4000; ++round) {
    const ShardOptions options = random_options(random);
    std::vector<int64_t> files(1 + random() % 20);
    for (int64_t& samples : files) samples = static_cast<int64_t>(random() % 30);
    const int64_t size = std::accumulate(files.begin(), files.end(), int64_t{0});
    SCOPED_TRACE(describe(size, options));
    Taken taken;
    const std::string refusal = refusal_of([&] { taken = take_files(files, options); });
    if (refusal != "(not refused)") {
      ASSERT_TRUE(size == 0 || options.tail != Tail::kKeep) << refusal;
      continue;
    }
    ++divided;
    ASSERT_NO_FATAL_FAILURE(expect_fair(taken, size, options));
  }
  EXPECT_GT(divided, 3000);
}

TEST(ShardTest, SharesAtMostOneFileBetweenNeighbours) {
  const std::vector<int64_t> files = {7, 1, 12, 3, 9, 9, 2, 5};
  std::map<int64_t, int64_t> readers;
  ShardOptions options = {.ranks = 4, .tail = Tail::kKeep};
  for (; options.rank < options.ranks; ++options.rank) {
    for (const FilePart& part : shard_files(files, options).parts) ++readers[part.file];
  }
  int64_t extra = 0;
  for (const auto& [file, count] : readers) extra += count - 1;
  EXPECT_LT(extra, options.ranks);

  options = {.ranks = 4, .tail = Tail::kKeep, .whole_files = true};
  for (readers.clear(); options.rank < options.ranks; ++options.rank) {
    for (const FilePart& part : shard_files(files, options).parts) {
      EXPECT_EQ(part, (FilePart{part.file, 0, files[part.file]}));
      ++readers[part.file];
    }
  }
  for (const auto& [file, count] : readers) EXPECT_EQ(count, 1) << file;
}

TEST(ShardTest, ShufflesAlikeOnAllRanksAndAnewInEachEpoch) {
  const std::vector<int64_t> order = global_order(1000, 7, 0);
  EXPECT_EQ(order, global_order(1000, 7, 0));
  EXPECT_NE(order, global_order(1000, 7, 1));
  EXPECT_NE(order, global_order(1000, 8, 0));
  EXPECT_NE(global_order(1000, 0, 1), global_order(1000, 1, 0));
  std::vector<int64_t> sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(sorted[i], i);
  // The ranks read that order in turn: together they are the order itself.
  const Taken taken = take_samples(1000, {.ranks = 4, .shuffle = true, .seed = 7, .epoch = 0});
  for (int64_t i = 0; i < 1000; ++i) ASSERT_EQ(taken.by_rank[i % 4][i / 4], order[i]);
}

TEST(ShardTest, MixesThePassesOfAReplicatedSet) {
  const Taken taken = take_samples(100, {.ranks = 2, .passes = 5, .shuffle = true, .seed = 3});
  for (const auto& [index, times] : taken.times) EXPECT_EQ(times, 5);
  // Were the border between passes kept, the first 100 samples would all differ.
  std::vector<int64_t> first(taken.by_rank[0].begin(), taken.by_rank[0].begin() + 50);
  first.insert(first.end(), taken.by_rank[1].begin(), taken.by_rank[1].begin() + 50);
  std::sort(first.begin(), first.end());
  EXPECT_NE(std::adjacent_find(first.begin(), first.end()), first.end());
}

TEST(ShardTest, GivesRanksDifferentSamplesInOneStepWithReplacement) {
  const Taken taken =
      take_samples(101, {.ranks = 4, .with_replacement = true, .shuffle = true, .seed = 9});
  for (size_t step = 0; step < 101; ++step) {
    std::vector<int64_t> now;
    for (const std::vector<int64_t>& mine : taken.by_rank) now.push_back(mine[step]);
    std::sort(now.begin(), now.end());
    EXPECT_EQ(std::adjacent_find(now.begin(), now.end()), now.end()) << step;
  }
}

TEST(ShardTest, SaysTheCountsAndWhyTheyDiffer) {
  ShardOptions options = {.ranks = 3, .batch_size = 2, .tail = Tail::kDrop};
  EXPECT_EQ(shard_samples(10, options).counts.line(),
            "10 samples without replacement over 3 ranks: 3 samples in 2 batches of 2 for each; 1 "
            "dropped, 0 repeated");
  options.tail = Tail::kKeep;
  options.drop_last = true;
  const ShardCounts counts = shard_samples(10, options).counts;
  EXPECT_FALSE(counts.equal());
  EXPECT_EQ(counts.line(),
            "10 samples without replacement over 3 ranks: 3 to 4 samples in 1 to 2 batches of 2 "
            "for each; 0 dropped, 0 repeated");
  EXPECT_EQ(counts.why_unequal(),
            "rank 0 has 4 samples in 2 batches and rank 1 has 3 in 1, because 10 samples do not "
            "divide over 3 ranks and the tail is kept: drop or pad the tail where ranks wait for "
            "each other");
}

TEST(ShardTest, PrintsOnceForAJob) {
  ShardOptions options = {.ranks = 3, .batch_size = 2};
  const ShardCounts counts = shard_samples(10, options).counts;
  const auto said = [&](int64_t rank, int64_t epoch) {
    options.rank = rank;
    options.epoch = epoch;
    testing::internal::CaptureStderr();
    say_once(counts, options);
    return testing::internal::GetCapturedStderr();
  };
  EXPECT_THAT(said(0, 0), HasSubstr(counts.line()));
  EXPECT_EQ(said(1, 0), "");
  EXPECT_EQ(said(0, 1), "");
}

TEST(ShardTest, RefusesWhatCannotBeEven) {
  EXPECT_REFUSED(shard_samples(3, {.ranks = 4}),
                 "3 samples do not give each of 4 ranks a batch of 1: use fewer ranks, a smaller "
                 "batch, or pad the tail");
  EXPECT_REFUSED(shard_samples(0, {.ranks = 2}),
                 "a data set of 0 samples cannot be divided among 2 ranks");
  EXPECT_REFUSED(shard_samples(10, {.rank = 2, .ranks = 2}),
                 "rank must lie in [0, 2) because there are 2 ranks, but is 2");
  const std::vector<int64_t> files = {5, -1};
  EXPECT_REFUSED(shard_files(files, {}), "file 1 of 2 cannot hold -1 samples");
  EXPECT_REFUSED(
      shard_files(std::span(files).first(1), {.ranks = 2, .tail = Tail::kPad, .whole_files = true}),
      "1 files cannot be divided among 2 ranks so that each has a sample: use fewer ranks, or let "
      "ranks share a file");
}

TEST(FileBlockTest, GivesTheRemainderToTheFirstRanks) {
  EXPECT_EQ(file_block(5, 0, 2), std::make_pair(int64_t{0}, int64_t{3}));
  EXPECT_EQ(file_block(5, 1, 2), std::make_pair(int64_t{3}, int64_t{5}));
  EXPECT_EQ(file_block(2, 2, 3), std::make_pair(int64_t{2}, int64_t{2}));
  for (int64_t files = 0; files < 40; ++files) {
    for (int64_t ranks = 1; ranks < 9; ++ranks) {
      int64_t at = 0;
      for (int64_t rank = 0; rank < ranks; ++rank) {
        const auto [begin, end] = file_block(files, rank, ranks);
        EXPECT_EQ(begin, at);
        EXPECT_TRUE(end - begin == files / ranks || end - begin == files / ranks + 1);
        at = end;
      }
      EXPECT_EQ(at, files);
    }
  }
}

// Recorded with numpy.
TEST(BatchSamplerTest, ShufflesAsNumpy) {
  std::vector<int64_t> values(10);
  std::iota(values.begin(), values.end(), int64_t{0});
  shuffle_as_numpy(values, 3);
  EXPECT_THAT(values, ElementsAre(5, 4, 1, 2, 9, 6, 7, 0, 3, 8));
  values.resize(1000);
  std::iota(values.begin(), values.end(), int64_t{0});
  shuffle_as_numpy(values, 123456789);
  int64_t weighted = 0;
  for (int64_t i = 0; i < 1000; ++i) weighted += i * values[i];
  EXPECT_EQ(weighted, 247561683);
}

TEST(BatchSamplerTest, GivesWholeBatchesInTurnAndDividesTheRest) {
  EXPECT_THAT(distributed_indices(10, {.rank = 0, .ranks = 2, .batch_size = 3}),
              ElementsAre(0, 1, 2, 6, 7));
  EXPECT_THAT(distributed_indices(10, {.rank = 1, .ranks = 2, .batch_size = 3}),
              ElementsAre(3, 4, 5, 8, 9));
  // A set smaller than the ranks is repeated as often as needed.
  EXPECT_THAT(distributed_indices(2, {.rank = 4, .ranks = 5}), ElementsAre(0));
}

TEST(BatchSamplerTest, CoversTheSetWithEqualCounts) {
  std::mt19937 random(4);
  for (int round = 0; round < 2000; ++round) {
    const int64_t size = 1 + static_cast<int64_t>(random() % 150);
    BatchSamplerOptions options = {.ranks = 1 + static_cast<int64_t>(random() % 9),
                                   .batch_size = 1 + static_cast<int64_t>(random() % 9)};
    if (random() % 2 == 0) options.shuffle_seed = random();
    std::map<int64_t, int64_t> times;
    for (; options.rank < options.ranks; ++options.rank) {
      const std::vector<int64_t> mine = distributed_indices(size, options);
      ASSERT_EQ(std::ssize(mine), (size + options.ranks - 1) / options.ranks);
      for (const int64_t index : mine) ++times[index];
    }
    ASSERT_EQ(std::ssize(times), size);
    const int64_t most = (options.ranks + size - 1) / size + 1;
    for (const auto& [index, count] : times) ASSERT_LE(count, most);
  }
}

}  // namespace
}  // namespace flotilla::data

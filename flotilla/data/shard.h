// flotilla/data/shard.h
//
// Which samples and files each process of a job reads. Every function is pure: each rank computes
// its own share from the same arguments, nothing is exchanged, and all agree.
//
// The three layouts of a data set, and what divides them:
//
//   one sample in each file          shard_samples(number of files): the indices name files
//   several samples in each file     shard_files(samples in each file): parts of files
//   one file that is the whole set   shard_samples(number of samples): the indices name samples
//
// Without replacement the ranks divide the set; with replacement each rank goes through all of it,
// so that one pass of a job is `ranks` passes over the data.
//
//   n = 10, ranks = 3, no shuffle                      with_replacement, any tail
//   Tail::kDrop   0 3 6 | 1 4 7 | 2 5 8                rank 0   0 1 2 3 4 5 6 7 8 9
//   Tail::kPad    0 3 6 9 | 1 4 7 0 | 2 5 8 1          rank 1   3 4 5 6 7 8 9 0 1 2
//   Tail::kKeep   0 3 6 9 | 1 4 7 | 2 5 8              rank 2   6 7 8 9 0 1 2 3 4 5

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace flotilla::data {

// What becomes of the samples that cannot be divided evenly.
enum class Tail {
  kDrop,  // left out: fewer than `ranks` of them, more where whole files are divided
  kPad,   // the first samples of the order are taken a second time
  kKeep,  // the first ranks have one more; ShardCounts::why_unequal() says so
};

struct ShardOptions {
  // This process and how many there are.
  int64_t rank = 0;
  int64_t ranks = 1;

  // How many samples of a rank make a batch, and whether a last short batch is left out.
  int64_t batch_size = 1;
  bool drop_last = false;

  // Each rank goes through the whole set instead of its own part.
  bool with_replacement = false;

  // The set is taken this many times and shuffled over all of them: one epoch is `passes` passes
  // without a border between them.
  int64_t passes = 1;

  // The order is the same on all ranks for a seed and an epoch, and differs between epochs.
  bool shuffle = false;
  uint64_t seed = 0;
  int64_t epoch = 0;

  Tail tail = Tail::kDrop;

  // shard_files only: no file is read by two ranks. Counts are then only as even as files allow;
  // kDrop cuts every rank to the smallest, kPad repeats samples of a rank up to the largest.
  bool whole_files = false;
};

// What every rank gets in one epoch; the same value on every rank.
struct ShardCounts {
  int64_t size = 0;    // samples in the set
  int64_t passes = 1;  // times the set is taken
  int64_t batch_size = 1;
  std::vector<int64_t> samples = {};  // of each rank
  std::vector<int64_t> batches = {};  // of each rank
  int64_t dropped = 0;                // samples that no rank gets, counted once for each pass
  int64_t repeated = 0;               // samples taken a second time to fill up
  bool with_replacement = false;

  // Every rank has the same number of batches and of samples: a job that exchanges gradients ends
  // on all ranks at once.
  bool equal() const;
  // One sentence on why not, and what to do; "" where equal().
  std::string why_unequal() const;
  // One line for the user.
  std::string line() const;
};

struct SampleShard {
  std::vector<int64_t> indices = {};  // of this rank, in the order of training
  ShardCounts counts = {};
};

// Divides `size` samples. Refuses a division that leaves any rank without a batch, save with
// Tail::kKeep. O(size * passes) time and memory.
SampleShard shard_samples(int64_t size, const ShardOptions& options);

// Samples [begin, begin + count) of a file.
struct FilePart {
  int64_t file = 0;
  int64_t begin = 0;
  int64_t count = 0;

  bool operator==(const FilePart&) const = default;
};

struct FileShard {
  std::vector<FilePart> parts = {};  // of this rank, in the order of training
  ShardCounts counts = {};
};

// Divides files by the samples that each holds. Files are shuffled, not the samples in them, so a
// file is read from front to back; at most ranks - 1 files are read by two ranks, none with
// `whole_files`. Refuses what shard_samples() refuses. O(files * passes).
FileShard shard_files(std::span<const int64_t> samples_in_file, const ShardOptions& options);

// Says the counts in one line, and why they differ where they do: on rank 0 in epoch 0, so once for
// a job.
void say_once(const ShardCounts& counts, const ShardOptions& options);

// The permutation of 0..size-1 that belongs to a seed and an epoch: the same in every process and
// on every machine.
std::vector<int64_t> global_order(int64_t size, uint64_t seed, int64_t epoch);

// Begin and end of this rank's files in a list, as fleet.util.get_file_shard divides it: contiguous
// blocks, the remainder to the first ranks. A rank may get none.
std::pair<int64_t, int64_t> file_block(int64_t files, int64_t rank, int64_t ranks);

// DistributedBatchSampler's samples of one rank in one epoch, as Paddle chooses them: batches are
// blocks of `batch_size`, the last one may be shorter.
//
//   0..size-1 and its head again, to a multiple of `ranks` --> shuffled --> whole batches in turn
//   over the ranks, then the rest in `ranks` equal parts
//
// `shuffle_seed` is the epoch where the sampler shuffles: the order is that of
// numpy.random.RandomState(epoch).shuffle.
struct BatchSamplerOptions {
  int64_t rank = 0;
  int64_t ranks = 1;
  int64_t batch_size = 1;
  std::optional<uint32_t> shuffle_seed = {};
};
std::vector<int64_t> distributed_indices(int64_t size, const BatchSamplerOptions& options);

// The same, of a list that is padded and shuffled already. REQUIRES: its size is a multiple of
// `ranks`.
std::vector<int64_t> distributed_indices(std::span<const int64_t> padded,
                                         const BatchSamplerOptions& options);

// Shuffles as numpy.random.RandomState(seed).shuffle does: a Mersenne Twister and swaps from the
// back.
void shuffle_as_numpy(std::span<int64_t> values, uint32_t seed);

}  // namespace flotilla::data

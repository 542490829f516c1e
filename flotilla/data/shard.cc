#include "flotilla/data/shard.h"

#include <algorithm>
#include <numeric>
#include <random>

#include "flotilla/base/error.h"
#include "flotilla/base/log.h"

namespace flotilla::data {
namespace {

void check_rank(int64_t rank, int64_t ranks) {
  require(ranks > 0, "the number of ranks must be positive, but is {}", ranks);
  require(0 <= rank && rank < ranks,
          "rank must lie in [0, {}) because there are {} ranks, but is {}", ranks, ranks, rank);
}

void check_options(const ShardOptions& o) {
  check_rank(o.rank, o.ranks);
  require(o.batch_size > 0, "batch_size must be positive, but is {}", o.batch_size);
  require(o.passes > 0, "passes must be positive, but is {}", o.passes);
  require(o.epoch >= 0, "epoch must not be negative, but is {}", o.epoch);
}

int64_t times(int64_t size, int64_t passes) {
  int64_t total = 0;
  require(!__builtin_mul_overflow(size, passes, &total),
          "{} samples in {} passes are more than can be counted", size, passes);
  return total;
}

std::string set_text(int64_t size, int64_t passes) {
  return passes == 1 ? fmt::format("{} samples", size)
                     : fmt::format("{} samples x {} passes", size, passes);
}

// floor(total * part / parts) without overflow.
int64_t fraction(int64_t total, int64_t part, int64_t parts) {
  return total / parts * part + total % parts * part / parts;
}

// Entries 0..size*passes-1 in their order of training; entry e is element e % size.
std::vector<int64_t> order_of(int64_t size, const ShardOptions& o) {
  const int64_t total = times(size, o.passes);
  std::vector<int64_t> order;
  if (o.shuffle) {
    order = global_order(total, o.seed, o.epoch);
  } else {
    order.resize(static_cast<size_t>(total));
    std::iota(order.begin(), order.end(), int64_t{0});
  }
  for (int64_t& entry : order) entry %= size;
  return order;
}

// How many of `total` samples each rank takes, where single samples can be divided.
std::vector<int64_t> samples_of_ranks(int64_t total, const ShardOptions& o) {
  const int64_t even = total / o.ranks, rest = total % o.ranks;
  std::vector<int64_t> samples(static_cast<size_t>(o.ranks), even);
  if (o.with_replacement) {
    std::fill(samples.begin(), samples.end(), total);
  } else if (o.tail == Tail::kPad && rest != 0) {
    std::fill(samples.begin(), samples.end(), even + 1);
  } else if (o.tail == Tail::kKeep) {
    std::fill_n(samples.begin(), rest, even + 1);
  }
  return samples;
}

ShardCounts count(int64_t size, std::vector<int64_t> samples, const ShardOptions& o) {
  ShardCounts counts = {.size = size,
                        .passes = o.passes,
                        .batch_size = o.batch_size,
                        .samples = std::move(samples),
                        .with_replacement = o.with_replacement};
  for (const int64_t n : counts.samples) {
    counts.batches.push_back(n / o.batch_size + (!o.drop_last && n % o.batch_size != 0 ? 1 : 0));
  }
  const int64_t least = *std::min_element(counts.batches.begin(), counts.batches.end());
  require(o.tail == Tail::kKeep || least > 0,
          "{} do not give each of {} ranks a batch of {}: use fewer ranks, a smaller batch, or {}",
          set_text(size, o.passes), o.ranks, o.batch_size,
          o.drop_last ? "keep the short batch" : "pad the tail");
  return counts;
}

// Sets `dropped` and `repeated` from what the ranks take of `total`.
void compare_with(int64_t total, ShardCounts& counts) {
  if (counts.with_replacement) return;
  const int64_t taken = std::accumulate(counts.samples.begin(), counts.samples.end(), int64_t{0});
  counts.dropped = std::max<int64_t>(total - taken, 0);
  counts.repeated = std::max<int64_t>(taken - total, 0);
}

// The files of a set laid end to end: sample s of the whole is in the last file whose `starts` is
// not above s.
struct Concatenation {
  std::vector<int64_t> files = {};   // which file, in the order of training
  std::vector<int64_t> starts = {};  // of each, and the end of all
  std::span<const int64_t> sizes = {};

  Concatenation(std::vector<int64_t> order, std::span<const int64_t> samples_in_file)
      : files(std::move(order)), starts{0}, sizes(samples_in_file) {
    for (const int64_t file : files) starts.push_back(starts.back() + size_of(file));
  }

  int64_t size_of(int64_t file) const { return sizes[static_cast<size_t>(file)]; }
  int64_t total() const { return starts.back(); }

  // Samples [begin, begin + count), from the front again where the end is passed.
  std::vector<FilePart> take(int64_t begin, int64_t count) const {
    std::vector<FilePart> parts;
    if (total() == 0) return parts;
    begin %= total();
    auto at = std::upper_bound(starts.begin(), starts.end(), begin) - starts.begin() - 1;
    for (int64_t inside = begin - starts[at]; count > 0; inside = 0) {
      const int64_t file = files[at], n = std::min(size_of(file) - inside, count);
      if (n > 0) parts.push_back({file, inside, n});
      count -= n;
      at = (at + 1) % std::ssize(files);
    }
    return parts;
  }
};

// Whole files to ranks: the largest first, each to the rank that has least so far. The files of a
// rank keep their order.
std::vector<std::vector<int64_t>> deal_files(const Concatenation& all, int64_t ranks) {
  std::vector<size_t> by_size(all.files.size());
  std::iota(by_size.begin(), by_size.end(), size_t{0});
  std::stable_sort(by_size.begin(), by_size.end(), [&](size_t a, size_t b) {
    return all.size_of(all.files[a]) > all.size_of(all.files[b]);
  });
  std::vector<int64_t> load(static_cast<size_t>(ranks), 0);
  std::vector<size_t> owner(all.files.size());
  for (const size_t entry : by_size) {
    const auto least = std::min_element(load.begin(), load.end());
    owner[entry] = static_cast<size_t>(least - load.begin());
    *least += all.size_of(all.files[entry]);
  }
  std::vector<std::vector<int64_t>> dealt(static_cast<size_t>(ranks));
  for (size_t entry = 0; entry < owner.size(); ++entry) {
    dealt[owner[entry]].push_back(all.files[entry]);
  }
  return dealt;
}

FileShard shard_whole_files(int64_t size, const Concatenation& all, const ShardOptions& o) {
  std::vector<std::vector<int64_t>> dealt = deal_files(all, o.ranks);
  std::vector<int64_t> samples;
  for (const std::vector<int64_t>& files : dealt) {
    samples.push_back(
        std::accumulate(files.begin(), files.end(), int64_t{0},
                        [&](int64_t sum, int64_t f) { return sum + all.size_of(f); }));
  }
  const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
  require(*least > 0 || o.tail == Tail::kKeep,
          "{} files cannot be divided among {} ranks so that each has a sample: use fewer ranks, "
          "or let ranks share a file",
          all.files.size(), o.ranks);
  const int64_t even = o.tail == Tail::kDrop ? *least : *most;
  if (o.tail != Tail::kKeep) std::fill(samples.begin(), samples.end(), even);

  FileShard shard = {.counts = count(size, samples, o)};
  const Concatenation mine(std::move(dealt[static_cast<size_t>(o.rank)]), all.sizes);
  shard.parts = mine.take(0, samples[static_cast<size_t>(o.rank)]);
  compare_with(all.total(), shard.counts);
  return shard;
}

// A generator whose numbers are the same everywhere, and how it draws from 0..most.
template <typename Engine>
uint64_t draw(Engine& engine, uint64_t most) {
  uint64_t mask = most;
  for (int shift = 1; shift < 64; shift *= 2) mask |= mask >> shift;
  uint64_t value = 0;
  do value = engine() & mask;
  while (value > most);
  return value;
}

template <typename Engine>
void shuffle_from_the_back(std::span<int64_t> values, Engine& engine) {
  for (size_t i = values.size(); i-- > 1;) std::swap(values[i], values[draw(engine, i)]);
}

}  // namespace

bool ShardCounts::equal() const {
  const auto same = [](const std::vector<int64_t>& of) {
    return std::adjacent_find(of.begin(), of.end(), std::not_equal_to<>()) == of.end();
  };
  return same(samples) && same(batches);
}

std::string ShardCounts::why_unequal() const {
  if (equal()) return "";
  const auto [least, most] = std::minmax_element(samples.begin(), samples.end());
  const auto low = static_cast<size_t>(least - samples.begin());
  const auto high = static_cast<size_t>(most - samples.begin());
  return fmt::format(
      "rank {} has {} samples in {} batches and rank {} has {} in {}, because {} samples do not "
      "divide over {} ranks and the tail is kept: drop or pad the tail where ranks wait for each "
      "other",
      high, *most, batches[high], low, *least, batches[low], size * passes, samples.size());
}

std::string ShardCounts::line() const {
  const auto [fewest, most] = std::minmax_element(batches.begin(), batches.end());
  const auto [least, greatest] = std::minmax_element(samples.begin(), samples.end());
  const auto range = [](int64_t low, int64_t high) {
    return low == high ? fmt::format("{}", low) : fmt::format("{} to {}", low, high);
  };
  return fmt::format(
      "{} {} replacement over {} ranks: {} samples in {} batches of {} for each; {} "
      "dropped, {} repeated",
      set_text(size, passes), with_replacement ? "with" : "without", samples.size(),
      range(*least, *greatest), range(*fewest, *most), batch_size, dropped, repeated);
}

SampleShard shard_samples(int64_t size, const ShardOptions& o) {
  check_options(o);
  require(size > 0, "a data set of {} samples cannot be divided among {} ranks", size, o.ranks);
  const std::vector<int64_t> order = order_of(size, o);
  const int64_t total = std::ssize(order);
  SampleShard shard = {.counts = count(size, samples_of_ranks(total, o), o)};
  compare_with(total, shard.counts);

  const int64_t mine = shard.counts.samples[static_cast<size_t>(o.rank)];
  const int64_t begin = o.with_replacement ? fraction(total, o.rank, o.ranks) : o.rank;
  const int64_t stride = o.with_replacement ? 1 : o.ranks;
  shard.indices.reserve(static_cast<size_t>(mine));
  for (int64_t k = 0; k < mine; ++k) {
    shard.indices.push_back(order[static_cast<size_t>((begin + k * stride) % total)]);
  }
  return shard;
}

FileShard shard_files(std::span<const int64_t> samples_in_file, const ShardOptions& o) {
  check_options(o);
  require(!samples_in_file.empty(), "the list of files is empty");
  for (size_t i = 0; i < samples_in_file.size(); ++i) {
    require(samples_in_file[i] >= 0, "file {} of {} cannot hold {} samples", i,
            samples_in_file.size(), samples_in_file[i]);
  }
  const int64_t size = std::accumulate(samples_in_file.begin(), samples_in_file.end(), int64_t{0});
  require(size > 0, "none of {} files holds a sample", samples_in_file.size());
  const Concatenation all(order_of(std::ssize(samples_in_file), o), samples_in_file);
  if (o.whole_files && !o.with_replacement) return shard_whole_files(size, all, o);

  const int64_t total = all.total();
  FileShard shard = {.counts = count(size, samples_of_ranks(total, o), o)};
  compare_with(total, shard.counts);
  const std::vector<int64_t>& samples = shard.counts.samples;
  int64_t begin = std::accumulate(samples.begin(), samples.begin() + o.rank, int64_t{0});
  if (o.with_replacement) {
    begin = o.whole_files ? all.starts[fraction(std::ssize(all.files), o.rank, o.ranks)]
                          : fraction(total, o.rank, o.ranks);
  }
  shard.parts = all.take(begin, samples[static_cast<size_t>(o.rank)]);
  return shard;
}

void say_once(const ShardCounts& counts, const ShardOptions& options) {
  if (options.rank != 0 || options.epoch != 0) return;
  log::info("{}", counts.line());
  if (!counts.equal()) log::warning("{}", counts.why_unequal());
}

std::vector<int64_t> global_order(int64_t size, uint64_t seed, int64_t epoch) {
  require(size >= 0, "an order of {} samples was requested", size);
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), int64_t{0});
  // seed_seq keeps neighbouring seeds and epochs far apart; the standard fixes its numbers.
  const auto at = static_cast<uint64_t>(epoch);
  std::seed_seq words = {static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32),
                         static_cast<uint32_t>(at), static_cast<uint32_t>(at >> 32)};
  std::mt19937_64 engine(words);
  shuffle_from_the_back(order, engine);
  return order;
}

std::pair<int64_t, int64_t> file_block(int64_t files, int64_t rank, int64_t ranks) {
  check_rank(rank, ranks);
  require(files >= 0, "a list of {} files was given", files);
  const int64_t even = files / ranks, rest = files % ranks;
  const int64_t begin = rank * even + std::min(rank, rest);
  return {begin, begin + even + (rank < rest ? 1 : 0)};
}

std::vector<int64_t> distributed_indices(int64_t size, const BatchSamplerOptions& o) {
  check_rank(o.rank, o.ranks);
  require(size > 0, "DistributedBatchSampler needs at least one sample, but the data set has {}",
          size);
  const int64_t padded = (size + o.ranks - 1) / o.ranks * o.ranks;
  std::vector<int64_t> order(static_cast<size_t>(padded));
  for (int64_t i = 0; i < padded; ++i) order[static_cast<size_t>(i)] = i % size;
  if (o.shuffle_seed) shuffle_as_numpy(order, *o.shuffle_seed);
  return distributed_indices(order, o);
}

std::vector<int64_t> distributed_indices(std::span<const int64_t> padded,
                                         const BatchSamplerOptions& o) {
  check_rank(o.rank, o.ranks);
  require(o.batch_size > 0, "batch_size must be positive, but is {}", o.batch_size);
  const int64_t total = std::ssize(padded);
  require(total % o.ranks == 0, "{} samples are not a multiple of {} ranks", total, o.ranks);
  const int64_t round = o.batch_size * o.ranks;
  const int64_t rest = total % round, whole = total - rest;
  std::vector<int64_t> mine;
  mine.reserve(static_cast<size_t>(total / o.ranks));
  const auto add = [&](int64_t begin, int64_t count) {
    const auto part = padded.subspan(static_cast<size_t>(begin), static_cast<size_t>(count));
    mine.insert(mine.end(), part.begin(), part.end());
  };
  for (int64_t i = o.rank * o.batch_size; i < whole; i += round) add(i, o.batch_size);
  add(whole + o.rank * (rest / o.ranks), rest / o.ranks);
  return mine;
}

void shuffle_as_numpy(std::span<int64_t> values, uint32_t seed) {
  require(values.size() <= uint64_t{1} << 32, "{} samples are more than can be shuffled",
          values.size());
  std::mt19937 engine(seed);
  shuffle_from_the_back(values, engine);
}

}  // namespace flotilla::data

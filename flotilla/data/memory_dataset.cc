// InMemoryDataset of file_dataset.h.

#include <algorithm>
#include <map>
#include <numeric>
#include <thread>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/base/log.h"
#include "flotilla/base/thread.h"
#include "flotilla/data/file_dataset.h"
#include "flotilla/data/record_reader.h"
#include "flotilla/data/shard.h"
#include "flotilla/data/slot_bytes.h"

namespace flotilla::data {
namespace {

// Records that one member sends in one round of a global shuffle, so that its parcels stay small.
constexpr int64_t kRoundRecords = int64_t{1} << 18;

// Files that several threads read at once, put together in the order of the list.
class Loader {
 public:
  Loader(const FileDatasetOptions& options, BadRecords& bad, const std::atomic<bool>& stop)
      : options_(options), bad_(bad), stop_(stop), loaded_(options.slots) {}

  SlotBlock load(int64_t threads) {
    const auto readers =
        std::min<size_t>(static_cast<size_t>(std::max<int64_t>(1, threads)), options_.files.size());
    if (readers == 1) {
      read_in_place();
    } else {
      require_threads(static_cast<int>(readers), "read files");
      std::vector<std::jthread> others;
      for (size_t t = 0; t < readers; ++t) others.emplace_back([this] { read_some(); });
    }
    MutexLock lock(mutex_);
    if (error_ != nullptr) std::rethrow_exception(error_);
    return std::move(loaded_);
  }

 private:
  std::unique_ptr<RecordParser> parser() const {
    return options_.parser == nullptr ? multi_slot_parser(options_.slots)
                                      : options_.parser(options_.slots);
  }

  void read(const std::string& file, RecordParser& parser, SlotBlock& block) {
    RecordReader reader(file, parser, bad_,
                        {.pipe_command = options_.pipe_command,
                         .command_folder = options_.command_folder,
                         .stop = &stop_});
    while (reader.next(block)) {
      if (stop_) throw Error(ErrorKind::kUnavailable, "the load was stopped");
    }
  }

  // Nothing is copied.
  void read_in_place() {
    const std::unique_ptr<RecordParser> mine = parser();
    MutexLock lock(mutex_);
    for (const std::string& file : options_.files) read(file, *mine, loaded_);
  }

  void read_some() noexcept {
    std::exception_ptr error;
    try {
      const std::unique_ptr<RecordParser> mine = parser();
      for (size_t f = next_++; f < options_.files.size() && !failed_; f = next_++) {
        SlotBlock block(options_.slots);
        read(options_.files[f], *mine, block);
        add(f, std::move(block));
      }
    } catch (...) {
      failed_ = true;
      error = std::current_exception();
    }
    if (error == nullptr) return;
    MutexLock lock(mutex_);
    if (error_ == nullptr) error_ = std::move(error);
  }

  // Blocks of files that come later in the list wait.
  void add(size_t file, SlotBlock block) {
    MutexLock lock(mutex_);
    waiting_[file] = std::move(block);
    while (!waiting_.empty() && waiting_.begin()->first == added_) {
      loaded_.append(waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
      ++added_;
    }
  }

  const FileDatasetOptions& options_;
  BadRecords& bad_;
  const std::atomic<bool>& stop_;
  std::atomic<size_t> next_ = 0;
  std::atomic<bool> failed_ = false;

  Mutex mutex_;
  SlotBlock loaded_ FLT_GUARDED_BY(mutex_);
  std::map<size_t, SlotBlock> waiting_ FLT_GUARDED_BY(mutex_);
  size_t added_ FLT_GUARDED_BY(mutex_) = 0;
  std::exception_ptr error_ FLT_GUARDED_BY(mutex_);
};

std::vector<int64_t> numbers_up_to(int64_t n) {
  std::vector<int64_t> numbers(static_cast<size_t>(n));
  std::iota(numbers.begin(), numbers.end(), int64_t{0});
  return numbers;
}

// Which member holds which records before and after a global shuffle: records are numbered through
// the members; `order` is the number of each position afterwards.
class Division {
 public:
  Division(std::vector<int64_t> counts, uint64_t seed) : starts_(counts.size() + 1, 0) {
    std::partial_sum(counts.begin(), counts.end(), starts_.begin() + 1);
    order_ = global_order(starts_.back(), seed, 0);
  }

  int64_t member_before(int64_t number) const {
    return std::upper_bound(starts_.begin(), starts_.end(), number) - starts_.begin() - 1;
  }
  int64_t start_before(int64_t member) const { return starts_[static_cast<size_t>(member)]; }
  int64_t number_at(int64_t position) const { return order_[static_cast<size_t>(position)]; }

  // Positions of a member in one round.
  std::pair<int64_t, int64_t> positions(int64_t member, int64_t round) const {
    const auto [begin, end] = file_block(starts_.back(), member, members());
    const int64_t first = std::min(end, begin + round * kRoundRecords);
    return {first, std::min(end, first + kRoundRecords)};
  }
  int64_t rounds() const {
    const auto [begin, end] = file_block(starts_.back(), 0, members());  // the longest
    return (end - begin + kRoundRecords - 1) / kRoundRecords;
  }
  int64_t members() const { return static_cast<int64_t>(starts_.size()) - 1; }

 private:
  std::vector<int64_t> starts_;
  std::vector<int64_t> order_;
};

}  // namespace

// A load in the background; the thread ends before what it writes.
struct InMemoryDataset::Preload {
  std::atomic<bool> stop = false;
  std::atomic<bool> done = false;
  SlotBlock records = {};
  std::exception_ptr error = nullptr;
  std::jthread thread = {};
};

InMemoryDataset::InMemoryDataset() = default;
InMemoryDataset::InMemoryDataset(FileDatasetOptions o) : FileDataset(std::move(o)) {}
InMemoryDataset::~InMemoryDataset() { stop_preload(); }

void InMemoryDataset::install(SlotBlock records) {
  records_ = std::make_shared<SlotBlock>(std::move(records));
  order_ = numbers_up_to(records_->records());
  loaded_ = options.slots;
  if (bad_->count() > 0) log::warning("{}", bad_->summary());
}

void InMemoryDataset::load_into_memory(const std::atomic<bool>* stop) {
  wait_preload_done();
  check();
  release_memory();  // first give back, then take
  bad_ = std::make_shared<BadRecords>(options.max_bad_records);
  static const std::atomic<bool> never = false;
  install(Loader(options, *bad_, stop == nullptr ? never : *stop).load(options.threads));
}

void InMemoryDataset::preload_into_memory(int64_t threads) {
  wait_preload_done();
  check();
  release_memory();
  bad_ = std::make_shared<BadRecords>(options.max_bad_records);
  preload_ = std::make_unique<Preload>();
  const auto load = [run = preload_.get(), set = options, bad = bad_,
                     readers = threads == 0 ? options.threads : threads] {
    try {
      run->records = Loader(set, *bad, run->stop).load(readers);
    } catch (...) {
      run->error = std::current_exception();
    }
    run->done = true;
  };
  try {
    preload_->thread = start_thread("loads the data set", load);
  } catch (...) {
    preload_.reset();  // nothing is under way
    throw;
  }
}

bool InMemoryDataset::preload_done() const { return preload_ == nullptr || preload_->done; }

void InMemoryDataset::wait_preload_done() {
  if (preload_ == nullptr) return;
  const std::unique_ptr<Preload> preload = std::move(preload_);
  preload->thread.join();
  if (preload->error != nullptr) std::rethrow_exception(preload->error);
  install(std::move(preload->records));
}

void InMemoryDataset::stop_preload() {
  if (preload_ == nullptr) return;
  preload_->stop = true;
  preload_.reset();
}

void InMemoryDataset::local_shuffle(uint64_t seed) {
  wait_preload_done();
  const std::vector<int64_t> permutation = global_order(memory_data_size(), seed, 0);
  std::vector<int64_t> order(order_.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = order_[static_cast<size_t>(permutation[i])];
  order_ = std::move(order);
}

void InMemoryDataset::global_shuffle(Exchange& exchange, uint64_t seed) {
  wait_preload_done();
  if (exchange.size() == 1) {  // the same order, but nothing is copied
    local_shuffle(seed);
    shuffled_ = true;
    return;
  }
  restore_slots();
  const Division division(
      gather_numbers(exchange, memory_data_size()),
      static_cast<uint64_t>(gather_numbers(exchange, static_cast<int64_t>(seed)).front()));
  const int64_t me = exchange.rank(), mine = division.start_before(me);
  SlotBlock received(options.slots);
  std::vector<int64_t> order;
  for (int64_t round = 0; round < division.rounds(); ++round) {
    std::vector<std::string> parcels;
    for (int64_t to = 0; to < exchange.size(); ++to) {
      std::vector<int64_t> records;
      const auto [begin, end] = division.positions(to, round);
      for (int64_t p = begin; p < end; ++p) {
        const int64_t number = division.number_at(p);
        if (division.member_before(number) == me) {
          records.push_back(order_[static_cast<size_t>(number - mine)]);
        }
      }
      parcels.push_back(to_bytes(*records_, records));
    }
    std::vector<int64_t> next;  // the next record of each sender
    for (const std::string& parcel : exchange.all_to_all(std::move(parcels))) {
      next.push_back(received.records());
      append_bytes(parcel, received);
    }
    const auto [begin, end] = division.positions(me, round);
    for (int64_t p = begin; p < end; ++p) {
      order.push_back(next[static_cast<size_t>(division.member_before(division.number_at(p)))]++);
    }
  }
  records_ = std::make_shared<SlotBlock>(std::move(received));
  order_ = std::move(order);
  shuffled_ = true;
}

SlotBlock& InMemoryDataset::writable() {
  if (records_.use_count() > 1) records_ = std::make_shared<SlotBlock>(*records_);
  return *records_;
}

void InMemoryDataset::restore_slots() {
  for (; !undo_.empty(); undo_.pop_back()) {
    writable().permute_slot(undo_.back().slot, undo_.back().permutation);
  }
}

void InMemoryDataset::slots_shuffle(const std::vector<std::string>& slots, uint64_t seed) {
  wait_preload_done();
  std::vector<int64_t> wanted;
  for (const std::string& name : slots) {
    const auto found = std::find_if(options.slots.begin(), options.slots.end(),
                                    [&](const SlotSpec& spec) { return spec.name == name; });
    if (found == options.slots.end()) {
      std::vector<std::string> names;
      for (const SlotSpec& spec : options.slots) names.push_back(spec.name);
      not_found("the data set has no slot \"{}\".{}", name, did_you_mean(name, names));
    }
    const int64_t slot = found - options.slots.begin();
    if (std::find(wanted.begin(), wanted.end(), slot) == wanted.end()) wanted.push_back(slot);
  }
  restore_slots();
  if (order_.empty()) return;
  for (const int64_t slot : wanted) {
    const std::vector<int64_t> permutation = global_order(records_->records(), seed, slot);
    Undo undo{.slot = slot, .permutation = std::vector<int64_t>(permutation.size())};
    for (size_t i = 0; i < permutation.size(); ++i) {
      undo.permutation[static_cast<size_t>(permutation[i])] = static_cast<int64_t>(i);
    }
    writable().permute_slot(slot, permutation);
    undo_.push_back(std::move(undo));
  }
}

void InMemoryDataset::release_memory() {
  stop_preload();
  records_ = std::make_shared<SlotBlock>();
  order_ = {};
  undo_.clear();
  shuffled_ = false;
}

std::unique_ptr<BatchPass> InMemoryDataset::start(int64_t) {
  wait_preload_done();
  require(!order_.empty(), "the data set holds no records; call load_into_memory() first");
  const auto same = [](const SlotSpec& a, const SlotSpec& b) {
    return a.name == b.name && a.dtype == b.dtype && a.width() == b.width();
  };
  require(
      std::equal(loaded_.begin(), loaded_.end(), options.slots.begin(), options.slots.end(), same),
      "the variables of the data set were changed after its records were loaded; call "
      "load_into_memory() again");
  require(options.batch_size > 0, "the batch size must be positive, but is {}", options.batch_size);
  // One thread gathers faster than any number of trainers read, and keeps the order.
  const auto gather = [records = records_, order = order_, slots = options.slots,
                       size = static_cast<size_t>(options.batch_size)](BatchPass& pass) {
    for (size_t begin = 0; begin < order.size(); begin += size) {
      const size_t count = std::min(size, order.size() - begin);
      if (!pass.emit(to_batch(*records, std::span(order).subspan(begin, count), slots))) return;
    }
  };
  return std::make_unique<BatchPass>(std::vector<BatchPass::Producer>{gather}, 4);
}

}  // namespace flotilla::data

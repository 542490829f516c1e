// flotilla/data/file_dataset.h
//
// Data sets that are lists of files with records of slots, as recommendation uses them.
//
//   QueueDataset      files --threads parse--> batches            each pass reads the files again
//   InMemoryDataset   files --load--> records --shuffle--> batches
//
//   QueueDataset set({.slots = slots, .files = files, .batch_size = 32, .threads = 2});
//   const std::unique_ptr<BatchPass> pass = set.start();
//   while (const std::optional<Batch> batch = pass->next()) { ... }
//
// Order. One thread reads the files in the order of the list, and a batch may hold the end of one
// file and the beginning of the next; only the last batch of a pass may be short. With several
// threads a QueueDataset gives each whole files, the next of the list to whoever is free: every
// record comes once, the records of a file stay in order, each thread may leave one short batch,
// and which batch comes first is not said. An InMemoryDataset has one order, that of the files
// until it is shuffled, whatever the number of threads.

#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "flotilla/base/exchange.h"
#include "flotilla/data/batch_pass.h"
#include "flotilla/data/slots.h"

namespace flotilla::data {

struct FileDatasetOptions {
  // The slots of a record, in the order of the text and of the tensors of a batch.
  std::vector<SlotSpec> slots = {};

  std::vector<std::string> files = {};

  int64_t batch_size = 1;

  // Threads that read files.
  int64_t threads = 1;

  // Files go through this command (`sh -c`, the file on its standard input); empty or "cat": as
  // they are.
  std::string pipe_command = {};

  // Where its programs are looked for first; see TextOptions.
  std::string command_folder = {};

  // Makes the parser of each thread. Null: the multi-slot text.
  std::function<std::unique_ptr<RecordParser>(const std::vector<SlotSpec>&)> parser = nullptr;

  // Records that cannot be read are skipped up to this number in a pass or a load; one more is an
  // error.
  int64_t max_bad_records = 0;
};

// Thread safety: none; a pass that was started is on its own.
class FileDataset {
 public:
  virtual ~FileDataset() = default;

  FileDatasetOptions options;

  // Begins a pass. `threads`: how many read; 0: as the options say. Refuses options that cannot
  // work: no slots, no files, a file that is not there or not a regular one.
  virtual std::unique_ptr<BatchPass> start(int64_t threads = 0) = 0;

  // How many threads can do something at once, of `threads` (0: as the options say).
  virtual int64_t useful_threads(int64_t threads) const;

  // Of the latest pass or load.
  int64_t bad_records() const { return bad_ == nullptr ? 0 : bad_->count(); }

 protected:
  FileDataset() = default;
  explicit FileDataset(FileDatasetOptions o) : options(std::move(o)) {}
  void check() const;

  std::shared_ptr<BadRecords> bad_;
};

class QueueDataset final : public FileDataset {
 public:
  QueueDataset() = default;
  explicit QueueDataset(FileDatasetOptions o) : FileDataset(std::move(o)) {}

  std::unique_ptr<BatchPass> start(int64_t threads = 0) override;
  int64_t useful_threads(int64_t threads) const override;
};

class InMemoryDataset final : public FileDataset {
 public:
  InMemoryDataset();
  explicit InMemoryDataset(FileDatasetOptions o);
  // Ends a preload.
  ~InMemoryDataset() override;

  // Reads all files, in place of what was there. The records come in the order of the files,
  // however many threads read. Where `stop` turns true the load ends with kUnavailable.
  void load_into_memory(const std::atomic<bool>* stop = nullptr);
  // The same in the background. `threads` 0: as the options say.
  void preload_into_memory(int64_t threads = 0);
  // Waits for it, and throws what it threw. Without a preload it does nothing.
  void wait_preload_done();
  // For who wants to do something while waiting.
  bool preload_done() const;
  void stop_preload();

  // Other orders of the records. The same seed, and the same records before, give the same order.
  void local_shuffle(uint64_t seed);
  // Over the records of all members: each gets an equal share of one random order, one record more
  // or less. The order depends on the seed of member 0 and the records, not on how many members
  // there are. Collective.
  void global_shuffle(Exchange& exchange, uint64_t seed);
  // Deals the values of the named slots out to other records, to see what a slot is worth. Slots
  // that an earlier call shuffled go back first; no name: only that.
  void slots_shuffle(const std::vector<std::string>& slots, uint64_t seed);

  void release_memory();
  // Records here.
  int64_t memory_data_size() const { return static_cast<int64_t>(order_.size()); }
  // Records that the last global shuffle left here; 0 before.
  int64_t shuffle_data_size() const { return shuffled_ ? memory_data_size() : 0; }

  std::unique_ptr<BatchPass> start(int64_t threads = 0) override;

 private:
  struct Preload;
  // The way back of a shuffled slot.
  struct Undo {
    int64_t slot = 0;
    std::vector<int64_t> permutation = {};
  };

  void install(SlotBlock records);
  void restore_slots();
  // The records for a change: a copy where a pass still reads them.
  SlotBlock& writable();

  // Passes that still run keep the records alive.
  std::shared_ptr<SlotBlock> records_ = std::make_shared<SlotBlock>();
  std::vector<int64_t> order_;    // of records_
  std::vector<SlotSpec> loaded_;  // what the records were read with
  std::vector<Undo> undo_;        // brings shuffled slots back
  bool shuffled_ = false;
  std::unique_ptr<Preload> preload_;  // null: none is under way
};

}  // namespace flotilla::data

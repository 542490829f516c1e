#include "flotilla/data/file_dataset.h"

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "flotilla/base/error.h"
#include "flotilla/base/log.h"
#include "flotilla/base/regular_file.h"
#include "flotilla/data/record_reader.h"

namespace flotilla::data {
namespace {

// What the threads of one pass share.
struct SharedList {
  FileDatasetOptions options;
  std::shared_ptr<BadRecords> bad;
  std::atomic<size_t> next = 0;      // the file that nobody has taken yet
  std::atomic<int64_t> reading = 0;  // threads that are not done
};

std::unique_ptr<RecordParser> make_parser(const FileDatasetOptions& options) {
  return options.parser == nullptr ? multi_slot_parser(options.slots)
                                   : options.parser(options.slots);
}

// Cuts the records of a thread's files into batches.
class Cutter {
 public:
  Cutter(const std::vector<SlotSpec>& slots, int64_t batch_size)
      : slots_(slots), batch_size_(batch_size), block_(slots) {}

  // Where the next records go.
  SlotBlock& block() { return block_; }

  // Emits the whole batches; false: nobody wants more.
  bool cut(BatchPass& pass) {
    int64_t begin = 0;
    for (; block_.records() - begin >= batch_size_; begin += batch_size_) {
      if (!emit(pass, begin, batch_size_)) return false;
    }
    if (begin == 0) return true;
    std::vector<int64_t> rest(static_cast<size_t>(block_.records() - begin));
    std::iota(rest.begin(), rest.end(), begin);
    SlotBlock kept(slots_);
    kept.append(block_, rest);
    block_.clear();  // keeps its memory
    block_.append(kept);
    return true;
  }

  void finish(BatchPass& pass) {
    if (block_.records() > 0) emit(pass, 0, block_.records());
  }

 private:
  bool emit(BatchPass& pass, int64_t begin, int64_t count) {
    indices_.resize(static_cast<size_t>(count));
    std::iota(indices_.begin(), indices_.end(), begin);
    return pass.emit(to_batch(block_, indices_, slots_));
  }

  const std::vector<SlotSpec>& slots_;
  const int64_t batch_size_;
  SlotBlock block_;
  std::vector<int64_t> indices_;
};

void read_files(SharedList& list, BatchPass& pass) {
  const FileDatasetOptions& options = list.options;
  const std::unique_ptr<RecordParser> parser = make_parser(options);
  Cutter cutter(options.slots, options.batch_size);
  for (size_t f = list.next++; f < options.files.size(); f = list.next++) {
    RecordReader reader(options.files[f], *parser, *list.bad,
                        {.pipe_command = options.pipe_command,
                         .command_folder = options.command_folder,
                         .stop = &pass.stopped()});
    while (reader.next(cutter.block())) {
      if (pass.stopped() || !cutter.cut(pass)) return;
    }
    if (!cutter.cut(pass)) return;
  }
  cutter.finish(pass);
  if (--list.reading == 0 && list.bad->count() > 0) log::warning("{}", list.bad->summary());
}

}  // namespace

void FileDataset::check() const {
  require(!options.slots.empty(), "the data set has no slots; name its variables with use_var");
  check_specs(options.slots);
  require(options.batch_size > 0, "the batch size must be positive, but is {}", options.batch_size);
  require(!options.files.empty(),
          "the data set has an empty list of files; name them with set_filelist");
  for (size_t f = 0; f < options.files.size(); ++f) {
    std::error_code failed;
    require(std::filesystem::exists(options.files[f], failed),
            "file {} of {} of the data set, \"{}\", does not exist (the working directory is {})",
            f + 1, options.files.size(), options.files[f],
            std::filesystem::current_path(failed).string());
    const std::string_view kind = other_than_a_file(options.files[f]);
    require(kind.empty(), "file {} of {} of the data set, \"{}\", is {}, but must be a file", f + 1,
            options.files.size(), options.files[f], kind);
  }
}

int64_t FileDataset::useful_threads(int64_t threads) const {
  return std::max<int64_t>(1, threads == 0 ? options.threads : threads);
}

int64_t QueueDataset::useful_threads(int64_t threads) const {
  const auto files = static_cast<int64_t>(options.files.size());
  return std::clamp<int64_t>(FileDataset::useful_threads(threads), 1, std::max<int64_t>(1, files));
}

std::unique_ptr<BatchPass> QueueDataset::start(int64_t threads) {
  check();
  bad_ = std::make_shared<BadRecords>(options.max_bad_records);
  const int64_t readers = useful_threads(threads);
  const auto list = std::make_shared<SharedList>();
  list->options = options;
  list->bad = bad_;
  list->reading = readers;
  const std::vector<BatchPass::Producer> producers(
      static_cast<size_t>(readers), [list](BatchPass& pass) { read_files(*list, pass); });
  return std::make_unique<BatchPass>(producers, static_cast<size_t>(2 * readers + 2));
}

}  // namespace flotilla::data

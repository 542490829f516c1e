#include "flotilla/data/file_dataset.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <numeric>

#include "flotilla/data/slot_bytes.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/patience.h"
#include "flotilla/testing/ranks.h"

namespace flotilla::data {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::SizeIs;
using ::testing::UnorderedElementsAreArray;

// Files with records (ids: 1 to 3 of them, the first is the record's number; x: its half).
class FileDatasetTest : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(::testing::TempDir()) /
              (std::string("file_dataset_") + test->name() + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path) << text;
    return path;
  }

  // Files with these numbers of records, numbered through.
  FileDatasetOptions files(const std::vector<int64_t>& counts) {
    FileDatasetOptions options;
    options.slots = {{"ids", i64, {1}, 1}, {"x", f32, {1}, 0}};
    for (const int64_t count : counts) {
      std::string text;
      for (int64_t i = 0; i < count; ++i, ++records_) {
        text += fmt::format("{} {}", 1 + records_ % 3, records_);
        for (int64_t k = 0; k < records_ % 3; ++k) text += fmt::format(" {}", 1000 + k);
        text += fmt::format(" 1 {}\n", static_cast<double>(records_) / 2);
      }
      options.files.push_back(write(fmt::format("part-{}", options.files.size()), text));
    }
    options.batch_size = 4;
    return options;
  }

  std::filesystem::path folder_;
  int64_t records_ = 0;
};

// The numbers of the records of a pass, batch by batch; checks what belongs together.
std::vector<std::vector<int64_t>> read(BatchPass& pass) {
  std::vector<std::vector<int64_t>> batches;
  while (const std::optional<Batch> batch = pass.next()) {
    const Tensor &ids = batch->at(0), &x = batch->at(1);
    const std::vector<int64_t> offsets = ids.lod().at(0);
    std::vector<int64_t> numbers;
    for (size_t i = 0; i + 1 < offsets.size(); ++i) {
      const int64_t number = ids.span<int64_t>()[static_cast<size_t>(offsets[i])];
      EXPECT_EQ(offsets[i + 1] - offsets[i], 1 + number % 3);
      EXPECT_EQ(x.span<float>()[i], static_cast<float>(number) / 2);
      numbers.push_back(number);
    }
    EXPECT_EQ(x.shape(), (Shape{static_cast<int64_t>(numbers.size()), 1}));
    batches.push_back(std::move(numbers));
  }
  return batches;
}

std::vector<int64_t> flat(const std::vector<std::vector<int64_t>>& batches) {
  std::vector<int64_t> all;
  for (const auto& batch : batches) all.insert(all.end(), batch.begin(), batch.end());
  return all;
}

std::vector<int64_t> up_to(int64_t n) {
  std::vector<int64_t> numbers(static_cast<size_t>(n));
  std::iota(numbers.begin(), numbers.end(), 0);
  return numbers;
}

TEST_F(FileDatasetTest, OneThreadReadsFilesInOrderAndBatchesCrossThem) {
  QueueDataset set(files({3, 0, 5, 2}));
  for (int pass = 0; pass < 2; ++pass) {
    EXPECT_THAT(read(*set.start()),
                ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(4, 5, 6, 7), ElementsAre(8, 9)));
  }
}

TEST_F(FileDatasetTest, SeveralThreadsReadEveryRecordOnce) {
  FileDatasetOptions options = files({30, 1, 17, 0, 40, 8});
  options.threads = 3;
  QueueDataset set(options);
  EXPECT_EQ(set.useful_threads(0), 3);
  EXPECT_EQ(set.useful_threads(100), 6);
  EXPECT_THAT(flat(read(*set.start())), UnorderedElementsAreArray(up_to(96)));
}

TEST_F(FileDatasetTest, FilesGoThroughTheCommand) {
  FileDatasetOptions options = files({5});
  options.pipe_command = "head -n 3";
  EXPECT_EQ(flat(read(*QueueDataset(options).start())), up_to(3));
}

TEST_F(FileDatasetTest, ACommandThatDiesEndsThePassWithItsStatus) {
  FileDatasetOptions options = files({9});
  options.pipe_command = "cat; echo no more >&2; exit 3";
  const auto pass = QueueDataset(options).start();
  const std::string refusal = message_of([&] { read(*pass); });
  EXPECT_THAT(refusal, HasSubstr("exit status 3"));
  EXPECT_THAT(refusal, HasSubstr("no more"));
}

TEST_F(FileDatasetTest, BadRecordsAreCountedOrRefused) {
  FileDatasetOptions options = files({2, 2});
  options.files.insert(options.files.begin() + 1, write("bad", "1 x 1 2\n2 5\n"));
  QueueDataset set(options);
  const std::string refusal = message_of([&] { read(*set.start()); });
  EXPECT_THAT(refusal, HasSubstr("bad"));
  EXPECT_THAT(refusal, HasSubstr("ids"));
  set.options.max_bad_records = 2;
  EXPECT_EQ(flat(read(*set.start())), up_to(4));
  EXPECT_EQ(set.bad_records(), 2);
}

TEST_F(FileDatasetTest, RefusesWhatCannotBeRead) {
  QueueDataset set;
  EXPECT_THAT(message_of([&] { set.start(); }), HasSubstr("no slots"));
  set.options.slots = {{"x", f32, {1}, 0}};
  EXPECT_THAT(message_of([&] { set.start(); }), HasSubstr("empty list of files"));
  set.options.files = {write("a", ""), "nowhere"};
  EXPECT_THAT(message_of([&] { set.start(); }), HasSubstr("file 2 of 2"));
  set.options.files.pop_back();
  EXPECT_EQ(set.start()->next(), std::nullopt);
  InMemoryDataset memory(set.options);
  EXPECT_THAT(message_of([&] { memory.start(); }), HasSubstr("load_into_memory"));
}

TEST_F(FileDatasetTest, AnAbandonedPassEndsItsCommand) {
  FileDatasetOptions options = files({9});
  options.pipe_command = "cat; sleep 1000";
  const Stopwatch watch;
  {
    const auto pass = QueueDataset(options).start();
    EXPECT_TRUE(pass->next().has_value());
  }
  EXPECT_LT(watch.time(), std::chrono::seconds(20));
}

TEST_F(FileDatasetTest, MemoryKeepsTheOrderOfTheFilesWhateverTheThreads) {
  for (const int64_t threads : {1, 4}) {
    records_ = 0;
    FileDatasetOptions options = files({30, 1, 17, 0, 40, 8});
    options.threads = threads;
    InMemoryDataset set(options);
    EXPECT_EQ(set.memory_data_size(), 0);
    set.load_into_memory();
    set.load_into_memory();
    EXPECT_EQ(set.memory_data_size(), 96);
    EXPECT_EQ(flat(read(*set.start(threads))), up_to(96));
    set.release_memory();
    EXPECT_EQ(set.memory_data_size(), 0);
  }
}

TEST_F(FileDatasetTest, PreloadGoesOnInTheBackground) {
  InMemoryDataset set(files({10, 10}));
  set.wait_preload_done();
  set.preload_into_memory(2);
  set.wait_preload_done();
  EXPECT_EQ(flat(read(*set.start())), up_to(20));
  set.preload_into_memory();
  EXPECT_EQ(flat(read(*set.start())), up_to(20));
  set.options.files.push_back(write("bad", "1 x 1 2\n"));
  set.preload_into_memory();
  EXPECT_THAT(message_of([&] { set.wait_preload_done(); }), HasSubstr("bad"));
  set.options.pipe_command = "sleep 1000";
  set.preload_into_memory();  // and is abandoned
}

TEST_F(FileDatasetTest, AStoppedLoadEnds) {
  FileDatasetOptions options = files({3});
  options.pipe_command = "sleep 1000";
  InMemoryDataset set(options);
  const std::atomic<bool> stop = true;
  EXPECT_THROW(set.load_into_memory(&stop), Error);
}

TEST_F(FileDatasetTest, ShufflesRepeatWithTheirSeed) {
  std::vector<std::vector<int64_t>> orders;
  for (const uint64_t seed : {1, 1, 2}) {
    records_ = 0;
    InMemoryDataset set(files({50}));
    set.load_into_memory();
    set.local_shuffle(seed);
    orders.push_back(flat(read(*set.start())));
  }
  EXPECT_THAT(orders[0], UnorderedElementsAreArray(up_to(50)));
  EXPECT_NE(orders[0], up_to(50));
  EXPECT_EQ(orders[0], orders[1]);
  EXPECT_NE(orders[0], orders[2]);
}

TEST_F(FileDatasetTest, AGlobalShuffleIsOneOrderForAnyNumberOfMembers) {
  std::vector<std::vector<int64_t>> orders;
  for (const int64_t members : {1, 3}) {
    records_ = 0;
    const FileDatasetOptions all = files({20, 1, 30, 16});
    std::vector<std::vector<int64_t>> parts(static_cast<size_t>(members));
    testing::run_ranks(members, [&](comm::World& world) {
      Exchange& exchange = world.exchange();
      const auto me = static_cast<size_t>(exchange.rank());
      InMemoryDataset set(all);
      // Blocks of files, as many as there are members.
      set.options.files = members == 1 ? all.files
                          : me == 0    ? std::vector{all.files[0], all.files[1]}
                                       : std::vector{all.files[me + 1]};
      set.load_into_memory();
      EXPECT_EQ(set.shuffle_data_size(), 0);
      // The seed of member 0 counts.
      set.global_shuffle(exchange, 7 + me);
      EXPECT_EQ(set.shuffle_data_size(), set.memory_data_size());
      parts[me] = flat(read(*set.start()));
    });
    for (const auto& part : parts) {
      EXPECT_NEAR(static_cast<double>(part.size()), 67.0 / static_cast<double>(members), 1);
    }
    orders.push_back(flat(parts));
  }
  EXPECT_THAT(orders[0], UnorderedElementsAreArray(up_to(67)));
  EXPECT_EQ(orders[0], orders[1]);
}

TEST_F(FileDatasetTest, SlotsAreShuffledAndComeBack) {
  InMemoryDataset set(files({40}));
  set.load_into_memory();
  const auto halves = [&] {
    std::vector<float> values;
    const auto pass = set.start();
    while (const auto batch = pass->next()) {
      const auto x = batch->at(1).span<float>();
      values.insert(values.end(), x.begin(), x.end());
    }
    return values;
  };
  const std::vector<float> before = halves();
  set.slots_shuffle({"x"}, 5);
  const std::vector<float> after = halves();
  EXPECT_NE(before, after);
  EXPECT_THAT(after, UnorderedElementsAreArray(before));
  set.slots_shuffle({"ids"}, 5);
  EXPECT_EQ(halves(), before);
  set.slots_shuffle({}, 5);
  EXPECT_EQ(flat(read(*set.start())), up_to(40));
  EXPECT_THAT(message_of([&] { set.slots_shuffle({"idz"}, 1); }), HasSubstr("ids"));
}

TEST_F(FileDatasetTest, ParcelsOfRecordsAreCheckedBeforeTheyAreTaken) {
  InMemoryDataset set(files({4}));
  const std::vector<SlotSpec> slots = set.options.slots;
  SlotBlock block(slots);
  for (const int64_t id : {3, 4}) {
    block.column(0).tail<int64_t>().push_back(id);
    block.column(0).end_record();
    block.column(1).tail<float>().push_back(0.5f);
    block.column(1).end_record();
  }
  const std::string bytes = to_bytes(block, up_to(2));
  SlotBlock copy(slots);
  append_bytes(bytes, copy);
  append_bytes(bytes, copy);
  EXPECT_EQ(copy.records(), 4);
  EXPECT_EQ(copy.column(0).of<int64_t>(3)[0], 4);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_THROW(append_bytes(bytes.substr(0, size), copy), Error) << size;
  }
  EXPECT_THROW(append_bytes(bytes + "x", copy), Error);
  EXPECT_EQ(copy.records(), 4);
}

}  // namespace
}  // namespace flotilla::data

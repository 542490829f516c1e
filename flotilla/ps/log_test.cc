// flotilla/ps/log_test.cc
//
// Pushes as bytes and the log: what is written is read, whatever happens to the end of it.

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/resource.h>

#include <atomic>
#include <cerrno>
#include <fstream>
#include <limits>
#include <map>
#include <thread>

#include "flotilla/base/crc32c.h"
#include "flotilla/ps/change.h"
#include "flotilla/ps/log_writer.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla::ps {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::vector<std::byte> bytes_of(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text.data(), text.size()));
  return {bytes.begin(), bytes.end()};
}

TEST(Push, GoesThereAndBack) {
  const std::vector<int64_t> keys = {0, -1, std::numeric_limits<int64_t>::min()};
  const std::vector<float> rows = {1, 2, 3}, dense = {4, 5};
  const Push push = {.ids = {{7, 1}, {~uint64_t{0}, 12}},
                     .changes = {{.table = 3, .lr = 0.5f, .keys = keys, .values = rows},
                                 {.table = 4, .action = Action::kDelta, .values = dense},
                                 {.table = 5, .action = Action::kAssign, .scale = 0.25f}}};
  const std::vector<std::byte> bytes = encode(push);
  EXPECT_EQ(bytes.size() % 8, 0u);
  const Push back = decode_push(bytes);
  EXPECT_EQ(back.ids, push.ids);
  ASSERT_EQ(back.changes.size(), 3u);
  EXPECT_THAT(back.changes[0].keys, ::testing::ElementsAreArray(keys));
  EXPECT_THAT(back.changes[0].values, ::testing::ElementsAreArray(rows));
  EXPECT_EQ(back.changes[0].lr, 0.5f);
  EXPECT_EQ(back.changes[1].action, Action::kDelta);
  EXPECT_THAT(back.changes[1].values, ElementsAre(4, 5));
  EXPECT_EQ(back.changes[2].table, 5u);
  EXPECT_EQ(back.changes[2].scale, 0.25f);
}

TEST(Push, RefusesBytesThatAreNoPush) {
  const std::vector<int64_t> keys = {1, 2};
  const std::vector<float> rows = {1, 2};
  const std::vector<std::byte> good = encode({{{1, 1}}, {{.keys = keys, .values = rows}}});
  for (size_t size = 0; size < good.size(); ++size) {
    const std::vector<std::byte> cut(good.begin(), good.begin() + static_cast<long>(size));
    EXPECT_THROW(decode_push(cut), Error) << size;
  }
  std::vector<std::byte> wrong = good;
  wrong[8 + 16 + 4] = std::byte{9};
  EXPECT_REFUSED(decode_push(wrong), "unknown push action 9");
  wrong = good;
  wrong[8 + 16 + 16 + 7] = std::byte{0xff};
  EXPECT_THAT(refusal_of([&] { decode_push(wrong); }), HasSubstr("numbers of 8 bytes where 24"));
  wrong = good;
  wrong.resize(wrong.size() + 8);
  EXPECT_REFUSED(decode_push(wrong), "a push has 8 bytes too many");
}

class Log : public ::testing::Test, protected TempDir {
 protected:
  static LogOptions options(Sync sync = Sync::kOff, int64_t file_bytes = 1 << 20) {
    return {.sync = sync, .sync_interval = std::chrono::milliseconds(1), .file_bytes = file_bytes};
  }

  // Several texts in one write.
  static void append(LogWriter& log, const std::vector<std::string>& texts) {
    std::vector<std::vector<std::byte>> bodies;
    std::vector<LogWriter::Entry> entries;
    for (const std::string& text : texts) bodies.push_back(bytes_of(text));
    for (const auto& body : bodies) {
      entries.push_back({RecordKind::kPush, body, crc32c(0, body.data(), body.size())});
    }
    log.append(entries);
  }

  std::vector<std::string> read(uint64_t after = 0) {
    std::vector<std::string> texts;
    last_ = replay_log(dir_, after, [&](const Record& record) {
      EXPECT_EQ(record.number, after + texts.size() + 1);
      texts.emplace_back(reinterpret_cast<const char*>(record.body.data()), record.body.size());
    });
    return texts;
  }

  std::string log_file(uint64_t first) { return file(log_name(first)); }

  void overwrite(const std::string& path, size_t at, char byte) {
    std::fstream out(path, std::ios::in | std::ios::out | std::ios::binary);
    out.seekp(static_cast<std::streamoff>(at));
    out.put(byte);
  }

  uint64_t last_ = 0;
};

TEST_F(Log, WhatIsWrittenIsReadWithEverySyncPolicy) {
  uint64_t last = 0;
  for (const Sync sync : {Sync::kEach, Sync::kInterval, Sync::kOff}) {
    LogWriter log(dir_, options(sync), last);
    append(log, {"one", ""});
    append(log, {std::string(1000, 'x')});
    last = log.last();
  }
  EXPECT_EQ(read().size(), 9u);
  EXPECT_EQ(last_, 9u);
  EXPECT_THAT(read(6), ElementsAre("one", "", std::string(1000, 'x')));
}

TEST_F(Log, FilesFollowOneAnotherAndOldOnesGo) {
  LogWriter log(dir_, options(Sync::kOff, 100), 0);
  for (int i = 0; i < 20; ++i) append(log, {std::string(40, static_cast<char>('a' + i))});
  EXPECT_GT(names().size(), 5u);
  EXPECT_EQ(read().size(), 20u);
  log.remove_up_to(10);
  EXPECT_EQ(read(10).size(), 10u);
  EXPECT_THAT(refusal_of([&] { read(3); }), HasSubstr("are missing"));
  log.remove_up_to(20);
  EXPECT_EQ(names().size(), 1u);
  log.rotate();
  append(log, {"next"});
  EXPECT_THAT(read(20), ElementsAre("next"));
}

// Every length that a write of three records may have been cut to.
TEST_F(Log, AWriteThatWasCutShortIsDropped) {
  {
    LogWriter log(dir_, options(), 0);
    append(log, {"first", "second"});
    append(log, {"third", "the fourth record", "fifth"});
  }
  const std::string whole = get(log_name(1));
  const size_t record = kRecordHeader + 8;
  const size_t fourth = kRecordHeader + 24;
  for (size_t size = 0; size <= whole.size(); ++size) {
    put(log_name(1), whole.substr(0, size));
    size_t expected = 0, end = kLogHeader;
    for (const size_t length : {record, record, record, fourth, record}) {
      end += length;
      expected += end <= size;
    }
    EXPECT_EQ(read().size(), expected) << size;
    EXPECT_EQ(last_, expected) << size;
    LogWriter log(dir_, options(), last_);
    append(log, {"again"});
    EXPECT_EQ(read().back(), "again") << size;
    EXPECT_EQ(last_, expected + 1) << size;
    for (const std::string& name : names()) std::filesystem::remove(file(name));
  }
}

TEST_F(Log, ZerosAtTheEndAreDropped) {
  {
    LogWriter log(dir_, options(), 0);
    append(log, {"first"});
  }
  put(log_name(1), get(log_name(1)) + std::string(4096, '\0'));
  EXPECT_THAT(read(), ElementsAre("first"));
  EXPECT_EQ(get(log_name(1)).size(), kLogHeader + kRecordHeader + 8);
  // A file that has not even its beginning.
  put(log_name(2), std::string(4096, '\0'));
  EXPECT_THAT(read(), ElementsAre("first"));
  EXPECT_EQ(get(log_name(2)).size(), kLogHeader);
}

TEST_F(Log, DamageInTheMiddleNamesFileAndByte) {
  {
    LogWriter log(dir_, options(), 0);
    append(log, {"first", "second", "third"});
  }
  const size_t second = kLogHeader + kRecordHeader + 8;
  for (const size_t at : {second + 2, second + 9, second + kRecordHeader}) {
    const std::string good = get(log_name(1));
    overwrite(log_file(1), at, '\x55');
    EXPECT_REFUSED(read(), fmt::format("{} is damaged at byte {}, where record 2 is expected; it "
                                       "is intact again from byte {} on",
                                       log_file(1), second, second + kRecordHeader + 8));
    put(log_name(1), good);
  }
  overwrite(log_file(1), 3, '?');
  EXPECT_REFUSED(read(), log_file(1) + " does not begin like the log of record 1");
}

TEST_F(Log, AFileBeforeTheLastMustBeWhole) {
  {
    LogWriter log(dir_, options(), 0);
    append(log, {"first", "second"});
    log.rotate();
    append(log, {"third"});
  }
  std::filesystem::resize_file(log_file(1), kLogHeader + kRecordHeader + 8 + 10);
  EXPECT_THAT(refusal_of([&] { read(); }), HasSubstr("is damaged at byte 48"));
}

TEST_F(Log, AFullDiskChangesNothing) {
  LogWriter log(dir_, options(), 0);
  append(log, {"first"});
  const size_t size = get(log_name(1)).size();
  // A limit on the length of files stands for the end of the disk: a write is cut short, too.
  rlimit before = {};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  ::signal(SIGXFSZ, SIG_IGN);
  const rlimit tight = {size + 100, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  for (int attempt = 0; attempt < 3; ++attempt) {
    EXPECT_REFUSED(append(log, {"second", std::string(1000, 'x')}),
                   fmt::format("cannot write {}: File too large", log_file(1)));
    EXPECT_EQ(get(log_name(1)).size(), size);
  }
  append(log, {"second"});
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &before), 0);
  append(log, {std::string(1000, 'x')});
  EXPECT_THAT(read(), ElementsAre("first", "second", std::string(1000, 'x')));
}

// A disk that fails once says so once: the kernel drops what it could not write.
class FailingSync {
 public:
  explicit FailingSync(LogOptions& options) {
    options.sync_file = [this](int) {
      errno = EIO;
      return fails_.exchange(false) ? -1 : 0;
    };
  }
  void fail() { fails_ = true; }

 private:
  std::atomic<bool> fails_ = false;
};

TEST_F(Log, WhatCouldNotBeSyncedIsRefusedFromThenOn) {
  LogOptions settings = options(Sync::kInterval);
  settings.sync_interval = std::chrono::milliseconds(1);
  FailingSync disk(settings);
  LogWriter log(dir_, settings, 0);
  append(log, {"first"});
  disk.fail();
  const std::string refused = fmt::format(
      "cannot sync {}: Input/output error; acknowledged pushes may be missing on the disk, so no "
      "more are accepted: repair the disk, then restart the job",
      dir_.string());
  std::string said = "(not refused)";
  for (int i = 0; i < 100'000 && said == "(not refused)"; ++i) {
    said = refusal_of([&] { append(log, {"next"}); });
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  EXPECT_EQ(said, refused);
  const uint64_t last = log.last();
  log.rotate();
  EXPECT_REFUSED(append(log, {"later"}), refused);
  EXPECT_REFUSED(log.sync(), refused);
  EXPECT_EQ(log.last(), last);
}

TEST_F(Log, WhatCouldNotBeSyncedBeforeTheNextFileIsRefusedFromThenOn) {
  LogOptions settings = options(Sync::kInterval);
  settings.sync_interval = std::chrono::hours(1);
  FailingSync disk(settings);
  LogWriter log(dir_, settings, 0);
  append(log, {"first"});
  log.rotate();
  disk.fail();
  EXPECT_REFUSED(append(log, {"second"}),
                 fmt::format("cannot sync {}: Input/output error", dir_.string()));
  EXPECT_THAT(refusal_of([&] { append(log, {"second"}); }), HasSubstr("no more are accepted"));
  EXPECT_THAT(read(), ElementsAre("first"));
}

// Where every write is synced, nothing was acknowledged: it may be tried again.
TEST_F(Log, AWriteThatCouldNotBeSyncedIsTakenBack) {
  LogOptions settings = options(Sync::kEach);
  FailingSync disk(settings);
  LogWriter log(dir_, settings, 0);
  append(log, {"first"});
  disk.fail();
  EXPECT_REFUSED(append(log, {"second"}),
                 fmt::format("cannot sync {}: Input/output error", dir_.string()));
  append(log, {"third"});
  EXPECT_THAT(read(), ElementsAre("first", "third"));
}

}  // namespace
}  // namespace flotilla::ps

#include "flotilla/data/text_source.h"

#include <gmock/gmock.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <chrono>
#include <fstream>
#include <thread>

#include "flotilla/base/error.h"
#include "flotilla/data/record_reader.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla::data {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

class TextSourceTest : public testing::Test, protected TempDir {
 protected:
  std::string pack(const std::string& name, const std::string& bytes) const {
    const std::string file = dir_ / name;
    gzFile gz = gzopen(file.c_str(), "wb");
    gzwrite(gz, bytes.data(), static_cast<unsigned>(bytes.size()));
    gzclose(gz);
    return file;
  }
};

std::vector<std::string> pieces_of(const std::string& file, const TextOptions& options) {
  const auto source = open_text(file, options);
  std::vector<std::string> pieces;
  for (std::string_view piece = source->next(); !piece.empty(); piece = source->next()) {
    pieces.emplace_back(piece);
  }
  EXPECT_EQ(source->next(), "");
  return pieces;
}

std::string text_of(const std::string& file, const TextOptions& options = {}) {
  std::string text;
  for (const std::string& piece : pieces_of(file, options)) text += piece;
  return text;
}

std::string lines(int count) {
  std::string text;
  for (int i = 0; i < count; ++i) text += fmt::format("{}\n", i);
  return text;
}

TEST_F(TextSourceTest, PiecesEndWithALine) {
  EXPECT_THAT(pieces_of(put("a", "1\n22\n333\n4"), {.piece_bytes = 6}),
              ElementsAre("1\n22\n", "333\n", "4"));
  EXPECT_THAT(pieces_of(put("b", "a long line\nbbbbb\n"), {.piece_bytes = 2}),
              ElementsAre("a long line\n", "bbbbb\n"));
  EXPECT_THAT(pieces_of(put("c", ""), {}), ElementsAre());
  EXPECT_THAT(pieces_of(put("d", "\n\n"), {}), ElementsAre("\n\n"));
}

TEST_F(TextSourceTest, RefusesEndlessLines) {
  const std::string file = put("a", std::string(1000, 'x'));
  EXPECT_THAT([&] { text_of(file, {.piece_bytes = 16, .max_line_bytes = 100}); },
              ThrowsMessage<Error>(HasSubstr("expected lines of at most 100 bytes")));
}

TEST_F(TextSourceTest, UnpacksGzip) {
  const std::string text = lines(100000);
  EXPECT_EQ(text_of(pack("a.gz", text)), text);
  const std::string packed = pack("b", text);
  fs::resize_file(packed, fs::file_size(packed) / 2);
  EXPECT_THAT([&] { text_of(packed); },
              ThrowsMessage<Error>(AllOf(HasSubstr(packed), HasSubstr("gzip data is cut short"))));
}

TEST_F(TextSourceTest, RefusesMissingFiles) {
  for (const char* command : {"", "cat", "sort"}) {
    EXPECT_THAT([&] { text_of(dir_ / "none", {.pipe_command = command}); },
                ThrowsMessage<Error>(HasSubstr("none: no such file")));
  }
  const std::string pipe = dir_ / "pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  for (const char* command : {"", "sort"}) {
    EXPECT_THAT([&] { text_of(pipe, {.pipe_command = command}); },
                ThrowsMessage<Error>(pipe + " is a named pipe, not a file"));
  }
  EXPECT_THAT([&] { text_of(dir_); },
              ThrowsMessage<Error>(HasSubstr("is a directory, not a file")));
}

TEST_F(TextSourceTest, RunsACommand) {
  const std::string text = lines(200000);
  const std::string file = put("a", text);
  EXPECT_EQ(text_of(file, {.pipe_command = " cat "}), text);
  EXPECT_EQ(text_of(file, {.pipe_command = "cat | cat"}), text);
  EXPECT_EQ(text_of(file, {.pipe_command = "head -n 2"}), "0\n1\n");
  EXPECT_EQ(text_of(file, {.pipe_command = "true"}), "");
  EXPECT_EQ(text_of(file, {.pipe_command = "echo $0 $#"}), "sh 0\n");
  EXPECT_EQ(text_of(file, {.pipe_command = "printf 'no newline'"}), "no newline");
}

TEST_F(TextSourceTest, ACommandsProgramsMayHaveAFolderOfTheirOwn) {
  const std::string file = put("a", "1\n");
  const fs::path program = put("head", "#!/bin/sh\necho mine\n");
  fs::permissions(program, fs::perms::owner_all);
  const std::string folder = program.parent_path().string();
  EXPECT_EQ(text_of(file, {.pipe_command = "head; cat", .command_folder = folder}), "mine\n1\n");
  EXPECT_EQ(text_of(file, {.pipe_command = "head; cat"}), "1\n");
}

TEST_F(TextSourceTest, UnpacksForACommand) {
  const std::string text = lines(200000);
  const std::string file = pack("a.gz", text);
  EXPECT_EQ(text_of(file, {.pipe_command = "cat | cat"}), text);
  EXPECT_EQ(text_of(file, {.pipe_command = "head -n 2"}), "0\n1\n");
}

TEST_F(TextSourceTest, SaysHowACommandDied) {
  const std::string file = put("a", "1\n");
  const auto failure = [&](const std::string& command) {
    testing::internal::CaptureStderr();
    std::string sentence = "it did not fail";
    try {
      text_of(file, {.pipe_command = command});
    } catch (const Error& error) {
      sentence = error.sentence();
    }
    testing::internal::GetCapturedStderr();
    return sentence;
  };
  EXPECT_EQ(failure("cat; exit 3"), file +
                                        ": the pipe command \"cat; exit 3\" ended with exit "
                                        "status 3; it wrote nothing to stderr");
  EXPECT_THAT(failure("kill -9 $$"), HasSubstr("was killed by signal 9 (Killed)"));
  EXPECT_THAT(failure("no_such_program_here"),
              AllOf(HasSubstr("exit status 127"), HasSubstr("no_such_program_here: not found")));
  EXPECT_THAT(failure("for i in $(seq 100); do echo line $i >&2; done; false"),
              AllOf(HasSubstr("\n    line 81\n"), HasSubstr("\n    line 100"),
                    Not(HasSubstr("line 80\n"))));
  EXPECT_THAT(failure("head -c 1000000 /dev/zero | tr '\\0' x >&2; exit 1"),
              HasSubstr("exit status 1"));
}

TEST_F(TextSourceTest, ShowsWhatACommandComplainsAbout) {
  const std::string file = put("a", "1\n");
  testing::internal::CaptureStderr();
  EXPECT_EQ(text_of(file, {.pipe_command = "echo careful >&2; cat"}), "1\n");
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "careful\n");
}

// The processes that have `mark` in their command line.
int running(const std::string& mark) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream in(entry.path() / "cmdline", std::ios::binary);
    const std::string line{std::istreambuf_iterator<char>(in), {}};
    count += line.find(mark) != line.npos;
  }
  return count;
}

// Killed processes vanish soon, not at once: init reaps what was not our child.
bool gone(const std::string& mark) {
  for (int i = 0; i < 200 && running(mark) > 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return running(mark) == 0;
}

TEST_F(TextSourceTest, LeavesNoProcessWhenAbandoned) {
  const std::string file = put("a", "1\n");
  const std::string mark = fmt::format("{}", 100000 + getpid()) + ".25";
  auto source =
      open_text(file, {.pipe_command = fmt::format("echo 1; sleep {} & sleep {}", mark, mark)});
  EXPECT_EQ(source->next(), "1\n");
  EXPECT_GT(running(mark), 0);
  source.reset();
  EXPECT_TRUE(gone(mark));
}

TEST_F(TextSourceTest, EndsWhatACommandLeavesBehind) {
  const std::string file = put("a", "1\n");
  const std::string mark = fmt::format("{}", 100000 + getpid()) + ".75";
  EXPECT_EQ(text_of(file, {.pipe_command = fmt::format("sleep {} >/dev/null & cat", mark)}), "1\n");
  EXPECT_TRUE(gone(mark));
}

TEST_F(TextSourceTest, StopsWhenTold) {
  const std::string file = put("a", "1\n");
  std::atomic<bool> stop = false;
  const auto source = open_text(file, {.pipe_command = "echo 1; sleep 1000", .stop = &stop});
  EXPECT_EQ(source->next(), "1\n");
  std::jthread other([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    stop = true;
  });
  EXPECT_THAT([&] { source->next(); }, ThrowsMessage<Error>(HasSubstr("was stopped")));
}

TEST_F(TextSourceTest, RecordsKnowTheirPlaceAcrossPieces) {
  const std::string file = put("a", "1 10\n1 11\n1 12\n1 x\n");
  const auto parser = multi_slot_parser({{.name = "s", .dtype = i64}});
  BadRecords bad;
  EXPECT_THAT([&] { read_records(file, *parser, bad, {.piece_bytes = 6}); },
              ThrowsMessage<Error>(file + ": line 4, byte 17: slot s: expected a whole number as "
                                          "value 1 of 1, found \"x\""));
}

}  // namespace
}  // namespace flotilla::data

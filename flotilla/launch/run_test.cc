#include "flotilla/launch/run.h"

#include <gmock/gmock.h>
#include <unistd.h>

#include <sstream>

#include "flotilla/base/fd.h"
#include "flotilla/testing/errors.h"

namespace flotilla::launch {
namespace {

using testing::HasSubstr;

JobOptions two(const std::string& program) {
  return {.nproc_per_node = 2, .log_dir = "", .quiet = true, .script = program};
}

// What run() returns, and the lines that it writes for whoever started it.
std::pair<int, std::vector<std::string>> run_with_events(JobOptions options) {
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const Fd read_end(ends[0]);
  Fd write_end(ends[1]);
  options.events_fd = write_end.get();
  const int code = run(options, {});
  write_end.reset();
  std::string text(1 << 16, '\0');
  text.resize(static_cast<size_t>(std::max<ssize_t>(0, read(ends[0], text.data(), text.size()))));
  std::istringstream stream(text);
  std::vector<std::string> lines;
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return {code, lines};
}

TEST(RunTest, ReturnsTheExitCodeOfTheJob) {
  EXPECT_EQ(run(two("true"), {}), 0);
  EXPECT_REFUSED(
      run(two("no_such_program"), {}),
      "the program no_such_program is neither on the PATH nor an executable file in this folder");
}

TEST(RunTest, TellsWhoeverStartedItOfStartsAndEnds) {
  const auto [code, lines] = run_with_events(two("false"));
  EXPECT_EQ(code, 1);
  ASSERT_EQ(lines.size(), 6u) << testing::PrintToString(lines);
  EXPECT_THAT(lines[0], HasSubstr("{\"event\":\"started\",\"process\":{\"role\":\"worker\""));
  EXPECT_THAT(lines[1], HasSubstr("\"rank\":1"));
  EXPECT_THAT(lines[5], HasSubstr("{\"event\":\"done\",\"result\":{\"exit_code\":1,"));
  EXPECT_THAT(std::vector(lines.begin() + 2, lines.begin() + 5),
              testing::IsSupersetOf(
                  {HasSubstr("\"end\":{\"exit_code\":1}"), HasSubstr("{\"event\":\"ending\"}")}));
}

TEST(RunTest, RefusesAnotherProcessThanItsParent) {
  JobOptions options = two("true");
  options.parent_pid = getpid();
  EXPECT_THAT(refusal_of([&] { run(options, {}); }), HasSubstr("--parent_pid must be the process"));
  options.parent_pid = getppid();
  EXPECT_EQ(run(options, {}), 0);
}

}  // namespace
}  // namespace flotilla::launch

#include "flotilla/launch/report.h"

#include <gmock/gmock.h>

namespace flotilla::launch {
namespace {

using testing::IsEmpty;

Standing row(const char* role, int64_t rank, const char* doing = "", bool stopped = false) {
  return {.role = role, .rank = rank, .host = "h", .doing = doing, .stopped = stopped};
}

TEST(ReportTest, PutsTogetherWhatEveryHostKnows) {
  Standing trains = row("worker", 10, "computes, for 7 s");
  trains.step = 233;
  // The first host has the store, and hears what processes say; their own see them stop.
  const std::vector<std::vector<Standing>> parts = {
      {row("worker", 0, "sums"), trains, row("server", 0, "joined the job"), row("worker", 0)},
      {row("worker", 10, "", true), row("worker", 2), row("worker", 3, "computes")}};
  EXPECT_EQ(standing_table(together(parts, "worker 3")),
            "    server 0   h              joined the job\n"
            "    worker 0   h              sums\n"
            "    worker 2   h              has not joined the job\n"
            "    worker 10  h  step 233    stopped by a signal; before, computes, for 7 s\n");
}

TEST(ReportTest, TellsNothingWhereNothingIsKnown) {
  EXPECT_THAT(together({{row("worker", 0), row("worker", 1)}, {}}, ""), IsEmpty());
  EXPECT_THAT(together({{row("worker", 0, "computes"), row("worker", 1)}}, "worker 0"), IsEmpty());
  EXPECT_EQ(standing_table(together({{row("worker", 0, "", true)}}, "")),
            "    worker 0  h              stopped by a signal\n");
}

// Worker 1, which failed because an all-reduce was ended for this reason.
Outcome waited(const std::string& why) {
  return {.role = "worker",
          .rank = 1,
          .host = "h",
          .pid = 7,
          .seconds = 2,
          .ending = {.exit_code = 1},
          .last_lines = {"Traceback (most recent call last):", "  ...",
                         "RuntimeError: all_reduce of rank 1 was ended: " + why}};
}

TEST(ReportTest, NamesTheWorkerThatEndedAndNotTheOneThatWaitedForIt) {
  const Outcome culprit =
      waited("worker 0 ended after 10 steps while worker 1 was in step 11: all workers must");
  EXPECT_EQ(sentence_of(culprit),
            "worker 0 ended after 10 steps while worker 1 was in step 11; worker 1 (pid 7 on h) "
            "then failed: exit code 1");
  const std::string block = failure_block(culprit, {});
  EXPECT_THAT(block,
              testing::HasSubstr("-\nworker 0 ended after 10 steps while worker 1 was in step 11\n"
                                 "  worker 1 then failed, after 2.0 s: exit code 1\n"
                                 "  host h, pid 7\n"));
}

TEST(ReportTest, NamesAWorkerThatEndedWithoutAWord) {
  const Outcome culprit = waited("rank 0 of this host has closed its connection");
  EXPECT_THAT(failure_block(culprit, {row("worker", 0, std::string(kHadEnded).c_str())}),
              testing::HasSubstr("-\nworker 0 ended with exit code 0 while worker 1 waited for it\n"
                                 "  worker 1 then failed, after 2.0 s: exit code 1\n"
                                 "  host h, pid 7\n"));
}

TEST(ReportTest, OthersThatHadEndedAreNotToBlame) {
  const std::string ended(kHadEnded);
  const std::string first = "-\nworker 1 failed first, after 2.0 s: exit code 1\n";
  const Outcome lost = waited("rank 0 of this host has closed its connection");
  // Another one than the one that was waited for, one that had not ended, and a server.
  for (const Standing& other : {row("worker", 2, ended.c_str()), row("worker", 0, "computes"),
                                row("worker", 0), row("server", 0, ended.c_str())}) {
    EXPECT_THAT(failure_block(lost, {other}), testing::HasSubstr(first)) << other.name();
  }
  // It failed for another reason.
  Outcome other = lost;
  other.last_lines.back() = "KeyError: 'label'";
  EXPECT_THAT(failure_block(other, {row("worker", 0, ended.c_str())}), testing::HasSubstr(first));
}

TEST(ReportTest, EventsAreLinesOfJson) {
  const Outcome outcome{.role = "worker", .rank = 1, .host = "h", .pid = 7};
  EXPECT_EQ(event_line("started", outcome),
            "{\"event\":\"started\",\"process\":{\"role\":\"worker\",\"rank\":1,\"host\":\"h\","
            "\"pid\":7,\"attempt\":0,\"log\":\"\",\"seconds\":0.000,\"stuck\":null,\"end\":null}}"
            "\n");
}

}  // namespace
}  // namespace flotilla::launch

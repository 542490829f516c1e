#include "flotilla/launch/run_report.h"

#include <gmock/gmock.h>

namespace flotilla::launch {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using Seen = Members::Seen;

// A worker whose first step ended 2 s after its start, and which then ran for 10 s.
Seen worker(int64_t rank, double compute, double input = 0, double communication = 0) {
  Seen seen{.member = {.role = "worker", .rank = rank}};
  seen.member.last = {.step = 100,
                      .age = 12,
                      .seconds = {{"compute", compute},
                                  {"input", input},
                                  {"communication", communication},
                                  {"barrier", 0}},
                      .reached = {{"import", 0.5}, {"join", 0.75}, {"first step", 2}}};
  return seen;
}

std::string verdict(const std::vector<Seen>& seen) { return make_report(seen, 0.1).verdict; }

TEST(RunReportTest, SharesAreOfTheTimeAfterTheFirstStep) {
  const RunReport report = make_report({worker(0, 7, 1), worker(1, 8)}, 0.1);
  ASSERT_EQ(report.ranks.size(), 2u);
  EXPECT_THAT(report.ranks[0].share, ElementsAre(0.7, 0.1, 0, 0, testing::DoubleNear(0.2, 1e-9)));
  EXPECT_EQ(report.ranks[0].seconds, 10);
  std::vector<double> parts;
  for (const RunReport::Part& part : report.start) parts.push_back(part.seconds);
  EXPECT_THAT(parts, ElementsAre(0.1, 0.5, 0.25, 1.25));
}

TEST(RunReportTest, TextAndJsonSayTheSame) {
  const RunReport report = make_report({worker(0, 5, 4.1)}, 0.1);
  const std::string text = text_of(report);
  EXPECT_THAT(text, HasSubstr("first step after 2.10 s (worker 0): launcher 0.10 s"));
  EXPECT_THAT(text, HasSubstr("worker 0              100      10.0      50 %    41 %"));
  EXPECT_THAT(
      text,
      HasSubstr("worker 0 spends 41 % of its time waiting for input: more DataLoader workers"));
  EXPECT_THAT(json_of(report), HasSubstr("\"ranks\":[{\"name\":\"worker 0\",\"steps\":100,"
                                         "\"seconds\":10.000,\"compute\":0.500,\"input\":0.410"));
}

TEST(RunReportTest, NothingIsSaidOfProcessesThatRanNoStep) {
  Seen plain{.member = {.role = "worker"}};
  Seen server{.member = {.role = "server", .last = {.step = 5}}};
  const RunReport report = make_report({plain, server}, 0.1);
  EXPECT_EQ(text_of(report), "");
  EXPECT_EQ(json_of(report), "null");
}

TEST(RunReportTest, TheVerdictNamesWhatCostsMost) {
  EXPECT_THAT(
      verdict({worker(0, 5, 0, 4), worker(1, 9, 0, 0.5)}),
      HasSubstr("worker 0 spends 40 % of its time waiting for others, but worker 1 only 5 %"));
  EXPECT_THAT(verdict({worker(0, 5, 0, 4), worker(1, 5, 0, 4)}),
              HasSubstr("at least 40 % of their time in communication"));
  EXPECT_THAT(verdict({worker(0, 1)}), HasSubstr("worker 0 spends 90 % of its time between"));
  EXPECT_EQ(verdict({worker(0, 9), worker(1, 9.5)}),
            "the workers spend at least 90 % of their time computing");
}

TEST(RunReportTest, AShortRunIsNotJudged) {
  Seen brief = worker(0, 0.1, 0.2);
  brief.member.last.age = 2.5;
  const RunReport report = make_report({brief}, 0);
  EXPECT_EQ(report.verdict, "");
  EXPECT_NE(text_of(report), "");
}

TEST(RunReportTest, WarnsOfWorkersThatTrainedModelsOfTheirOwn) {
  EXPECT_EQ(make_report({worker(0, 9), worker(1, 9)}, 0).warning, "");
  std::vector<Seen> seen = {worker(0, 9), worker(1, 9)};
  for (Seen& one : seen) one.member.last.reached["alone"] = 1;
  const RunReport report = make_report(seen, 0);
  EXPECT_THAT(report.warning, testing::StartsWith("worker 0, worker 1 trained a model of their own:"
                                                  " they exchanged nothing with the other"));
  EXPECT_THAT(json_of(report), HasSubstr("\"warning\":\"worker 0, worker 1 trained"));
}

TEST(RunReportTest, ManyRanksAreCutShort) {
  std::vector<Seen> many;
  for (int64_t rank = 0; rank < 20; ++rank) many.push_back(worker(rank, 9));
  EXPECT_THAT(text_of(make_report(many, 0)), HasSubstr("  and 4 more\n"));
}

}  // namespace
}  // namespace flotilla::launch

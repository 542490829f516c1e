// Ranks whose loaders have different numbers of batches.

#include "flotilla/job/even_loader.h"

#include <gmock/gmock.h>

#include "flotilla/op/build.h"
#include "flotilla/testing/ranks.h"

namespace flotilla::job {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using Next = Executor::Next;

std::shared_ptr<Program> program_that_exchanges(bool by_samples) {
  auto program = std::make_shared<Program>();
  Block& block = program->global_block();
  for (const char* name : {"g", "x"}) block.add_var({.name = name, .shape = {1}});
  if (by_samples)
    append_op(block, "weigh_by_samples", {{"X", {"g"}}, {"Samples", {"x"}}}, {{"Out", {"g"}}});
  return program;
}

// What two ranks do in a pass with so many batches, and what the first says.
struct Pass {
  std::vector<std::vector<Next>> done = std::vector<std::vector<Next>>(2);
  std::vector<std::string> said = {};
};

Pass pass_of(std::vector<int> batches, bool by_samples, bool feeds) {
  Pass pass;
  testing::run_ranks(2, [&](comm::World& world) {
    const auto rank = static_cast<size_t>(world.rank());
    EvenLoader even(world, nullptr, [&](const std::string& line) { pass.said.push_back(line); });
    const std::shared_ptr<Program> program = program_that_exchanges(by_samples);
    Scope scope;
    even.begin();
    for (int step = 0;; ++step) {
      pass.done[rank].push_back(even.next(step < batches[rank]));
      if (pass.done[rank].back() == Next::kEnd) break;
      if (feeds) even.feeds(*program, scope);
    }
    EXPECT_TRUE(world.has_data());
  });
  return pass;
}

TEST(EvenLoaderTest, APassEndsForAllWithTheFirstThatHasNoBatch) {
  const Pass pass = pass_of({3, 2}, /*by_samples=*/false, /*feeds=*/true);
  for (const auto& done : pass.done)
    EXPECT_THAT(done, ElementsAre(Next::kRun, Next::kRun, Next::kEnd));
  EXPECT_THAT(pass.said,
              ElementsAre("All 2 workers end the pass after 2 batches: worker 1 had no more"));
}

TEST(EvenLoaderTest, WhereSamplesAreWeighedItEndsWithTheLast) {
  const Pass pass = pass_of({3, 1}, /*by_samples=*/true, /*feeds=*/true);
  EXPECT_THAT(pass.done[0], ElementsAre(Next::kRun, Next::kRun, Next::kRun, Next::kEnd));
  EXPECT_THAT(pass.done[1], ElementsAre(Next::kRun, Next::kRunWithoutWeight,
                                        Next::kRunWithoutWeight, Next::kEnd));
  EXPECT_THAT(
      pass.said,
      ElementsAre("All 2 workers end the pass after 3 steps, of which those without a batch "
                  "did not count: 3 of worker 0, 1 of worker 1"));
}

TEST(EvenLoaderTest, EvenDataEndsWithoutAWord) {
  EXPECT_THAT(pass_of({2, 2}, /*by_samples=*/false, /*feeds=*/true).said, IsEmpty());
}

TEST(EvenLoaderTest, ALoaderThatFeedsNoExchangesAsksNobody) {
  const Pass pass = pass_of({3, 1}, /*by_samples=*/false, /*feeds=*/false);
  EXPECT_EQ(pass.done[0].size(), 4);
  EXPECT_EQ(pass.done[1].size(), 2);
  EXPECT_THAT(pass.said, IsEmpty());
}

}  // namespace
}  // namespace flotilla::job

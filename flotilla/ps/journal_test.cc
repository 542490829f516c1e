#include "flotilla/ps/journal.h"

#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/testing/errors.h"

namespace flotilla::ps {
namespace {

// Commits a push with that id; whether it was applied.
bool commit(Journal& journal, const PushId& id) {
  bool applied = false;
  Journal::Pending pending;
  pending.ids = {&id, 1};
  pending.apply = [&](uint64_t) { applied = true; };
  journal.commit(pending);
  EXPECT_EQ(pending.repeated, !applied);
  return applied;
}

TEST(JournalTest, APushIsAppliedOnceAndInTheOrderOfItsWorker) {
  Journal journal;
  EXPECT_TRUE(commit(journal, {7, 1}));
  EXPECT_FALSE(commit(journal, {7, 1}));
  EXPECT_TRUE(commit(journal, {7, 2}));
  EXPECT_REFUSED(commit(journal, {7, 4}), "push 4 of worker 7 is out of order: the last one was 2");
  EXPECT_EQ(journal.records(), 2u);
  journal.in_order([&] {
    EXPECT_EQ(journal.repeated(), 1);
    EXPECT_EQ(journal.last_pushes().at(7), 2u);
  });
}

TEST(JournalTest, RecordsAreNumberedAlsoWhereManyCommit) {
  Journal journal;
  journal.set_records(10);
  std::vector<uint64_t> numbers;  // written by leaders, one at a time
  {
    std::vector<std::jthread> threads;
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&] {
        for (int i = 0; i < 50; ++i) {
          Journal::Pending pending;
          pending.apply = [&](uint64_t record) { numbers.push_back(record); };
          journal.commit(pending);
        }
      });
    }
  }
  ASSERT_EQ(numbers.size(), 200u);
  for (size_t i = 0; i < numbers.size(); ++i) EXPECT_EQ(numbers[i], 11 + i);
}

TEST(JournalTest, WhatRunsInOrderMayAskForOrderAgain) {
  Journal journal;
  bool inside = false;
  journal.in_order([&] { journal.in_order([&] { inside = true; }); });
  EXPECT_TRUE(inside);
  EXPECT_THROW(journal.in_order([] { refuse("no"); }), Error);
  EXPECT_TRUE(commit(journal, {1, 1}));  // nobody leads any more
}

TEST(JournalTest, NothingIsTakenAfterAnApplyThatFailed) {
  Journal journal;
  Journal::Pending pending;
  pending.apply = [](uint64_t) { refuse("no"); };
  EXPECT_THROW(journal.commit(pending), Error);
  EXPECT_THROW(commit(journal, {1, 1}), Error);
  EXPECT_EQ(journal.records(), 1u);
}

}  // namespace
}  // namespace flotilla::ps

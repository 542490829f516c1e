#include "flotilla/plan/memory.h"

#include <gmock/gmock.h>

#include "flotilla/device/cpu/backend.h"
#include "flotilla/plan/exchange.h"

namespace flotilla::plan {
namespace {

// Drafts by hand: value i has 64 floats; a node reads and writes values.
class DraftBuilder {
 public:
  int32_t value(Home home = Home::kArena, int64_t numel = 64) {
    draft.values.push_back({.meta = VarMeta::tensor(f32, {numel}), .home = home});
    return static_cast<int32_t>(draft.values.size()) - 1;
  }
  Node& node(std::vector<int32_t> reads, std::vector<int32_t> writes) {
    draft.nodes.push_back({.reads = std::move(reads), .writes = std::move(writes)});
    return draft.nodes.back();
  }
  int64_t offset(int32_t v) const { return draft.values[static_cast<size_t>(v)].offset; }

  CpuBackend cpu;
  Draft draft{cpu};
};

TEST(Memory, ValuesThatDoNotMeetShareAPlace) {
  DraftBuilder b;
  const int32_t x = b.value(Home::kFeed), t = b.value(), u = b.value(), v = b.value();
  b.node({x}, {t});
  b.node({t}, {u});
  b.node({u}, {v});
  b.draft.fetched = {v};
  const MemoryReport report = assign_memory(b.draft);
  EXPECT_EQ(report.arena_bytes, 2 * 256);
  EXPECT_EQ(report.no_reuse_bytes, 3 * 256);
  EXPECT_EQ(b.offset(t), b.offset(v));
  EXPECT_NE(b.offset(t), b.offset(u));
}

TEST(Memory, WhatNobodyNeedsDoesNotRun) {
  DraftBuilder b;
  const int32_t x = b.value(Home::kFeed), t = b.value(), u = b.value(), w = b.value(Home::kStore);
  b.node({x}, {t});
  b.node({x}, {u});
  b.node({t}, {w});
  assign_memory(b.draft);
  EXPECT_TRUE(b.draft.nodes[0].kept);
  EXPECT_FALSE(b.draft.nodes[1].kept);
  EXPECT_TRUE(b.draft.nodes[2].kept);
}

TEST(Memory, InPlaceOnlyWhereNobodyReadsTheInputLater) {
  for (const bool read_later : {false, true}) {
    DraftBuilder b;
    const int32_t x = b.value(Home::kFeed), t = b.value(), u = b.value(), v = b.value();
    b.node({x}, {t});
    b.node({t}, {u}).shares = {{t, u, false}};
    b.node(read_later ? std::vector{t, u} : std::vector{u}, {v});
    b.draft.fetched = {v};
    assign_memory(b.draft);
    EXPECT_EQ(b.offset(t) == b.offset(u), !read_later);
  }
}

TEST(Memory, NothingIsWrittenInPlaceOverAFeedOrAParameter) {
  for (const Home home : {Home::kFeed, Home::kStore}) {
    DraftBuilder b;
    const int32_t x = b.value(home), t = b.value();
    b.node({x}, {t}).shares = {{x, t, false}};
    b.draft.fetched = {t};
    assign_memory(b.draft);
    EXPECT_NE(b.draft.values[1].group, b.draft.values[0].group);
  }
}

TEST(Memory, AViewKeepsItsSourceAlive) {
  DraftBuilder b;
  const int32_t x = b.value(Home::kFeed), t = b.value(), view = b.value(), u = b.value(),
                v = b.value();
  b.node({x}, {t});
  b.node({t}, {view}).shares = {{t, view, true}};
  // t is not read again by name, but the view is: u may not overwrite it in place.
  b.node({t}, {u}).shares = {{t, u, false}};
  b.node({u, view}, {v});
  b.draft.fetched = {v};
  assign_memory(b.draft);
  EXPECT_EQ(b.offset(view), b.offset(t));
  EXPECT_NE(b.offset(u), b.offset(t));
}

TEST(Memory, ABundleLiesInSequence) {
  DraftBuilder b;
  const int32_t x = b.value(Home::kFeed), g0 = b.value(Home::kArena, 3), g1 = b.value(),
                w = b.value(Home::kStore);
  b.node({x}, {g1});
  b.node({x}, {g0});
  b.node({g0, g1}, {w});
  b.draft.bundles = {{.values = {g0, g1}}};
  assign_memory(b.draft);
  EXPECT_EQ(b.offset(g1), b.offset(g0) + 64);
}

// x -> g0, g1, which are exchanged in place and then used.
struct ExchangeDraft : DraftBuilder {
  int32_t x = value(Home::kFeed), g0 = value(Home::kArena, 3), g1 = value(), after0 = value(),
          after1 = value(), t = value();

  ExchangeDraft() {
    draft.values[static_cast<size_t>(after0)].meta = draft.values[static_cast<size_t>(g0)].meta;
    draft.bundles = {{.values = {g0, g1}, .exchanged = true}};
    node({x}, {g0});
    node({x}, {g1});
    node({g0, g1}, {after0, after1}).shares = {{.from = g0, .to = after0, .exchanged = true},
                                               {.from = g1, .to = after1, .exchanged = true}};
  }
  bool exchanged(int32_t v) const { return draft.values[static_cast<size_t>(v)].exchanged; }
};

TEST(Memory, WhatIsExchangedLiesBesideTheArenaAndStaysThere) {
  ExchangeDraft b;
  b.node({b.after0, b.after1}, {b.t}).shares = {{b.after1, b.t, false}};
  b.draft.fetched = {b.t};
  const MemoryReport report = assign_memory(b.draft);
  EXPECT_EQ(report.exchanged_bytes, 64 + 256);
  EXPECT_EQ(report.arena_bytes, 256);
  EXPECT_EQ(b.offset(b.g0), b.offset(b.after0));
  EXPECT_EQ(b.offset(b.g1), b.offset(b.g0) + 64);
  EXPECT_EQ(b.offset(b.after1), b.offset(b.g1));
  for (const int32_t v : {b.g0, b.g1, b.after0, b.after1}) EXPECT_TRUE(b.exchanged(v));
  EXPECT_FALSE(b.exchanged(b.t)) << "nothing else may lie there";
}

TEST(Memory, WhatIsReadAfterAnExchangeIsNotOverwrittenByIt) {
  ExchangeDraft b;
  b.node({b.g0, b.after0, b.after1}, {b.t});
  b.draft.fetched = {b.t};
  assign_memory(b.draft);
  EXPECT_TRUE(b.exchanged(b.g0));
  EXPECT_FALSE(b.exchanged(b.after0));
  EXPECT_TRUE(b.exchanged(b.after1));
}

TEST(Memory, WorkThatGoesOnKeepsItsValues) {
  for (const bool async : {false, true}) {
    DraftBuilder b;
    const int32_t x = b.value(Home::kFeed), t = b.value(), u = b.value(), v = b.value(),
                  w = b.value();
    b.node({x}, {t});
    Node& started = b.node({t}, {u});
    started.side_effect = true;
    if (async) started.wait = [] {};
    b.node({x}, {v});
    b.node({v}, {w});
    b.draft.fetched = {w};
    assign_memory(b.draft);
    const bool reused = b.offset(v) == b.offset(t) || b.offset(v) == b.offset(u) ||
                        b.offset(w) == b.offset(t) || b.offset(w) == b.offset(u);
    EXPECT_EQ(reused, !async);
  }
}

TEST(Memory, TheFirstThatTouchesWhatGoesOnWaits) {
  DraftBuilder b;
  const int32_t x = b.value(Home::kFeed), t = b.value(), u = b.value(), v = b.value(),
                w = b.value();
  b.node({x}, {t});
  b.node({t}, {u}).wait = [] {};
  b.node({x}, {v});     // touches nothing of it
  b.node({u, v}, {w});  // waits
  b.node({u, w}, {b.value()});
  b.node({u}, {b.value()});  // not kept
  b.draft.fetched = {w, 5};
  assign_memory(b.draft);
  guard_async_work(b.draft);
  std::vector<bool> waits;
  for (const Node& node : b.draft.nodes) waits.push_back(static_cast<bool>(node.before));
  EXPECT_THAT(waits, ::testing::ElementsAre(false, false, false, true, false, false));
  EXPECT_TRUE(b.draft.finish);
}

TEST(Memory, WhatALoopReadsLastsUntilItsEnd) {
  DraftBuilder b;
  const int32_t x = b.value(Home::kFeed), limit = b.value(), t = b.value(), u = b.value(),
                w = b.value(Home::kStore);
  b.node({x}, {limit});
  Node& head = b.node({limit}, {});
  head.loop = true;
  head.body_end = 5;
  b.node({limit}, {t});
  b.node({t}, {u});
  b.node({u}, {w});
  assign_memory(b.draft);
  // u must not take the place of `limit`, which the next turn reads again.
  EXPECT_NE(b.offset(u), b.offset(limit));
  EXPECT_NE(b.offset(t), b.offset(limit));
}

}  // namespace
}  // namespace flotilla::plan

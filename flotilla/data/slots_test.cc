#include "flotilla/data/slots.h"

#include <gmock/gmock.h>

#include <numeric>
#include <random>

namespace flotilla::data {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

const std::vector<SlotSpec> kSpecs = {
    {.name = "x", .dtype = f32, .shape = {2}},
    {.name = "ids", .dtype = i64, .lod_level = 1},
    {.name = "label", .dtype = i64},
};

void add(SlotBlock& block, std::vector<float> x, std::vector<int64_t> ids, int64_t label) {
  auto& into = block.column(0).tail<float>();
  into.insert(into.end(), x.begin(), x.end());
  auto& sequence = block.column(1).tail<int64_t>();
  sequence.insert(sequence.end(), ids.begin(), ids.end());
  block.column(2).tail<int64_t>().push_back(label);
  for (int64_t s = 0; s < 3; ++s) block.column(s).end_record();
}

SlotBlock three_records() {
  SlotBlock block(kSpecs);
  add(block, {1, 2}, {7}, 0);
  add(block, {3, 4}, {8, 9, 10}, 1);
  add(block, {5, 6}, {11}, 2);
  return block;
}

std::vector<int64_t> ids_of(const SlotBlock& block, int64_t record) {
  const auto ids = block.column(1).of<int64_t>(record);
  return {ids.begin(), ids.end()};
}

std::vector<int64_t> labels_of(const SlotBlock& block) { return block.column(2).values<int64_t>(); }

TEST(SlotBlock, KeepsRecords) {
  const SlotBlock block = three_records();
  EXPECT_EQ(block.records(), 3);
  EXPECT_THAT(ids_of(block, 0), ElementsAre(7));
  EXPECT_THAT(ids_of(block, 1), ElementsAre(8, 9, 10));
  EXPECT_THAT(ids_of(block, 2), ElementsAre(11));
  EXPECT_THAT(block.column(0).of<float>(1), ElementsAre(3, 4));
}

TEST(SlotBlock, NeedsNoOffsetsWhereRecordsAreEquallyLong) {
  SlotBlock block(kSpecs);
  add(block, {1, 2}, {7}, 0);
  add(block, {1, 2}, {8}, 0);
  EXPECT_EQ(block.bytes(), 2 * (2 * 4 + 8 + 8));
}

TEST(SlotBlock, SelectsAndMerges) {
  const SlotBlock block = three_records();
  SlotBlock chosen = block.select(std::vector<int64_t>{2, 1, 1});
  EXPECT_THAT(labels_of(chosen), ElementsAre(2, 1, 1));
  EXPECT_THAT(ids_of(chosen, 0), ElementsAre(11));
  EXPECT_THAT(ids_of(chosen, 2), ElementsAre(8, 9, 10));
  chosen.append(block);
  EXPECT_THAT(labels_of(chosen), ElementsAre(2, 1, 1, 0, 1, 2));
  EXPECT_THAT(ids_of(chosen, 4), ElementsAre(8, 9, 10));
  SlotBlock fresh;
  fresh.append(chosen, std::vector<int64_t>{5});
  EXPECT_THAT(ids_of(fresh, 0), ElementsAre(11));
}

TEST(SlotBlock, MergesUniformRecordsWithOthers) {
  SlotBlock uniform(kSpecs);
  add(uniform, {1, 2}, {7}, 0);
  add(uniform, {1, 2}, {8}, 0);
  SlotBlock merged = uniform;
  merged.append(three_records());
  merged.append(uniform);
  ASSERT_EQ(merged.records(), 7);
  EXPECT_THAT(ids_of(merged, 1), ElementsAre(8));
  EXPECT_THAT(ids_of(merged, 3), ElementsAre(8, 9, 10));
  EXPECT_THAT(ids_of(merged, 6), ElementsAre(8));
}

TEST(SlotBlock, DropsWhatWasNotEnded) {
  SlotBlock block = three_records();
  block.column(0).tail<float>().push_back(99);
  block.column(1).tail<int64_t>().push_back(99);
  block.column(1).end_record();
  block.truncate(3);
  EXPECT_EQ(block.records(), 3);
  add(block, {7, 8}, {12, 13}, 3);
  EXPECT_THAT(ids_of(block, 3), ElementsAre(12, 13));
  EXPECT_THAT(block.column(0).of<float>(3), ElementsAre(7, 8));
}

TEST(SlotBlock, PermutesOneSlot) {
  SlotBlock block = three_records();
  block.permute_slot(1, std::vector<int64_t>{1, 2, 0});
  EXPECT_THAT(ids_of(block, 0), ElementsAre(8, 9, 10));
  EXPECT_THAT(ids_of(block, 2), ElementsAre(7));
  EXPECT_THAT(labels_of(block), ElementsAre(0, 1, 2));
}

// Any mixture of operations keeps what a plain list of records keeps.
TEST(SlotBlock, AgreesWithAListOfRecords) {
  std::mt19937 random(1);
  const auto draw = [&](int64_t n) { return static_cast<int64_t>(random() % n); };
  for (int round = 0; round < 50; ++round) {
    SlotBlock block(kSpecs);
    std::vector<std::vector<int64_t>> expected;
    for (int step = 0; step < 30; ++step) {
      std::vector<int64_t> some;
      for (int64_t i = draw(4); i > 0 && !expected.empty(); --i) {
        some.push_back(draw(static_cast<int64_t>(expected.size())));
      }
      if (draw(6) == 0) {
        block.truncate(static_cast<int64_t>(some.size()));
        expected.resize(std::min(expected.size(), some.size()));
      } else if (draw(3) == 0) {
        block.append(block.select(some));
        for (const int64_t i : some) expected.push_back(expected[static_cast<size_t>(i)]);
      } else {
        std::vector<int64_t> ids(static_cast<size_t>(round % 2 == 0 ? 1 : 1 + draw(3)), draw(100));
        add(block, {0, 0}, ids, 0);
        expected.push_back(ids);
      }
    }
    ASSERT_EQ(block.records(), static_cast<int64_t>(expected.size()));
    for (size_t r = 0; r < expected.size(); ++r) {
      ASSERT_EQ(ids_of(block, static_cast<int64_t>(r)), expected[r]);
    }
  }
}

TEST(ToBatch, MakesDenseTensorsAndSequences) {
  const Batch batch = to_batch(three_records(), std::vector<int64_t>{1, 0}, kSpecs);
  ASSERT_EQ(batch.size(), 3u);
  EXPECT_EQ(batch[0].shape(), (Shape{2, 2}));
  EXPECT_THAT(batch[0].span<float>(), ElementsAre(3, 4, 1, 2));
  EXPECT_EQ(batch[1].shape(), (Shape{4, 1}));
  EXPECT_THAT(batch[1].span<int64_t>(), ElementsAre(8, 9, 10, 7));
  EXPECT_THAT(batch[1].lod(), ElementsAre(ElementsAre(0, 3, 4)));
  EXPECT_EQ(batch[2].shape(), (Shape{2, 1}));
  EXPECT_TRUE(batch[2].lod().empty());
}

TEST(ToBatch, RefusesRecordsThatAreNotThere) {
  const SlotBlock block = three_records();
  EXPECT_THAT([&] { to_batch(block, std::vector<int64_t>{3}, kSpecs); },
              ThrowsMessage<Error>(HasSubstr("record 3 was requested, but there are 3")));
}

TEST(CheckSpecs, RefusesWhatTextCannotHold) {
  const auto refusal = [](SlotSpec spec) {
    try {
      check_specs(std::vector<SlotSpec>{spec});
    } catch (const Error& error) {
      return error.sentence();
    }
    return std::string();
  };
  EXPECT_EQ(refusal({.name = "a"}), "");
  EXPECT_THAT(refusal({.name = "a", .dtype = f64}), HasSubstr("slot a is f64"));
  EXPECT_THAT(refusal({.name = "a", .shape = {-1}}), HasSubstr("slot a has shape [-1]"));
  EXPECT_THAT(refusal({.name = "a", .lod_level = 2}), HasSubstr("slot a has lod_level 2"));
  EXPECT_THAT([] { check_specs({}); }, ThrowsMessage<Error>(HasSubstr("at least one slot")));
  const std::vector<SlotSpec> twins = {{.name = "a"}, {.name = "a"}};
  EXPECT_THAT([&] { check_specs(twins); }, ThrowsMessage<Error>("two slots are named a"));
}

TEST(BadRecords, CountsThenThrows) {
  BadRecords bad(2);
  EXPECT_EQ(bad.summary(), "");
  bad.add(Error(ErrorKind::kInvalidArgument, "first"));
  bad.add(Error(ErrorKind::kInvalidArgument, "second"));
  EXPECT_EQ(bad.summary(), "skipped 2 bad records (at most 2 are allowed); the first: first");
  EXPECT_THAT([&] { bad.add(Error(ErrorKind::kInvalidArgument, "third")); },
              ThrowsMessage<Error>(HasSubstr("third")));
  EXPECT_EQ(bad.count(), 2);
}

}  // namespace
}  // namespace flotilla::data

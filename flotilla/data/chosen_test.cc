#include "flotilla/data/chosen.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "flotilla/data/loader.h"
#include "flotilla/data/shard.h"
#include "flotilla/testing/errors.h"

namespace flotilla::data {
namespace {

using testing::ElementsAre;

Columns ten() {
  const std::vector<int64_t> numbers = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  return {rows_of(Tensor::of<int64_t>(numbers, {10, 1}))};
}

std::vector<int64_t> all_of(Loader& loader) {
  std::vector<int64_t> values;
  while (const std::optional<Batch> batch = loader.next()) {
    const Tensor& field = batch->front();
    values.insert(values.end(), field.data<int64_t>(), field.data<int64_t>() + field.numel());
  }
  return values;
}

TEST(ChosenTest, GivesTheSamplesOfARankInOrder) {
  const Columns columns = ten();
  Loader second(chosen(columns, shard_samples(10, {.rank = 1, .ranks = 3}).indices),
                {.batch_size = 2});
  EXPECT_EQ(second.batches(), 2);
  EXPECT_THAT(all_of(second), ElementsAre(1, 4, 7));
}

TEST(ChosenTest, MayRepeatSamplesAndBeChosenFromAgain) {
  const Columns twice = chosen(ten(), {3, 3, 9});
  EXPECT_EQ(samples_of(twice), 3);
  Loader loader(chosen(twice, {2, 0}), {.batch_size = 2});
  EXPECT_THAT(all_of(loader), ElementsAre(9, 3));
}

TEST(ChosenTest, RefusesASampleThatIsNotThere) {
  EXPECT_NE(refusal_of([] { chosen(ten(), {0, 10}); }), "(not refused)");
}

}  // namespace
}  // namespace flotilla::data

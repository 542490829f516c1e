#include "flotilla/tensor/tensor.h"

#include <gmock/gmock.h>

#include <numeric>

#include "flotilla/tensor/stream.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Tensor counting(Shape shape) {
  std::vector<float> values(static_cast<size_t>(shape.numel()));
  std::iota(values.begin(), values.end(), 0.0f);
  return Tensor::of<float>(values, std::move(shape));
}

std::string refusal(std::string_view bytes) {
  try {
    TensorReader(bytes, "w").next();
  } catch (const Error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Tensor, AChangeOfLayoutKeepsEveryElementAndZeroesThePadding) {
  const Tensor x = counting({2, 5, 3, 3});
  const Tensor blocked = x.clone(parse_layout("aBcd16b"));
  EXPECT_EQ(blocked.bytes(), 2 * 16 * 9 * 4);
  float sum = 0;
  for (int64_t i = 0; i < 2 * 16 * 9; ++i) sum += blocked.data<float>()[i];
  EXPECT_EQ(sum, 89 * 90 / 2);
  const Tensor back = blocked.plain();
  EXPECT_TRUE(std::equal(x.span<float>().begin(), x.span<float>().end(), back.data<float>()));
}

TEST(Tensor, CopiesShareAndClonesDoNot) {
  const Tensor x = counting({2});
  const Tensor shared = x;
  const Tensor own = x.clone();
  x.data<float>()[0] = 7;
  EXPECT_EQ(shared.data<float>()[0], 7);
  EXPECT_EQ(own.data<float>()[0], 0);
  EXPECT_THROW(x.data<int64_t>(), Error);
}

TEST(Tensor, LodMustAscendToTheNumberOfRows) {
  EXPECT_NO_THROW(check_lod({{0, 2, 5}}, 5));
  EXPECT_NO_THROW(check_lod({{0, 1, 2}, {0, 2, 5}}, 5));
  EXPECT_THROW(check_lod({{0, 2, 4}}, 5), Error);
  EXPECT_THROW(check_lod({{0, 3, 2, 5}}, 5), Error);
}

TEST(SelectedRows, RepeatedRowsAddUp) {
  const SelectedRows rows{.height = 3, .rows = {2, 0, 2}, .value = counting({3, 2})};
  EXPECT_THAT(rows.to_dense().span<float>(), ElementsAre(2, 3, 0, 0, 4, 6));
}

TEST(Stream, ATensorSurvivesTheJourney) {
  Tensor x = counting({2, 3});
  x.set_lod({{0, 1, 2}});
  const std::string bytes = serialize(x) + serialize(counting({1}));
  TensorReader reader(bytes, "w");
  const Tensor back = reader.next();
  EXPECT_EQ(back.shape(), Shape({2, 3}));
  EXPECT_EQ(back.lod(), x.lod());
  EXPECT_THAT(back.span<float>(), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_FALSE(reader.at_end());
  EXPECT_EQ(reader.next().shape(), Shape({1}));
  EXPECT_TRUE(reader.at_end());
}

TEST(Stream, EveryTruncationIsRefused) {
  Tensor x = counting({2, 3});
  x.set_lod({{0, 1, 2}});
  const std::string bytes = serialize(x);
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(refusal(std::string_view(bytes).substr(0, size)), "accepted") << size;
  }
}

TEST(Stream, SizesAreCheckedBeforeMemoryIsTaken) {
  std::string bytes = serialize(counting({1}));
  // The extent of the only axis becomes 2^62.
  const size_t extent = bytes.size() - sizeof(float) - 1;
  bytes.replace(extent, 1, std::string("\x80\x80\x80\x80\x80\x80\x80\x80\x40", 9));
  bytes[16] = static_cast<char>(bytes[16] + 8);  // size of the description
  EXPECT_THAT(refusal(bytes), HasSubstr("needs more than the"));
  EXPECT_THAT(refusal("abc"), HasSubstr("w: at byte 0 the version of a tensor takes 4 bytes"));
}

}  // namespace
}  // namespace flotilla

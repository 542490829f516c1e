#include "flotilla/base/error.h"

#include <gmock/gmock.h>

#include "flotilla/base/dtype.h"
#include "flotilla/base/shape.h"

namespace flotilla {
namespace {

TEST(Error, ARequirementThatHoldsSaysNothing) {
  EXPECT_NO_THROW(require(true, "never formatted: {}", 1));
}

TEST(Error, NotesAreAddedOncePerLabel) {
  try {
    require(false, "x must be {}, but is {}", 1, 2);
    FAIL();
  } catch (Error& error) {
    error.note("op", "inner").note("op", "outer").note("from", "train.py:3");
    EXPECT_STREQ(error.what(), "x must be 1, but is 2\n  op    inner\n  from  train.py:3");
    EXPECT_EQ(error.sentence(), "x must be 1, but is 2");
    EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
  }
}

TEST(Error, AZeroDoesNotEndTheSentence) {
  const std::string name("a\0b", 3);
  EXPECT_STREQ(Error(ErrorKind::kInternal, name + "!", {}).note("op", name).what(),
               "a\\x00b!\n  op    a\\x00b");
}

TEST(Error, SuggestsOnlyWhatIsNear) {
  EXPECT_EQ(did_you_mean("softmaxx", {"relu", "softmax"}), " Did you mean \"softmax\"?");
  EXPECT_EQ(did_you_mean("zzz", {"relu", "softmax"}), "");
  // Of three letters one may be wrong, and two that are swapped count as one.
  EXPECT_EQ(did_you_mean("amp", {"abs", "map", "ones"}), " Did you mean \"map\"?");
  EXPECT_EQ(did_you_mean("jit", {"dist", "abs"}), "");
  EXPECT_EQ(did_you_mean("onnx", {"ones"}), "");
  EXPECT_EQ(did_you_mean("rleu", {"relu"}), " Did you mean \"relu\"?");
  EXPECT_EQ(did_you_mean("x", {"y"}), "");
  // Outputs of other layers are not what was meant, although their names end alike.
  EXPECT_EQ(did_you_mean("mean_0.tmp_0", {"fc_0.tmp_0"}), "");
  EXPECT_EQ(did_you_mean("maen_0.tmp_0", {"fc_0.tmp_0", "mean_0.tmp_0"}),
            " Did you mean \"mean_0.tmp_0\"?");
}

TEST(DType, NamesAndCodesAreInverse) {
  for (const DType dtype : {boolean, i8, u8, i16, i32, i64, f16, bf16, f32, f64}) {
    EXPECT_EQ(parse_dtype(name_of(dtype)), dtype);
    EXPECT_EQ(parse_dtype(long_name_of(dtype)), dtype);
    EXPECT_EQ(from_paddle(to_paddle(dtype)), dtype);
  }
  EXPECT_THROW(parse_dtype("flaot32"), Error);
}

TEST(Shape, CountsElementsUnlessOneExtentIsUnknown) {
  EXPECT_EQ(Shape({2, 3, 4}).numel(), 24);
  EXPECT_EQ(Shape({-1, 3}).numel(), -1);
  EXPECT_EQ(Shape({}).numel(), 1);
  EXPECT_EQ(Shape({int64_t{1} << 40, int64_t{1} << 40, 0}).numel(), 0);
  EXPECT_EQ(Shape({2, 3}).axis(-1), 1);
  EXPECT_THROW(Shape({2, 3}).axis(2), Error);
  EXPECT_EQ(fmt::format("{}", Shape({-1, 3})), "[-1, 3]");
}

}  // namespace
}  // namespace flotilla

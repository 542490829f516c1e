#include "flotilla/ir/attr.h"

#include <gmock/gmock.h>

#include "flotilla/ir/op.h"
#include "flotilla/testing/errors.h"

namespace flotilla {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr int64_t kBig = int64_t{1} << 40;

using Ints = std::vector<int32_t>;
using Longs = std::vector<int64_t>;
using Floats = std::vector<float>;
using Doubles = std::vector<double>;
using Bools = std::vector<bool>;
using Strings = std::vector<std::string>;

TEST(Attr, NamesItsKind) {
  EXPECT_EQ(kind_of(Attr()), "none");
  EXPECT_EQ(kind_of(true), "bool");
  EXPECT_EQ(kind_of(int32_t{1}), "int");
  EXPECT_EQ(kind_of(int64_t{1}), "long");
  EXPECT_EQ(kind_of(0.5f), "float");
  EXPECT_EQ(kind_of(0.5), "double");
  EXPECT_EQ(kind_of(std::string("x")), "string");
  EXPECT_EQ(kind_of(BlockRef{1}), "block");
  EXPECT_EQ(kind_of(VarRef{"x"}), "var");
  EXPECT_EQ(kind_of(Scalar{}), "scalar");
  EXPECT_EQ(kind_of(Bools{true}), "bools");
  EXPECT_EQ(kind_of(Ints{1}), "ints");
  EXPECT_EQ(kind_of(Longs{1}), "longs");
  EXPECT_EQ(kind_of(Floats{1}), "floats");
  EXPECT_EQ(kind_of(Doubles{1}), "doubles");
  EXPECT_EQ(kind_of(Strings{"x"}), "strings");
  EXPECT_EQ(kind_of(std::vector<BlockRef>{}), "blocks");
  EXPECT_EQ(kind_of(std::vector<VarRef>{}), "vars");
  EXPECT_EQ(kind_of(std::vector<Scalar>{}), "scalars");
}

// value, model, what comes out.
TEST(Attr, ConvertsToTheKindOfTheModel) {
  const struct {
    Attr value, model, expected;
  } kCases[] = {
      {int64_t{7}, int32_t{0}, int32_t{7}},
      {int64_t{-2147483648}, int32_t{0}, int32_t{-2147483647 - 1}},
      {int32_t{7}, int64_t{0}, int64_t{7}},
      {true, int32_t{0}, int32_t{1}},
      {true, int64_t{0}, int64_t{1}},
      {true, false, true},
      {int64_t{1}, false, true},
      {int32_t{0}, true, false},
      {int64_t{3}, 0.5f, 3.0f},
      {int32_t{3}, 0.5, 3.0},
      {0.5f, 0.0, 0.5},
      {0.1, 0.0f, 0.1f},
      {int64_t{3}, Scalar{}, Scalar{int64_t{3}}},
      {int32_t{3}, Scalar{}, Scalar{int64_t{3}}},
      {0.5, Scalar{}, Scalar{0.5}},
      {0.5f, Scalar{}, Scalar{0.5}},
      {true, Scalar{}, Scalar{true}},
      {Longs{1, 2}, Ints{}, Ints{1, 2}},
      {Ints{1, 2}, Longs{}, Longs{1, 2}},
      {Longs{1, 2}, Floats{}, Floats{1, 2}},
      {Doubles{0.5}, Floats{}, Floats{0.5f}},
      {Bools{true, false}, Ints{}, Ints{1, 0}},
      {Longs{1, 0}, Bools{}, Bools{true, false}},
      {Doubles{0.5}, std::vector<Scalar>{}, std::vector<Scalar>{{0.5}}},
      {Ints{}, Strings{}, Strings{}},
      {Strings{}, Longs{}, Longs{}},
      {std::vector<VarRef>{}, Floats{}, Floats{}},
      {Ints{1}, Attr(), Ints{1}},
      {std::string("x"), std::string(), std::string("x")},
  };
  for (const auto& c : kCases) {
    const Attr converted = convert(c.value, c.model, "a");
    EXPECT_EQ(converted, c.expected)
        << to_string(c.value) << " to " << kind_of(c.model) << " gave " << to_string(converted);
  }
}

TEST(Attr, RefusesWhatDoesNotFit) {
  EXPECT_EQ(message_of([] { convert(kBig, int32_t{0}, "attribute \"axis\" of softmax"); }),
            "attribute \"axis\" of softmax must fit into 32 bits, but is 1099511627776");
  EXPECT_EQ(message_of([] {
              convert(Longs{1, kBig}, Ints{}, "shape");
            }),
            "element 1 of shape must fit into 32 bits, but is 1099511627776");
  EXPECT_EQ(message_of([] { convert(std::string("1"), int32_t{0}, "axis"); }),
            "axis must be of kind int, but is \"1\" of kind string");
  EXPECT_EQ(message_of([] { convert(int64_t{2}, false, "flag"); }),
            "flag must be true or false, but is 2");
  EXPECT_EQ(message_of([] { convert(1e300, 0.0f, "scale"); }),
            "scale must fit into a float, but is 1e+300");
  EXPECT_EQ(message_of([] { convert(Strings{"a"}, Ints{}, "axes"); }),
            "element 0 of axes must be of kind int, but is \"a\" of kind string");
  const std::pair<Attr, Attr> kRefused[] = {
      {0.5, int32_t{0}},
      {0.5f, int64_t{0}},
      {true, 0.5f},
      {true, 0.5},
      {0.5, false},
      {int32_t{1}, Ints{}},
      {Ints{1}, int32_t{0}},
      {Attr(), int32_t{0}},
      {Floats{0.5f}, Ints{}},
      {int32_t{1}, std::string()},
      {int32_t{1}, BlockRef{}},
      {std::string("x"), VarRef{}},
      {VarRef{"x"}, std::string()},
      {std::string("x"), Scalar{}},
  };
  for (const auto& [value, model] : kRefused) {
    EXPECT_THAT(message_of([&] { convert(value, model, "it"); }), HasSubstr("it must be"))
        << to_string(value) << " to " << kind_of(model);
  }
}

TEST(Attr, InfinityStaysInfinity) {
  const double infinity = std::numeric_limits<double>::infinity();
  EXPECT_EQ(convert(infinity, 0.0f, "a"), Attr(std::numeric_limits<float>::infinity()));
}

TEST(Attr, IsReadAsTheTypeThatIsAskedFor) {
  EXPECT_EQ(attr_as<int64_t>(int32_t{3}, "a"), 3);
  EXPECT_EQ(attr_as<int32_t>(int64_t{3}, "a"), 3);
  EXPECT_EQ(attr_as<float>(0.5, "a"), 0.5f);
  EXPECT_EQ(attr_as<double>(0.5f, "a"), 0.5);
  EXPECT_EQ(attr_as<float>(int32_t{2}, "a"), 2.0f);
  EXPECT_TRUE(attr_as<bool>(int32_t{1}, "a"));
  EXPECT_EQ(attr_as<std::string>(std::string("x"), "a"), "x");
  EXPECT_EQ(attr_as<BlockRef>(BlockRef{2}, "a"), BlockRef{2});
  EXPECT_THAT(attr_as<Longs>(Ints{1, 2}, "a"), ElementsAre(1, 2));
  EXPECT_THAT(attr_as<Ints>(Longs{1, 2}, "a"), ElementsAre(1, 2));
  EXPECT_THAT(attr_as<Doubles>(Floats{0.5f}, "a"), ElementsAre(0.5));
  EXPECT_THAT(attr_as<Floats>(Ints{}, "a"), IsEmpty());
  EXPECT_THAT(attr_as<Bools>(Bools{true}, "a"), ElementsAre(true));
  EXPECT_THAT(attr_as<Strings>(Strings{"x"}, "a"), ElementsAre("x"));
  EXPECT_THAT(attr_as<std::vector<BlockRef>>(std::vector<BlockRef>{{1}}, "a"),
              ElementsAre(BlockRef{1}));
  EXPECT_EQ(message_of([] { attr_as<int32_t>(kBig, "axis"); }),
            "attribute \"axis\" must fit into 32 bits, but is 1099511627776");
}

TEST(Attr, OpsSayWhichAttributeIsMissing) {
  const Op op("softmax", {}, {}, {{"axis", int32_t{-1}}});
  EXPECT_EQ(op.attr<int64_t>("axis"), -1);
  EXPECT_EQ(op.attr_or<int64_t>("seed", 5), 5);
  EXPECT_EQ(message_of([&] { op.attr<bool>("use_cudnn"); }),
            "softmax has no attribute \"use_cudnn\"");
}

TEST(Attr, PrintsInTheTextForm) {
  EXPECT_EQ(to_string(Attr()), "none");
  EXPECT_EQ(to_string(true), "true");
  EXPECT_EQ(to_string(int32_t{-1}), "-1");
  EXPECT_EQ(to_string(int64_t{1}), "1L");
  EXPECT_EQ(to_string(1.0f), "1.0");
  EXPECT_EQ(to_string(0.1f), "0.1");
  EXPECT_EQ(to_string(-0.0f), "-0.0");
  EXPECT_EQ(to_string(1e-5f), "1e-05");
  EXPECT_EQ(to_string(0.1), "0.1d");
  EXPECT_EQ(to_string(std::numeric_limits<float>::infinity()), "inf");
  EXPECT_EQ(to_string(std::string("a\"b\n")), "\"a\\\"b\\n\"");
  EXPECT_EQ(to_string(BlockRef{3}), "block 3");
  EXPECT_EQ(to_string(VarRef{"a b"}), "var \"a b\"");
  EXPECT_EQ(to_string(Scalar{int64_t{1}}), "scalar(1)");
  EXPECT_EQ(to_string(Scalar{std::complex<double>(1, -0.5)}), "scalar(1.0, -0.5)");
  EXPECT_EQ(to_string(Ints{1, 2}), "[1, 2]");
  EXPECT_EQ(to_string(Longs{1}), "[1L]");
  EXPECT_EQ(to_string(Bools{true, false}), "[true, false]");
  EXPECT_EQ(to_string(Floats{}), "floats[]");
}

}  // namespace
}  // namespace flotilla

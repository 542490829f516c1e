#include "flotilla/testing/check_op.h"
#include "flotilla/testing/counting.h"

namespace flotilla {
namespace {

using Numbers = std::vector<int32_t>;

Tensor pad(const std::string& type, Tensor x, Attrs attrs) {
  return run_op(type, {{"X", std::move(x)}}, attrs).at("Out");
}

TEST(Pad, KnownValues) {
  EXPECT_THAT(
      pad("pad", counting({2, 2}), {{"paddings", Numbers{1, 0, 0, 1}}, {"pad_value", 9.0f}}),
      equal_to(tensor({{9, 9, 9}, {0, 1, 9}, {2, 3, 9}})));
  const auto row = [](const std::string& mode) {
    return pad("pad3d", counting({1, 1, 1, 1, 3}),
               {{"paddings", Numbers{1, 2, 0, 0, 0, 0}}, {"mode", mode}, {"value", 9.0f}});
  };
  EXPECT_THAT(row("constant"), equal_to(std::vector<double>{9, 0, 1, 2, 9, 9}));
  EXPECT_THAT(row("reflect"), equal_to(std::vector<double>{1, 0, 1, 2, 1, 0}));
  EXPECT_THAT(row("replicate"), equal_to(std::vector<double>{0, 0, 1, 2, 2, 2}));
  EXPECT_THAT(row("circular"), equal_to(std::vector<double>{2, 0, 1, 2, 0, 1}));
  // Top and bottom, then left and right; channels last.
  EXPECT_THAT(pad("pad2d", counting({1, 2, 1, 1}),
                  {{"paddings", Numbers{1, 0, 0, 1}},
                   {"mode", std::string("edge")},
                   {"data_format", std::string("NHWC")}}),
              equal_to(tensor({0, 0, 0, 0, 1, 1}, Shape{1, 3, 2, 1})));
}

TEST(Pad, AllKernelsAgree) {
  check_op({.type = "pad",
            .inputs = {{"X", uniform({2, 3}, -1, 1)}},
            .attrs = {{"paddings", Numbers{1, 2, 0, 1}}, {"pad_value", 2.0f}}});
  for (const std::string mode : {"constant", "reflect", "edge"}) {
    check_op({.type = "pad2d",
              .inputs = {{"X", uniform({2, 2, 3, 3}, -1, 1)}},
              .attrs = {{"paddings", Numbers{1, 2, 2, 0}}, {"mode", mode}}});
  }
  for (const std::string mode : {"constant", "reflect", "replicate", "circular"}) {
    check_op({.type = "pad3d",
              .inputs = {{"X", uniform({1, 2, 2, 3, 3}, -1, 1)}},
              .attrs = {{"paddings", Numbers{1, 2, 2, 0, 1, 0}}, {"mode", mode}}});
  }
}

TEST(Pad, RefusesBordersThatDoNotFit) {
  EXPECT_REFUSED(pad("pad3d", counting({1, 1, 1, 1, 3}),
                     {{"paddings", Numbers{3, 0, 0, 0, 0, 0}}, {"mode", std::string("reflect")}}),
                 "a mirrored border must be narrower than the axis, but 3 and 0 meet extent 3");
  EXPECT_REFUSED(pad("pad2d", counting({1, 1, 2, 2}),
                     {{"paddings", Numbers{1, 1, 1, 1}}, {"mode", std::string("mirror")}}),
                 "mode of pad2d must be one of constant, reflect, edge, but is \"mirror\"");
}

}  // namespace
}  // namespace flotilla

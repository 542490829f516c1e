#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

const Tensor kX = tensor({{1, 2, 3}, {4, 5, 6}});

Tensor put_along(Attrs attrs) {
  const Inputs inputs = {{"Input", kX},
                         {"Index", ints({0, 0, -1, 1}, {2, 2})},
                         {"Value", tensor({{10, 20}, {30, 40}})}};
  attrs.emplace("Axis", 1);
  return run_op("put_along_axis", inputs, attrs).at("Result");
}

TEST(PutAlongAxis, KnownValues) {
  EXPECT_THAT(put_along({}), equal_to(tensor({{20, 2, 3}, {4, 40, 30}})));
  EXPECT_THAT(put_along({{"Reduce", "add"}}), equal_to(tensor({{31, 2, 3}, {4, 45, 36}})));
  EXPECT_THAT(put_along({{"Reduce", "add"}, {"Include_self", false}}),
              equal_to(tensor({{30, 2, 3}, {4, 40, 30}})));
}

TEST(PutAlongAxis, AllKernelsAgree) {
  for (const std::string reduce : {"assign", "add"}) {
    for (const bool self : {true, false}) {
      check_op({.type = "put_along_axis",
                .inputs = {{"Input", uniform({3, 4}, -1, 1)},
                           {"Index", ints({2, 0, 1, 3, -1, 0}, {3, 2})},
                           {"Value", uniform({3, 2}, -1, 1, 2)}},
                .attrs = {{"Axis", 1}, {"Reduce", reduce}, {"Include_self", self}}});
    }
  }
}

TEST(PutAlongAxis, GradientOfWhatIsReplaced) {
  check_op({.type = "put_along_axis",
            .inputs = {{"Input", uniform({3, 2}, -1, 1)},
                       {"Index", ints({1, 0, 1, -3, 2, 2}, {3, 2})},
                       {"Value", uniform({3, 2}, -1, 1, 2)}},
            .attrs = {{"Axis", 0}}});
}

TEST(PutAlongAxis, Refusals) {
  EXPECT_REFUSED(put_along({{"Reduce", "mul"}}), "Reduce must be assign or add, but is \"mul\"");
  EXPECT_REFUSED(
      build_op("put_along_axis",
               {{"Input", kX}, {"Index", ints({0, 1}, {2, 1})}, {"Value", tensor({{1, 2}})}}),
      "Value must have the shape [2, 1] of Index, but has [1, 2]");
}

}  // namespace
}  // namespace flotilla

#include <cmath>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

using Dims = std::vector<int32_t>;

Tensor reduce(const std::string& type, Tensor x, Attrs attrs = {}) {
  return run_op(type, {{"X", std::move(x)}}, attrs).at("Out");
}

TEST(LogSumExp, KnownValues) {
  EXPECT_THAT(reduce("logsumexp", tensor({{0, 1, 2}, {3, 4, 5}}), {{"axis", Dims{1}}}),
              near(tensor({2.4076059, 5.4076059}), 1e-5));
  EXPECT_THAT(reduce("logsumexp", tensor({1000, 1000})), near({1000.693147}, 1e-3));
  EXPECT_THAT(reduce("logsumexp", tensor({-INFINITY, -INFINITY})), equal_to({-INFINITY}));
}

TEST(LogSumExp, AllKernelsAgree) {
  for (const Dims& axis : {Dims{0}, Dims{1}, Dims{-1}, Dims{0, 2}, Dims{}}) {
    for (const bool keep : {false, true}) {
      check_op({.type = "logsumexp",
                .inputs = {{"X", uniform({3, 4, 2}, -2, 2)}},
                .attrs = {{"axis", axis}, {"keepdim", keep}}});
    }
  }
}

}  // namespace
}  // namespace flotilla

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

TEST(LabelSmooth, KnownValues) {
  const Tensor labels = tensor({{1, 0, 0, 0}});
  EXPECT_THAT(run_op("label_smooth", {{"X", labels}}, {{"epsilon", 0.2f}}).at("Out"),
              near({0.85, 0.05, 0.05, 0.05}, 1e-6));
  EXPECT_THAT(run_op("label_smooth", {{"X", labels}, {"PriorDist", tensor({{0.5, 0.5, 0, 0}})}},
                     {{"epsilon", 0.2f}})
                  .at("Out"),
              near({0.9, 0.1, 0, 0}, 1e-6));
  check_op({.type = "label_smooth",
            .inputs = {{"X", uniform({3, 4}, 0, 1)}},
            .attrs = {{"epsilon", 0.1f}}});
}

}  // namespace
}  // namespace flotilla

#include "flotilla/op/build.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

using Longs = std::vector<int64_t>;

// A program that makes numbers for range and linspace, which must be known when a plan is made.
std::vector<Tensor> run_with_numbers(const std::string& type, std::vector<std::string> slots,
                                     std::vector<float> values, DType dtype, Attrs attrs = {}) {
  Program program;
  Block& block = program.global_block();
  Slots inputs;
  for (size_t i = 0; i < slots.size(); ++i) {
    const bool counts = slots[i] == "Num";
    append_op(
        block, "fill_constant", {}, {{"Out", {slots[i]}}},
        {{"shape", Longs{1}}, {"value", values[i]}, {"dtype", to_paddle(counts ? i32 : dtype)}});
    inputs[slots[i]] = {slots[i]};
  }
  append_op(block, type, inputs, {{"Out", {"out"}}}, attrs);
  return run_program(program, {}, {"out"});
}

TEST(Range, Ranges) {
  const auto range = [](std::vector<float> values, DType dtype) {
    return run_with_numbers("range", {"Start", "End", "Step"}, std::move(values), dtype)[0];
  };
  EXPECT_THAT(range({0, 5, 2}, i64), equal_to(ints({0, 2, 4})));
  EXPECT_THAT(range({5, 0, -2}, f32), equal_to(tensor({5, 3, 1})));
  EXPECT_THAT(range({1, 1, 1}, i32), has_shape({0}));
  EXPECT_REFUSED(range({0, 5, -1}, i64), "range cannot go from 0 to 5 in steps of -1");
}

TEST(Range, RangesOfNumbersThatAreNotKnownBefore) {
  const auto range = [](double start, double end, double step) {
    return run_op("range",
                  {{"Start", tensor({start})}, {"End", tensor({end})}, {"Step", tensor({step})}})
        .at("Out");
  };
  EXPECT_THAT(range(0, 1, 0.3), near(tensor({0, 0.3, 0.6, 0.9}), 1e-6));
  EXPECT_THAT(range(5, 0, -2), equal_to(tensor({5, 3, 1})));
  EXPECT_REFUSED(range(0, 1, -1), "range cannot go from 0 to 1 in steps of -1");
}

}  // namespace
}  // namespace flotilla

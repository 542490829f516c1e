#include "flotilla/op/build.h"
#include "flotilla/testing/run_op.h"

namespace flotilla {
namespace {

Tensor make(const std::string& type, Attrs attrs, const Inputs& inputs = {}) {
  return run_op(type, inputs, attrs).at("Out");
}

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

TEST(Logspace, KnownValues) {
  const auto logspace = [](const Tensor& start, const Tensor& stop, int64_t n, const Tensor& base,
                           int32_t dtype = -1) {
    return make("logspace", {{"dtype", dtype}},
                {{"Start", start}, {"Stop", stop}, {"Num", ints({n}, i32)}, {"Base", base}});
  };
  EXPECT_THAT(logspace(tensor({0}), tensor({3}), 4, tensor({10})),
              near(tensor({1, 10, 100, 1000}), 1e-6));
  EXPECT_THAT(logspace(tensor({3}), tensor({1}), 1, tensor({2})), equal_to({8}));
  EXPECT_THAT(logspace(ints({0}), ints({4}), 3, ints({2})), equal_to(ints({1, 4, 16})));
  EXPECT_THAT(logspace(tensor({0}), tensor({1}), 2, tensor({5}), to_paddle(f64)),
              equal_to(tensor({1, 5}, f64)));
  EXPECT_REFUSED(logspace(tensor({0}), tensor({1}), 0, tensor({2})),
                 "Num of linspace must be positive, but is 0");
}

TEST(Linspace, KnownValues) {
  const auto space = [](std::vector<float> values, DType dtype) {
    return run_with_numbers("linspace", {"Start", "Stop", "Num"}, std::move(values), f32,
                            {{"dtype", to_paddle(dtype)}})[0];
  };
  EXPECT_THAT(space({0, 1, 5}, f32), equal_to(tensor({0, 0.25, 0.5, 0.75, 1})));
  EXPECT_THAT(space({0, 10, 4}, i64), equal_to(ints({0, 3, 6, 10})));
  EXPECT_THAT(space({3, 10, 1}, f32), equal_to(tensor({3})));
}

}  // namespace
}  // namespace flotilla

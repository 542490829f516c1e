// flotilla/testing/tensors.h
//
// Tensors for tests, and matchers for them.
//
//   EXPECT_THAT(run_op("relu", {{"X", tensor({-1, 2})}}).at("Out"), near({0, 2}, 1e-6));

#pragma once

#include <gmock/gmock.h>

#include <initializer_list>
#include <ostream>
#include <vector>

#include "flotilla/tensor/tensor.h"

namespace flotilla {

// Of rank 1, unless a shape is given.
Tensor tensor(std::initializer_list<double> values, DType dtype = f32);
Tensor tensor(std::initializer_list<double> values, Shape shape, DType dtype = f32);
// Row by row.
Tensor tensor(std::initializer_list<std::initializer_list<double>> rows, DType dtype = f32);
Tensor ints(std::initializer_list<int64_t> values, DType dtype = i64);
Tensor ints(std::initializer_list<int64_t> values, Shape shape, DType dtype = i64);
Tensor bools(std::initializer_list<bool> values);
Tensor full(const Shape& shape, double value, DType dtype = f32);
// Elements from [low, high), the same ones for the same seed.
Tensor uniform(const Shape& shape, double low, double high, uint64_t seed = 1, DType dtype = f32);
Tensor uniform_ints(const Shape& shape, int64_t low, int64_t high, uint64_t seed = 1,
                    DType dtype = i64);
Tensor with_lod(Tensor tensor, LoD lod);
SelectedRows sparse(std::vector<int64_t> rows, Tensor value, int64_t height);

// The elements in order, whatever the dtype and layout.
std::vector<double> values_of(const Tensor& tensor);
Tensor from_values(const std::vector<double>& values, const Shape& shape, DType dtype);
Tensor converted(const Tensor& tensor, DType dtype);

// The same number of elements, each within `tolerance` of the expected one.
::testing::Matcher<const Tensor&> near(std::vector<double> expected, double tolerance);
// The same, and the same shape.
::testing::Matcher<const Tensor&> near(const Tensor& expected, double tolerance);
// The same elements, shape and dtype.
::testing::Matcher<const Tensor&> equal_to(const Tensor& expected);
::testing::Matcher<const Tensor&> equal_to(std::vector<double> expected);
::testing::Matcher<const Tensor&> all_equal_to(double expected);
::testing::Matcher<const Tensor&> has_shape(Shape expected);

// The largest |a - b|, divided by the largest |b| where that is above one; infinity where the
// number of elements differs or only one side is not a number.
double distance(const Tensor& a, const Tensor& b);

void PrintTo(const Tensor& tensor, std::ostream* out);
void PrintTo(const Shape& shape, std::ostream* out);

}  // namespace flotilla

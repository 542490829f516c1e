#include "flotilla/testing/tensors.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "flotilla/base/half.h"

namespace flotilla {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

Shape shape_of_list(size_t n) { return {static_cast<int64_t>(n)}; }

bool is_near(double a, double b, double tolerance) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b || std::abs(a - b) <= tolerance;
}

class ValuesMatcher final : public ::testing::MatcherInterface<const Tensor&> {
 public:
  ValuesMatcher(std::vector<double> expected, double tolerance)
      : expected_(std::move(expected)), tolerance_(tolerance) {}

  bool MatchAndExplain(const Tensor& found,
                       ::testing::MatchResultListener* listener) const override {
    const std::vector<double> values = values_of(found);
    if (values.size() != expected_.size()) {
      *listener << "which has " << values.size() << " elements";
      return false;
    }
    for (size_t i = 0; i < values.size(); ++i) {
      if (is_near(values[i], expected_[i], tolerance_)) continue;
      *listener << "whose element " << i << " is " << values[i] << " instead of " << expected_[i];
      return false;
    }
    return true;
  }

  void DescribeTo(std::ostream* out) const override {
    *out << fmt::format("holds [{}]", fmt::join(expected_, ", "));
    if (tolerance_ != 0) *out << " within " << tolerance_;
  }

 private:
  std::vector<double> expected_;
  double tolerance_;
};

template <typename T>
void fill(const Tensor& out, const std::vector<double>& values) {
  std::transform(values.begin(), values.end(), out.data<T>(),
                 [](double v) { return narrow<T>(v); });
}

// Calls f(T{}) with the C++ type of any dtype, the 16-bit floats among them.
template <typename F>
decltype(auto) visit_any(DType dtype, F&& f) {
  if (dtype == f16) return f(Half{});
  if (dtype == bf16) return f(BFloat16{});
  return visit_dtype(dtype, f);
}

}  // namespace

Tensor from_values(const std::vector<double>& values, const Shape& shape, DType dtype) {
  require(shape.numel() == static_cast<int64_t>(values.size()), "{} values do not fill shape {}",
          values.size(), shape);
  Tensor made(dtype, shape);
  visit_any(dtype, [&](auto tag) { fill<decltype(tag)>(made, values); });
  return made;
}

std::vector<double> values_of(const Tensor& tensor) {
  const Tensor plain = tensor.plain();
  return visit_any(plain.dtype(), [&](auto tag) {
    std::vector<double> values;
    for (const auto& value : plain.span<decltype(tag)>()) {
      values.push_back(static_cast<double>(widen(value)));
    }
    return values;
  });
}

Tensor converted(const Tensor& tensor, DType dtype) {
  Tensor made = from_values(values_of(tensor), tensor.shape(), dtype);
  made.set_lod(tensor.lod());
  return made;
}

Tensor tensor(std::initializer_list<double> values, DType dtype) {
  return from_values(values, shape_of_list(values.size()), dtype);
}

Tensor tensor(std::initializer_list<double> values, Shape shape, DType dtype) {
  return from_values(values, shape, dtype);
}

Tensor tensor(std::initializer_list<std::initializer_list<double>> rows, DType dtype) {
  std::vector<double> values;
  for (const auto& row : rows) values.insert(values.end(), row.begin(), row.end());
  return from_values(values,
                     {static_cast<int64_t>(rows.size()),
                      static_cast<int64_t>(rows.size() == 0 ? 0 : rows.begin()->size())},
                     dtype);
}

Tensor ints(std::initializer_list<int64_t> values, DType dtype) {
  return ints(values, shape_of_list(values.size()), dtype);
}

Tensor ints(std::initializer_list<int64_t> values, Shape shape, DType dtype) {
  return from_values({values.begin(), values.end()}, shape, dtype);
}

Tensor bools(std::initializer_list<bool> values) {
  return from_values({values.begin(), values.end()}, shape_of_list(values.size()), boolean);
}

Tensor full(const Shape& shape, double value, DType dtype) {
  return from_values(std::vector<double>(static_cast<size_t>(shape.numel()), value), shape, dtype);
}

Tensor uniform(const Shape& shape, double low, double high, uint64_t seed, DType dtype) {
  std::mt19937_64 engine(seed);
  std::vector<double> values(static_cast<size_t>(shape.numel()));
  // 53 bits by hand: std::uniform_real_distribution differs between libraries. Rounded to float, so
  // that f32 and f64 kernels see the same number.
  for (double& value : values) {
    const double unit = static_cast<double>(engine() >> 11) * 0x1p-53;
    value = static_cast<float>(low + (high - low) * unit);
  }
  return from_values(values, shape, dtype);
}

Tensor uniform_ints(const Shape& shape, int64_t low, int64_t high, uint64_t seed, DType dtype) {
  std::mt19937_64 engine(seed);
  std::vector<double> values(static_cast<size_t>(shape.numel()));
  for (double& value : values) {
    value = static_cast<double>(low +
                                static_cast<int64_t>(engine() % static_cast<uint64_t>(high - low)));
  }
  return from_values(values, shape, dtype);
}

Tensor with_lod(Tensor tensor, LoD lod) {
  tensor.set_lod(std::move(lod));
  return tensor;
}

SelectedRows sparse(std::vector<int64_t> rows, Tensor value, int64_t height) {
  return {height, std::move(rows), std::move(value)};
}

::testing::Matcher<const Tensor&> near(std::vector<double> expected, double tolerance) {
  return ::testing::MakeMatcher(new ValuesMatcher(std::move(expected), tolerance));
}

::testing::Matcher<const Tensor&> near(const Tensor& expected, double tolerance) {
  return ::testing::AllOf(has_shape(expected.shape()), near(values_of(expected), tolerance));
}

::testing::Matcher<const Tensor&> equal_to(const Tensor& expected) {
  return ::testing::AllOf(::testing::Property("dtype", &Tensor::dtype, expected.dtype()),
                          near(expected, 0));
}

::testing::Matcher<const Tensor&> equal_to(std::vector<double> expected) {
  return near(std::move(expected), 0);
}

::testing::Matcher<const Tensor&> all_equal_to(double expected) {
  return ::testing::ResultOf("the elements", values_of, ::testing::Each(expected));
}

::testing::Matcher<const Tensor&> has_shape(Shape expected) {
  return ::testing::Property("shape", &Tensor::shape, std::move(expected));
}

double distance(const Tensor& a, const Tensor& b) {
  const std::vector<double> x = values_of(a), y = values_of(b);
  if (x.size() != y.size()) return kInfinity;
  double largest = 0, scale = 1;
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] == y[i] || (std::isnan(x[i]) && std::isnan(y[i]))) continue;
    const double difference = std::abs(x[i] - y[i]);
    largest = std::max(largest, std::isnan(difference) ? kInfinity : difference);
    if (std::isfinite(y[i])) scale = std::max(scale, std::abs(y[i]));
  }
  return largest / scale;
}

void PrintTo(const Tensor& tensor, std::ostream* out) {
  if (!tensor.defined()) {
    *out << "nothing";
    return;
  }
  std::vector<double> values = values_of(tensor);
  const bool cut = values.size() > 64;
  if (cut) values.resize(64);
  *out << fmt::format("{}{} [{}{}]", tensor.dtype(), tensor.shape(), fmt::join(values, ", "),
                      cut ? ", ..." : "");
}

void PrintTo(const Shape& shape, std::ostream* out) { *out << to_string(shape); }

}  // namespace flotilla

// flotilla/ops/fused/fc_test.cc

#include <cmath>
#include <functional>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

// An activation, and its slope as a function of the result.
struct Row {
  std::string name;
  std::function<double(double)> f, slope;
};

const std::vector<Row> kRows = {
    {"", [](double x) { return x; }, [](double) { return 1.0; }},
    {"relu", [](double x) { return std::max(x, 0.0); }, [](double y) { return y > 0 ? 1.0 : 0.0; }},
    {"tanh", [](double x) { return std::tanh(x); }, [](double y) { return 1 - y * y; }},
    {"sigmoid", [](double x) { return 1 / (1 + std::exp(-x)); },
     [](double y) { return y * (1 - y); }},
};

// Sizes below and above what vectors and threads take at once.
struct Sizes {
  int64_t m, k, n;
};
const std::vector<Sizes> kSizes = {{1, 3, 1}, {5, 7, 9}, {130, 40, 33}, {300, 133, 1}};

using Numbers = std::vector<double>;

Numbers forward(const Sizes& s, const Row& row, const Numbers& x, const Numbers& w,
                const Numbers& b) {
  Numbers y;
  for (int64_t i = 0; i < s.m; ++i) {
    for (int64_t j = 0; j < s.n; ++j) {
      double sum = b[j];
      for (int64_t l = 0; l < s.k; ++l) sum += x[i * s.k + l] * w[l * s.n + j];
      y.push_back(row.f(sum));
    }
  }
  return y;
}

TEST(Fc, GivesWhatItsPartsGive) {
  for (const Sizes& s : kSizes) {
    const Tensor x = uniform({s.m, s.k}, -1, 1), w = uniform({s.k, s.n}, -1, 1, 2),
                 b = uniform({s.n}, -1, 1, 3);
    for (const Row& row : kRows) {
      const auto found =
          run_op("fc", {{"Input", x}, {"W", w}, {"Bias", b}}, {{"activation_type", row.name}});
      EXPECT_THAT(found.at("Out"),
                  near(forward(s, row, values_of(x), values_of(w), values_of(b)), 2e-5))
          << row.name;
    }
  }
}

TEST(Fc, FlattensAllAxesBehindTheRows) {
  const Tensor w = uniform({6, 4}, -1, 1, 2), b = uniform({4}, -1, 1, 3);
  const auto flat = run_op("fc", {{"Input", uniform({5, 6}, -1, 1)}, {"W", w}, {"Bias", b}});
  const auto deep = run_op("fc", {{"Input", uniform({5, 2, 3}, -1, 1)}, {"W", w}, {"Bias", b}});
  const auto rows = run_op("fc", {{"Input", uniform({5, 1, 6}, -1, 1)}, {"W", w}, {"Bias", b}},
                           {{"in_num_col_dims", 2}});
  EXPECT_EQ(values_of(deep.at("Out")), values_of(flat.at("Out")));
  EXPECT_EQ(values_of(rows.at("Out")), values_of(flat.at("Out")));
  EXPECT_THAT(rows.at("Out"), has_shape({5, 1, 4}));
}

TEST(Fc, GradientsFollowTheFormula) {
  for (const Sizes& s : kSizes) {
    const Tensor x = uniform({s.m, s.k}, -1, 1), w = uniform({s.k, s.n}, -1, 1, 2),
                 b = uniform({s.n}, -1, 1, 3), dy = uniform({s.m, s.n}, -1, 1, 4);
    const auto xs = values_of(x), ws = values_of(w), dys = values_of(dy);
    for (const Row& row : kRows) {
      SCOPED_TRACE(row.name);
      const Numbers y = forward(s, row, xs, ws, values_of(b));
      Numbers dx(s.m * s.k), dw(s.k * s.n), db(s.n);
      for (int64_t i = 0; i < s.m; ++i) {
        for (int64_t j = 0; j < s.n; ++j) {
          const double d = dys[i * s.n + j] * row.slope(y[i * s.n + j]);
          db[j] += d;
          for (int64_t l = 0; l < s.k; ++l) {
            dx[i * s.k + l] += d * ws[l * s.n + j];
            dw[l * s.n + j] += d * xs[i * s.k + l];
          }
        }
      }
      const auto found = run_op("fused_fc_grad",
                                {{"Input", x},
                                 {"W", w},
                                 {"Bias", b},
                                 {"Out", from_values(y, {s.m, s.n}, f32)},
                                 {"Out@GRAD", dy}},
                                {{"activation_type", row.name}},
                                {.outputs = {{"Input@GRAD", 1}, {"W@GRAD", 1}, {"Bias@GRAD", 1}}});
      EXPECT_THAT(found.at("Input@GRAD"), near(dx, 1e-4));
      EXPECT_THAT(found.at("W@GRAD"), near(dw, 2e-4));
      EXPECT_THAT(found.at("Bias@GRAD"), near(db, 1e-4));
      // Only what is wanted.
      const auto bias_only =
          run_op("fused_fc_grad",
                 {{"Input", x},
                  {"W", w},
                  {"Bias", b},
                  {"Out", from_values(y, {s.m, s.n}, f32)},
                  {"Out@GRAD", dy}},
                 {{"activation_type", row.name}}, {.outputs = {{"Bias@GRAD", 1}}});
      EXPECT_THAT(bias_only.at("Bias@GRAD"), equal_to(found.at("Bias@GRAD")));
    }
  }
}

TEST(Fc, Refusals) {
  const Tensor b = full({4}, 0);
  EXPECT_REFUSED(build_op("fc", {{"Input", full({2, 3}, 1)}, {"W", full({5, 4}, 1)}, {"Bias", b}}),
                 "Input [2, 3] has 3 columns from axis 1 on, but W is [5, 4]");
  EXPECT_REFUSED(build_op("fc", {{"Input", full({2, 5}, 1)}, {"W", full({5, 4}, 1)}, {"Bias", b}},
                          {{"activation_type", "swish"}}),
                 "activation_type of fc must be relu, tanh, sigmoid or empty, but is \"swish\"");
}

}  // namespace
}  // namespace flotilla

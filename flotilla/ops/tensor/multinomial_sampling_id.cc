// multinomial and sampling_id: columns of each row of X, drawn by the numbers there.

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "flotilla/ops/tensor/random.h"

namespace flotilla::ops {
namespace {

// The column in which `left` lies where the numbers of a row are lengths side by side.
template <typename T>
int64_t column_at(T left, const T* row, int64_t columns) {
  int64_t column = 0;
  while (column + 1 < columns && left >= row[column]) left -= row[column++];
  return column;
}

void infer_samples(InferContext& c) {
  Shape out = c.in("X").shape;
  const int64_t samples = c.attr<int64_t>("num_samples");
  require(out.rank() == 1 || out.rank() == 2, "X must be a vector or a matrix, but has shape {}",
          out);
  require(samples > 0, "num_samples must be positive, but is {}", samples);
  out[out.rank() - 1] = samples;
  c.out("Out") = VarMeta::tensor(i64, out);
}

// Draws from one row of weights, and forgets what it has drawn unless it is put back.
void draw_columns(std::vector<double> weights, const RandomStream& stream, bool put_back,
                  int64_t first, std::span<int64_t> drawn) {
  const int64_t columns = std::ssize(weights);
  for (const double weight : weights) {
    require(weight >= 0 && std::isfinite(weight),
            "the weights of multinomial must be finite and not negative, but one is {}", weight);
  }
  const int64_t choice = columns - std::ranges::count(weights, 0.0);
  require(choice >= (put_back ? 1 : std::ssize(drawn)),
          "{} of {} columns have a weight, too few for {} samples", choice, columns, drawn.size());
  for (int64_t& column : drawn) {
    const double sum = std::accumulate(weights.begin(), weights.end(), 0.0);
    column = column_at(sum * wide_number(stream, first++), weights.data(), columns);
    while (weights[static_cast<size_t>(column)] == 0) --column;  // the sum was rounded up
    if (!put_back) weights[static_cast<size_t>(column)] = 0;
  }
}

constexpr auto multinomial = []<typename T>(PrepareContext& c) -> Step {
  const Shape &x = c.shape("X"), &out = c.shape("Out");
  return [rows = x.numel(0, x.rank() - 1), columns = x[x.rank() - 1], samples = out[x.rank() - 1],
          put_back = c.attr<bool>("replacement"), draws = Draws{c.random(0)}, in = c.in<T>("X"),
          to = c.out<int64_t>("Out")]() mutable {
    const RandomStream stream = draws.next();
    for (int64_t r = 0; r < rows; ++r) {
      const T* const row = in.data() + r * columns;
      draw_columns({row, row + columns}, stream, put_back, r * samples,
                   {to.data() + r * samples, static_cast<size_t>(samples)});
    }
  };
};

const OpDef& multinomial_op = define_op({
    .type = "multinomial",
    .doc = "Columns of each row of X, drawn by the weights there.",
    .inputs = {{.name = "X", .doc = "weights", .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "i64: `num_samples` columns for each row"}},
    .attrs = {{"num_samples", int32_t{1}, "how many"},
              {"replacement", false, "the same column may be drawn again"}},
    .infer = infer_samples,
    .kernels = kernels_for<float, double>(multinomial),
});

void infer_choice(InferContext& c) {
  const VarMeta& x = c.in("X");
  require(x.shape.rank() == 2, "X must be a matrix, but has shape {}", x.shape);
  c.out("Out") = VarMeta::tensor(i64, Shape{x.shape[0]});
}

// One column of each row, as likely as its number says.
constexpr auto choose = []<typename T>(PrepareContext& c) -> Step {
  const int64_t seed = c.attr<int64_t>("seed");
  return
      [rows = c.shape("X")[0], columns = c.shape("X")[1], draws = Draws{c.random(seed), seed != 0},
       x = c.in<T>("X"), out = c.out<int64_t>("Out")]() mutable {
        const RandomStream stream = draws.next();
        for (int64_t r = 0; r < rows; ++r) {
          const T left = unit_number<T>(stream.at(static_cast<uint64_t>(r))[0]);
          out.data()[r] = column_at(left, x.data() + r * columns, columns);
        }
      };
};

const OpDef& sampling_id = define_op({
    .type = "sampling_id",
    .doc = "A column of each row of X, drawn by the probabilities there.",
    .inputs = {{.name = "X", .doc = "probabilities", .no_grad = true}},
    .outputs = {{.name = "Out", .doc = "i64, [rows]"}},
    .attrs = {{"min", 0.0f, "ignored"}, {"max", 1.0f, "ignored"}, kSeed},
    .infer = infer_choice,
    .kernels = kernels_for<float, double>(choose),
});

}  // namespace
}  // namespace flotilla::ops

// flotilla/ops/tensor/random.cc
//
// Tensors of random numbers. Element n depends on the stream and n alone (base/random_stream.h), so
// a seed gives the same tensor on any number of threads, and a float64 tensor the numbers of the
// float32 one with more digits.

#include "flotilla/kernel/random.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/op/grad_context.h"
#include "flotilla/ops/tensor/known_value.h"
#include "flotilla/ops/tensor/move.h"
#include "flotilla/ops/tensor/new_tensor.h"

namespace flotilla::ops {
namespace {

// Calls f(block, four words) for each block of four elements; a thread gets at least 1024 blocks.
template <typename F>
void for_blocks(const RandomStream& stream, int64_t n, F&& f) {
  parallel_ranges((n + 3) / 4, 1024, [&](int64_t begin, int64_t end) {
    for (int64_t block = begin; block < end; ++block) {
      f(block, stream.at(static_cast<uint64_t>(block)));
    }
  });
}

// Calls f(i, word i).
template <typename F>
void for_words(const RandomStream& stream, int64_t n, F f) {
  for_blocks(stream, n, [=](int64_t block, const std::array<uint32_t, 4>& words) {
    const int64_t first = block * 4;
    for (int64_t i = first; i < std::min(first + 4, n); ++i) {
      f(i, words[static_cast<size_t>(i - first)]);
    }
  });
}

// out[i] = f(word i)
template <typename T, typename F>
void generate(const RandomStream& stream, T* out, int64_t n, F f) {
  for_words(stream, n, [=](int64_t i, uint32_t word) { out[i] = f(word); });
}

template <typename T>
void generate_normal(const RandomStream& stream, T* out, int64_t n, T mean, T std) {
  for_blocks(stream, n, [=](int64_t block, const std::array<uint32_t, 4>& words) {
    const auto [a, b] = normal_pair<T>(words[0], words[1]);
    const auto [c, d] = normal_pair<T>(words[2], words[3]);
    const T four[] = {a, b, c, d};
    const int64_t first = block * 4;
    for (int64_t i = first; i < std::min(first + 4, n); ++i) out[i] = mean + std * four[i - first];
  });
}

// What no run repeats, unless the op has a seed of its own.
struct Draws {
  RandomSource source;
  bool repeats = false;
  uint64_t runs = 0;

  RandomStream next() { return source.draw(repeats ? 0 : runs++); }
};

// ---- Shapes -------------------------------------------------------------------------------------

void infer_permutation(InferContext& c) {
  const int64_t n = c.attr<int64_t>("n");
  require(n > 0, "randperm needs a positive n, but n is {}", n);
  c.out("Out") = VarMeta::tensor(dtype_attr(c), {n});
}

void infer_small_like(InferContext& c) { c.out("out") = like(c.in("x")); }

void infer_choice(InferContext& c) {
  const VarMeta& x = c.in("X");
  require(x.shape.rank() == 2, "X must be a matrix, but has shape {}", x.shape);
  c.out("Out") = VarMeta::tensor(i64, Shape{x.shape[0]});
}

// ---- Kernels ------------------------------------------------------------------------------------

constexpr auto uniform = []<typename T>(PrepareContext& c) -> Step {
  const T min = c.attr<float>("min"), range = static_cast<T>(c.attr<float>("max")) - min;
  const int64_t diagonal = c.attr<int64_t>("diag_num");
  const int64_t step = c.attr<int64_t>("diag_step") + 1;
  const T on_diagonal = c.attr<float>("diag_val");
  const int64_t n = c.shape("Out").numel();
  require(diagonal == 0 || (diagonal - 1) * step < n,
          "a tensor of {} elements has no diagonal of {} elements with step {}", n, diagonal, step);
  return [=, source = c.random(c.attr<int64_t>("seed")), out = c.out<T>("Out")] {
    T* to = out.data();
    generate(source.draw(), to, n,
             [=](uint32_t word) { return min + range * unit_number<T>(word); });
    for (int64_t i = 0; i < diagonal; ++i) to[i * step] = on_diagonal;
  };
};

constexpr auto gaussian = []<typename T>(PrepareContext& c) -> Step {
  const char* const slot = c.has("Out") ? "Out" : "out";
  return [mean = static_cast<T>(c.attr<float>("mean")), std = static_cast<T>(c.attr<float>("std")),
          n = c.shape(slot).numel(), source = c.random(c.attr<int64_t>("seed")),
          out = c.out<T>(slot)] { generate_normal(source.draw(), out.data(), n, mean, std); };
};

// Paddle has no operator for it.
void exponential_grad(GradContext& g) {
  const std::string dx = g.input_grad("X");
  if (dx.empty()) return;
  g.emit("fill_any_like", {{"X", {g.output_grad("Out")}}}, {{"Out", {dx}}}, {{"value", 0.0f}});
}

constexpr auto exponential = []<typename T>(PrepareContext& c) -> Step {
  const T rate = c.attr<float>("lambda");
  require(rate > 0, "lambda must be positive, but is {}", rate);
  return [rate, n = c.shape("Out").numel(), draws = Draws{c.random(0)},
          out = c.out<T>("Out")]() mutable {
    generate(draws.next(), out.data(), n,
             [=](uint32_t word) { return -std::log(unit_number<T>(word)) / rate; });
  };
};

// The number of the stream with this index, with all digits of a double.
double wide_number(const RandomStream& stream, int64_t index) {
  const std::array<uint32_t, 4> words = stream.at(static_cast<uint64_t>(index));
  return unit_number<double>(words[0]) + (words[1] - 0x1p31) * 0x1p-64;
}

// How many events of which so many are expected happen: the sum of those of parts of the time, each
// found by adding up its distribution. `stride`: from one number of the stream to the next.
double count_events(const RandomStream& stream, int64_t index, int64_t stride, double expected) {
  constexpr double kMost = 1 << 20, kPart = 512;  // above kMost they are as good as normal
  if (expected > kMost) {
    const std::array<uint32_t, 4> words = stream.at(static_cast<uint64_t>(index));
    return std::round(expected + std::sqrt(expected) * normal_pair<double>(words[0], words[1])[0]);
  }
  double events = 0;
  for (double left = expected; left > 0; left -= kPart, index += stride) {
    const double part = std::min(left, kPart), number = wide_number(stream, index);
    double share = std::exp(-part);
    for (double below = share, k = 1; number > below && share > 0; ++k, ++events) {
      share *= part / k;
      below += share;
    }
  }
  return events;
}

constexpr auto poisson = []<typename T>(PrepareContext& c) -> Step {
  return [n = c.shape("X").numel(), draws = Draws{c.random(0)}, x = c.in<T>("X"),
          out = c.out<T>("Out")]() mutable {
    const RandomStream stream = draws.next();
    parallel_for(n, 256, [&, rates = x.data(), to = out.data()](int64_t i) {
      require(rates[i] >= 0, "poisson takes no negative numbers, but the one at place {} is {}", i,
              rates[i]);
      to[i] = static_cast<T>(count_events(stream, i, n, rates[i]));
    });
  };
};

constexpr auto truncated_gaussian = []<typename T>(PrepareContext& c) -> Step {
  const T mean = c.attr<float>("mean"), std = c.attr<float>("std");
  return [mean, std, n = c.shape("Out").numel(), source = c.random(c.attr<int64_t>("seed")),
          out = c.out<T>("Out")] {
    generate(source.draw(), out.data(), n,
             [=](uint32_t word) { return mean + std * truncated_normal(unit_number<T>(word)); });
  };
};

constexpr auto integers = []<typename T>(PrepareContext& c) -> Step {
  const int64_t low = c.attr<int64_t>("low"), high = c.attr<int64_t>("high");
  require(low < high, "randint needs low < high, but they are {} and {}", low, high);
  return [low, range = static_cast<uint64_t>(high - low), n = c.shape("Out").numel(),
          source = c.random(c.attr<int64_t>("seed")), out = c.out<T>("Out")] {
    generate(source.draw(), out.data(), n, [=](uint32_t word) {
      return static_cast<T>(low + static_cast<int64_t>(word * range >> 32));
    });
  };
};

constexpr auto permutation = []<typename T>(PrepareContext& c) -> Step {
  return [n = c.attr<int64_t>("n"), source = c.random(c.attr<int64_t>("seed")),
          out = c.out<T>("Out")] {
    const RandomStream stream = source.draw();
    T* to = out.data();
    for (int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(i);
    for (int64_t i = n - 1; i > 0; --i) {
      const std::array<uint32_t, 4> words = stream.at(static_cast<uint64_t>(i));
      const uint64_t wide = static_cast<uint64_t>(words[0]) << 32 | words[1];
      std::swap(to[i], to[wide % static_cast<uint64_t>(i + 1)]);
    }
  };
};

constexpr auto bernoulli = []<typename T>(PrepareContext& c) -> Step {
  return [n = c.shape("X").numel(), draws = Draws{c.random(0)}, in = c.in<T>("X"),
          out = c.out<T>("Out")]() mutable {
    const T* p = in.data();
    T* to = out.data();
    for_words(draws.next(), n,
              [=](int64_t i, uint32_t word) { to[i] = unit_number<T>(word) < p[i] ? T{1} : T{0}; });
  };
};

// The column in which `left` lies where the numbers of a row are lengths side by side.
template <typename T>
int64_t column_at(T left, const T* row, int64_t columns) {
  int64_t column = 0;
  while (column + 1 < columns && left >= row[column]) left -= row[column++];
  return column;
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

void infer_seed(InferContext& c) { c.out("Out") = VarMeta::tensor(i32, {1}); }

// The seed of an operator that draws later: its own, or another one every time.
Step prepare_seed(PrepareContext& c) {
  return [seed = c.attr<int32_t>("seed"), draws = Draws{c.random(0)},
          out = c.out<int32_t>("Out")]() mutable {
    *out.data() = seed != 0 ? seed : static_cast<int32_t>(draws.next().at(0)[0] >> 1);
  };
}

// ---- Definitions --------------------------------------------------------------------------------

const AttrSpec kSeed = {"seed", int32_t{0}, "0: the program's; otherwise every run repeats"};

void define(const std::string& type, const std::string& doc, std::vector<Slot> inputs,
            std::vector<AttrSpec> attrs, void (*infer)(InferContext&),
            std::vector<Kernel> kernels) {
  define_op({.type = type,
             .doc = doc,
             .inputs = std::move(inputs),
             .outputs = {{.name = "Out", .doc = "the numbers"}},
             .attrs = std::move(attrs),
             .infer = infer,
             .kernels = std::move(kernels),
             .dtype_slot = "Out"});
}

// Numbers in the place of `x`, through which no gradient flows.
void define_over(const std::string& type, const std::string& doc, const Slot& x,
                 std::vector<AttrSpec> attrs, void (*infer)(InferContext&),
                 std::vector<Kernel> kernels, GradRule grad = zero_gradient()) {
  define_op(
      {.type = type,
       .doc = doc,
       .inputs = {x},
       .outputs = {{.name = x.name == "X" ? "Out" : "out", .doc = "the numbers", .like = x.name}},
       .attrs = std::move(attrs),
       .infer = infer,
       .grad = std::move(grad),
       .kernels = std::move(kernels)});
}

const Slot kOverwritten = {.name = "X", .doc = "gives the shape", .shape_only = true};

const bool kDefined = [] {
  const std::vector<Slot> shape_slots = with_slots_of({kNewShape});
  const AttrSpec shape = {"shape", std::vector<int64_t>{}, "extents"};
  const AttrSpec short_shape = {"shape", std::vector<int32_t>{}, "extents"};
  const auto like_batch = [](std::vector<AttrSpec> attrs) {
    attrs.insert(attrs.end(), {kInputAxis, kOutputAxis});
    return attrs;
  };

  const std::vector<AttrSpec> spread = {
      {"min", -1.0f, "least value"},
      {"max", 1.0f, "values stay below"},
      kSeed,
      {"diag_num", int32_t{0}, "elements of a diagonal that are set to `diag_val`"},
      {"diag_step", int32_t{0}, "elements from one of them to the next in its row"},
      {"diag_val", 1.0f, "their value"}};
  const auto uniform_attrs = [&](const AttrSpec& extents) {
    std::vector<AttrSpec> attrs = {extents, dtype_spec()};
    attrs.insert(attrs.end(), spread.begin(), spread.end());
    return attrs;
  };
  const std::vector<Kernel> uniform_kernels = kernels_for<float, double>(uniform);
  define("uniform_random", "Numbers spread evenly over [min, max).", shape_slots,
         uniform_attrs(shape), infer_new, uniform_kernels);
  define("uniform_random_batch_size_like",
         "Numbers spread evenly over [min, max), as many rows as Input has.", kBatchInput,
         like_batch(uniform_attrs(short_shape)), infer_batch_like, uniform_kernels);

  const std::vector<AttrSpec> bell = {
      {"mean", 0.0f, "mean of the distribution"}, {"std", 1.0f, "standard deviation"}, kSeed};
  const auto normal_attrs = [&](const AttrSpec& extents) {
    std::vector<AttrSpec> attrs = {extents};
    attrs.insert(attrs.end(), bell.begin(), bell.end());
    attrs.push_back(dtype_spec());
    return attrs;
  };
  const std::vector<Kernel> normal_kernels = kernels_for<float, double>(gaussian);
  define("gaussian_random", "Normally distributed numbers.", shape_slots, normal_attrs(shape),
         infer_new, normal_kernels);
  define("gaussian_random_batch_size_like",
         "Normally distributed numbers, as many rows as Input has.", kBatchInput,
         like_batch(normal_attrs(short_shape)), infer_batch_like, normal_kernels);
  define("truncated_gaussian_random",
         "Normally distributed numbers within two standard deviations of the mean.", {},
         normal_attrs(short_shape), infer_new, kernels_for<float, double>(truncated_gaussian));

  define("randint", "Whole numbers from [low, high).", shape_slots,
         {shape,
          {"low", int32_t{0}, "least value"},
          {"high", int32_t{0}, "values stay below"},
          dtype_spec(3),
          kSeed},
         infer_new, kernels_for<int32_t, int64_t>(integers));
  define("randperm", "The numbers 0, 1, ..., n - 1 in random order.", {},
         {{"n", int32_t{0}, "how many numbers"}, dtype_spec(3), kSeed}, infer_permutation,
         kernels_for<int64_t, int32_t, float, double>(permutation));
  define("seed", "A seed for an operator that takes one.", {}, {kSeed}, infer_seed,
         {{kCpu, i32, prepare_seed}});

  define_over("uniform_random_inplace", "Numbers spread evenly over [min, max), in the place of X.",
              kOverwritten, spread, infer_like_x, uniform_kernels);
  define_over("gaussian_inplace", "Normally distributed numbers, in the place of x.",
              {.name = "x", .doc = "gives the shape", .shape_only = true}, bell, infer_small_like,
              normal_kernels);
  define_over("exponential", "Exponentially distributed numbers, in the place of X.", kOverwritten,
              {{"lambda", 1.0f, "one divided by their mean"}}, infer_like_x,
              kernels_for<float, double>(exponential), custom_grad(exponential_grad));
  define_over("poisson", "How many events happen of which X are expected.",
              {.name = "X", .doc = "rates"}, {}, infer_like_x, kernels_for<float, double>(poisson));
  return true;
}();

const std::vector<Slot> kProbabilities = {{.name = "X", .doc = "probabilities", .no_grad = true}};

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

const OpDef& sampling_id = define_op({
    .type = "sampling_id",
    .doc = "A column of each row of X, drawn by the probabilities there.",
    .inputs = kProbabilities,
    .outputs = {{.name = "Out", .doc = "i64, [rows]"}},
    .attrs = {{"min", 0.0f, "not used"}, {"max", 1.0f, "not used"}, kSeed},
    .infer = infer_choice,
    .kernels = kernels_for<float, double>(choose),
});

const OpDef& bernoulli_op = define_op({
    .type = "bernoulli",
    .doc = "One with the probability in X, zero otherwise.",
    .inputs = kProbabilities,
    .outputs = {{.name = "Out", .doc = "same shape and dtype as X"}},
    .infer = infer_like_x,
    .kernels = kernels_for<float, double>(bernoulli),
});

}  // namespace
}  // namespace flotilla::ops

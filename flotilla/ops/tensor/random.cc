// flotilla/ops/tensor/random.cc
//
// Tensors of random numbers. Element n depends on the stream and n alone (base/random_stream.h), so
// a seed gives the same tensor on any number of threads, and a float64 tensor the numbers of the
// float32 one with more digits.

#include "flotilla/kernel/random.h"

#include <algorithm>

#include "flotilla/device/cpu/parallel.h"
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

// out[i] = f(word i)
template <typename T, typename F>
void generate(const RandomStream& stream, T* out, int64_t n, F f) {
  for_blocks(stream, n, [=](int64_t block, const std::array<uint32_t, 4>& words) {
    const int64_t first = block * 4;
    for (int64_t i = first; i < std::min(first + 4, n); ++i) {
      out[i] = f(words[static_cast<size_t>(i - first)]);
    }
  });
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

// ---- Shapes -------------------------------------------------------------------------------------

void infer_permutation(InferContext& c) {
  const int64_t n = c.attr<int64_t>("n");
  require(n > 0, "randperm needs a positive n, but n is {}", n);
  c.out("Out") = VarMeta::tensor(dtype_attr(c), {n});
}

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
  return [mean = static_cast<T>(c.attr<float>("mean")), std = static_cast<T>(c.attr<float>("std")),
          n = c.shape("Out").numel(), source = c.random(c.attr<int64_t>("seed")),
          out = c.out<T>("Out")] { generate_normal(source.draw(), out.data(), n, mean, std); };
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
  return
      [n = c.shape("X").numel(), source = c.random(0), in = c.in<T>("X"), out = c.out<T>("Out")] {
        const T* p = in.data();
        T* to = out.data();
        for_blocks(source.draw(), n, [=](int64_t block, const std::array<uint32_t, 4>& words) {
          const int64_t first = block * 4;
          for (int64_t i = first; i < std::min(first + 4, n); ++i) {
            to[i] = unit_number<T>(words[static_cast<size_t>(i - first)]) < p[i] ? T{1} : T{0};
          }
        });
      };
};

// One column of each row, as likely as its number says.
constexpr auto choose = []<typename T>(PrepareContext& c) -> Step {
  const int64_t seed = c.attr<int64_t>("seed");
  return [rows = c.shape("X")[0], columns = c.shape("X")[1], source = c.random(seed),
          repeats = seed != 0, runs = uint64_t{0}, x = c.in<T>("X"),
          out = c.out<int64_t>("Out")]() mutable {
    const RandomStream stream = source.draw(repeats ? 0 : runs++);
    for (int64_t r = 0; r < rows; ++r) {
      T left = unit_number<T>(stream.at(static_cast<uint64_t>(r))[0]);
      int64_t column = 0;
      while (column + 1 < columns && left >= x.data()[r * columns + column]) {
        left -= x.data()[r * columns + column++];
      }
      out.data()[r] = column;
    }
  };
};

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

const bool kDefined = [] {
  const std::vector<Slot> shape_slots = with_slots_of({kNewShape});
  const AttrSpec shape = {"shape", std::vector<int64_t>{}, "extents"};
  const AttrSpec short_shape = {"shape", std::vector<int32_t>{}, "extents"};
  const auto like_batch = [](std::vector<AttrSpec> attrs) {
    attrs.insert(attrs.end(), {kInputAxis, kOutputAxis});
    return attrs;
  };

  const auto uniform_attrs = [](const AttrSpec& extents) -> std::vector<AttrSpec> {
    return {extents,
            dtype_spec(),
            {"min", -1.0f, "least value"},
            {"max", 1.0f, "values stay below"},
            kSeed,
            {"diag_num", int32_t{0}, "elements of a diagonal that are set to `diag_val`"},
            {"diag_step", int32_t{0}, "elements from one of them to the next in its row"},
            {"diag_val", 1.0f, "their value"}};
  };
  const std::vector<Kernel> uniform_kernels = kernels_for<float, double>(uniform);
  define("uniform_random", "Numbers spread evenly over [min, max).", shape_slots,
         uniform_attrs(shape), infer_new, uniform_kernels);
  define("uniform_random_batch_size_like",
         "Numbers spread evenly over [min, max), as many rows as Input has.", kBatchInput,
         like_batch(uniform_attrs(short_shape)), infer_batch_like, uniform_kernels);

  const auto normal_attrs = [](const AttrSpec& extents) -> std::vector<AttrSpec> {
    return {extents,
            {"mean", 0.0f, "mean of the distribution"},
            {"std", 1.0f, "standard deviation"},
            kSeed,
            dtype_spec()};
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
  return true;
}();

const std::vector<Slot> kProbabilities = {{.name = "X", .doc = "probabilities", .no_grad = true}};

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

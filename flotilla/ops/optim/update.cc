// flotilla/ops/optim/update.cc
//
// One step of a rule over the parameters of an op; most ops have one. Threads share out the
// elements of all parameters evenly, whatever their sizes; a layerwise rule takes one parameter
// after the other.

#include "flotilla/ops/optim/update.h"

#include <bit>
#include <memory>

#include "flotilla/ops/optim/numbers.h"
#include "flotilla/ops/optim/sparse.h"
#include "flotilla/ops/optim/tensors.h"

namespace flotilla::ops {
namespace {

// What a thread should update at least, in elements.
constexpr int64_t kUpdateGrain = 16384;

constexpr auto kCopy = [](const auto* from, int64_t count, auto* to) {
  std::copy_n(from, count, to);
};

template <typename T>
std::span<T> share(T* data, int64_t begin, int64_t end) {
  return {data + begin, static_cast<size_t>(end - begin)};
}

// Without a gradient.
template <typename T>
update::Part<T> part_of(const Tensors<T>& tensors, int64_t begin, int64_t end) {
  update::Part<T> made = {.param = share(tensors.param(), begin, end)};
  for (size_t s = 0; s < update::kMaxStates; ++s) {
    if (T* state = tensors.state(s)) made.states[s] = share(state, begin, end);
  }
  return made;
}

// A gradient as it is, or a sparse one spread out into workspace.
template <typename T>
class DenseGrad {
 public:
  DenseGrad(PrepareContext& c, const update::Rule& rule, const Layout& layout, size_t i) {
    if (rule.sparse != update::Sparse::kSpread || !c.is_sparse("Grad", i)) {
      dense_ = c.in<T>("Grad", i, layout);
      return;
    }
    sparse_ = c.sparse_in<T>("Grad", i);
    spread_ = c.workspace<T>(sparse_.height * sparse_.width);
  }

  // To be called once in a run, before data().
  void start() const {
    if (dense_) return;
    T* all = spread_.data();
    std::fill_n(all, sparse_.height * sparse_.width, T{0});
    check_rows({sparse_.rows.data(), static_cast<size_t>(sparse_.count)}, sparse_.height);
    for (int64_t i = 0; i < sparse_.count; ++i) {
      const T* from = sparse_.value.data() + i * sparse_.width;
      T* to = all + sparse_.rows.data()[i] * sparse_.width;
      for (int64_t j = 0; j < sparse_.width; ++j) to[j] += from[j];
    }
  }
  const T* data() const { return dense_ ? dense_.data() : spread_.data(); }

 private:
  In<T> dense_;
  SparseIn<T> sparse_ = {};
  Out<T> spread_;
};

// What each op of a rule has: whether it takes place at all.
class Skip {
 public:
  Skip(PrepareContext& c, const update::Rule& rule)
      : skip_(rule.skips && takes(c, "SkipUpdate") ? c.in<bool>("SkipUpdate") : In<bool>()) {}
  bool operator()() const { return skip_ && *skip_.data(); }

 private:
  In<bool> skip_;
};

template <typename T>
class DenseUpdate {
 public:
  DenseUpdate(PrepareContext& c, const update::Rule& rule) : rule_(rule), skip_(c, rule) {
    if (c.op().type().starts_with(kFused)) c.keep_together("Grad");
    for (size_t i = 0; i < c.count("Param"); ++i) {
      const bool spread = rule.sparse == update::Sparse::kSpread && c.is_sparse("Grad", i);
      const Layout layout = spread ? Layout() : c.layout("Param", i);
      NumbersOf<T> numbers(c, rule, i);
      Tensors<T> tensors(c, rule, layout, i);
      DenseGrad<T> grad(c, rule, layout, i);
      const Out<T> work = rule.works ? c.workspace<T>(tensors.size()) : Out<T>();
      begins_.push_back(begins_.back() + tensors.size());
      all_.push_back({std::move(numbers), std::move(tensors), std::move(grad), work, {}});
    }
  }

  void run() {
    for (One& one : all_) {
      one.now = one.numbers.get();
      one.tensors.start(kCopy);
    }
    const bool skips = skip_();
    if (!skips) take_step();
    for (const One& one : all_) one.numbers.advance(one.now, skips);
  }

 private:
  struct One {
    NumbersOf<T> numbers;
    Tensors<T> tensors;
    DenseGrad<T> grad;
    Out<T> work;
    update::Numbers<T> now;  // of this run

    update::Part<T> part(int64_t begin, int64_t end) const {
      update::Part<T> made = part_of(tensors, begin, end);
      made.grad = share(grad.data(), begin, end);
      if (work) made.work = share(work.data(), begin, end);
      return made;
    }
  };

  void take_step() {
    for (const One& one : all_) one.grad.start();
    if (rule_.layerwise()) {
      for (One& one : all_) update_whole(one);
      return;
    }
    const auto step = rule_.steps<T>().step;
    parallel_ranges(begins_.back(), kUpdateGrain, [&](int64_t begin, int64_t end) {
      const auto after = std::upper_bound(begins_.begin(), begins_.end(), begin);
      for (size_t i = static_cast<size_t>(after - begins_.begin()) - 1;
           i < all_.size() && begins_[i] < end; ++i) {
        step(all_[i].part(std::max(begin, begins_[i]) - begins_[i],
                          std::min(end, begins_[i + 1]) - begins_[i]),
             all_[i].now);
      }
    });
  }

  void update_whole(One& one) {
    const update::Steps<T>& steps = rule_.steps<T>();
    const int64_t n = one.tensors.size();
    const auto for_parts = [&](auto step) {
      parallel_ranges(n, kUpdateGrain,
                      [&](int64_t begin, int64_t end) { step(one.part(begin, end), one.now); });
    };
    if (steps.propose != nullptr) for_parts(steps.propose);
    one.now.ratio = steps.measure(one.part(0, n), one.now);
    for_parts(steps.step);
  }

  const update::Rule& rule_;
  Skip skip_;
  std::vector<One> all_;
  std::vector<int64_t> begins_ = {0};  // where each begins in the row of all elements
};

// Repeated rows are added up; rows that are left out stay, or have gradient zero.
template <typename T>
Step merged(PrepareContext& c, const update::Rule& rule) {
  const Skip skip(c, rule);
  const NumbersOf<T> numbers(c, rule, 0);
  const Tensors<T> tensors(c, rule, {}, 0);
  const MergedRows<T> grad(c, "Grad");
  const bool lazy = !rule.lazy.empty() && c.attr<bool>(rule.lazy);
  const bool zeros = rule.sparse == update::Sparse::kZeros && !lazy;
  return [=, step = rule.steps<T>().step] {
    const update::Numbers<T> now = numbers.get();
    tensors.start(kCopy);
    const int64_t width = grad.width();
    const auto row = [&](int64_t at, std::span<const T> g) {
      update::Part<T> part = part_of(tensors, at * width, (at + 1) * width);
      part.grad = g;
      step(part, now);
    };
    const auto gap = [&](int64_t begin, int64_t end) {
      if (zeros) step(part_of(tensors, begin * width, end * width), now);
    };
    const bool skips = skip();
    if (!skips) grad.for_each(row, gap);
    numbers.advance(now, skips);
  };
}

// Threads share out the rows of the parameter by number, so that no two change the same one and
// repeated rows are subtracted in the order they come.
template <typename T>
Step scattered(PrepareContext& c, const update::Rule& rule) {
  const NumbersOf<T> numbers(c, rule, 0);
  const Tensors<T> tensors(c, rule, {}, 0);
  return [=, grad = c.sparse_in<T>("Grad"), scatter = rule.steps<T>().scatter] {
    const int64_t width = grad.width, count = grad.count;
    const std::span<const int64_t> rows(grad.rows.data(), static_cast<size_t>(count));
    check_rows(rows, grad.height);
    const update::Numbers<T> now = numbers.get();
    tensors.start(kCopy);
    // A power of two, so that a row's owner is found without a division.
    const auto parts = static_cast<int64_t>(
        count * width < 2 * kUpdateGrain ? 1 : std::bit_floor(static_cast<uint64_t>(threads())));
    parallel_ranges(parts, 1, [&](int64_t begin, int64_t end) {
      scatter({.param = tensors.param(),
               .grad = grad.value.data(),
               .rows = rows,
               .width = width,
               .mask = parts - 1,
               .begin = begin,
               .end = end},
              now);
    });
    numbers.advance(now, false);
  };
}

template <typename T>
Step prepare(PrepareContext& c) {
  using update::Sparse;
  const update::Rule& rule = rule_of(c.op());
  const bool alone = !rule.lists && !c.op().type().starts_with(kFused);
  if (alone && rule.sparse != Sparse::kRefused && rule.sparse != Sparse::kSpread &&
      c.is_sparse("Grad")) {
    return rule.sparse == Sparse::kScattered ? scattered<T>(c, rule) : merged<T>(c, rule);
  }
  const auto update = std::make_shared<DenseUpdate<T>>(c, rule);
  return [update] { update->run(); };
}

}  // namespace

Step update_single(PrepareContext& c) { return prepare<float>(c); }
Step update_double(PrepareContext& c) { return prepare<double>(c); }

}  // namespace flotilla::ops

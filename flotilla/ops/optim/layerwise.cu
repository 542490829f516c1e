// flotilla/ops/optim/layerwise.cu
//
// Layerwise rules on a GPU, in three launches: what is proposed and the squares of each piece; the
// ratio of each parameter; the step. Squares are added up in double, in an order that depends on
// the sizes alone.

#include <optional>

#include "flotilla/ops/optim/rows.cuh"
#include "flotilla/ops/optim/update.cuh"
#include "flotilla/update/lamb.h"
#include "flotilla/update/lars.h"

namespace flotilla::ops {
namespace {

constexpr int64_t kLayerPiece = 4096;

struct Squares {
  double param = 0;
  double other = 0;
};

// The sum over the threads of a block, in its first thread.
__device__ Squares sum_of_block(Squares own) {
  __shared__ Squares all[kUpdateThreads];
  all[threadIdx.x] = own;
  __syncthreads();
  for (unsigned half = kUpdateThreads / 2; half > 0; half /= 2) {
    if (threadIdx.x < half) {
      all[threadIdx.x].param += all[threadIdx.x + half].param;
      all[threadIdx.x].other += all[threadIdx.x + half].other;
    }
    __syncthreads();
  }
  return all[0];
}

template <typename F, typename T, int kStates, size_t... S>
__device__ T propose_one(const F& f, const Placed<T, kStates>& p, int64_t i,
                         std::index_sequence<S...>) {
  return f.propose(p.param[i], p.grad[i], p.states[S][i]...);
}

template <typename F, bool kProposes, typename T, int kStates, int kMost>
__global__ void __launch_bounds__(kUpdateThreads)
    measure_pieces(const __grid_constant__ ParameterTable<T, kStates, kMost> table,
                   Squares* pieces) {
  if (table.skips()) return;
  const auto& p = table.placed[table.which(blockIdx.x)];
  const int64_t begin = (blockIdx.x - p.first) * table.piece;
  const int64_t end = begin + table.piece < p.size ? begin + table.piece : p.size;
  Squares squares;
  const auto add = [&](double param, double other) {
    squares.param += param * param;
    squares.other += other * other;
  };
  if constexpr (kProposes) {
    const auto f = F::of(table.numbers(p));
    for (int64_t i = begin + threadIdx.x; i < end; i += kUpdateThreads) {
      p.work[i] = propose_one(f, p, i, std::make_index_sequence<kStates>());
      add(p.param[i], p.work[i]);
    }
  } else {
    for (int64_t i = begin + threadIdx.x; i < end; i += kUpdateThreads) add(p.param[i], p.grad[i]);
  }
  squares = sum_of_block(squares);
  if (threadIdx.x == 0) pieces[blockIdx.x] = squares;
}

// A block for each parameter.
template <typename F, typename Table>
__global__ void __launch_bounds__(kUpdateThreads)
    compare_norms(const __grid_constant__ Table table, const Squares* pieces, double* ratios) {
  if (table.skips()) return;
  const auto& p = table.placed[blockIdx.x];
  const int64_t end = p.first + (p.size + table.piece - 1) / table.piece;
  Squares squares;
  for (int64_t i = p.first + threadIdx.x; i < end; i += kUpdateThreads) {
    squares.param += pieces[i].param;
    squares.other += pieces[i].other;
  }
  squares = sum_of_block(squares);
  if (threadIdx.x == 0) {
    ratios[blockIdx.x] = F::ratio(squares.param, squares.other, table.numbers(p));
  }
}

template <typename F, bool kProposes, typename T, int kStates, int kMost>
__global__ void __launch_bounds__(kUpdateThreads)
    step_by_ratio(const __grid_constant__ ParameterTable<T, kStates, kMost> table,
                  const double* ratios) {
  if (table.skips()) return;
  const int which = table.which(blockIdx.x);
  const auto& p = table.placed[which];
  update::Numbers<T> numbers = table.numbers(p);
  numbers.ratio = ratios[which];
  constexpr int kUsed = kProposes ? 0 : kStates;
  change_piece<kUsed>(F::step(numbers), p, kProposes ? p.work : p.grad, blockIdx.x, table.piece);
}

// The sum of a row goes to a dense gradient.
template <typename T>
struct SpreadRow {
  T* to = nullptr;
  int64_t width = 0;

  __device__ bool skips() const { return false; }
  __device__ void operator()(int64_t row, int64_t column, T sum) const {
    to[row * width + column] = sum;
  }
};

// The gradient of an op of one parameter, spread out where it is sparse.
template <typename T>
class SpreadGrad {
 public:
  SpreadGrad() = default;
  explicit SpreadGrad(PrepareContext& c)
      : rows_(c), spread_(c.workspace<T>(rows_->height() * rows_->width())) {}

  // Null where the gradient is dense.
  const T* enqueue(Stream stream) const {
    if (!rows_) return nullptr;
    const int64_t elements = rows_->height() * rows_->width();
    if (elements > 0) {
      cuda::fill(spread_.data(), 0, elements * static_cast<int64_t>(sizeof(T)), stream);
    }
    rows_->sum(stream, SpreadRow<T>{spread_.data(), rows_->width()});
    return spread_.data();
  }

 private:
  std::optional<CudaRows<T>> rows_;
  Out<T> spread_;
};

template <template <typename> class F, bool kProposes, int kStates, int kMost, typename T>
Step layerwise_update(PrepareContext& c) {
  const update::Rule& rule = rule_of(c.op());
  const bool sparse = rule.sparse == update::Sparse::kSpread && c.is_sparse("Grad");
  const CudaParameters<T, kStates, kMost> all(c, rule, kLayerPiece, !sparse);
  const SpreadGrad<T> spread = sparse ? SpreadGrad<T>(c) : SpreadGrad<T>();
  const Out<Squares> squares = c.workspace<Squares>(all.blocks());
  const Out<double> ratios = c.workspace<double>(all.count());
  return [=] {
    all.start();
    const T* grad = spread.enqueue(all.stream());
    Squares* pieces = squares.data();
    all.for_each_table([&](auto table, int64_t first) {
      if (grad != nullptr) table.placed[0].grad = grad;
      if (table.blocks == 0) return;
      const auto blocks = static_cast<unsigned>(table.blocks);
      measure_pieces<F<T>, kProposes><<<blocks, kUpdateThreads, 0, all.queue()>>>(table, pieces);
      compare_norms<F<T>><<<static_cast<unsigned>(table.count), kUpdateThreads, 0, all.queue()>>>(
          table, pieces, ratios.data() + first);
      step_by_ratio<F<T>, kProposes>
          <<<blocks, kUpdateThreads, 0, all.queue()>>>(table, ratios.data() + first);
      cuda::check(cudaGetLastError(), "update {} parameters layer by layer", table.count);
      pieces += table.blocks;
    });
    all.advance();
  };
}

template <template <typename> class F, bool kProposes, int kStates, int kMost>
bool add_layerwise(std::string_view type) {
  return add_kernels(type, {{kCuda, f32, layerwise_update<F, kProposes, kStates, kMost, float>},
                            {kCuda, f64, layerwise_update<F, kProposes, kStates, kMost, double>}});
}

[[maybe_unused]] const bool kAdded =
    add_layerwise<update::LambFormula, true, 2, 1>("lamb") &&
    add_layerwise<update::LarsFormula, false, 1, kMostTogether>("lars_momentum");

}  // namespace
}  // namespace flotilla::ops

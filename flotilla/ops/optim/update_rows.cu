// flotilla/ops/optim/update_rows.cu
//
// Update rules on a GPU that take sparse gradients, too: repeated rows are added up, and rows that
// are left out stay, or have gradient zero.

#include "flotilla/ops/optim/rows.cuh"
#include "flotilla/ops/optim/update.cuh"
#include "flotilla/update/adagrad.h"
#include "flotilla/update/adam.h"
#include "flotilla/update/ftrl.h"
#include "flotilla/update/momentum.h"
#include "flotilla/update/rmsprop.h"
#include "flotilla/update/sgd.h"

namespace flotilla::ops {
namespace {

// Takes the sum of a row and makes a step with it.
template <typename F, typename T, int kStates>
struct RowStep {
  ParameterTable<T, kStates, 1> table;
  int64_t width = 0;

  __device__ bool skips() const { return table.skips(); }
  __device__ void operator()(int64_t row, int64_t column, T sum) const {
    const auto& p = table.placed[0];
    change<1, kStates>(F::of(table.numbers(p)), p, row * width + column, cuda::Pack<T, 1>{{sum}});
  }
};

__global__ void mark_rows(const int64_t* rows, int64_t count, int64_t height, uint8_t* marks) {
  const int64_t i = int64_t{blockIdx.x} * kRowThreads + threadIdx.x;
  if (i < count && 0 <= rows[i] && rows[i] < height) marks[rows[i]] = 1;
}

// A step with gradient zero for the elements of all rows without a mark.
template <typename Sink>
__global__ void __launch_bounds__(kRowThreads)
    step_elsewhere(const __grid_constant__ Sink step, const uint8_t* marks, int64_t elements) {
  if (step.skips()) return;
  const int64_t i = int64_t{blockIdx.x} * kRowThreads + threadIdx.x;
  if (i >= elements) return;
  const int64_t row = elements <= UINT32_MAX
                          ? static_cast<uint32_t>(i) / static_cast<uint32_t>(step.width)
                          : i / step.width;
  if (marks[row] == 0) step(row, i - row * step.width, 0);
}

unsigned blocks_for(int64_t threads) {
  return static_cast<unsigned>((threads + kRowThreads - 1) / kRowThreads);
}

template <template <typename> class F, int kStates, typename T>
Step sparse_update(PrepareContext& c, const update::Rule& rule) {
  const CudaParameters<T, kStates, 1> param(c, rule, 1024, false);
  const CudaRows<T> grad(c);
  const bool lazy = !rule.lazy.empty() && c.attr<bool>(rule.lazy);
  const bool zeros = rule.sparse == update::Sparse::kZeros && !lazy;
  const Out<uint8_t> marks = zeros ? c.workspace<uint8_t>(grad.height()) : Out<uint8_t>();
  return [=] {
    param.start();
    param.for_each_table([&](const auto& table, int64_t) {
      const RowStep<F<T>, T, kStates> step = {table, grad.width()};
      grad.sum(param.stream(), step);
      const int64_t elements = grad.height() * grad.width();
      if (!zeros || elements == 0) return;
      cuda::fill(marks.data(), 0, grad.height(), param.stream());
      if (grad.count() > 0) {
        mark_rows<<<blocks_for(grad.count()), kRowThreads, 0, param.queue()>>>(
            grad.numbers(), grad.count(), grad.height(), marks.data());
        cuda::check(cudaGetLastError(), "mark {} rows", grad.count());
      }
      step_elsewhere<<<blocks_for(elements), kRowThreads, 0, param.queue()>>>(step, marks.data(),
                                                                              elements);
      cuda::check(cudaGetLastError(), "update the rows without a gradient");
    });
    param.advance();
  };
}

template <template <typename> class F, int kStates, typename T>
Step update_either(PrepareContext& c) {
  return c.is_sparse("Grad") ? sparse_update<F, kStates, T>(c, rule_of(c.op()))
                             : cuda_dense_update<F, kStates, 1, T>(c);
}

template <template <typename> class F, int kStates>
bool add_either(std::string_view type) {
  return add_kernels(type, {{kCuda, f32, update_either<F, kStates, float>},
                            {kCuda, f64, update_either<F, kStates, double>}});
}

[[maybe_unused]] const bool kAdded =
    add_either<update::SgdFormula, 0>("sgd") &&
    add_either<update::MomentumFormula, 1>("momentum") &&
    add_either<update::AdamFormula, 2>("adam") && add_either<update::AdamwFormula, 2>("adamw") &&
    add_either<update::AdagradFormula, 1>("adagrad") &&
    add_either<update::RmspropFormula, 3>("rmsprop") && add_either<update::FtrlFormula, 2>("ftrl");

}  // namespace
}  // namespace flotilla::ops

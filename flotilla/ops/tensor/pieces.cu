// flotilla/ops/tensor/pieces.cu
//
// Tensors that are joined and cut on a GPU: concat, split, stack, unstack, unbind.

#include "flotilla/device/cuda/strided.h"
#include "flotilla/device/gpu.h"
#include "flotilla/ops/common/gpu_kernels.h"
#include "flotilla/ops/tensor/pieces.h"

namespace flotilla::ops {
namespace {

// The pieces at their addresses, for one run.
template <typename Handle>
std::vector<cuda::RowPiece> at_addresses(const Cut& cut, const std::vector<Handle>& handles) {
  std::vector<cuda::RowPiece> pieces;
  for (size_t i = 0; i < handles.size(); ++i) {
    void* data = nullptr;
    if (handles[i]) data = const_cast<char*>(handles[i].data());
    pieces.push_back({data, cut.widths[i]});
  }
  return pieces;
}

Step join_on_gpu(PrepareContext& c, std::string_view pieces, std::string_view whole,
                 const Cut& cut) {
  std::vector<In<char>> from;
  for (size_t i = 0; i < cut.widths.size(); ++i) {
    from.push_back(c.has(pieces, i) ? c.in_bytes(pieces, i) : In<char>());
  }
  return [cut, from = std::move(from), to = c.out_bytes(whole), stream = c.around().stream,
          processors = c.around().gpu->info().processors] {
    cuda::join_pieces(stream, processors, cut.rows, at_addresses(cut, from), to.data());
  };
}

Step cut_up_on_gpu(PrepareContext& c, std::string_view whole, std::string_view pieces,
                   const Cut& cut) {
  std::vector<Out<char>> to;
  for (size_t i = 0; i < cut.widths.size(); ++i) {
    to.push_back(c.has(pieces, i) ? c.out_bytes(pieces, i) : Out<char>());
  }
  return [cut, from = c.in_bytes(whole), to = std::move(to), stream = c.around().stream,
          processors = c.around().gpu->info().processors] {
    cuda::cut_pieces(stream, processors, cut.rows, at_addresses(cut, to), from.data());
  };
}

[[maybe_unused]] const bool kFilled = [] {
  gpu_pieces = {.join = join_on_gpu, .cut_up = cut_up_on_gpu};
  return true;
}();

[[maybe_unused]] const bool kPieces = add_every_dtype_as_on_cpu(
    {"concat", "concat_grad", "split", "stack", "stack_grad", "unstack", "unstack_grad", "unbind"});

}  // namespace
}  // namespace flotilla::ops

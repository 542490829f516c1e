// flotilla/ops/collective/all_gather_rows.cc
//
// all_gather_rows: sparse gradients of all processes, the rows of one rank behind those of the one
// before. Added up, that is the sum of the gradients. Ranks may have different numbers of rows.

#include <algorithm>
#include <numeric>

#include "flotilla/ops/common/channel.h"
#include "flotilla/ops/common/move.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  require(c.in("X").kind == VarKind::kSelectedRows,
          "all_gather_rows takes sparse rows, but X is a {} of shape {}", name_of(c.in("X").kind),
          c.in("X").shape);
  c.out("Out") = c.in("X");
  c.out("Out").rows = -1;  // the others know theirs
}

// What every rank gives goes behind what the ranks before it gave.
void gather(comm::Group& group, const std::vector<int64_t>& counts, int64_t width, DType dtype,
            const void* from, void* to) {
  const int64_t row_bytes = width * size_of(dtype);
  const size_t me = static_cast<size_t>(group.rank());
  if (std::all_of(counts.begin(), counts.end(), [&](int64_t n) { return n == counts[me]; })) {
    return group.all_gather(from, to, counts[me] * width, dtype);
  }
  char* part = static_cast<char*>(to);
  for (size_t r = 0; r < counts.size(); ++r) {
    if (r == me) copy_bytes(part, from, counts[r] * row_bytes);
    group.broadcast(part, counts[r] * width, dtype, static_cast<int>(r));
    part += counts[r] * row_bytes;
  }
}

constexpr auto prepare = []<typename T>(PrepareContext& c) -> Step {
  const Channel channel(c);
  return [channel, x = c.sparse_in<T>("X"), out = c.dynamic_sparse_out<T>("Out"),
          counts = std::vector<int64_t>()]() mutable {
    const int64_t row_bytes = x.width * static_cast<int64_t>(sizeof(T));
    if (channel.alone()) {
      out.resize(x.count);
      copy_bytes(out.rows(), x.rows.data(), x.count * static_cast<int64_t>(sizeof(int64_t)));
      return copy_bytes(out.value(), x.value.data(), x.count * row_bytes);
    }
    channel.run([&](comm::Group& group) {
      counts.resize(static_cast<size_t>(group.size()));
      group.all_gather(&x.count, counts.data(), 1, i64);
      out.resize(std::accumulate(counts.begin(), counts.end(), int64_t{0}));
      gather(group, counts, 1, i64, x.rows.data(), out.rows());
      gather(group, counts, x.width, dtype_of<T>, x.value.data(), out.value());
    });
  };
};

const OpDef& all_gather_rows = define_op({
    .type = "all_gather_rows",
    .doc = "Out holds the sparse rows of all processes, in the order of ranks.",
    .inputs = {{.name = "X", .doc = "sparse rows"}},
    .outputs = {{.name = "Out", .doc = "sparse rows; may be X"}},
    .attrs = {kRingId, kUseCalcStream},
    .infer = infer,
    .kernels = kernels_for<float, double>(prepare),
    .side_effect = true,
});

}  // namespace
}  // namespace flotilla::ops

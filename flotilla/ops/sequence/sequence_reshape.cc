// sequence_reshape: rows of `new_dim` elements; sequences stay together.

#include "flotilla/ops/common/move.h"
#include "flotilla/ops/common/sequences.h"

namespace flotilla::ops {
namespace {

void infer_reshape(InferContext& c) {
  check_sequences(c, "X");
  const VarMeta& x = c.in("X");
  const int64_t width = c.attr<int64_t>("new_dim");
  require(x.shape.rank() == 2, "X must be a matrix, but has shape {}", x.shape);
  require(width > 0, "new_dim must be positive, but is {}", width);
  const int64_t numbers = x.shape.numel();
  require(numbers < 0 || numbers % width == 0,
          "the {} elements of X cannot be cut into rows of new_dim {}", numbers, width);
  c.out("Out") = cut_anew(x, Shape{numbers < 0 ? -1 : numbers / width, width});
}

constexpr auto reshape = []<typename T>(PrepareContext& c) -> Step {
  return [copy = pass_through(c, "X", "Out"), before = c.shape("X")[1], after = c.shape("Out")[1],
          sequences = Sequences(c, "X"), lod = c.lod_out("Out")] {
    LoD made = sequences.emptied();
    sequences.for_each([&](int64_t s, int64_t begin, int64_t end) {
      const int64_t numbers = (end - begin) * before;
      require(numbers % after == 0,
              "sequence {} of {} elements cannot be cut into rows of new_dim {}", s, numbers,
              after);
      made.back().push_back(made.back().back() + numbers / after);
    });
    copy();
    lod.set(std::move(made));
  };
};

const OpDef& sequence_reshape = define_op({
    .type = "sequence_reshape",
    .doc = "Cuts sequences into rows of another width.",
    .inputs = {{.name = "X", .doc = "matrix with a LoD"}},
    .outputs = {{.name = "Out", .doc = "the same elements in rows of new_dim"}},
    .attrs = {{"new_dim", 0, "elements in a row"}},
    .infer = infer_reshape,
    .grad = grad_op({shape_of("X")},
                    {.kernels = kernels_for<float, double>([]<typename T>(PrepareContext& c) {
                       return pass_through(c, "Out@GRAD", "X@GRAD");
                     })}),
    .kernels = kernels_for<float, double, int32_t, int64_t>(reshape),
});

}  // namespace
}  // namespace flotilla::ops

// flotilla/ops/tensor/multiplex.cc
//
// multiplex: row i of Out is row i of the Ids[i]-th input.

#include <algorithm>
#include <vector>

#include "flotilla/ops/common/known_value.h"
#include "flotilla/ops/common/labels.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

// Each row of `slot` needs a number.
void check_ids(const InferContext& c, const char* slot) {
  check_labels(c, "Ids");
  const Shape &ids = c.in("Ids").shape, &rows = c.in(slot).shape;
  require(rows.rank() >= 2, "{} must have rows, but has shape {}", slot, rows);
  require(ids.numel() < 0 || rows[0] < 0 || ids.numel() == rows[0],
          "Ids must hold a number for each of {} rows, but has shape {}", rows[0], ids);
}

void infer(InferContext& c) {
  const VarMeta& first = c.in("X");
  require(c.in_count("X") > 1, "multiplex chooses from several inputs, but there is one");
  check_ids(c, "X");
  for (size_t i = 1; i < c.in_count("X"); ++i) {
    require(c.in("X", i).shape == first.shape, "all inputs must have shape {}, but input {} has {}",
            first.shape, i, c.in("X", i).shape);
  }
  c.out("Out") = like(first);
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& shape = c.shape("X");
  std::vector<In<T>> inputs;
  for (size_t i = 0; i < c.count("X"); ++i) inputs.push_back(c.in<T>("X", i));
  return [inputs, rows = shape[0], width = shape.numel(1, shape.rank()), ids = LabelsIn(c, "Ids"),
          out = c.out<T>("Out")] {
    const int64_t count = std::ssize(inputs);
    for (int64_t r = 0; r < rows; ++r) {
      require(0 <= ids[r] && ids[r] < count, "row {} asks for input {}, but there are {}", r,
              ids[r], count);
      const In<T>& from = inputs[static_cast<size_t>(ids[r])];
      std::copy_n(from.data() + r * width, width, out.data() + r * width);
    }
  };
};

void infer_grad(InferContext& c) {
  check_ids(c, "Out@GRAD");
  for (size_t i = 0; i < c.out_count("X@GRAD"); ++i) c.out("X@GRAD", i) = like(c.in("Out@GRAD"));
}

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& shape = c.shape("Out@GRAD");
  std::vector<Out<T>> grads;
  for (size_t i = 0; i < c.count("X@GRAD"); ++i) {
    grads.push_back(c.has("X@GRAD", i) ? c.out<T>("X@GRAD", i) : Out<T>());
  }
  return [grads, rows = shape[0], width = shape.numel(1, shape.rank()), ids = LabelsIn(c, "Ids"),
          dout = c.in<T>("Out@GRAD")] {
    for (size_t i = 0; i < grads.size(); ++i) {
      if (!grads[i]) continue;
      for (int64_t r = 0; r < rows; ++r) {
        T* to = grads[i].data() + r * width;
        if (ids[r] == static_cast<int64_t>(i)) {
          std::copy_n(dout.data() + r * width, width, to);
        } else {
          std::fill_n(to, width, T{0});
        }
      }
    }
  };
};

const OpDef& multiplex = define_op({
    .type = "multiplex",
    .doc = "Rows, each from the input that Ids names.",
    .inputs = {{.name = "Ids", .doc = "i32 or i64: an input for each row", .no_grad = true},
               {.name = "X", .doc = "tensors of one shape", .list = true}},
    .outputs = {{.name = "Out", .doc = "of that shape"}},
    .infer = infer,
    .grad = grad_op({"Ids", "X"}, {.kernels = kernels_for<float, double>(backward),
                                   .infer = infer_grad,
                                   // Paddle 1.8 leaves them out.
                                   .inputs = {several(unread("X", "inputs of the op"))}}),
    .kernels = kernels_for<float, double, int32_t, int64_t>(forward),
    .dtype_slot = "X",
});

}  // namespace
}  // namespace flotilla::ops

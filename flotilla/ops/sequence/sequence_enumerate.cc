// flotilla/ops/sequence/sequence_enumerate.cc
//
// sequence_enumerate: each number of a sequence with the `win_size` - 1 behind it; `pad_value`
// stands for those behind the end.

#include "flotilla/ops/common/labels.h"
#include "flotilla/ops/common/sequences.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_sequences(c, "X");
  check_labels(c, "X");
  const Shape& x = c.in("X").shape;
  const int64_t window = c.attr<int64_t>("win_size");
  require(x.rank() == 1 || (x.rank() == 2 && x[1] == 1),
          "sequence_enumerate takes a column of numbers, but X has shape {}", x);
  require(window >= 2, "win_size must be at least 2, but is {}", window);
  c.out("Out") = like(c.in("X"), Shape{x[0], window});
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [window = c.attr<int64_t>("win_size"), pad = static_cast<T>(c.attr<int64_t>("pad_value")),
          sequences = Sequences(c, "X"), x = c.in<T>("X"), out = c.out<T>("Out")] {
    sequences.for_each([&](int64_t, int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        for (int64_t k = 0; k < window; ++k) {
          out.data()[row * window + k] = row + k < end ? x.data()[row + k] : pad;
        }
      }
    });
  };
};

const OpDef& sequence_enumerate = define_op({
    .type = "sequence_enumerate",
    .doc = "All windows of sequences of numbers.",
    .inputs = {constant("X", "i32 or i64 with a LoD")},
    .outputs = {{.name = "Out", .doc = "[rows, win_size]"}},
    .attrs = {{"win_size", 2, "numbers in a window"},
              {"pad_value", 0, "value after the end of a sequence"}},
    .infer = infer,
    .kernels = kernels_for<int32_t, int64_t>(forward),
});

}  // namespace
}  // namespace flotilla::ops

// flotilla/ops/nn/data_norm.cc
//
// data_norm: columns scaled by what all batches so far summed up, not by this batch.
//
//   Means = BatchSum / BatchSize, Scales = sqrt(BatchSize / BatchSquareSum)
//   Y = (X - Means) * Scales           and, with enable_scale_and_shift, * scale_w + bias
//
// slot_dim > 0 cuts a row into slots whose first number counts how often something was shown: a
// slot that was never shown gives zeros and adds nothing to the summaries.
//
// The "gradients" of the three summaries are what a batch adds to them: the number of its rows,
// their sum and the sum of squared distances from Means. With slots they are divided by the number
// of rows, as parameter servers expect, which add them to decayed summaries.

#include "flotilla/op/lower.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

// The columns of X, for each of which these inputs must have a number where they are there.
int64_t check_columns(const InferContext& c, std::initializer_list<const char*> slots) {
  const Shape& x = c.in("X").shape;
  require(x.rank() == 2, "X must have rank 2, but has shape {}", x);
  for (const char* slot : slots) {
    if (!c.has_in(slot)) continue;
    const Shape& shape = c.in(slot).shape;
    require(shape == Shape{x[1]} || x[1] < 0,
            "{} must hold a number for each of the {} columns of X, but has shape {}", slot, x[1],
            shape);
  }
  return x[1];
}

void infer(InferContext& c) {
  const int64_t columns =
      check_columns(c, {"BatchSize", "BatchSum", "BatchSquareSum", "scale_w", "bias"});
  const int64_t slot = c.attr<int64_t>("slot_dim");
  require(slot <= 0 || columns % slot == 0,
          "the {} columns of X cannot be cut into slots of slot_dim {}", columns, slot);
  const float epsilon = c.attr<float>("epsilon");
  require(0 <= epsilon && epsilon <= 1e-3f, "epsilon must lie in [0, 0.001], but is {}", epsilon);
  require(!c.attr<bool>("enable_scale_and_shift") || (c.has_in("scale_w") && c.has_in("bias")),
          "enable_scale_and_shift needs scale_w and bias");
  c.out("Y") = like(c.in("X"));
  c.out("Means") = c.out("Scales") = VarMeta::tensor(c.dtype("X"), Shape{columns});
}

// X, and what is worked out for each element of it, without what was never shown.
class Shown {
 public:
  explicit Shown(LowerContext& c) : c_(c), slot_(c.attr<int32_t>("slot_dim")) {
    if (slot_ <= 0) return;
    const std::string first = c.slice(in_slots(c.in("X")), 2, 0, 1);
    const std::string least = c.append("fill_constant", {},
                                       {{"shape", std::vector<int64_t>{1}},
                                        {"value", 1e-7f},
                                        {"dtype", to_paddle(c.var(first).dtype)}});
    counts_ = c.cast(c.apply("greater_equal", c.apply("abs", first), least), c.var(first).dtype);
  }

  // `elements` with zeros in slots that were never shown.
  std::string of(const std::string& elements) const {
    if (slot_ <= 0) return elements;
    return c_.flatten(c_.mul(in_slots(elements), counts_), 1, 2);
  }
  // Their sum, column by column.
  std::string sum(const std::string& elements) const { return c_.sum(of(elements), {0}); }

 private:
  // [rows, slots, numbers of a slot]
  std::string in_slots(const std::string& elements) const {
    const auto columns = static_cast<int32_t>(c_.shape("X")[1]);
    return c_.reshape(elements, {-1, columns / slot_, slot_});
  }

  LowerContext& c_;
  int32_t slot_;
  std::string counts_ = {};  // [rows, slots, 1]: one or zero
};

void lower(LowerContext& c) {
  const std::string means = c.div(c.in("BatchSum"), c.in("BatchSize"));
  const std::string scales = c.apply("sqrt", c.div(c.in("BatchSize"), c.in("BatchSquareSum")));
  std::string y = c.mul(c.sub(c.in("X"), means), scales);
  if (c.attr<bool>("enable_scale_and_shift")) {
    y = c.add(c.mul(y, c.in("scale_w")), c.in("bias"));
  }
  c.result("Means", means);
  c.result("Scales", scales);
  c.result("Y", Shown(c).of(y));
}

void infer_grad(InferContext& c) {
  const int64_t columns = check_columns(c, {"Means", "Scales", "scale_w"});
  c.out("X@GRAD") = like(c.in("X"));
  for (const char* name : {"BatchSize", "BatchSum", "BatchSquareSum", "scale_w", "bias"}) {
    c.out(grad_name(name)) = VarMeta::tensor(c.dtype("X"), Shape{columns});
  }
}

// What a batch adds to the summaries; `off` is X - Means.
void lower_summaries(LowerContext& c, const Shown& shown, const std::string& off) {
  const std::string rows = shown.sum(c.apply("fill_any_like", c.in("X"), {{"value", 1.0f}}));
  std::string size = rows, sum = shown.sum(c.in("X")), square = shown.sum(c.apply("square", off));
  if (c.attr<int64_t>("slot_dim") > 0) {
    const std::string divisor = c.clip(rows, 1, 3e38f);
    size = c.apply("sign", rows);
    sum = c.div(sum, divisor);
    square = c.div(square, divisor);
  }
  const std::string least = c.scale(rows, c.attr<float>("epsilon"));
  c.result("BatchSize@GRAD", size);
  c.result("BatchSum@GRAD", sum);
  c.result("BatchSquareSum@GRAD", c.add(square, least));
}

// dX = dY * Scales, times scale_w where there is one. As in Paddle, only then do slots that were
// never shown get none.
void lower_grad(LowerContext& c) {
  const Shown shown(c);
  const std::string &dy = c.in("Y@GRAD"), &scales = c.in("Scales");
  const std::string off = c.sub(c.in("X"), c.in("Means"));
  const bool shifts = c.attr<bool>("enable_scale_and_shift");
  const std::string dx = c.mul(dy, scales);
  c.result("X@GRAD", shifts ? shown.of(c.mul(dx, c.in("scale_w"))) : dx);
  lower_summaries(c, shown, off);
  if (c.wants("scale_w@GRAD")) c.result("scale_w@GRAD", shown.sum(c.mul(dx, off)));
  if (c.wants("bias@GRAD")) c.result("bias@GRAD", shown.sum(dy));
}

const OpDef& data_norm = define_op({
    .type = "data_norm",
    .doc = "Scales columns by the mean and deviation of all batches so far.",
    .inputs = {{.name = "scale_w", .doc = "a factor for each column", .optional = true},
               {.name = "bias", .doc = "what is added to each column", .optional = true},
               {.name = "X", .doc = "[rows, columns]"},
               {.name = "BatchSize", .doc = "number of rows so far"},
               {.name = "BatchSum", .doc = "their sum"},
               {.name = "BatchSquareSum", .doc = "of their squares"}},
    .outputs = {{.name = "Y", .doc = "same shape as X", .like = "X"},
                {.name = "Means", .doc = "of each column", .no_grad = true},
                {.name = "Scales", .doc = "one over the deviation", .no_grad = true}},
    .attrs = {{"epsilon", 1e-4f, "added for each row to the sum of squares"},
              {"slot_dim", -1, "width of a slot; below 1: none"},
              {"summary_decay_rate", 0.9999999f, "for those who add up summaries"},
              {"enable_scale_and_shift", false, "whether scale_w and bias are used"},
              {"data_layout", "NCHW", "ignored: rows are samples"},
              {"sync_stats", false, "ignored: workers exchange summaries like parameters"},
              {"use_mkldnn", false, "ignored"}},
    .infer = infer,
    .grad = grad_op(
        {"scale_w", "bias", "X", "BatchSize", "BatchSum", "BatchSquareSum", "Means", "Scales"},
        {.lower = lower_grad,
         .infer = infer_grad,
         // Real Paddle's gradient op has no summaries.
         .inputs = {unread("BatchSize"), unread("BatchSum"), unread("BatchSquareSum")}}),
    .lower = lower,
    .dtype_slot = "X",
});

}  // namespace
}  // namespace flotilla::ops

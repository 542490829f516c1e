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
    const std::string first = c.append("slice", {{"Input", {in_slots(c.in("X"))}}},
                                       {{"axes", Ints{2}}, {"starts", Ints{0}}, {"ends", Ints{1}}});
    const std::string least = c.append("fill_constant", {},
                                       {{"shape", std::vector<int64_t>{1}},
                                        {"value", 1e-7f},
                                        {"dtype", to_paddle(c.var(first).dtype)}});
    counts_ =
        c.apply("cast", c.apply("greater_equal", c.apply("abs", first), least),
                {{"in_dtype", to_paddle(boolean)}, {"out_dtype", to_paddle(c.var(first).dtype)}});
  }

  // `elements` with zeros in slots that were never shown.
  std::string of(const std::string& elements) const {
    if (slot_ <= 0) return elements;
    const std::string kept = c_.apply("elementwise_mul", in_slots(elements), counts_);
    return c_.apply("flatten_contiguous_range", kept, {{"start_axis", 1}, {"stop_axis", 2}});
  }
  // Their sum, column by column.
  std::string sum(const std::string& elements) const {
    return c_.apply("reduce_sum", of(elements), {{"dim", Ints{0}}});
  }

 private:
  using Ints = std::vector<int32_t>;

  // [rows, slots, numbers of a slot]
  std::string in_slots(const std::string& elements) const {
    const auto columns = static_cast<int32_t>(c_.shape("X")[1]);
    return c_.apply("reshape2", elements, {{"shape", Ints{-1, columns / slot_, slot_}}});
  }

  LowerContext& c_;
  int32_t slot_;
  std::string counts_ = {};  // [rows, slots, 1]: one or zero
};

std::string times(LowerContext& c, const std::string& x, const std::string& y) {
  return c.apply("elementwise_mul", x, y);
}

void lower(LowerContext& c) {
  const std::string means = c.apply("elementwise_div", c.in("BatchSum"), c.in("BatchSize"));
  const std::string scales =
      c.apply("sqrt", c.apply("elementwise_div", c.in("BatchSize"), c.in("BatchSquareSum")));
  std::string y = times(c, c.apply("elementwise_sub", c.in("X"), means), scales);
  if (c.attr<bool>("enable_scale_and_shift")) {
    y = c.apply("elementwise_add", times(c, y, c.in("scale_w")), c.in("bias"));
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
    const std::string divisor = c.apply("clip", rows, {{"min", 1.0f}, {"max", 3e38f}});
    size = c.apply("sign", rows);
    sum = c.apply("elementwise_div", sum, divisor);
    square = c.apply("elementwise_div", square, divisor);
  }
  const std::string least = c.apply("scale", rows, {{"scale", c.attr<float>("epsilon")}});
  c.result("BatchSize@GRAD", size);
  c.result("BatchSum@GRAD", sum);
  c.result("BatchSquareSum@GRAD", c.apply("elementwise_add", square, least));
}

// dX = dY * Scales, times scale_w where there is one. As in Paddle, only then do slots that were
// never shown get none.
void lower_grad(LowerContext& c) {
  const Shown shown(c);
  const std::string &dy = c.in("Y@GRAD"), &scales = c.in("Scales");
  const std::string off = c.apply("elementwise_sub", c.in("X"), c.in("Means"));
  const bool shifts = c.attr<bool>("enable_scale_and_shift");
  const std::string dx = times(c, dy, scales);
  c.result("X@GRAD", shifts ? shown.of(times(c, dx, c.in("scale_w"))) : dx);
  lower_summaries(c, shown, off);
  if (c.wants("scale_w@GRAD")) c.result("scale_w@GRAD", shown.sum(times(c, dx, off)));
  if (c.wants("bias@GRAD")) c.result("bias@GRAD", shown.sum(dy));
}

// Real Paddle's gradient op has no summaries.
Slot left_out(std::string summary) {
  return {.name = std::move(summary), .doc = "as before", .optional = true, .shape_only = true};
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
         .inputs = {left_out("BatchSize"), left_out("BatchSum"), left_out("BatchSquareSum")}}),
    .lower = lower,
    .dtype_slot = "X",
});

}  // namespace
}  // namespace flotilla::ops

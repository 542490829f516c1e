#include "flotilla/layers/functions.h"

#include "flotilla/layers/indexing.h"

namespace flotilla::layers {

Variable reshape(Variable x, const std::vector<int64_t>& shape, const std::string& act) {
  return op("reshape2", {{"X", x}}, {{"shape", shape}}, {.act = act, .outputs = {"Out", "XShape"}});
}

Variable cast(Variable x, DType dtype) {
  return op("cast", {{"X", x}},
            {{"in_dtype", to_paddle(x.dtype())}, {"out_dtype", to_paddle(dtype)}});
}

Variable full(const std::vector<Operand>& shape, double value, DType dtype) {
  const ShapeArgument extents = shape_argument(shape);
  return op("fill_constant", {{"ShapeTensorList", extents.tensors}},
            {{"shape", extents.extents},
             {"dtype", to_paddle(dtype)},
             {"value", static_cast<float>(value)},
             {"str_value", fmt::format("{}", value)}},
            {.stop_gradient = true});
}

Variable elementwise(const std::string& type, Variable x, Variable y,
                     const ElementwiseOptions& options) {
  return op(type, {{"X", x}, {"Y", y}}, {{"axis", options.axis}},
            {.name = options.name, .act = options.act});
}

Variable reduce(const std::string& type, Variable x, const ReduceOptions& options) {
  const int64_t rank = x.shape().rank();
  std::vector<int64_t> axes;
  axes.reserve(options.axes.size());
  for (const int64_t axis : options.axes) axes.push_back(x.shape().axis(axis));
  const bool all = axes.empty() || static_cast<int64_t>(axes.size()) == rank;
  // 2.x knows tensors without axes, of which there is no axis 0; 1.8 refuses an empty list.
  if (axes.empty() && options.v1) axes = {0};
  const std::vector<int32_t> dim(axes.begin(), axes.end());
  Variable out =
      op(type, {{"X", x}}, {{"dim", dim}, {"keep_dim", options.keep_dim}, {"reduce_all", all}},
         {.name = options.name, .layer = options.layer});
  // Those of reduce_all and reduce_any are longs in 2.x only.
  if (options.v1) out->block->ops().back()->set_attr("dim", dim);
  return out;
}

Variable continuous_value_model(Variable x, bool use_cvm) {
  const auto columns = [](Variable from, int64_t begin, int64_t end = Index::kEnd) {
    return index(from, {all(), range(begin, end)});
  };
  if (!use_cvm) return columns(x, 2);
  const Variable counts = op("log1p", {{"X", columns(x, 0, 2)}}, {}, {.stop_gradient = true});
  const Variable shown = columns(counts, 0, 1), clicked = columns(counts, 1, 2);
  return concat({shown, clicked - shown, columns(x, 2)}, 1);
}

Variable autoincreased_step_counter(const std::string& name, int64_t begin, int64_t step) {
  Block& block = context().main->global_block();
  if (block.find_var(name) == nullptr) {
    create_global_var({1}, static_cast<double>(begin - 1), i64, true, name);
    // In front of all others.
    insert_op(block, 0, "increment", {{"X", {name}}}, {{"Out", {name}}},
              {{"step", static_cast<float>(step)}});
  }
  return block.var(name);
}

Variable cross_entropy(Variable x, Variable label, const CrossEntropyOptions& options) {
  const Inputs inputs = {{"X", x}, {"Label", label}};
  if (options.soft_label) {
    return op("cross_entropy", inputs,
              {{"soft_label", true}, {"ignore_index", options.ignore_index}}, {.outputs = {"Y"}});
  }
  return op("cross_entropy2", inputs, {{"ignore_index", options.ignore_index}},
            {.outputs = {"Y", "XShape", "MatchX"}});
}

LossAndSoftmax softmax_with_cross_entropy(Variable logits, Variable label,
                                          const SoftmaxWithCrossEntropyOptions& options) {
  const Variables made =
      op_outputs("softmax_with_cross_entropy", {{"Logits", logits}, {"Label", label}},
                 {{"soft_label", options.soft_label},
                  {"ignore_index", options.ignore_index},
                  {"numeric_stable_mode", options.numeric_stable_mode},
                  {"axis", options.axis},
                  {"use_softmax", options.use_softmax}});
  return {.loss = made[1], .probabilities = made[0]};
}

Variable square_error_cost(Variable x, Variable label) {
  LayerHelper helper("square_error_cost");
  Var& difference =
      helper.result("elementwise_sub", {{"X", {x.name()}}, {"Y", {label.name()}}}, {{"axis", -1}});
  return helper.result("square", {{"X", {difference.name}}});
}

Variable accuracy(Variable x, Variable label, const AccuracyOptions& options) {
  LayerHelper helper("accuracy", options.name);
  LayerHelper own = options.top_k == "top_k" ? LayerHelper("top_k") : helper;
  const std::string values = own.temporary(), indices = own.temporary();
  Attrs attrs = {{"k", options.k}};
  if (options.top_k != "top_k") attrs["sorted"] = false;
  helper.append(options.top_k, {{"X", {x.name()}}}, {{"Out", {values}}, {"Indices", {indices}}},
                std::move(attrs));
  const std::string rate = helper.temporary();
  const std::string correct = options.correct.empty() ? helper.temporary() : options.correct;
  const std::string total = options.total.empty() ? helper.temporary() : options.total;
  helper.append("accuracy", {{"Out", {values}}, {"Indices", {indices}}, {"Label", {label.name()}}},
                {{"Accuracy", {rate}}, {"Correct", {correct}}, {"Total", {total}}});
  return helper.block().var(rate);
}

Auc auc(Variable x, Variable label, const AucOptions& options) {
  LayerHelper helper("auc");
  const std::string all = helper.temporary(), batch = helper.temporary();
  const int64_t buckets = options.num_thresholds + 1;
  // A ring of the last batches, their sum, and the number of batches so far; or the sum of all.
  const Shape window =
      options.slide_steps == 0 ? Shape{1, buckets} : Shape{(1 + options.slide_steps) * buckets + 1};
  Variables stats;
  for (const Shape& shape : {window, window, Shape{1, buckets}, Shape{1, buckets}}) {
    stats.push_back(create_global_var(shape, 0, i64, true));
  }
  const auto append = [&](Variable hits, Variable misses, const std::string& out, int64_t steps) {
    helper.append("auc",
                  {{"Predict", {x.name()}},
                   {"Label", {label.name()}},
                   {"StatPos", {hits.name()}},
                   {"StatNeg", {misses.name()}}},
                  {{"AUC", {out}}, {"StatPosOut", {hits.name()}}, {"StatNegOut", {misses.name()}}},
                  {{"curve", options.curve},
                   {"num_thresholds", options.num_thresholds},
                   {"slide_steps", steps}});
  };
  append(stats[0], stats[1], batch, options.slide_steps);
  append(stats[2], stats[3], all, 0);
  Block& block = helper.block();
  return {.auc = block.var(all), .batch_auc = block.var(batch), .stats = stats};
}

}  // namespace flotilla::layers

#include "flotilla/layers/sequence.h"

#include <cctype>

#include "flotilla/layers/nn.h"

namespace flotilla::layers {
namespace {

int64_t width_of(Variable x) {
  require(x.shape().rank() > 0, "rows are expected, but \"{}\" is {}", x.name(), x.shape());
  return x.shape()[x.shape().rank() - 1];
}

}  // namespace

Variable sequence_conv(Variable x, int64_t filters, const SequenceConvOptions& options) {
  require(x.shape().rank() > 1, "sequence_conv slides over [rows, width], but \"{}\" is {}",
          x.name(), x.shape());
  LayerHelper helper("sequence_conv", options.name);
  const int64_t size = options.filter_size;
  const Var& weight =
      helper.parameter(options.weight, {size * x.shape()[1], filters}, x.dtype(), xavier(), "w");
  Var* out = &helper.result("sequence_conv", {{"X", {x.name()}}, {"Filter", {weight.name}}},
                            {{"contextStride", options.filter_stride},
                             {"contextStart", options.padding_start.value_or(-(size / 2))},
                             {"contextLength", size}});
  if (options.bias) out = &helper.add_bias(*out, *options.bias, 1);
  return helper.activate(*out, options.act);
}

Variable row_conv(Variable x, int64_t future_context_size, const RowConvOptions& options) {
  LayerHelper helper("row_conv");
  const Variable weight = helper.parameter(options.weight, {future_context_size + 1, width_of(x)},
                                           x.dtype(), xavier(), "w");
  return op("row_conv", {{"X", x}, {"Filter", weight}}, {},
            {.layer = helper.name(), .act = options.act});
}

Variable fused_embedding_seq_pool(Variable ids, int64_t rows, int64_t width,
                                  const FusedEmbeddingSeqPoolOptions& options) {
  require(options.combiner == "sum", "combiner must be \"sum\", but is '{}'", options.combiner);
  if (options.is_sparse) {
    const Variable found = embedding(ids, rows, width,
                                     {.is_sparse = true,
                                      .padding_idx = options.padding_idx,
                                      .weight = options.weight,
                                      .dtype = options.dtype,
                                      .v1 = true});
    return sequence_pool(found, "sum");
  }
  LayerHelper helper("fused_embedding_seq_pool");
  const Variable table =
      helper.parameter(options.weight, {rows, width}, options.dtype, xavier(), "w");
  // To this op -1 is no row.
  const int64_t padding = options.padding_idx.value_or(-1);
  return op("fused_embedding_seq_pool", {{"Ids", ids}, {"W", table}},
            {{"combiner", options.combiner},
             {"is_sparse", false},
             {"padding_idx", padding < -1 ? padding + rows : padding}},
            {.layer = helper.name()});
}

Variable sequence_pool(Variable x, const std::string& type, bool is_test, double pad_value) {
  std::string upper = type;
  for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return op(
      "sequence_pool", {{"X", x}},
      {{"pooltype", upper}, {"is_test", is_test}, {"pad_value", static_cast<float>(pad_value)}},
      {.outputs = {"Out", "MaxIndex"}});
}

std::pair<Variable, Variable> sequence_pad(Variable x, Variable pad_value,
                                           std::optional<int64_t> longest,
                                           const std::string& name) {
  const Variables made = op_outputs("sequence_pad", {{"X", x}, {"PadValue", pad_value}},
                                    {{"padded_length", longest.value_or(-1)}},
                                    {.name = name, .outputs = {"Out", "Length"}});
  made[1]->stop_gradient = true;
  return {made[0], made[1]};
}

Variable lod_reset(Variable x, std::optional<Variable> y,
                   const std::optional<std::vector<int64_t>>& offsets) {
  if (y) return op("lod_reset", {{"X", x}, {"Y", *y}});
  require(offsets.has_value(), "lod_reset needs y or target_lod");
  return op("lod_reset", {{"X", x}}, {{"target_lod", *offsets}});
}

std::pair<Variable, Variable> edit_distance(Variable x, Variable label, bool normalized,
                                            const std::vector<int64_t>& ignored,
                                            std::optional<Variable> x_length,
                                            std::optional<Variable> label_length) {
  if (!ignored.empty()) {
    x = op("sequence_erase", {{"X", x}}, {{"tokens", ignored}});
    label = op("sequence_erase", {{"X", label}}, {{"tokens", ignored}});
  }
  Inputs inputs = {{"Hyps", x}, {"Refs", label}};
  if (x_length && label_length) {
    inputs["HypsLength"] = *x_length;
    inputs["RefsLength"] = *label_length;
  }
  const Variables made = op_outputs("edit_distance", inputs, {{"normalized", normalized}},
                                    {.outputs = {"Out", "SequenceNum"}, .stop_gradient = true});
  return {made[0], made[1]};
}

Variable linear_chain_crf(Variable x, Variable label, const LinearChainCrfOptions& options) {
  LayerHelper helper("linear_chain_crf");
  const int64_t tags = width_of(x);
  const Variable transition =
      helper.parameter(options.transition, {tags + 2, tags}, x.dtype(), xavier(), "w");
  return op(
      "linear_chain_crf",
      {{"Emission", x}, {"Transition", transition}, {"Label", label}, {"Length", options.length}},
      {},
      {.layer = helper.name(),
       .outputs = {"LogLikelihood", "Alpha", "EmissionExps", "TransitionExps"}});
}

Variable crf_decoding(Variable x, const std::string& transition,
                      const CrfDecodingOptions& options) {
  require(!transition.empty(), "crf_decoding needs the name of what linear_chain_crf learnt");
  return op("crf_decoding",
            {{"Emission", x},
             {"Transition", context().main->global_block().var(transition)},
             {"Label", options.label},
             {"Length", options.length}},
            {}, {.stop_gradient = true});
}

}  // namespace flotilla::layers

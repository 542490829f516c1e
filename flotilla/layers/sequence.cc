#include "flotilla/layers/sequence.h"

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
    return op("sequence_pool", {{"X", found}},
              {{"pooltype", "SUM"}, {"is_test", false}, {"pad_value", 0.0f}},
              {.outputs = {"Out", "MaxIndex"}});
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

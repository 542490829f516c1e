// Layers over sequences.

#include "flotilla/layers/sequence.h"
#include "layer_function.h"

namespace flotilla::python {
namespace {

using namespace nb::literals;

void bind_convolutions(nb::module_& m) {
  m.def(
      "sequence_conv",
      [](Var& x, int64_t num_filters, int64_t filter_size, int64_t filter_stride,
         std::optional<int64_t> padding_start, nb::object bias, nb::object weight, Text act,
         Text name) {
        mark_user_line();
        return wrap(
            layers::sequence_conv(x, num_filters,
                                  {.filter_size = filter_size,
                                   .filter_stride = filter_stride,
                                   .padding_start = padding_start,
                                   .weight = to_needed_attr(weight, "the filter of sequence_conv"),
                                   .bias = to_param_attr(bias),
                                   .act = text(act),
                                   .name = text(name)}));
      },
      "x"_a, "num_filters"_a, "filter_size"_a, "filter_stride"_a, "padding_start"_a.none(),
      "bias"_a.none(), "weight"_a.none(), "act"_a.none(), "name"_a.none());
  m.def(
      "row_conv",
      [](Var& x, int64_t future_context_size, nb::object weight, Text act) {
        mark_user_line();
        return wrap(layers::row_conv(
            x, future_context_size,
            {.weight = to_needed_attr(weight, "the filter of row_conv"), .act = text(act)}));
      },
      "x"_a, "future_context_size"_a, "weight"_a.none(), "act"_a.none());
}

void bind_pool(nb::module_& m) {
  def_layer(m, "sequence_pool", &layers::sequence_pool);
  def_layer(m, "sequence_pad", &layers::sequence_pad);
  def_layer(m, "lod_reset", &layers::lod_reset);
  def_layer(m, "edit_distance", &layers::edit_distance);
  m.def(
      "fused_embedding_seq_pool",
      [](Var& ids, std::pair<int64_t, int64_t> size, bool is_sparse,
         std::optional<int64_t> padding_idx, const std::string& combiner, nb::object weight,
         nb::object dtype) {
        mark_user_line();
        return wrap(layers::fused_embedding_seq_pool(ids, size.first, size.second,
                                                     {.is_sparse = is_sparse,
                                                      .padding_idx = padding_idx,
                                                      .combiner = combiner,
                                                      .weight = to_needed_attr(weight, "the table"),
                                                      .dtype = to_dtype(dtype)}));
      },
      "ids"_a, "size"_a, "is_sparse"_a, "padding_idx"_a.none(), "combiner"_a, "weight"_a.none(),
      "dtype"_a);
}

void bind_chains(nb::module_& m) {
  m.def(
      "linear_chain_crf",
      [](Var& x, Var& label, nb::object transition, nb::object length) {
        mark_user_line();
        return wrap(layers::linear_chain_crf(
            x, label,
            {.transition = to_needed_attr(transition, "the scores of linear_chain_crf"),
             .length = to_variables(length)}));
      },
      "x"_a, "label"_a, "transition"_a.none(), "length"_a.none());
  m.def(
      "crf_decoding",
      [](Var& x, nb::object transition, nb::object label, nb::object length) {
        mark_user_line();
        return wrap(
            layers::crf_decoding(x, to_needed_attr(transition, "the scores of crf_decoding").name,
                                 {.label = to_variables(label), .length = to_variables(length)}));
      },
      "x"_a, "transition"_a.none(), "label"_a.none(), "length"_a.none());
}

}  // namespace

void bind_sequence(nb::module_& m) {
  bind_convolutions(m);
  bind_pool(m);
  bind_chains(m);
}

}  // namespace flotilla::python

// Losses over many classes.

#include "flotilla/layers/sampled.h"
#include "layers_convert.h"

namespace flotilla::python {
namespace {

using namespace nb::literals;

std::vector<double> to_numbers(nb::handle list) {
  std::vector<double> numbers;
  if (list.is_none()) return numbers;
  for (nb::handle one : list) numbers.push_back(nb::cast<double>(nb::float_(one)));
  return numbers;
}

void bind_nce(nb::module_& m) {
  m.def(
      "nce",
      [](Var& x, Var& label, int64_t num_total_classes, nb::object sample_weight, nb::object weight,
         nb::object bias, std::optional<int64_t> num_neg_samples, Text name,
         const std::string& sampler, nb::object custom_dist, int32_t seed, bool is_sparse) {
        mark_user_line();
        return wrap(layers::nce(x, label, num_total_classes,
                                {.sample_weight = to_variables(sample_weight),
                                 .weight = to_needed_attr(weight, "the weight of nce"),
                                 .bias = to_param_attr(bias),
                                 .num_neg_samples = num_neg_samples.value_or(10),
                                 .sampler = sampler,
                                 .custom_dist = to_numbers(custom_dist),
                                 .seed = seed,
                                 .is_sparse = is_sparse,
                                 .name = text(name)}));
      },
      "x"_a, "label"_a, "num_total_classes"_a, "sample_weight"_a.none(), "weight"_a.none(),
      "bias"_a.none(), "num_neg_samples"_a.none(), "name"_a.none(), "sampler"_a,
      "custom_dist"_a.none(), "seed"_a, "is_sparse"_a);
}

void bind_hsigmoid(nb::module_& m) {
  m.def(
      "hsigmoid",
      [](Var& x, Var& label, int64_t num_classes, nb::object weight, nb::object bias, Text name,
         nb::object path_table, nb::object path_code, bool is_custom, bool is_sparse) {
        mark_user_line();
        const bool table = !path_table.is_none(), code = !path_code.is_none();
        require(!is_custom || (table && code), "is_custom=True needs path_table and path_code");
        require(is_custom || (!table && !code), "path_table and path_code need is_custom=True");
        return wrap(layers::hsigmoid(x, label, num_classes,
                                     {.weight = to_needed_attr(weight, "the weight of hsigmoid"),
                                      .bias = to_param_attr(bias),
                                      .path_table = to_variables(path_table),
                                      .path_code = to_variables(path_code),
                                      .is_sparse = is_sparse,
                                      .name = text(name)}));
      },
      "x"_a, "label"_a, "num_classes"_a, "weight"_a.none(), "bias"_a.none(), "name"_a.none(),
      "path_table"_a.none(), "path_code"_a.none(), "is_custom"_a, "is_sparse"_a);
}

void bind_sampled_softmax(nb::module_& m) {
  m.def(
      "sampled_softmax_with_cross_entropy",
      [](Var& logits, Var& label, int64_t num_samples, int64_t num_true,
         bool remove_accidental_hits, bool use_customized_samples, nb::object customized_samples,
         nb::object customized_probabilities, int32_t seed) {
        mark_user_line();
        return wrap(layers::sampled_softmax_with_cross_entropy(
            logits, label, num_samples,
            {.num_true = num_true,
             .remove_accidental_hits = remove_accidental_hits,
             .use_customized_samples = use_customized_samples,
             .customized_samples = to_variables(customized_samples),
             .customized_probabilities = to_variables(customized_probabilities),
             .seed = seed}));
      },
      "logits"_a, "label"_a, "num_samples"_a, "num_true"_a, "remove_accidental_hits"_a,
      "use_customized_samples"_a, "customized_samples"_a.none(),
      "customized_probabilities"_a.none(), "seed"_a);
}

}  // namespace

void bind_sampled(nb::module_& m) {
  bind_nce(m);
  bind_hsigmoid(m);
  bind_sampled_softmax(m);
}

}  // namespace flotilla::python

// Losses that are several ops.

#include "flotilla/layers/losses.h"
#include "layer_function.h"

namespace flotilla::python {

void bind_composed_losses(nb::module_& m) {
  using namespace nb::literals;
  m.def(
      "cross_entropy_loss",
      [](Var& x, Var& label, Var* weight, int64_t ignore_index, const std::string& reduction,
         bool soft_label, int64_t axis, bool use_softmax, float label_smoothing) {
        mark_user_line();
        return wrap(layers::cross_entropy_loss(
            x, label,
            {.weight = Handed<std::optional<layers::Variable>>::take(weight),
             .ignore_index = ignore_index,
             .reduction = reduction,
             .soft_label = soft_label,
             .axis = axis,
             .use_softmax = use_softmax,
             .label_smoothing = label_smoothing}));
      },
      "x"_a, "label"_a, "weight"_a.none(), "ignore_index"_a, "reduction"_a, "soft_label"_a,
      "axis"_a, "use_softmax"_a, "label_smoothing"_a);
  def_layer(m, "reduced", &layers::reduced);
  def_layer(m, "binary_cross_entropy", &layers::binary_cross_entropy);
  def_layer(m, "binary_cross_entropy_with_logits", &layers::binary_cross_entropy_with_logits);
  def_layer(m, "sigmoid_focal_loss", &layers::sigmoid_focal_loss);
  def_layer(m, "multi_label_soft_margin_loss", &layers::multi_label_soft_margin_loss);
  def_layer(m, "soft_margin_loss", &layers::soft_margin_loss);
  def_layer(m, "dice_loss", &layers::dice_loss);
  def_layer(m, "mse_loss", &layers::mse_loss);
  def_layer(m, "l1_loss", &layers::l1_loss);
  def_layer(m, "smooth_l1_loss", &layers::smooth_l1_loss);
  def_layer(m, "smooth_l1", &layers::smooth_l1);
  def_layer(m, "kl_div", &layers::kl_div);
  def_layer(m, "poisson_nll_loss", &layers::poisson_nll_loss);
  def_layer(m, "gaussian_nll_loss", &layers::gaussian_nll_loss);
  def_layer(m, "pairwise_distance", &layers::pairwise_distance);
  def_layer(m, "margin_ranking_loss", &layers::margin_ranking_loss);
  def_layer(m, "hinge_embedding_loss", &layers::hinge_embedding_loss);
  def_layer(m, "cosine_embedding_loss", &layers::cosine_embedding_loss);
  def_layer(m, "triplet_margin_loss", &layers::triplet_margin_loss);
  def_layer(m, "npair_loss", &layers::npair_loss);
}

}  // namespace flotilla::python

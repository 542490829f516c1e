// Losses that are several ops.

#include "flotilla/layers/losses.h"
#include "layers_convert.h"

namespace flotilla::python {
namespace {

// How Python hands over an argument of a layer: a variable as a handle, or None for none.
template <typename T>
struct Handed {
  using type = T;
  static T take(T value) { return value; }
  static nb::arg annotation() { return nb::arg(); }
};
template <>
struct Handed<layers::Variable> {
  using type = Var&;
  static layers::Variable take(Var& var) { return var; }
  static nb::arg annotation() { return nb::arg(); }
};
template <>
struct Handed<std::optional<layers::Variable>> {
  using type = Var*;
  static std::optional<layers::Variable> take(Var* var) {
    return var == nullptr ? std::nullopt : std::optional(layers::Variable(*var));
  }
  static nb::arg annotation() { return nb::arg().none(); }
};

template <typename... T>
void def(nb::module_& m, const char* name, layers::Variable (*function)(T...)) {
  m.def(
      name,
      [function](typename Handed<std::decay_t<T>>::type... values) {
        mark_user_line();
        return wrap(function(Handed<std::decay_t<T>>::take(values)...));
      },
      Handed<std::decay_t<T>>::annotation()...);
}

}  // namespace

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
  def(m, "reduced", &layers::reduced);
  def(m, "binary_cross_entropy", &layers::binary_cross_entropy);
  def(m, "binary_cross_entropy_with_logits", &layers::binary_cross_entropy_with_logits);
  def(m, "sigmoid_focal_loss", &layers::sigmoid_focal_loss);
  def(m, "multi_label_soft_margin_loss", &layers::multi_label_soft_margin_loss);
  def(m, "soft_margin_loss", &layers::soft_margin_loss);
  def(m, "dice_loss", &layers::dice_loss);
  def(m, "mse_loss", &layers::mse_loss);
  def(m, "l1_loss", &layers::l1_loss);
  def(m, "smooth_l1_loss", &layers::smooth_l1_loss);
  def(m, "kl_div", &layers::kl_div);
  def(m, "poisson_nll_loss", &layers::poisson_nll_loss);
  def(m, "gaussian_nll_loss", &layers::gaussian_nll_loss);
  def(m, "pairwise_distance", &layers::pairwise_distance);
  def(m, "margin_ranking_loss", &layers::margin_ranking_loss);
  def(m, "hinge_embedding_loss", &layers::hinge_embedding_loss);
  def(m, "cosine_embedding_loss", &layers::cosine_embedding_loss);
  def(m, "triplet_margin_loss", &layers::triplet_margin_loss);
  def(m, "npair_loss", &layers::npair_loss);
}

}  // namespace flotilla::python

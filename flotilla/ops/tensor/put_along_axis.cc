// put_along_axis: elements are replaced or added along an axis, as take_along_axis takes them.

#include "flotilla/ops/common/slots.h"
#include "flotilla/ops/tensor/put_rows.h"

namespace flotilla::ops {
namespace {

Put put_of(const PrepareContext& c) {
  const std::string name = c.attr<std::string>("Reduce");
  if (name == "assign") return Put::kReplace;
  require(name == "add", "Reduce must be assign or add, but is \"{}\"", name);
  return c.attr<bool>("Include_self") ? Put::kAdd : Put::kReplaceBySum;
}

void infer_put_along(InferContext& c) {
  check_named_elements(c);
  const Shape &value = c.in("Value").shape, &index = c.in("Index").shape;
  require(fits(value, index), "Value must have the shape {} of Index, but has {}", index, value);
  c.out("Result") = like(c.in("Input"));
}

NamedElements elements_of(PrepareContext& c, std::string_view whole) {
  return NamedElements(c, "Index", c.shape(whole), c.attr<int64_t>("Axis"), true);
}

constexpr auto put_along_forward = []<typename T>(PrepareContext& c) -> Step {
  return put<T>(c, "Input", "Value", "Result", elements_of(c, "Input"), put_of(c));
};

// What a later element replaced has no part in the result, which has `size` elements.
template <typename T>
void clear_replaced(const NamedElements& elements, int64_t size, T* list) {
  std::vector<bool> taken(static_cast<size_t>(size));
  for (int64_t i = elements.count; i-- > 0;) {
    const auto place = static_cast<size_t>(elements.of(i));
    if (taken[place]) list[i] = T{0};
    taken[place] = true;
  }
}

constexpr auto put_along_backward = []<typename T>(PrepareContext& c) -> Step {
  const NamedElements elements = elements_of(c, "Result@GRAD");
  const Put how = put_of(c);
  Step both = put_backward<T>(c, "Result@GRAD", "Input@GRAD", "Value@GRAD", elements, how);
  if (how != Put::kReplace || !c.has("Value@GRAD")) return both;
  if (on_gpu(c)) {
    return in_order({both, gpu_sums<T>.clear_replaced(c, "Value@GRAD", names_of(elements))});
  }
  return [both, elements, size = c.shape("Result@GRAD").numel(), list = c.out<T>("Value@GRAD")] {
    both();
    clear_replaced(elements, size, list.data());
  };
};

const OpDef& put_along_axis = define_op({
    .type = "put_along_axis",
    .doc = "Input with the elements that Index names along an axis replaced, or added to.",
    .inputs = {{.name = "Input", .doc = "tensor"},
               numbers_slot("Index"),
               {.name = "Value", .doc = "an element for each number"}},
    .outputs = {{.name = "Result", .doc = "same shape as Input", .like = "Input"}},
    .attrs = {{"Axis", 0, "the axis that Index counts along; negative numbers from its end"},
              {"Reduce", std::string("assign"), "assign or add"},
              {"Include_self", true, "whether what Input holds there is a part of the sum"}},
    .infer = infer_put_along,
    .grad = float_grad({shape_of("Input"), "Index", shape_of("Value"), shape_of("Result")},
                       put_along_backward),
    .kernels = kernels_for<float, double, int32_t, int64_t>(put_along_forward),
    .dtype_slot = "Input",
});

}  // namespace
}  // namespace flotilla::ops

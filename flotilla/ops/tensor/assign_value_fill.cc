// assign_value and fill: tensors whose elements stand in attributes.

#include <algorithm>

#include "flotilla/ops/tensor/new_tensor.h"
#include "flotilla/ops/tensor/stored_values.h"

namespace flotilla::ops {
namespace {

void infer_values(InferContext& c) {
  VarMeta out = VarMeta::tensor(dtype_attr(c), scalar_or(c.attr<Ints>("shape")));
  if (out.dtype == i32) remember(out, c.attr<Ints>("int32_values"));
  if (out.dtype == i64) remember(out, c.attr<Ints>("int64_values"));
  c.out("Out") = std::move(out);
}

template <typename T, typename Stored>
Step copy_stored(PrepareContext& c, const std::string& attr) {
  return [stored = stored_values<Stored>(c, attr), out = c.out<T>("Out")] {
    std::transform(stored.begin(), stored.end(), out.data(),
                   [](Stored value) { return static_cast<T>(value); });
  };
}

constexpr auto prepare_values = []<typename T>(PrepareContext& c) -> Step {
  return copy_stored<T, StoredAs<T>>(c, values_attr(dtype_of<T>));
};

const OpDef& assign_value = define_op({
    .type = "assign_value",
    .doc = "A tensor with the elements of an attribute.",
    .outputs = {{.name = "Out", .doc = "of shape `shape` and dtype `dtype`"}},
    .attrs = {{"shape", std::vector<int32_t>{}, "extents"},
              dtype_spec(),
              {"bool_values", std::vector<int32_t>{}, "elements of a bool tensor"},
              {"fp32_values", std::vector<float>{}, "elements of a float32 tensor"},
              {"fp64_values", std::vector<double>{}, "elements of a float64 tensor"},
              {"int32_values", std::vector<int32_t>{}, "elements of an int32 tensor"},
              {"int64_values", std::vector<int64_t>{}, "elements of an int64 tensor"}},
    .infer = infer_values,
    .kernels = kernels_for<float, double, int32_t, int64_t, bool>(prepare_values),
});

void infer_fill(InferContext& c) {
  c.out("Out") = VarMeta::tensor(dtype_attr(c), Shape(c.attr<Ints>("shape")));
}

constexpr auto prepare_fill = []<typename T>(PrepareContext& c) -> Step {
  return copy_stored<T, float>(c, "value");
};

const OpDef& fill_op = define_op({
    .type = "fill",
    .doc = "A tensor with the elements of an attribute, whatever its dtype.",
    .outputs = {{.name = "Out", .doc = "of shape `shape` and dtype `dtype`"}},
    .attrs = {{"value", std::vector<float>{}, "the elements"},
              {"shape", std::vector<int32_t>{}, "extents"},
              dtype_spec(),
              {"force_cpu", false, "whether Out lies in the host's memory"}},
    .infer = infer_fill,
    .kernels = kernels_for_all(prepare_fill),
    .dtype_slot = "Out",
});

}  // namespace
}  // namespace flotilla::ops

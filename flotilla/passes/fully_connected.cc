#include "flotilla/passes/fully_connected.h"

#include <algorithm>

#include "flotilla/op/op_def.h"

namespace flotilla::passes {
namespace {

bool is_mul(const Op& op) { return op.type() == "mul" || op.type() == "mul_grad"; }

bool is_matmul(const Op& op) { return op.type() == "matmul_v2" || op.type() == "matmul_v2_grad"; }

bool is_kept(const Var* var, int64_t rank) {
  return var != nullptr && var->persistable && var->kind == VarKind::kTensor &&
         var->shape.rank() == rank;
}

}  // namespace

bool multiplies_by_weight(const Block& block, const Op& product) {
  if (is_mul(product)) {
    if (product.attr_or<int32_t>("y_num_col_dims", 1) != 1) return false;
  } else if (is_matmul(product)) {
    if (product.attr_or<bool>("trans_x", false) || product.attr_or<bool>("trans_y", false)) {
      return false;
    }
  } else {
    return false;
  }
  return is_kept(block.find_var(product.input("Y")), 2) && product.input("X") != product.input("Y");
}

bool adds_bias(const Block& block, const Op& sum, const Var& weight, int64_t rank) {
  if (sum.type() != "elementwise_add" && sum.type() != "elementwise_add_grad") return false;
  const Var* bias = block.find_var(sum.input("Y"));
  const int64_t axis = sum.attr_or<int64_t>("axis", -1);
  return is_kept(bias, 1) && bias->shape[0] == weight.shape[1] && bias->dtype == weight.dtype &&
         rank >= 2 && (axis == -1 || axis == rank - 1);
}

int32_t row_axes(const Op& product, int64_t rank) {
  return is_mul(product) ? product.attr_or<int32_t>("x_num_col_dims", 1)
                         : static_cast<int32_t>(rank - 1);
}

bool is_fusable_activation(std::string_view type) {
  return type == "relu" || type == "tanh" || type == "sigmoid";
}

bool has_kernel_for(std::string_view type, const Var& var) {
  const OpDef* def = find_op(type);
  return def != nullptr && std::any_of(def->kernels.begin(), def->kernels.end(),
                                       [&](const Kernel& k) { return k.dtype == var.dtype; });
}

}  // namespace flotilla::passes

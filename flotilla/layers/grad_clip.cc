#include "flotilla/layers/grad_clip.h"

#include <algorithm>

#include "flotilla/layers/functions.h"

namespace flotilla::layers {
namespace {

bool wants_clip(const Block& block, const ParamGrad& pg) {
  const Var& param = block.var(pg.param);
  return !param.parameter || param.parameter->need_clip;
}

// The sum of squares of a gradient. Rows that repeat in a sparse one add up first.
Variable squared_norm(Variable grad) {
  if (grad->kind == VarKind::kSelectedRows) {
    grad = op("merge_selected_rows", {{"X", grad}});
    grad = op("get_tensor_from_selected_rows", {{"X", grad}});
  }
  return op("squared_l2_norm", {{"X", grad}});
}

// What shortens a vector to `max` where it is longer: max / max(norm, max).
Variable shortening(Variable squared, float max) {
  const Variable norm = sqrt(squared);
  const Variable limit = full({1}, static_cast<double>(max), norm.dtype());
  return elementwise("elementwise_div", limit, elementwise("elementwise_max", limit, norm));
}

Variable multiply(Variable grad, Variable factor, bool in_place) {
  const std::string out = in_place ? grad.name() : "";
  return op("elementwise_mul", {{"X", grad}, {"Y", factor}}, {}, {.out = out});
}

void append_global_norm(Block& block, const GradClip& clip, std::vector<ParamGrad>& params_grads) {
  const auto left_alone = [&](const ParamGrad& pg) { return !wants_clip(block, pg); };
  if (std::all_of(params_grads.begin(), params_grads.end(), left_alone)) return;
  Variables squares;
  for (const ParamGrad& pg : params_grads) {
    if (left_alone(pg)) continue;
    const RoleGuard role(block.program(), kOptimizeRole, {pg.param, pg.grad});
    squares.push_back(squared_norm(block.var(pg.grad)));
  }
  const RoleGuard role(block.program(), kOptimizeRole);
  const Variable factor = shortening(op("sum", {{"X", squares}}, {}, {.layer = "add_n"}), clip.max);
  for (ParamGrad& pg : params_grads) {
    if (left_alone(pg)) continue;
    const RoleGuard both(block.program(), kOptimizeRole, {pg.param, pg.grad});
    pg.grad = multiply(block.var(pg.grad), factor, clip.in_place).name();
  }
}

// One gradient by its own norm; a sparse one stays sparse.
Variable clip_norm(Variable grad, float max) {
  if (grad->kind != VarKind::kSelectedRows) {
    return op("clip_by_norm", {{"X", grad}}, {{"max_norm", max}});
  }
  return multiply(grad, shortening(squared_norm(grad), max), /*in_place=*/true);
}

}  // namespace

void append_grad_clip(Block& block, const GradClip& clip, std::vector<ParamGrad>& params_grads) {
  if (clip.kind == GradClip::kNone) return;
  if (clip.kind == GradClip::kByGlobalNorm) {
    append_global_norm(block, clip, params_grads);
    return;
  }
  for (ParamGrad& pg : params_grads) {
    if (!wants_clip(block, pg)) continue;
    const RoleGuard role(block.program(), kOptimizeRole, {pg.param, pg.grad});
    const Variable grad = block.var(pg.grad);
    const Variable clipped =
        clip.kind == GradClip::kByNorm
            ? clip_norm(grad, clip.max)
            : op("clip", {{"X", grad}}, {{"min", clip.min}, {"max", clip.max}});
    pg.grad = clipped.name();
  }
}

}  // namespace flotilla::layers

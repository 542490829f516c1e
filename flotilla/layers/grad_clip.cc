#include "flotilla/layers/grad_clip.h"

#include <algorithm>
#include <iterator>

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

// g = g * max / max(norm, max), with the norm over all gradients.
void append_global_norm(Block& block, float max, const std::vector<ParamGrad>& params_grads) {
  Variables squares;
  for (const ParamGrad& pg : params_grads) {
    const RoleGuard role(block.program(), kOptimizeRole, {pg.param, pg.grad});
    squares.push_back(squared_norm(block.var(pg.grad)));
  }
  const RoleGuard role(block.program(), kOptimizeRole);
  const Variable norm = sqrt(op("sum", {{"X", squares}}, {}, {.layer = "add_n"}));
  const Variable limit = full({1}, max, norm.dtype());
  const Variable factor =
      elementwise("elementwise_div", limit, elementwise("elementwise_max", limit, norm));
  for (const ParamGrad& pg : params_grads) {
    const RoleGuard both(block.program(), kOptimizeRole, {pg.param, pg.grad});
    op("elementwise_mul", {{"X", block.var(pg.grad)}, {"Y", factor}}, {}, {.out = pg.grad});
  }
}

}  // namespace

void append_grad_clip(Block& block, const GradClip& clip, std::vector<ParamGrad>& params_grads) {
  if (clip.kind == GradClip::kNone) return;
  if (clip.kind == GradClip::kByGlobalNorm) {
    std::vector<ParamGrad> clipped;
    std::copy_if(params_grads.begin(), params_grads.end(), std::back_inserter(clipped),
                 [&](const ParamGrad& pg) { return wants_clip(block, pg); });
    if (!clipped.empty()) append_global_norm(block, clip.max, clipped);
    return;
  }
  for (ParamGrad& pg : params_grads) {
    if (!wants_clip(block, pg)) continue;
    const RoleGuard role(block.program(), kOptimizeRole, {pg.param, pg.grad});
    const Inputs grad = {{"X", block.var(pg.grad)}};
    pg.grad = clip.kind == GradClip::kByValue
                  ? op("clip", grad, {{"min", clip.min}, {"max", clip.max}}).name()
                  : op("clip_by_norm", grad, {{"max_norm", clip.max}}).name();
  }
}

}  // namespace flotilla::layers

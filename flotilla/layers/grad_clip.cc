#include "flotilla/layers/grad_clip.h"

namespace flotilla::layers {
namespace {

bool wants_clip(const Block& block, const ParamGrad& pg) {
  const Var& param = block.var(pg.param);
  return !param.parameter || param.parameter->need_clip;
}

// g * max / max(norm, max), with the norm over all gradients.
void clip_by_global_norm(Block& block, float max, std::vector<ParamGrad>& params_grads) {
  LayerHelper helper("clip_by_global_norm");
  std::vector<std::string> squares;
  for (const ParamGrad& pg : params_grads) {
    if (wants_clip(block, pg)) {
      squares.push_back(helper.result("squared_l2_norm", {{"X", {pg.grad}}}).name);
    }
  }
  if (squares.empty()) return;
  Var& sum = helper.result("sum", {{"X", squares}});
  Var& norm = helper.result("sqrt", {{"X", {sum.name}}});
  Var& limit = helper.result("fill_constant", {},
                             {{"shape", std::vector<int64_t>{1}},
                              {"dtype", static_cast<int32_t>(to_paddle(norm.dtype))},
                              {"value", max}});
  Var& larger = helper.result("elementwise_max", {{"X", {limit.name}}, {"Y", {norm.name}}});
  Var& factor = helper.result("elementwise_div", {{"X", {limit.name}}, {"Y", {larger.name}}});
  for (ParamGrad& pg : params_grads) {
    if (!wants_clip(block, pg)) continue;
    pg.grad = helper.result("elementwise_mul", {{"X", {pg.grad}}, {"Y", {factor.name}}}).name;
  }
}

}  // namespace

void append_grad_clip(Block& block, const GradClip& clip, std::vector<ParamGrad>& params_grads) {
  if (clip.kind == GradClip::kNone) return;
  if (clip.kind == GradClip::kByGlobalNorm) {
    return clip_by_global_norm(block, clip.max, params_grads);
  }
  LayerHelper helper("clip");
  for (ParamGrad& pg : params_grads) {
    if (!wants_clip(block, pg)) continue;
    pg.grad =
        clip.kind == GradClip::kByValue
            ? helper.result("clip", {{"X", {pg.grad}}}, {{"min", clip.min}, {"max", clip.max}}).name
            : helper.result("clip_by_norm", {{"X", {pg.grad}}}, {{"max_norm", clip.max}}).name;
  }
}

}  // namespace flotilla::layers

// flotilla/layers/grad_clip.h
//
// Keeps gradients within bounds: each value, each norm, or the norm of all of them together.

#pragma once

#include <vector>

#include "flotilla/layers/optimizer.h"

namespace flotilla::layers {

// Appends the ops and puts the clipped gradients into `params_grads`. Parameters with need_clip
// false keep theirs.
void append_grad_clip(Block& block, const GradClip& clip, std::vector<ParamGrad>& params_grads);

}  // namespace flotilla::layers

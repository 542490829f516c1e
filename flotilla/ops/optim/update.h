// flotilla/ops/optim/update.h
//
// The ops that follow from the update rules (flotilla/update/rule.h): <rule>, and fused_<rule> for
// many parameters at once.

#pragma once

#include "flotilla/kernel/prepare.h"
#include "flotilla/update/rule.h"

namespace flotilla::ops {

inline constexpr std::string_view kFused = "fused_";

// The rule of an op, single or fused.
const update::Rule& rule_of(const Op& op);

// A setting that holds a number for each parameter: one number in programs of 1.x, a list in those
// of 2.x, of which one stands for all.
std::vector<float> list_setting(const Op& op, const OpDef& def, const std::string& name);

// The kernels.
Step update_single(PrepareContext& c);  // f32
Step update_double(PrepareContext& c);  // f64

}  // namespace flotilla::ops

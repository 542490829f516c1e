// flotilla/update/regularize.h
//
// Decay as part of a gradient: grad + l2 * param + l1 * sign(param), each product rounded before it
// is added, as the ops `scale` and `sum` of a program do.

#pragma once

#include <span>

namespace flotilla::update {

// REQUIRES: equal lengths.
void add_decay(std::span<const float> param, std::span<float> grad, float l1, float l2);

}  // namespace flotilla::update

// flotilla/op/export_to_paddle.h
//
// Real Paddle reads some things in a program that are not needed here. The export adds them.

#pragma once

#include <memory>
#include <string_view>

#include "flotilla/ir/program.h"

namespace flotilla {

// A copy in which every gradient op carries all attributes of its definition, every op its empty
// lists, and gradient ops the slots that one release or another of Paddle asks for. An op that
// means one thing in 1.x and another in 2.x tells which (import_from_paddle.h).
std::shared_ptr<Program> export_to_paddle(const Program& program);

// For OpDef::to_paddle:

// Gives the gradient op at `position` an output of its forward op, the one with the same `input`:
// 1.8 reads it, 2.6 and Flotilla do not.
void add_output_of_forward(const Block& block, size_t position, std::string_view input,
                           std::string_view output);

// Kernels of real Paddle compute the other gradients wrongly, read through a null pointer, or
// refuse, where nobody asks for that of `slot`. It is as large as the variable in the slot `like`.
void ask_for_gradient(Block& block, Op& op, std::string_view slot, std::string_view like);
// The same for Scale and Bias of a norm that is asked for the gradient of X.
void ask_for_scale_and_bias(Block& block, Op& op);

}  // namespace flotilla

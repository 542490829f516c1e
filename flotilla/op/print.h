// flotilla/op/print.h
//
// The definition of an operator as text, one line for each thing that it says:
//
//   op softmax
//     in X
//     out Out like X
//     attr axis = -1 (int)
//     gradient softmax_grad of Out
//     kernels cpu: f32 f64
//
// `flotilla inspect op` prints it, and tests compare the whole registry with a file.

#pragma once

#include <string>

#include "flotilla/op/op_def.h"

namespace flotilla {

enum class Docs { kLeftOut, kShown };

// Ends with a newline.
std::string print(const OpDef& def, Docs docs = Docs::kLeftOut);

}  // namespace flotilla

// flotilla/plan/check_numbers.h
//
// What FLAGS_check_nan_inf asks for: the step that first writes NaN or an infinite value is named,
// where without it only the loss shows it, many steps later.

#pragma once

#include "flotilla/plan/draft.h"

namespace flotilla::plan {

// Refuses values that the node has just written and that are not finite. Looks at no values that
// asynchronous work may change: whoever uses them shows them.
void check_numbers(const Node& node, const Draft& draft);

}  // namespace flotilla::plan

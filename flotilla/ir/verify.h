// flotilla/ir/verify.h
//
// Which programs are legal, stage by stage. Run after every pass.

#pragma once

#include "flotilla/ir/program.h"

namespace flotilla {

// A later stage allows what an earlier one forbids: kForward has no backward ops, kBackward no
// optimizer ops, kTraining no collective or parameter-server ops.
enum class Stage { kForward, kBackward, kTraining, kParallel };

// Every variable an op names exists; a variable is written (or fed, or persistable) before it is
// read; sub-block references point at blocks; roles fit the stage. Refuses with op and variable.
void verify(const Program& program, Stage stage);

}  // namespace flotilla

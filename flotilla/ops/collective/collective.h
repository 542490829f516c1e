// flotilla/ops/collective/collective.h
//
// What the collective operators share: slots X and Out, dtypes, and what they do in a process that
// is alone.

#pragma once

#include <string>
#include <vector>

#include "flotilla/kernel/prepare.h"
#include "flotilla/op/op_def.h"

namespace flotilla::ops {

// There are no other processes: every collective is the identity.
bool is_alone(const PrepareContext& c);

// f32, f64, bf16, i32 and i64.
std::vector<Kernel> reducible_dtypes(Step (*prepare)(PrepareContext&));

// Out is as X, variable by variable. Refuses sparse rows and lists of different lengths.
void infer_exchange(InferContext& c);
// The Step of an op that is the identity: Out holds what X holds.
Step identity(PrepareContext& c);

// One row of a family of operators X -> Out; all of them run even where nobody reads Out.
struct Collective {
  std::string type = {};
  std::string doc = {};
  std::vector<AttrSpec> attrs = {};
  std::vector<Kernel> kernels = {};
  void (*infer)(InferContext&) = infer_exchange;
  GradRule grad = no_grad();
  bool list = false;  // X and Out hold any number of variables
};
const OpDef& define_collective(Collective row);

// The gradient of a row: X@GRAD is what the collective op `type` makes of Out@GRAD, with those of
// its attributes that the op has.
void emit_collective(GradContext& g, const std::string& type);

}  // namespace flotilla::ops

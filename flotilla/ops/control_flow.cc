// flotilla/ops/control_flow.cc
//
// The operators that run a block of their own, and the gradient of the one that may run it once.
// They have no kernel: the planner (plan/planner.cc) makes a step of them that owns the steps of
// the block. What the slots list, the block's own ops read and write; Paddle wants to see it here
// too.

#include "flotilla/op/infer.h"
#include "flotilla/op/op_def.h"

namespace flotilla::ops {
namespace {

Slot any_number(std::string name, std::string doc) {
  return {.name = std::move(name), .doc = std::move(doc), .optional = true, .list = true};
}

const AttrSpec kSubBlock = {"sub_block", BlockRef{}, "the block that is run"};

const OpDef& while_loop = define_op({
    .type = "while",
    .doc = "Runs its block as long as Condition is true; the block changes Condition.",
    .inputs = {{"Condition", "one bool"}, any_number("X", "what the block reads outside")},
    .outputs = {any_number("Out", "what the block writes outside"),
                any_number("StepScopes", "not written here")},
    .attrs = {kSubBlock, {"skip_eager_deletion_vars", std::vector<std::string>{}, "not used"}},
    .side_effect = true,
});

const std::vector<AttrSpec> kConditional = {
    kSubBlock,
    {"is_scalar_condition", false, "whether Cond is read, not only its size; always so"},
    {"skip_eager_deletion_vars", std::vector<std::string>{}, "not used"}};

const OpDef& conditional_block = define_op({
    .type = "conditional_block",
    .doc = "Runs its block if Cond is true.",
    .inputs = {{"Cond", "one bool"}, any_number("Input", "what the block reads outside")},
    .outputs = {any_number("Out", "what the block writes outside"),
                any_number("Scope", "not written here")},
    .attrs = kConditional,
    .side_effect = true,
});

void infer_conditional_grad(InferContext& c) {
  for (size_t i = 0; i < c.out_count("Input@GRAD"); ++i) {
    if (i < c.in_count("Input")) c.out("Input@GRAD", i) = c.in("Input", i);
  }
}

const OpDef& conditional_block_grad = define_op({
    .type = "conditional_block_grad",
    .doc = "Runs the gradients of a conditional_block if Cond is true; else they are zero.",
    .inputs = {{"Cond", "one bool"},
               any_number("Input", "what the conditional_block read"),
               any_number("Out", "what it wrote"),
               any_number("Out@GRAD", "its gradient"),
               any_number("Scope", "not read here")},
    .outputs = {any_number("Input@GRAD", "what the block's own x@GRAD holds for x of Input")},
    .attrs = kConditional,
    .infer = infer_conditional_grad,
    .side_effect = true,
});

}  // namespace
}  // namespace flotilla::ops

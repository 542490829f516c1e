// flotilla/ops/while_conditional_block.cc
//
// The operators that run a block of their own, and their gradients, which do likewise.
// They have no kernel: the planner (plan/control_flow.h) makes a step of them that owns the steps
// of the block. What the slots list, the block's own ops read and write; Paddle wants to see it
// here too.

#include <algorithm>

#include "flotilla/op/infer.h"

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
    .attrs = {kSubBlock,
              {"is_test", false, "ignored"},
              {"skip_eager_deletion_vars", std::vector<std::string>{}, "ignored"}},
    .side_effect = true,
});

void infer_gradients(InferContext& c, const std::string& slot) {
  const std::string gradients = grad_name(slot);
  for (size_t i = 0; i < std::min(c.out_count(gradients), c.in_count(slot)); ++i) {
    c.out(gradients, i) = c.in(slot, i);
  }
}

const OpDef& while_grad = define_op({
    .type = "while_grad",
    .doc = "Runs the gradients of a while, from its last round to the first.",
    .inputs = {any_number("X", "what the while read"), any_number("Out", "what it wrote"),
               any_number("Out@GRAD", "gradients of what goes from round to round"),
               any_number("StepScopes", "not read here")},
    .outputs = {any_number("X@GRAD", "what the block's own x@GRAD holds for x of X, summed up")},
    .attrs = {kSubBlock,
              {"is_test", false, "of the while; ignored"},
              {"skip_eager_deletion_vars", std::vector<std::string>{}, "ignored"},
              {"original_output_grad", std::vector<std::string>{},
               "what the block calls Out@GRAD"}},
    .infer = [](InferContext& c) { infer_gradients(c, "X"); },
    .side_effect = true,
});

const std::vector<AttrSpec> kConditional = {
    kSubBlock,
    {"is_scalar_condition", false, "whether Cond is read, not only its size; always so"},
    {"skip_eager_deletion_vars", std::vector<std::string>{}, "ignored"}};

const OpDef& conditional_block = define_op({
    .type = "conditional_block",
    .doc = "Runs its block if Cond is true.",
    .inputs = {{"Cond", "one bool"}, any_number("Input", "what the block reads outside")},
    .outputs = {any_number("Out", "what the block writes outside"),
                any_number("Scope", "not written here")},
    .attrs = kConditional,
    .side_effect = true,
});

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
    .infer = [](InferContext& c) { infer_gradients(c, "Input"); },
    .side_effect = true,
});

}  // namespace
}  // namespace flotilla::ops

// flotilla/plan/control_flow.h
//
// while, conditional_block and their gradients: nodes that own the nodes of a block.
//
// The block of a conditional_block_grad reads what the conditional_block has computed: it is still
// there. The rounds of a while overwrite what the last one computed, so a loop with gradients
// records it, and the loop that goes backward takes it out again, round by round. So does a loop
// inside another, for all rounds of the outer one.

#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/plan/draft.h"

namespace flotilla::plan {

class Drafter;

class ControlFlow {
 public:
  explicit ControlFlow(Drafter& drafter) : drafter_(drafter) {}

  // Plans an op that has a sub-block.
  void plan(const Block& block, const Op& op);

 private:
  using Names = std::set<std::string, std::less<>>;
  using Values = std::map<std::string, int32_t, std::less<>>;

  // The value of a bool that an op names.
  int32_t condition_of(const Block& block, const Op& op, std::string_view slot);
  // A step that runs what `plan_body` plans if, or as long as, a bool is true.
  void plan_conditional(const Op& op, int32_t condition, bool loop,
                        const std::function<void()>& plan_body);
  void plan_conditional_grad(const Block& block, const Op& op);

  // Loops with gradients (recorded_loops.cc).
  // What the gradients of one block read of a loop.
  struct Recording {
    Rounds* rounds = nullptr;
    Names names = {};
  };
  std::vector<Recording> recordings_of(const Block& inner);
  void forget_rounds(const Block& inner);
  void plan_recorded_while(const Block& block, const Op& op, std::vector<Recording> recordings);
  void plan_while_grad(const Block& block, const Op& op);
  void record(Rounds& rounds, const std::string& name, int32_t value);
  void restore(Rounds::Recorded& one);
  void plan_round_back(const Block& block, const Op& op, Rounds& rounds);

  // Plans a block whose variables may bear the names of outer ones. Returns its own.
  Values plan_own_block(const Block& block);
  void zero_gradients(const Block& block, const Op& op, const std::string& slot,
                      const Names& carried);
  void take_gradients_out(const Block& block, const Op& op, const std::string& slot,
                          const Values& own);
  // For an op that stands in no program.
  void prepare_own(const Block& block, std::string type, std::vector<std::string> x,
                   const std::string& out);

  Drafter& drafter_;
  int loops_ = 0;  // around what is planned
};

}  // namespace flotilla::plan

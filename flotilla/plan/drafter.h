// flotilla/plan/drafter.h
//
// Program → Draft: walks the ops once, in order; finds the versions of their variables, infers
// shapes, picks kernels and has them prepared.

#pragma once

#include <map>
#include <set>
#include <string>

#include "flotilla/plan/control_flow.h"
#include "flotilla/plan/draft_host.h"
#include "flotilla/plan/dynamic.h"

namespace flotilla::plan {

using Names = std::set<std::string, std::less<>>;
using Values = std::map<std::string, int32_t, std::less<>>;  // variables to their versions

// All that it is given outlives it; it is gone when the draft is made.
class Drafter {
 public:
  // `program` is the program of `request` after the passes.
  Drafter(const Program& program, const PlanRequest& request, Draft& draft, DraftHost& host,
          DynamicHost& dynamic_host);

  void run();

  // For control flow.
  const Program& program() const { return program_; }
  Draft& draft() { return draft_; }
  DraftHost& host() { return host_; }
  Values& current() { return current_; }
  void plan_block(const Block& block);
  void prepare(const Block& block, const Op& op);
  // The version of a variable that an op reads now; refuses one that nobody wrote.
  int32_t reading(const Block& block, const std::string& name);

 private:
  void add_feeds();
  void copy_feeds_that_are_written();
  void add_fetches();
  // The version that an op writes now.
  int32_t writing(const Block& block, const std::string& name, const VarMeta& meta);
  int32_t write_in_place(const std::string& name, const Var* var, const VarMeta& meta);
  int32_t store_value(const std::string& name, Tensor* tensor, const Var* var, bool writes);
  int32_t lod_source_of(const std::string& name, const VarMeta& meta) const;
  // Where the op runs, and by which kernel.
  void choose_kernel(Prepared& op, DType dtype, bool dynamic);
  void prepare_dynamic(Prepared op);
  void check_places(const Prepared& op, const InferContext::Metas& inputs,
                    const InferContext::Metas& outputs) const;
  Value& at(int32_t value) { return draft_.at(value); }
  const Value& at(int32_t value) const { return draft_.at(value); }

  const Program& program_;
  const PlanRequest& request_;
  Draft& draft_;
  DraftHost& host_;
  DynamicHost& dynamic_host_;
  ControlFlow control_flow_{*this};
  Names pinned_;    // variables of outer blocks that a sub-block writes
  Values current_;  // variable to its latest version
};

}  // namespace flotilla::plan

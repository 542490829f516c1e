#include "flotilla/ir/verify.h"

#include <algorithm>
#include <array>
#include <unordered_set>

#include "flotilla/ir/structure.h"
#include "flotilla/ir/text.h"

namespace flotilla {
namespace {

// What talks to other processes. Collectives all begin with c_ but for these.
constexpr std::array<std::string_view, 36> kRemoteOps = {"all_gather_rows",
                                                         "allreduce",
                                                         "alltoall",
                                                         "barrier",
                                                         "broadcast",
                                                         "checkpoint_notify",
                                                         "distributed_lookup_table",
                                                         "distributed_push_sparse",
                                                         "fetch_barrier",
                                                         "fused_all_reduce",
                                                         "gen_bkcl_id",
                                                         "gen_nccl_id",
                                                         "geo_sgd",
                                                         "global_gather",
                                                         "global_scatter",
                                                         "heter_listen_and_serv",
                                                         "heter_recv",
                                                         "heter_send",
                                                         "listen_and_serv",
                                                         "mp_allreduce_sum",
                                                         "partial_allgather",
                                                         "partial_recv",
                                                         "partial_send",
                                                         "prefetch",
                                                         "pull_box_sparse",
                                                         "pull_sparse",
                                                         "pull_sparse_v2",
                                                         "push_box_sparse",
                                                         "push_dense",
                                                         "push_sparse",
                                                         "push_sparse_v2",
                                                         "recv",
                                                         "recv_v2",
                                                         "send",
                                                         "send_barrier",
                                                         "send_v2"};

bool is_remote(const Op& op) {
  return op.type().starts_with("c_") ||
         std::find(kRemoteOps.begin(), kRemoteOps.end(), op.type()) != kRemoteOps.end();
}

// coalesce_tensor lays its inputs out before anybody writes them, unless told to copy.
bool needs_values(const Op& op) {
  return op.type() != "coalesce_tensor" || op.attr_or<bool>("copy_data", false);
}

class Verifier {
 public:
  Verifier(const Program& program, Stage stage)
      : program_(program), stage_(stage), visited_(program.blocks().size(), false) {}

  void run() {
    for (const auto& block : program_.blocks()) {
      for (size_t i = 0; i < block->size(); ++i) {
        noting(*block, i, [&](const Op& op) {
          check_names(*block, op);
          check_stage(op);
        });
      }
    }
    visit(program_.global_block());
  }

 private:
  // Errors of `check` leave with the op's text and the user's line.
  template <typename Check>
  void noting(const Block& block, size_t position, Check check) {
    const Op& op = block.op(position);
    try {
      check(op);
    } catch (Error& error) {
      error.note("op", fmt::format("#{} {}", position, print(op)));
      if (block.index() != 0) error.note("block", fmt::format("{}", block.index()));
      if (const std::string from = user_line(op); !from.empty()) error.note("from", from);
      throw;
    }
  }

  void check_names(const Block& block, const Op& op) {
    for (const Slots* slots : {&op.inputs(), &op.outputs()}) {
      for (const auto& [slot, vars] : *slots) {
        if (slot == "blocking_queue") continue;  // a loader's, which lives in the scope alone
        for (const std::string& name : vars) {
          if (name != kEmptyVar) block.var(name);  // refuses, with the nearest name
        }
      }
    }
  }

  void check_stage(const Op& op) {
    const int32_t role = op.role();
    require(stage_ >= Stage::kBackward || (role & kBackwardRole) == 0,
            "{} has the role of backward, but the program is still forward only", op.type());
    require(stage_ >= Stage::kTraining || (role & kOptimizeRole) == 0,
            "{} has the role of an optimizer, but the program has none yet", op.type());
    require(stage_ >= Stage::kParallel || !is_remote(op),
            "{} communicates with other processes, but the program is still that of one process",
            op.type());
  }

  // In the order in which ops run; a sub-block where the op stands that runs it.
  void visit(const Block& block) {
    visited_[static_cast<size_t>(block.index())] = true;
    for (size_t i = 0; i < block.size(); ++i) {
      const Op& op = block.op(i);
      const std::vector<int32_t> inner = sub_blocks(op);
      // Control flow lists whatever its blocks touch; the blocks themselves are looked at. Those of
      // gradients are filled with values from outside before they run.
      if (inner.empty() && block.forward_block() < 0 && needs_values(op)) {
        noting(block, i, [&](const Op&) { check_reads(block, op); });
      }
      for (const int32_t index : inner) {
        if (!visited_[static_cast<size_t>(index)]) visit(program_.block(index));
      }
      for (const auto& [slot, vars] : op.outputs()) {
        for (const std::string& name : vars) written_.insert(block.find_var_recursive(name));
      }
    }
  }

  void check_reads(const Block& block, const Op& op) {
    for (const auto& [slot, vars] : op.inputs()) {
      for (const std::string& name : vars) {
        const Var* var = block.find_var_recursive(name);
        require(var == nullptr || has_value(*var),
                "variable \"{}\" is read before anything writes it", name);
      }
    }
  }

  bool has_value(const Var& var) const {
    const bool is_value = var.kind == VarKind::kTensor || var.kind == VarKind::kSelectedRows;
    return !is_value || var.persistable || var.is_data || var.is_parameter() ||
           written_.contains(&var);
  }

  const Program& program_;
  const Stage stage_;
  std::vector<bool> visited_;
  std::unordered_set<const Var*> written_;
};

}  // namespace

void verify(const Program& program, Stage stage) {
  check_blocks(program);
  Verifier(program, stage).run();
}

}  // namespace flotilla

#include "flotilla/passes/strategy_support.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "flotilla/base/error.h"
#include "flotilla/passes/pass.h"
#include "flotilla/passes/strategy.pb.h"
#include "flotilla/passes/strategy_field.h"

namespace flotilla::passes {
namespace {

struct Missing {
  std::string_view field = {};
  std::string_view instead = {};  // what happens
};

// Options that are off by default, and do nothing when they are on.
constexpr std::array kMissing = {
    Missing{"amp", "all arithmetic stays in the type of the parameters"},
    Missing{"recompute",
            "activations are kept, which takes more memory and gives the same results"},
    Missing{"dgc", "gradients are exchanged whole"},
    Missing{"pipeline", "every rank runs the whole program on its own data"},
    Missing{"elastic", "the number of ranks stays as it is"},
    Missing{"auto", "only the other options of the strategy take effect"},
    Missing{"adaptive_localsgd", "gradients are exchanged in every step"},
    Missing{"fp16_allreduce", "gradients are exchanged in their own type"},
    Missing{"sharding", "every rank keeps all parameters and their state"},
    Missing{"tensor_parallel", "every rank computes whole layers"},
    Missing{"asp", "no weight is left out"},
    Missing{"semi_auto", "only the other options of the strategy take effect"},
    Missing{"adam_d2sum", "Adam keeps its usual moments"},
    Missing{"auto_search", "only the other options of the strategy take effect"},
    Missing{"heter_ccl_mode", "all ranks take part in the same exchanges"},
    Missing{"is_fl_ps_mode", "there is no federated training"},
    Missing{"with_coordinator", "there is no coordinator"},
    Missing{"qat", "nothing is quantized"},
    Missing{"use_hierarchical_allreduce",
            "the algorithm follows from where the ranks run and from the amount of data"},
    Missing{"cudnn_exhaustive_search", "algorithms are chosen by the library"},
    Missing{"cudnn_batchnorm_spatial_persistent", "algorithms are chosen by the library"},
};

// The same for options that have a number or are on by default.
constexpr std::array kUnused = {
    Missing{"nccl_comm_num", "one communicator is enough"},
    Missing{"fuse_grad_size_in_TFLOPS", "buckets are measured by fuse_grad_size_in_MB"},
    Missing{"fuse_grad_size_in_num", "buckets are measured by fuse_grad_size_in_MB"},
    Missing{"conv_workspace_size_limit", "the library finds out what it needs"},
    Missing{"sync_nccl_allreduce", "an exchange is over before its result is used"},
    Missing{"hierarchical_allreduce_inter_nranks",
            "the algorithm follows from where the ranks run and from the amount of data"},
    Missing{"find_unused_parameters",
            "gradients that a program does not compute are not waited for"},
    Missing{"without_graph_optimization", "plans are optimized, with the same results"},
    Missing{"fuse_grad_merge", "gradients are merged one by one, with the same results"},
    Missing{"split_data", "every rank trains on what its program feeds"},
    Missing{"trainer_desc_configs", "nothing is dumped, and there is one kind of trainer"},
};

// Of hybrid_configs, where they are above 1.
constexpr std::array kDegrees = {
    Missing{"mp_degree", "every rank computes whole layers"},
    Missing{"pp_degree", "every rank runs the whole program on its own data"},
    Missing{"sharding_degree", "every rank keeps all parameters and their state"},
    Missing{"sep_degree", "every rank works on whole sequences"},
};

// Of a_sync_configs.
constexpr std::array kCommunicatorUnused = {
    Missing{"independent_recv_thread", "values come with the answers to pushes"},
    Missing{"thread_pool_size", "one thread sends a step's gradients, of all variables together"},
    Missing{"send_wait_times", "what is ready is sent at once"},
    Missing{"use_ps_gpu", "tables live in the memory of servers"},
};

constexpr std::array kFluidMissing = {
    Missing{"use_dist_fc", "every rank computes whole layers"},
    Missing{"forward_recompute",
            "activations are kept, which takes more memory and gives the same results"},
    Missing{"use_amp", "all arithmetic stays in the type of the parameters"},
    Missing{"async_mode", "gradients are exchanged in every step"},
    Missing{"use_hierarchical_allreduce",
            "the algorithm follows from where the ranks run and from the amount of data"},
};

std::string sentence(const Missing& missing, const Setting& value) {
  return fmt::format("strategy.{} = {} has no effect yet: {}.", missing.field, describe(value),
                     missing.instead);
}

template <typename Rows>
void add_switched_on(const Strategy& strategy, const Rows& rows, std::vector<std::string>& said) {
  for (const Missing& row : rows) {
    const Setting value = strategy.get(row.field);
    if (value == Setting(true)) said.push_back(sentence(row, value));
  }
}

// An option that switches a pass on is not missing, whatever the list says of it.
void add_missing(const DistributedStrategy& strategy, std::vector<std::string>& said) {
  std::vector<Missing> rows(kMissing.begin(), kMissing.end());
  for (const PassRow& pass : all_passes()) {
    std::erase_if(rows, [&](const Missing& row) { return row.field == pass.option; });
  }
  add_switched_on(strategy, rows, said);
}

template <typename Rows>
void add_changed(const Strategy& strategy, const Strategy& initial, const Rows& rows,
                 std::vector<std::string>& said) {
  for (const Missing& row : rows) {
    const Setting value = strategy.get(row.field);
    if (value != initial.get(row.field)) said.push_back(sentence(row, value));
  }
}

std::vector<NamedSetting> configuration(const Strategy& strategy, std::string_view field) {
  return std::get<std::vector<NamedSetting>>(strategy.get(field).value);
}

// Where one of the rows is of this setting of a configuration.
template <typename Rows>
void add_nested(std::string_view configuration, const NamedSetting& setting, const Rows& rows,
                std::vector<std::string>& said) {
  const auto row = std::find_if(rows.begin(), rows.end(),
                                [&](const Missing& m) { return m.field == setting.name; });
  if (row == rows.end()) return;
  const std::string field = fmt::format("{}[\"{}\"]", configuration, setting.name);
  said.push_back(sentence({field, row->instead}, setting.value));
}

}  // namespace

std::vector<std::string> unsupported(const DistributedStrategy& strategy) {
  std::vector<std::string> said;
  add_missing(strategy, said);
  add_changed(strategy, DistributedStrategy(), kUnused, said);
  for (const NamedSetting& setting : configuration(strategy, "hybrid_configs")) {
    const int64_t* degree = std::get_if<int64_t>(&setting.value.value);
    if (degree != nullptr && *degree > 1) add_nested("hybrid_configs", setting, kDegrees, said);
  }
  return said;
}

std::vector<std::string> unsupported(const FluidStrategy& strategy) {
  std::vector<std::string> said;
  add_switched_on(strategy, kFluidMissing, said);
  add_changed(strategy, FluidStrategy(),
              std::array{Missing{"nccl_comm_num", "one communicator is enough"}}, said);
  return said;
}

std::vector<std::string> unsupported_by_servers(const DistributedStrategy& strategy) {
  std::vector<std::string> said;
  add_missing(strategy, said);
  for (const PassRow& pass : all_passes()) {
    if (pass.with_servers.empty()) continue;
    add_switched_on(strategy, std::array{Missing{pass.option, pass.with_servers}}, said);
  }
  const std::vector<NamedSetting> initial = configuration(DistributedStrategy(), "a_sync_configs");
  for (const NamedSetting& setting : configuration(strategy, "a_sync_configs")) {
    if (std::find(initial.begin(), initial.end(), setting) != initial.end()) continue;
    add_nested("a_sync_configs", setting, kCommunicatorUnused, said);
  }
  return said;
}

DistributedStrategy translate(const FluidStrategy& strategy) {
  const strategy::FluidStrategy& s = strategy.message();
  DistributedStrategy made;
  for (const PassRow& pass : all_passes()) {
    if (pass.wanted_by != nullptr) made.set(pass.option, pass.wanted_by(strategy));
  }
  made.set("sync_batch_norm", s.sync_batch_norm());
  made.set("fuse_all_reduce_ops", s.fuse_all_reduce_ops());
  // 0 divides by the number of ranks; 1 and 2 leave the gradient of the loss to the program.
  made.set("gradient_scale_configs",
           {{"scale_strategy", s.gradient_scale_strategy() == 0 ? "avg" : "customized"}});
  made.set("nccl_comm_num", s.nccl_comm_num());
  made.set("use_hierarchical_allreduce", s.use_hierarchical_allreduce());
  made.set("amp", s.use_amp());
  made.set("amp_configs", {{"init_loss_scaling", static_cast<double>(s.amp_loss_scaling())}});
  made.set("recompute", s.forward_recompute());
  made.set("recompute_configs", {{"checkpoints", strategy.get("recompute_checkpoints")}});
  return made;
}

void check(const DistributedStrategy& strategy) {
  for (const PassRow& pass : all_passes()) {
    if (pass.check != nullptr) pass.check(strategy);
  }
}

}  // namespace flotilla::passes

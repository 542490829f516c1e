// flotilla/passes/ps_split.cc
//
//     lookup_table(ids0, emb) -> e0        distributed_lookup_table([ids0, ids1], emb) -> [e0, e1]
//     lookup_table(ids1, emb) -> e1
//     ...                             ==>  ...
//     lookup_table_grad(e0@GRAD)           distributed_push_sparse([ids0, ids1],
//     lookup_table_grad(e1@GRAD)                                   [e0@GRAD, e1@GRAD], lr)
//     sum -> emb@GRAD
//     mul_grad(...) -> w@GRAD              mul_grad(...) -> w@GRAD
//     sgd(emb), sgd(w), sgd(b)             send([w@GRAD, b@GRAD], lr)
//                                          send_barrier()
//                                          recv() -> [w, b]

#include "flotilla/passes/ps_split.h"

#include <algorithm>
#include <map>
#include <set>

#include "flotilla/passes/gradients.h"

namespace flotilla::passes {
namespace {

// Decides first; apply() changes the block at once.
class Rewrite {
 public:
  explicit Rewrite(Block& block) : block_(block) {}

  const Block& block() const { return block_; }
  void remove(size_t position) { removed_.insert(position); }
  void insert_before(size_t position, Op op) { inserted_[position].push_back(std::move(op)); }

  // Back to front, so that the positions of the earlier ones stay valid.
  void apply() {
    for (size_t i = block_.size() + 1; i-- > 0;) {
      if (removed_.contains(i)) block_.erase(i);
      if (const auto ops = inserted_.find(i); ops != inserted_.end()) {
        block_.insert_before(i, std::move(ops->second));
      }
    }
  }

 private:
  Block& block_;
  std::set<size_t> removed_;
  std::map<size_t, std::vector<Op>> inserted_;
};

Attrs rpc(const ServerTable& table, int32_t role) {
  return {{"op_role", role | kRpcRole}, {"table_id", static_cast<int32_t>(table.id)}};
}

// Behind the last op that writes one of the variables.
size_t behind_writers(const Block& block, const std::vector<std::string>& vars) {
  size_t position = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    const Op& op = block.op(i);
    if (std::any_of(vars.begin(), vars.end(), [&](const auto& var) { return op.writes(var); })) {
      position = i + 1;
    }
  }
  return position;
}

// Lookups that may run where the first of them stands: alike, and the ids are there by then.
bool may_join(const Block& block, size_t first, size_t other) {
  const Op& a = block.op(first);
  const Op& b = block.op(other);
  for (const std::string_view attr : {"padding_idx", "is_test"}) {
    const Attr *x = a.find_attr(attr), *y = b.find_attr(attr);
    if ((x == nullptr) != (y == nullptr) || (x != nullptr && *x != *y)) return false;
  }
  if (a.type() != b.type()) return false;
  for (size_t i = first; i < other; ++i) {
    if (block.op(i).writes(b.input("Ids"))) return false;
  }
  return true;
}

void join_lookups(Rewrite& rewrite, const ServerTable& table) {
  const Block& block = rewrite.block();
  std::vector<std::vector<size_t>> groups;
  for (size_t i = 0; i < block.size(); ++i) {
    if (!is_lookup(block.op(i)) || block.op(i).input("W") != table.name) continue;
    const auto group = std::find_if(groups.begin(), groups.end(),
                                    [&](const auto& g) { return may_join(block, g.front(), i); });
    (group == groups.end() ? groups.emplace_back() : *group).push_back(i);
  }
  for (const std::vector<size_t>& group : groups) {
    const Op& first = block.op(group.front());
    Slots inputs = {{"W", {table.name}}}, outputs;
    for (const size_t i : group) {
      inputs["Ids"].push_back(block.op(i).input("Ids"));
      outputs["Outputs"].push_back(block.op(i).output("Out"));
      rewrite.remove(i);
    }
    Attrs attrs = marks_of(first);
    attrs["table_id"] = static_cast<int32_t>(table.id);
    attrs["is_distributed"] = true;
    attrs["is_test"] = first.attr_or<bool>("is_test", false);
    attrs["padding_idx"] = first.attr_or<int64_t>("padding_idx", -1);
    attrs["lookup_table_version"] = first.type();
    rewrite.insert_before(group.front(),
                          Op("distributed_lookup_table", inputs, outputs, std::move(attrs)));
  }
}

void push_rows(Rewrite& rewrite, const ServerTable& table) {
  const Block& block = rewrite.block();
  Slots inputs = {{"LearningRate", {table.learning_rate}}};
  int64_t padding = -1;
  for (const size_t i : ops_behind(block, table)) {
    rewrite.remove(i);
    const Op& op = block.op(i);
    if (!is_lookup_grad(op)) continue;
    inputs["Ids"].push_back(op.input("Ids"));
    inputs["Grads"].push_back(op.input("Out@GRAD"));
    padding = op.attr_or<int64_t>("padding_idx", -1);
  }
  Attrs attrs = rpc(table, kBackwardRole);
  attrs["padding_idx"] = padding;
  attrs["size"] = static_cast<int32_t>(table.width);
  std::vector<std::string> needed = inputs.at("Grads");
  needed.push_back(table.learning_rate);
  rewrite.insert_before(behind_writers(block, needed),
                        Op("distributed_push_sparse", inputs, {}, std::move(attrs)));
}

void push_gradients(Rewrite& rewrite, const ServerTable& table) {
  const Block& block = rewrite.block();
  std::vector<std::string> needed = table.gradients;
  needed.push_back(table.learning_rate);
  rewrite.insert_before(
      behind_writers(block, needed),
      Op("send", {{"X", table.gradients}, {"LearningRate", {table.learning_rate}}}, {},
         rpc(table, kBackwardRole)));
}

// The updates, and what only they use: accumulators, which the startup program need not fill.
Names remove_updates(Rewrite& rewrite) {
  const Block& block = rewrite.block();
  Names accumulators;
  for (size_t i = 0; i < block.size(); ++i) {
    const Op& op = block.op(i);
    if (!has_role(op, kOptimizeRole) || !op.has_input("Param")) continue;
    rewrite.remove(i);
    for (const auto& [slot, vars] : op.inputs()) {
      if (slot == "Param" || slot == "Grad" || slot == "LearningRate") continue;
      accumulators.insert(vars.begin(), vars.end());
    }
  }
  return accumulators;
}

void change_startup(Program& startup, const std::vector<ServerTable>& tables,
                    const Names& accumulators) {
  Block& block = startup.global_block();
  Rewrite rewrite(block);
  for (size_t i = 0; i < block.size(); ++i) {
    for (const std::string& name : block.op(i).output_names()) {
      if (accumulators.contains(name)) rewrite.remove(i);
      for (const ServerTable& table : tables) {
        if (!table.sparse || table.name != name) continue;
        rewrite.remove(i);
        rewrite.insert_before(
            i, Op("fake_init", {}, {{"Out", {name}}}, {{"shape", block.var(name).shape.dims()}}));
      }
    }
  }
  rewrite.apply();
  for (const std::string& name : accumulators) {
    if (block.find_var(name) != nullptr) block.remove_var(name);
  }
}

void split_for_servers(Program& main, Program& startup, const std::vector<ServerTable>& tables,
                       bool sync) {
  Block& block = main.global_block();
  Rewrite rewrite(block);
  const size_t end = block.size();
  for (const ServerTable& table : tables) {
    if (table.sparse) {
      join_lookups(rewrite, table);
      push_rows(rewrite, table);
    } else {
      push_gradients(rewrite, table);
    }
  }
  if (sync) {
    rewrite.insert_before(end, Op("send_barrier", {}, {}, {{"op_role", kOptimizeRole | kRpcRole}}));
  }
  for (const ServerTable& table : tables) {
    if (table.sparse) continue;
    rewrite.insert_before(end, Op("recv", {}, {{"Out", table.params}}, rpc(table, kOptimizeRole)));
  }
  const Names accumulators = remove_updates(rewrite);
  rewrite.apply();
  for (const std::string& name : accumulators) {
    if (block.find_var(name) != nullptr) block.remove_var(name);
  }
  change_startup(startup, tables, accumulators);
}

void add_geo(Program& main, const std::vector<ServerTable>& tables, int64_t steps) {
  require(steps >= 1,
          "workers exchange what has changed every step or less often, but k_steps is {}", steps);
  Block& block = main.global_block();
  for (const ServerTable& table : tables) {
    Slots inputs = {{"X", table.params}};
    for (const auto& op : block.ops()) {
      if (table.sparse && is_lookup(*op) && op->input("W") == table.name) {
        inputs["Ids"].push_back(op->input("Ids"));
      }
    }
    Attrs attrs = rpc(table, kOptimizeRole);
    attrs["k_steps"] = static_cast<int32_t>(steps);
    block.push_back(Op("geo_sgd", std::move(inputs), {{"Out", table.params}}, std::move(attrs)));
  }
}

}  // namespace

std::vector<ServerTable> ps_split(Program& main, Program& startup, const PsOptions& options) {
  std::vector<ServerTable> tables = find_tables(main, startup);
  if (options.mode == PsMode::kGeo) {
    add_geo(main, tables, options.geo_steps);
  } else {
    split_for_servers(main, startup, tables, options.mode == PsMode::kSync);
  }
  return tables;
}

}  // namespace flotilla::passes

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
//                                          send_barrier([ids0, e0@GRAD, w@GRAD, ...])
//                                          recv([w, b]) -> [w, b]

#include "flotilla/passes/ps_split.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

#include "flotilla/passes/gradients.h"
#include "flotilla/passes/pass.h"

namespace flotilla::passes {
namespace {

// Decides first; apply() changes the block at once.
class Rewrite {
 public:
  explicit Rewrite(Block& block) : block_(block) {}

  const Block& block() const { return block_; }
  void remove(size_t position) { removed_.insert(position); }
  void keep(size_t position) { removed_.erase(position); }
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

// All that updates parameters, wherever they are: a program for tests has none of it.
constexpr int32_t kRole = kOptimizeRole | kRpcRole;

Attrs rpc(const ServerTable& table) {
  return {{"op_role", kRole}, {"table_id", static_cast<int32_t>(table.id)}};
}

// Behind the last update: what comes later (moving averages) sees the parameters after it.
size_t behind_updates(const Block& block) {
  size_t position = 0;
  for (size_t i = 0; i < block.size(); ++i) {
    if (is_update(block.op(i))) position = i + 1;
  }
  return position;
}

// Behind the last op that writes one of the variables for an update.
size_t behind_writers(const Block& block, const std::vector<std::string>& vars) {
  size_t position = 0;
  const size_t end = behind_updates(block);
  for (size_t i = 0; i < end; ++i) {
    const Op& op = block.op(i);
    if (std::any_of(vars.begin(), vars.end(), [&](const auto& var) { return op.writes(var); })) {
      position = i + 1;
    }
  }
  return position;
}

// A padding that is counted from the end is counted from the front here.
int64_t padding_of(const Op& lookup, const ServerTable& table) {
  const int64_t padding = lookup.attr_or<int64_t>("padding_idx", -1);
  return padding < -1 ? padding + table.rows : padding;
}

// Lookups of one table that differ in their ids only.
struct Lookups {
  const ServerTable* table = nullptr;
  std::vector<size_t> ops = {};  // positions, ascending
};

bool same_attr(const Op& a, const Op& b, std::string_view name) {
  const Attr *x = a.find_attr(name), *y = b.find_attr(name);
  return (x == nullptr) == (y == nullptr) && (x == nullptr || *x == *y);
}

// Whether the lookup may run where the other stands: its ids are there by then.
bool may_run_at(const Block& block, size_t position, size_t lookup) {
  const std::string& ids = block.op(lookup).input("Ids");
  for (size_t i = position; i < lookup; ++i) {
    if (block.op(i).writes(ids)) return false;
  }
  return block.op(position).type() == block.op(lookup).type() &&
         same_attr(block.op(position), block.op(lookup), "is_test");
}

std::vector<Lookups> find_lookups(const Block& block, const std::vector<ServerTable>& tables) {
  std::vector<Lookups> groups;
  for (size_t i = 0; i < block.size(); ++i) {
    if (!is_lookup(block.op(i))) continue;
    const auto table = std::find_if(tables.begin(), tables.end(), [&](const ServerTable& t) {
      return t.sparse && t.name == block.op(i).input("W");
    });
    if (table == tables.end()) continue;
    const auto group = std::find_if(groups.begin(), groups.end(), [&](const Lookups& g) {
      return g.table == &*table && may_run_at(block, g.ops.front(), i) &&
             same_attr(block.op(g.ops.front()), block.op(i), "padding_idx");
    });
    if (group != groups.end()) {
      group->ops.push_back(i);
    } else {
      groups.push_back({&*table, {i}});
    }
  }
  return groups;
}

// Those of several tables that may be one request: a table once in each.
std::vector<std::vector<Lookups>> find_requests(const Block& block,
                                                const std::vector<ServerTable>& tables) {
  std::vector<std::vector<Lookups>> requests;
  for (Lookups& group : find_lookups(block, tables)) {
    const auto takes = [&](const std::vector<Lookups>& request) {
      const size_t position = request.front().ops.front();
      return std::none_of(request.begin(), request.end(),
                          [&](const Lookups& other) { return other.table == group.table; }) &&
             std::all_of(group.ops.begin(), group.ops.end(),
                         [&](size_t i) { return may_run_at(block, position, i); });
    };
    const auto request = std::find_if(requests.begin(), requests.end(), takes);
    (request == requests.end() ? requests.emplace_back() : *request).push_back(std::move(group));
  }
  return requests;
}

void join_lookups(Rewrite& rewrite, const std::vector<ServerTable>& tables, bool test) {
  const Block& block = rewrite.block();
  for (const std::vector<Lookups>& request : find_requests(block, tables)) {
    const size_t position = request.front().ops.front();
    const Op& first = block.op(position);
    Slots inputs, outputs;
    std::vector<int32_t> ids, slots;
    std::vector<int64_t> paddings;
    for (const Lookups& group : request) {
      inputs["W"].push_back(group.table->name);
      for (const size_t i : group.ops) {
        inputs["Ids"].push_back(block.op(i).input("Ids"));
        outputs["Outputs"].push_back(block.op(i).output("Out"));
        rewrite.remove(i);
      }
      ids.push_back(static_cast<int32_t>(group.table->id));
      paddings.push_back(padding_of(block.op(group.ops.front()), *group.table));
      slots.push_back(static_cast<int32_t>(group.ops.size()));
    }
    Attrs attrs = marks_of(first);
    if (request.size() == 1) {
      attrs["table_id"] = ids.front();
      attrs["padding_idx"] = paddings.front();
    } else {
      attrs["table_ids"] = std::move(ids);
      attrs["padding_idxs"] = std::move(paddings);
      attrs["slots"] = std::move(slots);
    }
    attrs["is_distributed"] = true;
    attrs["is_test"] = test || first.attr_or<bool>("is_test", false);
    attrs["lookup_table_version"] = first.type();
    rewrite.insert_before(position,
                          Op("distributed_lookup_table", inputs, outputs, std::move(attrs)));
  }
}

// Gradients are noted here and used in send_barrier, which must name them.
class Pushes {
 public:
  explicit Pushes(Rewrite& rewrite) : rewrite_(rewrite) {}

  void add_rows(const ServerTable& table) {
    const Block& block = rewrite_.block();
    const RowGradient gradient = find_row_gradient(block, table);
    for (const size_t i : gradient.ops) rewrite_.remove(i);
    std::set<int64_t> paddings;
    for (const size_t i : gradient.lookups) paddings.insert(padding_of(block.op(i), table));
    // A push knows one padding. Where there are more, the gradients of lookups stay where they are,
    // and leave rows with zeros for it.
    const bool alike = paddings.size() == 1 && gradient.rows.empty();
    Slots inputs;
    std::vector<std::string> rows = gradient.rows;
    // From the last lookup to the first, so that the ids come as they were looked up.
    for (const size_t i : gradient.lookups | std::views::reverse) {
      const Op& op = block.op(i);
      if (alike || padding_of(op, table) == -1) {
        inputs["Ids"].push_back(op.input("Ids"));
        inputs["Grads"].push_back(op.input("Out@GRAD"));
      } else {
        rewrite_.keep(i);
        rows.push_back(op.output("W@GRAD"));
      }
    }
    if (!rows.empty()) inputs["Rows"] = std::move(rows);
    Attrs attrs = rpc(table);
    attrs["padding_idx"] = alike ? *paddings.begin() : int64_t{-1};
    attrs["size"] = static_cast<int32_t>(table.width);
    add("distributed_push_sparse", std::move(inputs), table, std::move(attrs));
  }

  void add_dense(const ServerTable& table) {
    add("send", {{"X", table.gradients}}, table, rpc(table));
  }

  // Every variable once.
  std::vector<std::string> noted() const { return noted_; }

 private:
  void add(std::string type, Slots inputs, const ServerTable& table, Attrs attrs) {
    std::vector<std::string> needed = {table.learning_rate};
    for (const auto& [slot, vars] : inputs) {
      needed.insert(needed.end(), vars.begin(), vars.end());
      for (const std::string& var : vars) {
        if (seen_.insert(var).second) noted_.push_back(var);
      }
    }
    inputs["LearningRate"] = {table.learning_rate};
    rewrite_.insert_before(behind_writers(rewrite_.block(), needed),
                           Op(std::move(type), std::move(inputs), {}, std::move(attrs)));
  }

  Rewrite& rewrite_;
  std::vector<std::string> noted_;
  Names seen_;
};

// The updates, and what only they use: accumulators, which the startup program need not fill.
Names remove_updates(Rewrite& rewrite) {
  const Block& block = rewrite.block();
  Names accumulators;
  for (size_t i = 0; i < block.size(); ++i) {
    const Op& op = block.op(i);
    if (!is_update(op)) continue;
    rewrite.remove(i);
    for (const auto& [slot, vars] : op.inputs()) {
      if (slot == "Param" || slot == "Grad" || slot == "LearningRate") continue;
      accumulators.insert(vars.begin(), vars.end());
    }
  }
  const auto kept_by_update = [&](const std::string& name) { return accumulators.contains(name); };
  for (size_t i = 0; i < block.size(); ++i) {  // Adamax has its power moved on by another op
    const std::vector<std::string> written = names_in(block.op(i).outputs());
    if (is_update(block.op(i)) || written.empty()) continue;
    if (std::ranges::all_of(written, kept_by_update)) rewrite.remove(i);
  }
  return accumulators;
}

// Draws what `initializer` draws, so that what comes after it gets the same numbers.
Op fake_init(const Op& initializer, const Var& table) {
  return Op("fake_init", {}, {{"Out", {table.name}}},
            {{"shape", table.shape.dims()},
             {"dtype", to_paddle(table.dtype)},
             {"draws", initializer.type() != "fill_constant"},
             {"seed", initializer.attr_or<int32_t>("seed", 0)}});
}

void change_startup(Program& startup, const std::vector<ServerTable>& tables,
                    const Names& accumulators) {
  Block& block = startup.global_block();
  Rewrite rewrite(block);
  for (size_t i = 0; i < block.size(); ++i) {
    for (const std::string& name : names_in(block.op(i).outputs())) {
      if (accumulators.contains(name)) rewrite.remove(i);
      for (const ServerTable& table : tables) {
        if (!table.sparse || table.name != name) continue;
        rewrite.remove(i);
        rewrite.insert_before(i, fake_init(block.op(i), block.var(name)));
      }
    }
  }
  rewrite.apply();
  for (const std::string& name : accumulators) {
    if (block.find_var(name) != nullptr) block.remove_var(name);
  }
}

void split_for_servers(Program& main, Program& startup, const std::vector<ServerTable>& tables) {
  Block& block = main.global_block();
  Rewrite rewrite(block);
  Pushes pushes(rewrite);
  const size_t end = behind_updates(block);
  join_lookups(rewrite, tables, false);
  for (const ServerTable& table : tables) {
    if (table.sparse) {
      pushes.add_rows(table);
    } else {
      pushes.add_dense(table);
    }
  }
  rewrite.insert_before(end, Op("send_barrier", {{"X", pushes.noted()}}, {}, {{"op_role", kRole}}));
  for (const ServerTable& table : tables) {
    if (table.sparse) continue;
    rewrite.insert_before(end,
                          Op("recv", {{"X", table.params}}, {{"Out", table.params}}, rpc(table)));
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
  std::vector<Op> exchanges;
  for (const ServerTable& table : tables) {
    Slots inputs = {{"X", table.params}};
    for (const auto& op : block.ops()) {
      if (table.sparse && is_lookup(*op) && op->input("W") == table.name) {
        inputs["Ids"].push_back(op->input("Ids"));
      }
    }
    Attrs attrs = rpc(table);
    attrs["k_steps"] = static_cast<int32_t>(steps);
    exchanges.emplace_back("geo_sgd", std::move(inputs), Slots{{"Out", table.params}},
                           std::move(attrs));
  }
  block.insert_before(behind_updates(block), std::move(exchanges));
}

}  // namespace

std::vector<ServerTable> ps_split(Program& main, Program& startup, const PsOptions& options) {
  for (const auto& op : main.global_block().ops()) {
    require(!op->attrs().contains("table_id"),
            "the program is already that of a worker with parameter servers");
  }
  const bool geo = options.mode == PsMode::kGeo;
  std::vector<ServerTable> tables =
      find_tables(main, startup, geo ? Updater::kWorkers : Updater::kServers);
  if (geo) {
    add_geo(main, tables, options.geo_steps);
  } else {
    split_for_servers(main, startup, tables);
  }
  return tables;
}

void look_up_on_servers(Program& program, const std::vector<ServerTable>& tables) {
  Rewrite rewrite(program.global_block());
  join_lookups(rewrite, tables, true);
  rewrite.apply();
}

void look_up_here(Program& program) {
  Block& block = program.global_block();
  Rewrite rewrite(block);
  for (size_t i = 0; i < block.size(); ++i) {
    const Op& op = block.op(i);
    if (op.type() != "distributed_lookup_table") continue;
    rewrite.remove(i);
    const auto slots = op.attr_or<std::vector<int32_t>>(
        "slots", {static_cast<int32_t>(op.input_list("Ids").size())});
    const auto paddings =
        op.attr_or<std::vector<int64_t>>("padding_idxs", {op.attr_or<int64_t>("padding_idx", -1)});
    size_t slot = 0;
    for (size_t table = 0; table < slots.size(); ++table) {
      for (const size_t end = slot + static_cast<size_t>(slots[table]); slot < end; ++slot) {
        Attrs attrs = marks_of(op);
        attrs["padding_idx"] = paddings[table];
        attrs["is_sparse"] = true;
        rewrite.insert_before(
            i, Op(op.attr_or<std::string>("lookup_table_version", "lookup_table"),
                  {{"Ids", {op.input_list("Ids")[slot]}}, {"W", {op.input_list("W")[table]}}},
                  {{"Out", {op.output_list("Outputs")[slot]}}}, std::move(attrs)));
      }
    }
  }
  rewrite.apply();
}

void ps_split(PassContext& context) {
  context.tables = ps_split(context.main, *context.startup, *context.servers);
}

}  // namespace flotilla::passes

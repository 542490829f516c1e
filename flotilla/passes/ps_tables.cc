#include "flotilla/passes/ps_tables.h"

#include <algorithm>
#include <set>

#include "flotilla/op/infer.h"
#include "flotilla/op/op_def.h"
#include "flotilla/passes/gradients.h"
#include "flotilla/update/rule.h"

namespace flotilla::passes {
namespace {

float number_of(const Op& op, std::string_view name) {
  const Attr& attr = attr_or_default(op, op_def(op.type()), name);
  if (const bool* flag = std::get_if<bool>(&attr)) return *flag ? 1 : 0;
  if (std::holds_alternative<std::vector<float>>(attr)) {
    const auto values = attr_as<std::vector<float>>(attr, name);
    require(values.size() == 1, "{} of {} must hold one number for one parameter, but holds {}",
            name, op.type(), values.size());
    return values.front();
  }
  return attr_as<float>(attr, name);
}

const Op* last_writer(const Block& block, std::string_view var) {
  for (size_t i = block.size(); i-- > 0;) {
    if (block.op(i).writes(var)) return &block.op(i);
  }
  return nullptr;
}

// What servers know of an update.
const update::Rule& rule_of(const Op& op) {
  const update::Rule* rule = update::find_rule(op.type());
  require(rule != nullptr,
          "parameter servers have no rule for {}, which updates \"{}\"; their rules are: {}",
          op.type(), op.input("Param"), fmt::join(update::rule_names(), ", "));
  return *rule;
}

// The rule of an update. A state starts with what the startup program fills it with.
void read_rule(const Op& op, const Program& startup, ServerTable& table) {
  const update::Rule& rule = rule_of(op);
  table.rule = rule.name;
  for (const update::Setting& setting : rule.settings) {
    if (setting.op && setting.table) table.numbers[setting.name] = number_of(op, setting.name);
  }
  if (rule.takes_l2 && op.attr_or<std::string>("regularization_method", "") == "l2_decay") {
    table.l2 = number_of(op, "regularization_coeff");
  }
  for (const update::State& state : rule.states) {
    if (state.start.empty()) continue;
    const Op* filling = last_writer(startup.global_block(), op.input(state.slot));
    if (filling != nullptr && filling->type() == "fill_constant") {
      table.numbers[state.start] = filling->attr_or<float>("value", 0);
    }
  }
  if (rule.to_table != nullptr) rule.to_table(table.rule, table.numbers);
  table.learning_rate = op.input("LearningRate");
}

FirstValue first_value(const Program& startup, const std::string& param) {
  const Op* op = last_writer(startup.global_block(), param);
  require(op != nullptr, "the startup program does not initialise \"{}\"", param);
  if (op->type() == "fill_constant") return {.a = op->attr_or<float>("value", 0)};
  FirstValue first = {.seed = op->attr_or<int64_t>("seed", 0)};
  if (op->type() == "uniform_random" && op->attr_or<int32_t>("diag_num", 0) == 0) {
    first.kind = "uniform";
    first.a = number_of(*op, "min");
    first.b = number_of(*op, "max");
    return first;
  }
  require(op->type() == "gaussian_random" || op->type() == "truncated_gaussian_random",
          "the rows of \"{}\" must be initialized as constant, uniform or normal, but {} "
          "initializes them",
          param, op->type());
  first.kind = op->type() == "gaussian_random" ? "normal" : "truncated_normal";
  first.a = number_of(*op, "mean");
  first.b = number_of(*op, "std");
  return first;
}

// Whether rows of the parameter are looked up with gradients in sparse rows.
bool is_sparse(const Block& block, const std::string& param) {
  return std::any_of(block.ops().begin(), block.ops().end(), [&](const auto& op) {
    return is_lookup(*op) && op->input("W") == param &&
           op->template attr_or<bool>("is_sparse", false);
  });
}

// One behind the other, the ops that lead to a sparse table's update.
class Chain {
 public:
  Chain(const Block& block, const std::string& param) : block_(block), param_(param) {
    for (size_t i = 0; i < block.size(); ++i) {
      const Op& op = block.op(i);
      if (is_update(op) && op.input("Param") == param) {
        add(i);
        follow(op.input("Grad"), i);
      }
    }
    check_readers();
  }

  RowGradient gradient() const {
    return {.ops = {positions_.begin(), positions_.end()},
            .lookups = {lookups_.begin(), lookups_.end()},
            .rows = rows_};
  }
  float l1() const { return l1_; }
  float l2() const { return l2_; }

 private:
  void add(size_t position) {
    positions_.insert(position);
    for (const std::string& name : names_in(block_.op(position).outputs())) {
      const Var* var = block_.find_var(name);
      if (var != nullptr && !var->persistable) made_.insert(name);
    }
  }

  // The op before `end` whose result is there then; the block's size where there is none.
  size_t writer(const std::string& var, size_t end) const {
    for (size_t i = end; i-- > 0;) {
      if (block_.op(i).writes(var)) return i;
    }
    return block_.size();
  }

  // From a gradient, as it is before `end`, back to the lookups, or to sparse rows that something
  // else makes of them.
  void follow(const std::string& gradient, size_t end) {
    const size_t i = writer(gradient, end);
    require(i != block_.size(), "no op computes the gradient \"{}\" of the sparse table \"{}\"",
            gradient, param_);
    const Op& op = block_.op(i);
    if (is_lookup_grad(op)) {
      add(i);
      lookups_.insert(i);
    } else if (op.type() == "sum") {
      add(i);
      for (const std::string& part : op.input_list("X")) {
        if (!take_decay(part, i)) follow(part, i);
      }
    } else {
      require(block_.var(gradient).kind == VarKind::kSelectedRows,
              "the gradient of the sparse table \"{}\" goes to servers as rows, but {} makes it "
              "dense",
              param_, op.type());
      rows_.push_back(gradient);
    }
  }

  // scale(param) is L2 decay, scale(sign(param)) L1 decay.
  bool take_decay(const std::string& var, size_t end) {
    const size_t scale = writer(var, end);
    if (scale == block_.size() || block_.op(scale).type() != "scale") return false;
    const std::string& from = block_.op(scale).input("X");
    const float factor = block_.op(scale).attr_or<float>("scale", 1);
    if (from == param_) {
      l2_ += factor;
    } else {
      const size_t sign = writer(from, scale);
      if (sign == block_.size() || block_.op(sign).type() != "sign") return false;
      l1_ += factor;
      add(sign);
    }
    add(scale);
    return true;
  }

  void check_readers() const {
    for (size_t i = 0; i < block_.size(); ++i) {
      const Op& op = block_.op(i);
      // The gradient of a lookup reads the table's width only.
      if (positions_.contains(i) || is_lookup(op) || is_lookup_grad(op)) continue;
      require(!op.reads(param_), "\"{}\" is a sparse table on servers, but {} reads all of it",
              param_, op.type());
      for (const std::string& name : made_) {
        const bool stays = std::find(rows_.begin(), rows_.end(), name) != rows_.end();
        require(stays || !op.reads(name),
                "the gradient of the sparse table \"{}\" goes to servers, but {} reads \"{}\"",
                param_, op.type(), name);
      }
    }
  }

  const Block& block_;
  const std::string param_;
  std::set<size_t> positions_;
  std::set<size_t> lookups_;
  std::vector<std::string> rows_;
  Names made_;  // by these ops
  float l1_ = 0, l2_ = 0;
};

// What servers need to update a sparse table's rows.
void read_rows(const Program& main, const Program& startup, ServerTable& table) {
  const Chain chain(main.global_block(), table.name);
  table.l1 += chain.l1();
  table.l2 += chain.l2();
  table.first = first_value(startup, table.name);
  for (const auto& op : main.global_block().ops()) {
    if (is_lookup(*op) && op->input("W") == table.name) {
      table.entry = op->attr_or<std::string>("entry", "");
    }
  }
}

// A table like this one, but for what it holds. Where the rule looks at norms, each parameter has a
// table of its own.
bool updates_alike(const ServerTable& a, const ServerTable& b) {
  const update::Rule* rule = update::find_rule(a.rule);
  if (rule != nullptr && rule->layerwise()) return false;
  return a.rule == b.rule && a.numbers == b.numbers && a.l1 == b.l1 && a.l2 == b.l2 &&
         a.learning_rate == b.learning_rate;
}

}  // namespace

bool is_lookup(const Op& op) {
  return op.type() == "lookup_table" || op.type() == "lookup_table_v2";
}

bool is_lookup_grad(const Op& op) {
  return op.type() == "lookup_table_grad" || op.type() == "lookup_table_v2_grad";
}

bool is_update(const Op& op) { return has_role(op, kOptimizeRole) && op.has_input("Param"); }

std::vector<ServerTable> find_tables(const Program& main, const Program& startup, Updater updater) {
  const Block& block = main.global_block();
  std::vector<ServerTable> dense, sparse;
  for (const auto& op : block.ops()) {
    if (!is_update(*op)) continue;
    const Var& param = block.var(op->input("Param"));
    require(param.dtype == f32, "tables of parameter servers hold f32, but \"{}\" is {}",
            param.name, param.dtype);
    ServerTable table = {.name = param.name};
    if (updater == Updater::kServers) read_rule(*op, startup, table);
    if (is_sparse(block, param.name)) {
      table.sparse = true;
      table.params = {param.name};
      table.rows = param.shape[0];
      table.width = param.shape.numel() / std::max<int64_t>(param.shape[0], 1);
      if (updater == Updater::kServers) read_rows(main, startup, table);
      sparse.push_back(std::move(table));
      continue;
    }
    const auto same = std::find_if(dense.begin(), dense.end(), [&](const ServerTable& other) {
      return updates_alike(table, other);
    });
    ServerTable& target = same == dense.end() ? dense.emplace_back(std::move(table)) : *same;
    target.params.push_back(param.name);
    target.gradients.push_back(op->input("Grad"));
    target.width += param.shape.numel();
  }
  std::move(sparse.begin(), sparse.end(), std::back_inserter(dense));
  for (size_t i = 0; i < dense.size(); ++i) dense[i].id = static_cast<int64_t>(i);
  require(!dense.empty(), "the program has no update that parameter servers could take over");
  return dense;
}

RowGradient find_row_gradient(const Block& block, const ServerTable& table) {
  return Chain(block, table.name).gradient();
}

}  // namespace flotilla::passes

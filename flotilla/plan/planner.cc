#include "flotilla/plan/planner.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

#include "flotilla/ir/structure.h"
#include "flotilla/op/build.h"
#include "flotilla/op/check.h"
#include "flotilla/op/kernel_dtype.h"
#include "flotilla/op/needs_value.h"

namespace flotilla::plan {
namespace {

// Variables of outer blocks that a sub-block writes: they need one place that both see.
void find_pinned(const Program& program, std::set<std::string, std::less<>>& pinned) {
  for (const auto& block : program.blocks()) {
    for (const auto& op : block->ops()) {
      for (const std::string& name : op->output_names()) {
        const bool outer = block->index() > 0 && block->find_var(name) == nullptr;
        const bool of_block = op->type() == "conditional_block_grad" || op->type() == "while_grad";
        if (outer || of_block) pinned.insert(name);
      }
    }
  }
}

// Ops whose values are there before the first step: feeds, and what a loader gives.
bool is_fed(const Op& op) {
  static const std::set<std::string_view> kTypes = {"feed", "fetch", "create_py_reader",
                                                    "create_double_buffer_reader", "read"};
  return kTypes.contains(op.type());
}

// Ops that hand variables on under their own names once work with them is done: whoever touches
// such a variable waits by itself (guard_work_that_goes_on).
bool is_sync(const Op& op) {
  static const std::set<std::string_view> kTypes = {"c_sync_comm_stream", "c_sync_calc_stream",
                                                    "c_wait_comm", "c_wait_compute"};
  return kTypes.contains(op.type()) &&
         std::ranges::equal(op.input_list("X"), op.output_list("Out"));
}

// All that it would write are gradients that nobody needs.
bool is_idle(const Op& op, const OpDef& def) {
  const std::vector<std::string> outputs = op.output_names();
  return !def.side_effect && !outputs.empty() &&
         std::all_of(outputs.begin(), outputs.end(),
                     [](const auto& name) { return name == kEmptyVar; });
}

// What the op writes. No kernel fills slots that its definition does not know: whoever reads those
// variables is told that nothing wrote them.
Slots written_slots(const Op& op, const OpDef& def) {
  Slots slots = op.outputs();
  std::erase_if(slots, [&](const auto& slot) { return def.find_output(slot.first) == nullptr; });
  return slots;
}

InferContext::Metas declared_outputs(const Block& block, const Slots& slots) {
  InferContext::Metas declared;
  for (const auto& [slot, vars] : slots) {
    for (const std::string& name : vars) {
      const Var* var = block.find_var_recursive(name);
      declared[slot].push_back(
          var == nullptr ? VarMeta{}
                         : VarMeta{.kind = var->kind, .dtype = var->dtype, .shape = var->shape});
    }
  }
  return declared;
}

// Refuses an unknown name. A model that was saved for inference has only what its targets need,
// where the nearest name would mislead.
void require_fetchable(const Block& block, const std::string& name) {
  if (block.find_var_recursive(name) != nullptr) return;
  std::vector<std::string> targets;
  for (const auto& op : block.ops()) {
    if (op->type() == "fetch") targets.push_back(fmt::format("\"{}\"", op->input("X")));
  }
  if (targets.empty()) block.var(name);
  not_found(
      "the program has no variable \"{}\": when it was saved for inference it was cut down to what "
      "gives {}. Fetch that, or save it again with \"{}\" among the targets",
      name, fmt::join(targets, ", "), name);
}

// What a program declares of the extents of an output is a wish: `infer` decides.
InferContext::Metas without_extents(const OpDef& def, InferContext::Metas declared) {
  if (def.infer == nullptr) return declared;
  for (auto& [slot, metas] : declared) {
    if (const Slot* known = def.find_output(slot); known != nullptr && known->shape_only) continue;
    for (VarMeta& meta : metas) meta = unset(std::move(meta));
  }
  return declared;
}

// A model saved for inference lacks the outputs that only gradients read; kernels write them all
// the same, to nobody.
std::vector<std::string> outputs_left_out(const Op& op, const OpDef& def) {
  std::vector<std::string> slots;
  for (const Slot& slot : def.outputs) {
    const bool needed = !slot.optional && !slot.list && !slot.name.ends_with(kGradSuffix);
    const auto vars = op.output_list(slot.name);
    if (needed && (vars.empty() || vars.front() == kEmptyVar)) slots.push_back(slot.name);
  }
  if (!slots.empty() && op.output_names().empty()) {
    refuse("{} writes nothing: no variable stands in its output \"{}\"", def.type, slots.front());
  }
  return slots;
}

// A kernel asks for a slot by its name alone: what it takes for an output must not be an input.
void check_sides(const Op& op, const OpDef& def) {
  for (const auto& [slot, vars] : op.inputs()) {
    require(vars.empty() || def.find_input(slot) != nullptr || def.find_output(slot) == nullptr,
            "{} of {} is an output, but the op has it among its inputs", slot, def.type);
  }
}

}  // namespace

Planner::Planner(const Program& program, const PlanRequest& request)
    : program_(program),
      request_(request),
      generator_(request.generator),
      world_(request.world),
      servers_(request.servers),
      progress_(request.progress),
      caller_(request.caller),
      exchange_layouts_(request.exchange_layouts) {}

void Planner::run() {
  find_pinned(program_, pinned_);
  for (size_t i = 0; i < request_.feeds.size(); ++i) {
    const FeedSpec& feed = request_.feeds[i];
    const int32_t id = static_cast<int32_t>(draft_.values.size());
    current_[feed.name] = add_value({.name = feed.name,
                                     .meta = {.dtype = feed.dtype,
                                              .shape = feed.shape,
                                              .lod_level = feed.lod_levels,
                                              .sequences = feed.sequences,
                                              .lod_source = id},
                                     .home = Home::kFeed,
                                     .index = static_cast<int32_t>(i)});
  }
  give_capacity();
  copy_feeds_that_are_written();
  plan_block(program_.global_block());
  finish_fetches();
}

// A loop reads what its last round wrote, so the variable has one place; the caller's memory cannot
// be that place.
void Planner::copy_feeds_that_are_written() {
  for (size_t i = 0; i < request_.feeds.size(); ++i) {
    const auto feed = static_cast<int32_t>(i);
    const std::string& name = request_.feeds[i].name;
    if (!pinned_.contains(name)) continue;
    const int32_t copy = add_value({.name = name,
                                    .meta = at(feed).meta,
                                    .capacity = at(feed).capacity,
                                    .origin = feed,
                                    .pinned = true});
    at(feed).used = at(copy).used = at(copy).written = true;
    draft_.nodes.push_back({.step =
                                [from = &at(feed), to = &at(copy).cell] {
                                  std::memcpy(to->data, from->cell.data,
                                              static_cast<size_t>(from->bytes()));
                                },
                            .reads = {feed},
                            .writes = {copy}});
    current_[name] = copy;
  }
}

void Planner::plan_block(const Block& block) {
  for (const auto& op : block.ops()) {
    if (is_fed(*op) || is_sync(*op)) continue;
    try {
      plan_op(block, *op);
    } catch (Error& error) {
      note_op(error, *op);
      throw;
    } catch (const std::bad_alloc&) {
      Error error(ErrorKind::kInvalidArgument, "there is no memory left to plan an op");
      note_op(error, *op);
      throw error;
    }
  }
}

void Planner::plan_op(const Block& block, const Op& op) {
  if (op.has_attr("sub_block")) {
    plan_sub_block(block, op);
  } else {
    prepare(block, op, op_def(op.type()));
  }
}

// `while` and `conditional_block` are steps that own the nodes of their block.
void Planner::plan_sub_block(const Block& block, const Op& op) {
  if (op.type() == "conditional_block_grad") return plan_conditional_grad(block, op);
  if (op.type() == "while_grad") return plan_while_grad(block, op);
  const bool loop = op.type() == "while";
  require(loop || op.type() == "conditional_block",
          "the op \"{}\" has a sub-block, but only while and conditional_block can run one",
          op.type());
  const Block& inner = sub_block(op);
  for (const auto& other : program_.blocks()) {
    if (loop && other->forward_block() == inner.index()) {
      return plan_recorded_while(block, op, *other);
    }
  }
  plan_conditional(op, condition_of(block, op, loop ? "Condition" : "Cond"), loop,
                   [&] { plan_block(inner); });
}

int32_t Planner::condition_of(const Block& block, const Op& op, std::string_view slot) {
  const std::string& name = op.input(slot);
  const int32_t value = reading(block, name);
  const VarMeta& meta = at(value).meta;
  require(meta.dtype == boolean && meta.shape.numel() == 1,
          "the condition of {} must be one bool, but {} is {}{}", op.type(), name, meta.dtype,
          meta.shape);
  return value;
}

void Planner::plan_conditional(const Op& op, int32_t condition, bool loop,
                               const std::function<void()>& plan_body) {
  Node head{.op = &op, .side_effect = true, .loop = loop};
  node_ = &head;
  head.condition = read(condition, {});
  node_ = nullptr;
  const size_t begin = draft_.nodes.size();
  draft_.nodes.push_back(std::move(head));
  // Reordered copies do not cross the border: the body may change what they were made from.
  copies_.clear();
  ++depth_;
  loops_ += loop ? 1 : 0;
  plan_body();
  loops_ -= loop ? 1 : 0;
  --depth_;
  copies_.clear();
  draft_.nodes[begin].body_end = static_cast<int32_t>(draft_.nodes.size());
}

void Planner::prepare(const Block& block, const Op& op, const OpDef& def) {
  check_counts(op, def);
  if (is_idle(op, def)) return;
  check_sides(op, def);
  Prepared made{.op = &op, .def = &def};
  for (const auto& [slot, vars] : op.inputs()) {
    for (const std::string& name : vars) {
      made.inputs[slot].push_back(name == kEmptyVar ? -1 : reading(block, name));
    }
  }
  Slots written = written_slots(op, def);
  const std::vector<std::string> left_out = outputs_left_out(op, def);
  for (const std::string& slot : left_out) written.erase(slot);
  InferContext::Metas declared = declared_outputs(block, written);
  for (const std::string& slot : left_out) declared[slot] = {{}};
  const InferContext::Metas inputs = metas_of(made.inputs, false);
  InferContext::Metas metas;
  try {
    metas = infer(made, declared);
  } catch (const NeedsValue&) {
    metas = declared;
    for (auto& [slot, outputs] : metas) {
      for (VarMeta& meta : outputs) meta.shape = {-1};
    }
  }
  forget_rows(made, metas);
  for (const auto& [slot, vars] : written) {
    for (size_t i = 0; i < vars.size(); ++i) {
      made.outputs[slot].push_back(vars[i] == kEmptyVar || is_unset(metas.at(slot)[i])
                                       ? -1
                                       : writing(block, vars[i], metas.at(slot)[i]));
    }
  }
  check_places(made, inputs, metas);
  for (const std::string& slot : left_out) {
    const VarMeta& meta = metas.at(slot).front();
    made.outputs[slot] = {
        add_value({.meta = meta, .home = size_unknown(meta) ? Home::kLate : Home::kArena})};
  }
  infer_capacity(made, declared);
  const DType dtype = kernel_dtype(op, def, metas_of(made.inputs, false), metas);
  made.kernel = &find_kernel(def, request_.device, dtype);
  if (is_late(made, metas)) return prepare_late(std::move(made));
  Node node{.op = &op, .side_effect = def.side_effect};
  node_ = &node;
  node.step = run_kernel(made);
  node_ = nullptr;
  made.node = draft_.nodes.size();
  draft_.nodes.push_back(std::move(node));
  for (Node& reorder : after_) draft_.nodes.push_back(std::move(reorder));
  after_.clear();
  prepared_.push_back(std::move(made));
}

// A variable with one place for all writes takes the extents of the last one: those that the kernel
// sees must still be those that were inferred.
void Planner::check_places(const Prepared& op, const InferContext::Metas& inputs,
                           const InferContext::Metas& outputs) const {
  const auto check = [&](const Ports& ports, const InferContext::Metas& metas) {
    for (const auto& [slot, values] : ports) {
      for (size_t i = 0; i < values.size(); ++i) {
        if (values[i] < 0) continue;
        const VarMeta &now = at(values[i]).meta, &meant = metas.at(slot)[i];
        require(now.shape == meant.shape && now.dtype == meant.dtype && now.kind == meant.kind &&
                    now.rows == meant.rows,
                "variable \"{}\" is {}{} in {} of {} and {}{} in another slot of it",
                at(values[i]).name, meant.dtype, meant.shape, slot, op.op->type(), now.dtype,
                now.shape);
      }
    }
  };
  check(op.inputs, inputs);
  check(op.outputs, outputs);
}

InferContext::Metas Planner::metas_of(const Ports& ports, bool capacity) const {
  InferContext::Metas metas;
  for (const auto& [slot, values] : ports) {
    for (const int32_t v : values) {
      metas[slot].push_back(v < 0 ? VarMeta{} : capacity ? at(v).capacity : at(v).meta);
    }
  }
  return metas;
}

InferContext::Metas Planner::infer(Prepared& op, const InferContext::Metas& declared) const {
  const InferContext::Metas inputs = metas_of(op.inputs, false);
  InferContext context(*op.op, *op.def, inputs, without_extents(*op.def, declared), true);
  op.looked_at = {};
  check_inputs(*op.op, *op.def, inputs, op.looked_at);
  if (op.def->infer != nullptr) op.def->infer(context);
  op.looked_at.insert(context.looked_at());
  check_outputs(*op.op, *op.def, inputs, context.outputs());
  check_gradient(*op.op, inputs, context.outputs(), op.looked_at);
  return context.outputs();
}

Step Planner::run_kernel(const Prepared& op) {
  const auto ports = [&](const Ports& values) {
    PrepareContext::Ports made;
    for (const auto& [slot, ids] : values) {
      for (const int32_t v : ids) made[slot].push_back({v, v < 0 ? VarMeta{} : at(v).meta});
    }
    return made;
  };
  PrepareContext context(*op.op, *op.def, ports(op.inputs), ports(op.outputs), *this, op.looked_at);
  Step step = op.kernel->prepare(context);
  context.check_reads();
  return step;
}

void Planner::finish_fetches() {
  const Block& block = program_.global_block();
  for (const std::string& name : request_.fetches) {
    if (!current_.contains(name)) require_fetchable(block, name);
    Node node;
    node_ = &node;
    const int32_t value = reading(block, name);
    read(value, {});
    node_ = nullptr;
    draft_.fetched.push_back(node.reads.front());
  }
}

int32_t Planner::add_value(Value value) {
  if (value.capacity.shape.rank() != value.meta.shape.rank()) value.capacity = value.meta;
  draft_.values.push_back(std::move(value));
  return static_cast<int32_t>(draft_.values.size()) - 1;
}

int32_t Planner::reading(const Block& block, const std::string& name) {
  if (const auto found = current_.find(name); found != current_.end()) return found->second;
  const Var* var = block.find_var_recursive(name);
  Tensor* tensor = request_.store.find(name);
  if (tensor != nullptr && tensor->defined()) return store_value(name, tensor, var, false);
  if (var != nullptr && var->persistable) {
    refuse("variable \"{}\" is read but has no value yet. Run the startup program first", name);
  }
  require(var != nullptr, "the program has no variable \"{}\"", name);
  // What a program says of its inputs is not always written into its file.
  require(!var->is_data, "variable \"{}\" (shape {}, {}) must be fed{}, but the feed holds {}",
          name, var->shape, long_name_of(var->dtype),
          var->need_check_feed ? "" : ", as no op writes it",
          request_.feeds.empty() ? "nothing" : "only other names");
  refuse("variable \"{}\" is read before any op writes it", name);
}

// A gradient has the sequences of its variable, also where the op that writes it knows of none.
int32_t Planner::lod_source_of(const std::string& name, const VarMeta& meta) const {
  const size_t suffix = name.find(kGradSuffix);
  if (suffix == std::string::npos || meta.lod_source != -1 || meta.shape.rank() == 0) {
    return meta.lod_source;
  }
  const auto found = current_.find(name.substr(0, suffix));
  if (found == current_.end()) return meta.lod_source;
  const VarMeta& forward = at(found->second).meta;
  const bool same_rows = forward.shape.rank() > 0 && forward.shape[0] == meta.shape[0];
  return forward.lod_level > 0 && same_rows ? forward.lod_source : meta.lod_source;
}

int32_t Planner::writing(const Block& block, const std::string& name, const VarMeta& meta) {
  const Var* var = block.find_var_recursive(name);
  const bool persistable = var != nullptr && var->persistable;
  const auto found = current_.find(name);
  require(!persistable || meta.shape.known(),
          "the size of the persistable variable \"{}\" ({}) is not known when the plan is made",
          name, meta.shape);
  if (persistable || (found != current_.end() && at(found->second).pinned)) {
    const int32_t value = found != current_.end() && at(found->second).home != Home::kFeed
                              ? found->second
                              : store_value(name, request_.store.find(name), var, true);
    Value& v = at(value);
    require(v.home != Home::kStore || meta.kind != VarKind::kSelectedRows,
            "variable \"{}\" is kept between runs and cannot hold sparse rows", name);
    if (!(v.meta.shape == meta.shape && v.meta.dtype == meta.dtype)) {
      require(!v.used, "variable \"{}\" holds {}{} and cannot become {}{} in the same run", name,
              v.meta.dtype, v.meta.shape, meta.dtype, meta.shape);
      v.layout = {};
    }
    const int32_t lod_source = meta.lod_source == kOwnLod ? value : v.meta.lod_source;
    v.meta = meta;
    v.meta.lod_source = lod_source;
    v.meta.value.reset();
    std::erase_if(copies_, [&](const auto& copy) { return copy.first.first == value; });
    return value;
  }
  const bool late = size_unknown(meta);
  require(!late || !pinned_.contains(name),
          "the size of variable \"{}\" ({}) changes in a block that is run inside another", name,
          meta.shape);
  const int32_t value = add_value({.name = name,
                                   .meta = meta,
                                   .home = late ? Home::kLate : Home::kArena,
                                   .pinned = pinned_.contains(name)});
  if (at(value).pinned) at(value).meta.value.reset();
  at(value).meta.lod_source = meta.lod_source == kOwnLod ? value : lod_source_of(name, meta);
  current_[name] = value;
  return value;
}

int32_t Planner::store_value(const std::string& name, Tensor* tensor, const Var* var, bool writes) {
  Value value{.name = name,
              .home = Home::kStore,
              .index = static_cast<int32_t>(store_vars_.size()),
              .pinned = pinned_.contains(name)};
  if (tensor != nullptr && tensor->defined()) {
    value.meta = {.dtype = tensor->dtype(),
                  .shape = tensor->shape(),
                  .lod_level = static_cast<int32_t>(tensor->lod().size()),
                  .sequences = sequences_of(tensor->lod())};
    value.layout = tensor->layout();
  } else if (var != nullptr) {
    value.meta = {.dtype = var->dtype, .shape = var->shape};
  }
  StoreVar store{.name = name, .tensor = tensor, .written_first = writes};
  store.layout_before = value.layout;
  store.lod_levels = value.meta.lod_level;
  store.sequences = value.meta.sequences;
  store.value = add_value(std::move(value));
  at(store.value).meta.lod_source = store.value;
  current_[name] = store.value;
  store_vars_.push_back(store);
  return store.value;
}

const Layout& Planner::layout_of(int32_t value) const { return at(value).layout; }

bool Planner::may_fix_layout(const Value& value) const {
  return value.home == Home::kStore && !value.used && value.layout.plain();
}

const Cell* Planner::read(int32_t value, const Layout& layout) {
  invariant(value >= 0, "a kernel reads a variable that is not there");
  if (late_ != nullptr) return late_cell(value, layout, false);
  if (again_) return again(value, layout);
  // A fetch may ask for what only carries a shape (XShape); a kernel may not.
  require(node_->op == nullptr || at(value).home != Home::kArena || at(value).pinned ||
              at(value).written,
          "variable \"{}\" is read, but the op that declares it as its output did not write it",
          at(value).name);
  if (!(at(value).layout == layout)) {
    if (may_fix_layout(at(value))) {
      at(value).layout = layout;
    } else {
      value = reordered(value, layout);
    }
  }
  at(value).used = true;
  node_->reads.push_back(value);
  return &at(value).cell;
}

const Cell* Planner::read_rows(int32_t value) { return &at(value).rows; }
const Cell* Planner::write_rows(int32_t value) { return &at(value).rows; }

const Cell* Planner::write(int32_t value, const Layout& layout) {
  invariant(value >= 0, "a kernel writes a variable that nobody needs");
  if (late_ != nullptr) return late_cell(value, layout, true);
  if (again_) return again(value, layout);
  Value& v = at(value);
  const bool free_choice = v.home == Home::kArena ? !v.pinned : may_fix_layout(v);
  if (free_choice) v.layout = layout;
  if (!(v.layout == layout)) {
    // The place is given in another layout: write a temporary and reorder it afterwards.
    const int32_t temporary =
        add_value({.name = v.name, .meta = v.meta, .layout = layout, .capacity = v.capacity});
    emit_reorder(after_, temporary, value);
    at(temporary).used = at(temporary).written = true;
    node_->writes.push_back(temporary);
    return &at(temporary).cell;
  }
  v.used = v.written = true;
  node_->writes.push_back(value);
  return &v.cell;
}

int32_t Planner::reordered(int32_t value, const Layout& layout) {
  const auto key = std::make_pair(value, to_string(layout));
  if (const auto found = copies_.find(key); found != copies_.end()) return found->second;
  const int32_t copy = add_value({.name = at(value).name,
                                  .meta = at(value).meta,
                                  .layout = layout,
                                  .capacity = at(value).capacity,
                                  .origin = value});
  emit_reorder(draft_.nodes, value, copy);
  copies_.emplace(key, copy);
  return copy;
}

void Planner::emit_reorder(std::vector<Node>& nodes, int32_t from, int32_t to) {
  const Value& source = at(from);
  const auto reorder = std::make_shared<onednn::Reorder>(source.meta.shape, source.meta.dtype,
                                                         source.layout, at(to).layout);
  Node node{.reads = {from}, .writes = {to}};
  const Cell* scratch = nullptr;
  if (reorder->scratch_bytes() > 0) {
    Workspace& workspace = draft_.workspaces.emplace_back();
    workspace.bytes = reorder->scratch_bytes();
    node.workspaces.push_back(&workspace);
    scratch = &workspace.cell;
  }
  at(from).used = at(to).used = at(to).written = true;
  node.step = [reorder, in = &at(from).cell, out = &at(to).cell, scratch] {
    reorder->run(in->data, out->data, scratch == nullptr ? nullptr : scratch->data);
  };
  nodes.push_back(std::move(node));
  ++reorders_;
}

const Cell* Planner::lod_of(int32_t value) {
  const int32_t source = at(value).meta.lod_source;
  if (source < 0) return nullptr;
  const bool made_here = at(source).home == Home::kArena || at(source).home == Home::kLate;
  if (made_here && !again_ && late_ == nullptr) {
    at(source).used = true;  // whoever makes the LoD runs first
    node_->reads.push_back(source);
  }
  return &at(source).cell;
}

void Planner::share(int32_t from, int32_t to, bool view) {
  if (from >= 0 && to >= 0 && !again_ && late_ == nullptr)
    node_->shares.push_back({from, to, view});
}

void Planner::keep_together(const std::vector<int32_t>& values) {
  if (again_ || late_ != nullptr) return;
  std::vector<int32_t> bundle;
  for (const int32_t value : values) {
    if (value >= 0 && may_bundle(at(value))) {
      at(value).bundle = static_cast<int32_t>(draft_.bundles.size());
      bundle.push_back(value);
    }
  }
  if (!bundle.empty()) draft_.bundles.push_back({.values = std::move(bundle)});
}

const Cell* Planner::workspace(int64_t bytes) {
  if (late_ != nullptr) {
    return late_->workspaces.emplace_back(bytes, std::make_unique<Cell>()).second.get();
  }
  if (again_) return workspace_again(bytes);
  Workspace& made = draft_.workspaces.emplace_back();
  made.bytes = adaptive_ ? capacity_of(bytes) : bytes;
  node_->workspaces.push_back(&made);
  return &made.cell;
}

RandomSource Planner::random(int64_t op_seed) {
  const int64_t seed = op_seed != 0 ? op_seed : program_.random_seed();
  return RandomSource(&generator_, static_cast<uint64_t>(seed));
}

}  // namespace flotilla::plan

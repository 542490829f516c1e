#include "flotilla/plan/drafter.h"

#include <algorithm>
#include <string_view>

#include "flotilla/op/build.h"
#include "flotilla/op/check.h"
#include "flotilla/op/kernel_dtype.h"
#include "flotilla/op/lower.h"
#include "flotilla/op/needs_value.h"
#include "flotilla/plan/again.h"

namespace flotilla::plan {
namespace {

// Variables of outer blocks that a sub-block writes: they need one place that both see.
Names find_pinned(const Program& program) {
  Names pinned;
  for (const auto& block : program.blocks()) {
    for (const auto& op : block->ops()) {
      for (const std::string& name : names_in(op->outputs())) {
        const bool outer = block->index() > 0 && block->find_var(name) == nullptr;
        const bool of_block = op->type() == "conditional_block_grad" || op->type() == "while_grad";
        if (outer || of_block) pinned.insert(name);
      }
    }
  }
  return pinned;
}

// Ops whose values are there before the first step: feeds, what a loader gives, and devices.
bool is_fed(const Op& op) {
  static const std::set<std::string_view> kTypes = {
      "feed", "fetch", "create_py_reader", "create_double_buffer_reader", "read", "get_places"};
  return kTypes.contains(op.type());
}

// Ops that hand variables on under their own names once work with them is done: whoever touches
// such a variable waits by itself (guard_async_work).
bool is_sync(const Op& op) {
  static const std::set<std::string_view> kTypes = {"c_sync_comm_stream", "c_sync_calc_stream",
                                                    "c_wait_comm", "c_wait_compute"};
  return kTypes.contains(op.type()) &&
         std::ranges::equal(op.input_list("X"), op.output_list("Out"));
}

// All that it would write are gradients that nobody needs.
bool is_idle(const Op& op, const OpDef& def) {
  const std::vector<std::string> outputs = names_in(op.outputs());
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
      "the program has no variable \"{}\": when it was saved for inference, it was pruned to what "
      "{} needs. Fetch that, or save it again with \"{}\" among the targets",
      name, fmt::join(targets, ", "), name);
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
  if (!slots.empty() && names_in(op.outputs()).empty()) {
    refuse("{} writes nothing: its output \"{}\" has no variable", def.type, slots.front());
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

// The rows of a temporary would not reach the place of the variable.
bool writes_rows_in_place(const Draft& draft, const Prepared& op) {
  bool found = false;
  for_each_value(op.outputs,
                 [&](int32_t v) { found = found || (draft.at(v).sparse() && draft.at(v).pinned); });
  return found;
}

// Of an op that needs values of its inputs: the number of axes, where that is known without them.
// No size counts as known.
InferContext::Metas without_values(const Draft& draft, Prepared& op,
                                   const InferContext::Metas& declared) {
  InferContext::Metas metas = declared;
  for (auto& [slot, outputs] : metas) {
    for (VarMeta& meta : outputs) meta.shape = {-1};
  }
  try {
    for (const auto& [slot, outputs] : infer(draft, op, declared, false)) {
      for (size_t i = 0; i < outputs.size() && i < metas[slot].size(); ++i) {
        const Shape& shape = outputs[i].shape;
        if (shape.rank() == 0) continue;
        metas[slot][i].shape = shape;
        if (shape.known()) metas[slot][i].shape[0] = -1;
      }
    }
  } catch (const Error&) {
    // It says why when the op runs.
  }
  return metas;
}

// What is known of the outputs before the program runs.
InferContext::Metas inferred(const Draft& draft, Prepared& op,
                             const InferContext::Metas& declared) {
  try {
    return infer(draft, op, declared);
  } catch (const NeedsValue&) {
    return without_values(draft, op, declared);
  }
}

}  // namespace

Drafter::Drafter(const Program& program, const PlanRequest& request, Draft& draft, DraftHost& host,
                 DynamicHost& dynamic_host)
    : program_(program),
      request_(request),
      draft_(draft),
      host_(host),
      dynamic_host_(dynamic_host),
      pinned_(find_pinned(program)) {
  draft_.exchange_layouts = request.exchange_layouts;
}

void Drafter::run() {
  add_feeds();
  give_capacity(draft_, request_.feeds);
  copy_feeds_that_are_written();
  if (draft_.device != nullptr) host_.add_draws();
  plan_block(program_.global_block());
  add_fetches();
}

void Drafter::add_feeds() {
  for (size_t i = 0; i < request_.feeds.size(); ++i) {
    const FeedSpec& feed = request_.feeds[i];
    const int32_t id = static_cast<int32_t>(draft_.values.size());
    current_[feed.name] = draft_.add({.name = feed.name,
                                      .meta = {.dtype = feed.dtype,
                                               .shape = feed.shape,
                                               .lod_level = feed.lod_levels,
                                               .sequences = feed.sequences,
                                               .lod_source = id},
                                      .home = Home::kFeed,
                                      .index = static_cast<int32_t>(i)});
  }
  if (draft_.device == nullptr) return;
  // Before all steps of the device, so that none waits for them later.
  for (size_t i = 0; i < request_.feeds.size(); ++i) {
    host_.moved(static_cast<int32_t>(i), kDevice, {});
  }
}

// A loop reads what its last round wrote, so the variable has one place; the caller's memory cannot
// be that place.
void Drafter::copy_feeds_that_are_written() {
  for (size_t i = 0; i < request_.feeds.size(); ++i) {
    const auto feed = static_cast<int32_t>(i);
    const std::string& name = request_.feeds[i].name;
    if (!pinned_.contains(name)) continue;
    const int32_t copy = draft_.add({.name = name,
                                     .meta = at(feed).meta,
                                     .capacity = at(feed).capacity,
                                     .origin = feed,
                                     .pinned = true});
    at(feed).used = at(copy).used = at(copy).written = true;
    draft_.nodes.push_back(
        {.step = [host = &draft_.host, from = &at(feed),
                  to = &at(copy).cell] { host->copy(to->data, from->cell.data, from->bytes()); },
         .reads = {feed},
         .writes = {copy}});
    current_[name] = copy;
  }
}

void Drafter::add_fetches() {
  const Block& block = program_.global_block();
  for (const std::string& name : request_.fetches) {
    if (!current_.contains(name)) require_fetchable(block, name);
    const int32_t value = host_.moved(reading(block, name), kHost, {});
    at(value).used = true;
    draft_.fetched.push_back(value);
  }
}

void Drafter::plan_block(const Block& block) {
  for (const auto& op : block.ops()) {
    if (is_fed(*op) || is_sync(*op)) continue;
    try {
      if (op->attrs().contains("sub_block")) {
        control_flow_.plan(block, *op);
      } else {
        prepare(block, *op);
      }
    } catch (Error& error) {
      note_op(error, *op);
      throw;
    } catch (const std::bad_alloc&) {
      Error error(ErrorKind::kInvalidArgument, "out of memory while planning an op");
      note_op(error, *op);
      throw error;
    }
  }
}

void Drafter::prepare(const Block& block, const Op& op) {
  const OpDef& def = op_def(op.type());
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
  const InferContext::Metas inputs = metas_of(draft_, made.inputs);
  InferContext::Metas metas = inferred(draft_, made, declared);
  if (op.attrs().contains(kLoweredAttr)) return;  // its body follows
  forget_rows(draft_, made, metas);
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
        draft_.add({.meta = meta, .home = size_unknown(meta) ? Home::kDynamic : Home::kArena})};
  }
  infer_capacity(draft_, made, declared);
  const bool dynamic = is_dynamic(draft_, made, metas);
  choose_kernel(made, kernel_dtype(op, def, metas_of(draft_, made.inputs), metas), dynamic);
  if (dynamic) return prepare_dynamic(std::move(made));
  const auto add = [&] {
    made.node = host_.add_node({.op = &op, .device = made.device, .side_effect = def.side_effect},
                               [&] { return host_.run_kernel(made); });
  };
  try {
    add();
  } catch (const Error&) {
    // A kernel of the device need not take all that the CPU's takes, such as sparse rows.
    if (made.device == kHost) throw;
    made.kernel = &find_kernel(def, kCpu, made.kernel->dtype);
    made.device = kHost;
    draft_.on_cpu.insert(def.type);
    add();
  }
  draft_.prepared.push_back(std::move(made));
}

// Ops with dynamic shapes wait for their sizes, so they run on the host.
void Drafter::choose_kernel(Prepared& op, DType dtype, bool dynamic) {
  if (draft_.device != nullptr) {
    const std::vector<Kernel>& kernels = op.def->kernels;
    const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const Kernel& kernel) {
      return kernel.device == draft_.device->kernels() && kernel.dtype == dtype;
    });
    if (!dynamic && found != kernels.end() && draft_.device->runs(op.def->type) &&
        !writes_rows_in_place(draft_, op)) {
      op.kernel = &*found;
      op.device = kDevice;
      return;
    }
    draft_.on_cpu.insert(op.def->type);
  }
  op.kernel = &find_kernel(*op.def, kCpu, dtype);
}

// The host of dynamic ops sees values that lie where it does.
void Drafter::prepare_dynamic(Prepared op) {
  for (auto& [slot, values] : op.inputs) {
    for (int32_t& v : values) {
      if (v >= 0) v = host_.moved(v, kHost, at(v).layout);
    }
  }
  std::vector<std::pair<int32_t, int32_t>> written;
  for (auto& [slot, values] : op.outputs) {
    for (int32_t& v : values) {
      if (v < 0 || at(v).device == kHost) continue;
      const int32_t temporary =
          draft_.add({.name = at(v).name, .meta = at(v).meta, .layout = at(v).layout});
      written.emplace_back(temporary, v);
      v = temporary;
    }
  }
  for_each_value(op.outputs, [&](int32_t v) { host_.forget_copies_of(v); });
  dynamic_host_.add(std::move(op));
  for (const auto& [temporary, value] : written) {
    host_.add_move(temporary, value);
    host_.forget_copies_of(value);
  }
}

// A variable with one place for all writes takes the extents of the last one: those that the kernel
// sees must still be those that were inferred.
void Drafter::check_places(const Prepared& op, const InferContext::Metas& inputs,
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

int32_t Drafter::reading(const Block& block, const std::string& name) {
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
int32_t Drafter::lod_source_of(const std::string& name, const VarMeta& meta) const {
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

int32_t Drafter::writing(const Block& block, const std::string& name, const VarMeta& meta) {
  const Var* var = block.find_var_recursive(name);
  const bool persistable = var != nullptr && var->persistable;
  const auto found = current_.find(name);
  require(!persistable || meta.shape.known(),
          "the size of the persistable variable \"{}\" ({}) is not known when the plan is made",
          name, meta.shape);
  if (persistable || (found != current_.end() && at(found->second).pinned)) {
    return write_in_place(name, var, meta);
  }
  const bool dynamic = size_unknown(meta);
  require(!dynamic || !pinned_.contains(name),
          "the size of variable \"{}\" ({}) changes in a block that is run inside another", name,
          meta.shape);
  const int32_t value = draft_.add({.name = name,
                                    .meta = meta,
                                    .home = dynamic ? Home::kDynamic : Home::kArena,
                                    .pinned = pinned_.contains(name)});
  if (at(value).pinned) at(value).meta.value.reset();
  at(value).meta.lod_source = meta.lod_source == kOwnLod ? value : lod_source_of(name, meta);
  current_[name] = value;
  return value;
}

// A variable that has one place for all of its versions.
int32_t Drafter::write_in_place(const std::string& name, const Var* var, const VarMeta& meta) {
  const auto found = current_.find(name);
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
  host_.forget_copies_of(value);
  return value;
}

int32_t Drafter::store_value(const std::string& name, Tensor* tensor, const Var* var, bool writes) {
  Value value{.name = name,
              .home = Home::kStore,
              .index = static_cast<int32_t>(draft_.store_vars.size()),
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
  store.value = draft_.add(std::move(value));
  at(store.value).meta.lod_source = store.value;
  current_[name] = store.value;
  draft_.store_vars.push_back(store);
  return store.value;
}

}  // namespace flotilla::plan

#include "flotilla/plan/draft_host.h"

#include "flotilla/plan/capacity.h"

namespace flotilla::plan {
namespace {

// Whether the plan may still choose the neighbours of a value.
bool may_bundle(const Value& value) {
  return value.home == Home::kArena && !value.pinned && value.bundle < 0 && !value.follows;
}

// Nothing relies on where it lies yet. What sub-blocks write has its place on the host, which
// decides by it how often they run.
bool may_fix_device(const Value& value) {
  return value.home == Home::kStore && !value.used && !value.pinned;
}

// The variable is new or a plan may still choose how its memory is laid out.
bool may_fix_layout(const Value& value) {
  return value.home == Home::kStore && !value.used && value.layout.plain();
}

}  // namespace

size_t DraftHost::add_node(Node node, const std::function<Step()>& prepare) {
  node_ = &node;
  try {
    node.step = prepare();
  } catch (...) {
    after_.clear();
    throw;
  }
  node_ = nullptr;
  const size_t index = draft_.nodes.size();
  draft_.nodes.push_back(std::move(node));
  for (Node& move : after_) draft_.nodes.push_back(std::move(move));
  after_.clear();
  // Copies that were made for this node are older than what it wrote.
  for (size_t n = index; n < draft_.nodes.size(); ++n) {
    for (const int32_t value : draft_.nodes[n].writes) forget_copies_of(value);
  }
  return index;
}

void DraftHost::add_node(Step step, std::vector<int32_t> reads, std::vector<int32_t> writes) {
  for (const int32_t value : reads) at(value).used = true;
  for (const int32_t value : writes) at(value).used = at(value).written = true;
  draft_.nodes.push_back({.step = std::move(step),
                          .reads = std::move(reads),
                          .writes = std::move(writes),
                          .side_effect = true});
}

// Copies do not cross the border: the body may change what they were made from.
void DraftHost::add_body(size_t head, const std::function<void()>& plan_body) {
  copies_.clear();
  ++depth_;
  plan_body();
  --depth_;
  copies_.clear();
  draft_.nodes[head].body_end = static_cast<int32_t>(draft_.nodes.size());
}

int32_t DraftHost::moved(int32_t value, int32_t device, const Layout& layout) {
  const bool there = at(value).device == device, in_layout = at(value).layout == layout;
  if (there && in_layout) return value;
  const auto key = std::make_tuple(value, device, to_string(layout));
  if (const auto found = copies_.find(key); found != copies_.end()) return found->second;
  // As it lies to the device, and there into the layout.
  const int32_t source = there || in_layout ? value : moved(value, device, at(value).layout);
  const int32_t copy = draft_.add({.name = at(value).name,
                                   .meta = at(value).meta,
                                   .layout = layout,
                                   .device = device,
                                   .capacity = at(value).capacity,
                                   .origin = value});
  add_move(draft_.nodes, source, copy);
  copies_.emplace(key, copy);
  return copy;
}

void DraftHost::forget_copies_of(int32_t value) {
  std::erase_if(copies_, [&](const auto& copy) { return std::get<0>(copy.first) == value; });
}

void DraftHost::add_move(std::vector<Node>& nodes, int32_t from, int32_t to) {
  at(from).used = at(to).used = at(to).written = true;
  nodes.push_back(at(from).device == at(to).device ? reorder(from, to) : copy_between(from, to));
}

Node DraftHost::reorder(int32_t from, int32_t to) {
  const Value& source = at(from);
  const Reorder made =
      draft_.backend(source.device)
          .reorder(source.meta.shape, source.meta.dtype, source.layout, at(to).layout);
  Node node{.device = source.device, .reads = {from}, .writes = {to}};
  const Cell* scratch = nullptr;
  if (made.scratch_bytes > 0) {
    Workspace& workspace = draft_.workspaces.emplace_back();
    workspace.device = source.device;
    workspace.bytes = made.scratch_bytes;
    node.workspaces.push_back(&workspace);
    scratch = &workspace.cell;
  }
  node.step = [run = made.run, in = &at(from).cell, out = &at(to).cell, scratch] {
    run(in->data, out->data, scratch == nullptr ? nullptr : scratch->data);
  };
  return node;
}

Node DraftHost::copy_between(int32_t from, int32_t to) {
  Backend* const device = draft_.device;
  const Value *source = &at(from), *target = &at(to);
  Node node{.device = kDevice, .reads = {from}, .writes = {to}, .crosses = true};
  node.up = target->device == kDevice;
  node.lasts = source->home != Home::kFeed;
  const auto over = [source, target](auto copy) {
    return [source, target, copy] {
      copy(target->cell.data, source->cell.data, source->bytes());
      if (source->sparse()) copy(target->rows.data, source->rows.data, source->rows_bytes());
    };
  };
  if (target->device == kDevice) {
    node.step = over([device](void* t, const void* f, int64_t n) { device->write(t, f, n); });
  } else {
    node.step = over([device](void* t, const void* f, int64_t n) { device->read_later(t, f, n); });
  }
  return node;
}

const Cell* DraftHost::read(int32_t value, const Layout& layout) {
  invariant(value >= 0, "a kernel reads a variable that does not exist");
  require(at(value).home != Home::kArena || at(value).pinned || at(value).written,
          "variable \"{}\" is read, but the op that declares it as its output did not write it",
          at(value).name);
  if (may_fix_device(at(value))) at(value).device = node_->device;
  if (may_fix_layout(at(value))) at(value).layout = layout;
  value = moved(value, node_->device, layout);
  at(value).used = true;
  node_->reads.push_back(value);
  return &at(value).cell;
}

// The row numbers lie beside the elements.
const Cell* DraftHost::read_rows(int32_t value) {
  return &at(moved(value, node_->device, {})).rows;
}

const Cell* DraftHost::write(int32_t value, const Layout& layout) {
  invariant(value >= 0, "a kernel writes a variable that nobody needs");
  Value& v = at(value);
  const int32_t device = node_->device;
  const bool free_choice = v.home == Home::kArena && !v.pinned;
  if (free_choice || may_fix_device(v)) v.device = device;
  if (free_choice || may_fix_layout(v)) v.layout = layout;
  if (v.device == device && v.layout == layout) {
    v.used = v.written = true;
    node_->writes.push_back(value);
    return &v.cell;
  }
  // The place is given, elsewhere or in another layout: write a temporary and move it afterwards.
  const auto add_temporary = [&](int32_t where) {
    return draft_.add({.name = v.name,
                       .meta = v.meta,
                       .layout = layout,
                       .device = where,
                       .capacity = v.capacity});
  };
  const int32_t temporary = add_temporary(device);
  int32_t source = temporary;
  if (v.device != device && !(v.layout == layout)) {
    source = add_temporary(v.device);
    add_move(after_, temporary, source);
  }
  add_move(after_, source, value);
  at(temporary).used = at(temporary).written = true;
  node_->writes.push_back(temporary);
  return &at(temporary).cell;
}

const Cell* DraftHost::lod_of(int32_t value) {
  const int32_t source = at(value).meta.lod_source;
  if (source < 0) return nullptr;
  if (at(source).home == Home::kArena || at(source).home == Home::kDynamic) {
    at(source).used = true;  // whoever makes the LoD runs first
    node_->reads.push_back(source);
  }
  return &at(source).cell;
}

DeviceDraws& DraftHost::add_draws() {
  const VarMeta none = VarMeta::tensor(u8, {0});
  DeviceDraws& draws = draft_.draws.emplace_back(DeviceDraws{
      .host = draft_.add({.name = "streams", .meta = none, .used = true, .written = true}),
      .device = draft_.add({.name = "streams", .meta = none, .device = kDevice})});
  const Cell *host = &at(draws.host).cell, *device = &at(draws.device).cell;
  draft_.nodes.push_back({.step =
                              [&draws, host, device] {
                                auto* const drawn = static_cast<RandomStream*>(host->data);
                                auto* const there = static_cast<RandomStream*>(device->data);
                                for (size_t i = 0; i < draws.sources.size(); ++i) {
                                  drawn[i] = draws.sources[i].draw(draws.runs);
                                  draws.cells[i].data = there + i;
                                }
                                ++draws.runs;
                              },
                          .writes = {draws.host}});
  add_move(draft_.nodes, draws.host, draws.device);
  return draws;
}

// In a loop each round draws anew.
const Cell* DraftHost::random_stream(int64_t op_seed) {
  DeviceDraws& draws = depth_ > 0 ? add_draws() : draft_.draws.front();
  draws.sources.push_back(random(op_seed));
  const auto bytes = static_cast<int64_t>(draws.sources.size() * sizeof(RandomStream));
  at(draws.host).meta.shape = at(draws.device).meta.shape = {bytes};
  node_->reads.push_back(draws.device);
  return &draws.cells.emplace_back();
}

void DraftHost::share(int32_t from, int32_t to, bool view) {
  if (from >= 0 && to >= 0) node_->shares.push_back({from, to, view});
}

void DraftHost::keep_together(const std::vector<int32_t>& values) {
  std::vector<int32_t> bundle;
  for (const int32_t value : values) {
    if (value >= 0 && may_bundle(at(value)) && at(value).device == node_->device) {
      at(value).bundle = static_cast<int32_t>(draft_.bundles.size());
      bundle.push_back(value);
    }
  }
  if (!bundle.empty()) draft_.bundles.push_back({.values = std::move(bundle)});
}

const Cell* DraftHost::workspace(int64_t bytes) {
  Workspace& made = draft_.workspaces.emplace_back();
  made.device = node_->device;
  made.bytes = draft_.adaptive ? capacity_of(bytes) : bytes;
  node_->workspaces.push_back(&made);
  return &made.cell;
}

std::vector<Exchanged> DraftHost::exchange(const std::vector<int32_t>& ins,
                                           const std::vector<int32_t>& outs) {
  const size_t reads = node_->reads.size(), writes = node_->writes.size();
  std::vector<Exchanged> made = Host::exchange(ins, outs);
  if (node_->device != kHost) return made;  // peers see memory of the host alone
  Bundle bundle{.exchanged = true};
  for (size_t i = 0; i < ins.size(); ++i) {
    place_together(node_->reads[reads + i], node_->writes[writes + i], bundle);
  }
  if (!bundle.values.empty()) draft_.bundles.push_back(std::move(bundle));
  return made;
}

void DraftHost::place_together(int32_t from, int32_t to, Bundle& bundle) {
  if (may_bundle(at(from))) {
    at(from).bundle = static_cast<int32_t>(draft_.bundles.size());
    bundle.values.push_back(from);
  }
  // Nobody else may give it neighbours: they would part it from what it is made from.
  at(to).follows = may_bundle(at(to)) && (at(from).bundle >= 0 || at(from).follows);
  node_->shares.push_back({.from = from, .to = to, .exchanged = true});
}

bool DraftHost::run_async(Step wait) {
  if (depth_ > 0) return false;
  node_->wait = std::move(wait);
  return static_cast<bool>(node_->wait);
}

}  // namespace flotilla::plan

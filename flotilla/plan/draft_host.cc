#include "flotilla/plan/draft_host.h"

#include "flotilla/plan/capacity.h"

namespace flotilla::plan {
namespace {

// Whether the plan may still choose the neighbours of a value.
bool may_bundle(const Value& value) {
  return value.home == Home::kArena && !value.pinned && value.bundle < 0 && !value.follows;
}

// The variable is new or a plan may still choose how its memory is laid out.
bool may_fix_layout(const Value& value) {
  return value.home == Home::kStore && !value.used && value.layout.plain();
}

}  // namespace

size_t DraftHost::add_node(Node node, const std::function<Step()>& prepare) {
  node_ = &node;
  node.step = prepare();
  node_ = nullptr;
  const size_t index = draft_.nodes.size();
  draft_.nodes.push_back(std::move(node));
  for (Node& reorder : after_) draft_.nodes.push_back(std::move(reorder));
  after_.clear();
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

// Reordered copies do not cross the border: the body may change what they were made from.
void DraftHost::add_body(size_t head, const std::function<void()>& plan_body) {
  copies_.clear();
  ++depth_;
  plan_body();
  --depth_;
  copies_.clear();
  draft_.nodes[head].body_end = static_cast<int32_t>(draft_.nodes.size());
}

int32_t DraftHost::in_layout(int32_t value, const Layout& layout) {
  if (at(value).layout == layout) return value;
  const auto key = std::make_pair(value, to_string(layout));
  if (const auto found = copies_.find(key); found != copies_.end()) return found->second;
  const int32_t copy = draft_.add({.name = at(value).name,
                                   .meta = at(value).meta,
                                   .layout = layout,
                                   .capacity = at(value).capacity,
                                   .origin = value});
  add_reorder(draft_.nodes, value, copy);
  copies_.emplace(key, copy);
  return copy;
}

void DraftHost::forget_copies_of(int32_t value) {
  std::erase_if(copies_, [&](const auto& copy) { return copy.first.first == value; });
}

void DraftHost::add_reorder(std::vector<Node>& nodes, int32_t from, int32_t to) {
  const Value& source = at(from);
  const Reorder reorder =
      draft_.host.reorder(source.meta.shape, source.meta.dtype, source.layout, at(to).layout);
  Node node{.reads = {from}, .writes = {to}};
  const Cell* scratch = nullptr;
  if (reorder.scratch_bytes > 0) {
    Workspace& workspace = draft_.workspaces.emplace_back();
    workspace.bytes = reorder.scratch_bytes;
    node.workspaces.push_back(&workspace);
    scratch = &workspace.cell;
  }
  at(from).used = at(to).used = at(to).written = true;
  node.step = [run = reorder.run, in = &at(from).cell, out = &at(to).cell, scratch] {
    run(in->data, out->data, scratch == nullptr ? nullptr : scratch->data);
  };
  nodes.push_back(std::move(node));
}

const Cell* DraftHost::read(int32_t value, const Layout& layout) {
  invariant(value >= 0, "a kernel reads a variable that is not there");
  require(at(value).home != Home::kArena || at(value).pinned || at(value).written,
          "variable \"{}\" is read, but the op that declares it as its output did not write it",
          at(value).name);
  if (may_fix_layout(at(value))) at(value).layout = layout;
  value = in_layout(value, layout);
  at(value).used = true;
  node_->reads.push_back(value);
  return &at(value).cell;
}

const Cell* DraftHost::write(int32_t value, const Layout& layout) {
  invariant(value >= 0, "a kernel writes a variable that nobody needs");
  Value& v = at(value);
  const bool free_choice = v.home == Home::kArena ? !v.pinned : may_fix_layout(v);
  if (free_choice) v.layout = layout;
  if (!(v.layout == layout)) {
    // The place is given in another layout: write a temporary and reorder it afterwards.
    const int32_t temporary =
        draft_.add({.name = v.name, .meta = v.meta, .layout = layout, .capacity = v.capacity});
    add_reorder(after_, temporary, value);
    at(temporary).used = at(temporary).written = true;
    node_->writes.push_back(temporary);
    return &at(temporary).cell;
  }
  v.used = v.written = true;
  node_->writes.push_back(value);
  return &v.cell;
}

const Cell* DraftHost::lod_of(int32_t value) {
  const int32_t source = at(value).meta.lod_source;
  if (source < 0) return nullptr;
  if (at(source).home == Home::kArena || at(source).home == Home::kLate) {
    at(source).used = true;  // whoever makes the LoD runs first
    node_->reads.push_back(source);
  }
  return &at(source).cell;
}

void DraftHost::share(int32_t from, int32_t to, bool view) {
  if (from >= 0 && to >= 0) node_->shares.push_back({from, to, view});
}

void DraftHost::keep_together(const std::vector<int32_t>& values) {
  std::vector<int32_t> bundle;
  for (const int32_t value : values) {
    if (value >= 0 && may_bundle(at(value))) {
      at(value).bundle = static_cast<int32_t>(draft_.bundles.size());
      bundle.push_back(value);
    }
  }
  if (!bundle.empty()) draft_.bundles.push_back({.values = std::move(bundle)});
}

const Cell* DraftHost::workspace(int64_t bytes) {
  Workspace& made = draft_.workspaces.emplace_back();
  made.bytes = draft_.adaptive ? capacity_of(bytes) : bytes;
  node_->workspaces.push_back(&made);
  return &made.cell;
}

std::vector<Exchanged> DraftHost::exchange(const std::vector<int32_t>& ins,
                                           const std::vector<int32_t>& outs) {
  const size_t reads = node_->reads.size(), writes = node_->writes.size();
  std::vector<Exchanged> made = Host::exchange(ins, outs);
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

bool DraftHost::goes_on(Step wait) {
  if (depth_ > 0) return false;
  node_->wait = std::move(wait);
  return static_cast<bool>(node_->wait);
}

}  // namespace flotilla::plan

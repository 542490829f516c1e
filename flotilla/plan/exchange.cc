// What other processes see: where the variables lie that are exchanged, and who waits for an
// exchange that goes on beside the program.

#include <set>

#include "flotilla/plan/planner.h"

namespace flotilla::plan {

std::vector<Exchanged> Planner::exchange(const std::vector<int32_t>& ins,
                                         const std::vector<int32_t>& outs) {
  invariant(ins.size() == outs.size(), "{} variables are exchanged for {}", ins.size(),
            outs.size());
  std::vector<Exchanged> made;
  Bundle bundle{.exchanged = true};
  for (size_t i = 0; i < ins.size(); ++i) {
    const Layout layout = exchange_layout(ins[i]);
    made.push_back({.in = In<char>(read(ins[i], layout)),
                    .out = Out<char>(write(outs[i], layout)),
                    .count = layout.physical_numel(at(ins[i]).meta.shape)});
    if (!again_ && late_ == nullptr)
      place_together(node_->reads.back(), node_->writes.back(), bundle);
  }
  if (!bundle.values.empty()) draft_.bundles.push_back(std::move(bundle));
  return made;
}

// The size of a late value is news to the others, so they cannot have agreed on more than that it
// is plain.
Layout Planner::exchange_layout(int32_t value) {
  if (late_ != nullptr) return {};
  return exchange_layouts_.emplace(at(value).name, at(value).layout).first->second;
}

void Planner::place_together(int32_t from, int32_t to, Bundle& bundle) {
  if (may_bundle(at(from))) {
    at(from).bundle = static_cast<int32_t>(draft_.bundles.size());
    bundle.values.push_back(from);
  }
  // Nobody else may give it neighbours: they would part it from what it is made from.
  at(to).follows = may_bundle(at(to)) && (at(from).bundle >= 0 || at(from).follows);
  node_->shares.push_back({.from = from, .to = to, .exchanged = true});
}

bool Planner::goes_on(Step wait) {
  if (depth_ > 0 || late_ != nullptr) return false;
  if (!again_) node_->wait = std::move(wait);
  return static_cast<bool>(node_->wait);
}

// Nodes run in order, so the first that touches what is under way waits, for all of it: a node in a
// sub-block, which may not run, on behalf of itself only.
void guard_work_that_goes_on(Draft& draft) {
  std::set<int32_t> touched;
  Step wait;
  int32_t body_end = 0;
  for (size_t n = 0; n < draft.nodes.size(); ++n) {
    Node& node = draft.nodes[n];
    if (!node.kept) continue;
    body_end = std::max(body_end, node.body_end);
    const auto is_touched = [&](int32_t v) { return touched.contains(v); };
    if (std::any_of(node.reads.begin(), node.reads.end(), is_touched) ||
        std::any_of(node.writes.begin(), node.writes.end(), is_touched)) {
      node.before = wait;
      if (static_cast<int32_t>(n) >= body_end) touched.clear();
    }
    if (!node.wait) continue;
    draft.finish = wait = node.wait;
    touched.insert(node.reads.begin(), node.reads.end());
    touched.insert(node.writes.begin(), node.writes.end());
  }
}

}  // namespace flotilla::plan

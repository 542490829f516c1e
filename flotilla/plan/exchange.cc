#include "flotilla/plan/exchange.h"

#include <set>

namespace flotilla::plan {

// Nodes run in order, so the first that touches what is under way waits, for all of it: a node in a
// sub-block, which may not run, on behalf of itself only.
void guard_async_work(Draft& draft) {
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

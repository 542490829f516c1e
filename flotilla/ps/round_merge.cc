#include "flotilla/ps/round_merge.h"

#include <algorithm>

#include "flotilla/base/error.h"

namespace flotilla::ps {
namespace {

// The part of `push` that is for the table of `first`.
const Change& like(const Push& push, const Change& first) {
  const auto found =
      std::find_if(push.changes.begin(), push.changes.end(),
                   [&](const Change& change) { return change.table == first.table; });
  require(found != push.changes.end(), "a worker of the round has no push to table {}",
          first.table);
  require(found->action == first.action && found->scale == 1 && first.scale == 1,
          "the workers of a round do different things to table {}: actions {} and {}, scales {} "
          "and {}",
          first.table, static_cast<int>(first.action), static_cast<int>(found->action), first.scale,
          found->scale);
  return *found;
}

bool is_sparse(std::span<const Push> pushes, const Change& first) {
  return std::any_of(pushes.begin(), pushes.end(),
                     [&](const Push& push) { return !like(push, first).keys.empty(); });
}

}  // namespace

MergedRound merge_round(std::span<const Push> pushes) {
  require(!pushes.empty(), "a round needs a worker");
  MergedRound round;
  for (const Push& push : pushes) {
    round.push.ids.insert(round.push.ids.end(), push.ids.begin(), push.ids.end());
    require(push.changes.size() == pushes[0].changes.size(),
            "the workers of a round push to {} and to {} tables", pushes[0].changes.size(),
            push.changes.size());
  }
  for (const Change& first : pushes[0].changes) {
    std::vector<int64_t>& keys = round.keys.emplace_back();
    std::vector<float>& values = round.values.emplace_back();
    const bool sparse = is_sparse(pushes, first);
    for (const Push& push : pushes) {
      const Change& change = like(push, first);
      if (sparse || values.empty()) {
        keys.insert(keys.end(), change.keys.begin(), change.keys.end());
        values.insert(values.end(), change.values.begin(), change.values.end());
        continue;
      }
      require(change.values.size() == values.size(),
              "the workers of a round push {} and {} floats to table {}", values.size(),
              change.values.size(), first.table);
      for (size_t i = 0; i < values.size(); ++i) values[i] += change.values[i];
    }
    Change& merged = round.push.changes.emplace_back(first);
    merged.scale = 1 / static_cast<float>(pushes.size());
    merged.keys = keys;
    merged.values = values;
  }
  return round;
}

}  // namespace flotilla::ps

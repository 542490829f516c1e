#include "flotilla/job/even_loader.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "flotilla/runtime/same_parameters.h"

namespace flotilla::job {

void EvenLoader::begin() { counts_.assign(static_cast<size_t>(world_.size()), 0); }

void EvenLoader::feeds(const Program& program, Scope& scope) {
  if (fed_) return;
  fed_.emplace(Fed{.parameters = exchanged_parameters(program),
                   .by_samples = program.global_block().count("weigh_by_samples") > 0,
                   .scope = scope,
                   .kept = scope.weak_from_this().lock()});
}

Executor::Next EvenLoader::next(bool has_batch) {
  using Next = Executor::Next;
  if (!fed_) {
    if (!has_batch) return Next::kEnd;
    for (int64_t& count : counts_) ++count;
    return Next::kRun;
  }
  std::vector<int64_t> have;
  {
    const Progress::Span span(progress_, Progress::Kind::kInput,
                              "waits for the batches of other workers");
    have = gather_numbers(world_.exchange(), has_batch ? 1 : 0);
  }
  const int64_t full = std::ranges::count(have, 1);
  const bool goes_on = fed_->by_samples ? full > 0 : full == world_.size();
  world_.set_has_data(has_batch || !goes_on);
  if (goes_on) {
    for (size_t i = 0; i < have.size(); ++i) counts_[i] += have[i];
    return has_batch ? Next::kRun : Next::kRunWithoutWeight;
  }
  if (const std::string line = how_it_ends(have); !line.empty()) say_(line);
  const Progress::Span span(progress_, Progress::Kind::kCommunication,
                            "compares parameters with other workers");
  compare_parameters(world_, fed_->parameters, fed_->scope);
  return Next::kEnd;
}

std::string EvenLoader::how_it_ends(const std::vector<int64_t>& have) const {
  const bool cut = std::ranges::count(have, 1) > 0;
  const bool uneven =
      cut || std::ranges::adjacent_find(counts_, std::not_equal_to()) != counts_.end();
  if (world_.rank() != 0 || !uneven) return "";
  std::vector<std::string> who;
  for (size_t rank = 0; rank < have.size(); ++rank) {
    if (!cut) {
      who.push_back(fmt::format("{} of worker {}", counts_[rank], rank));
    } else if (have[rank] == 0) {
      who.push_back(fmt::to_string(rank));
    }
  }
  const std::string all = fmt::format("All {} workers end the pass after", have.size());
  if (!cut) {
    return fmt::format("{} {} steps, of which those without a batch did not count: {}", all,
                       std::ranges::max(counts_), fmt::join(who, ", "));
  }
  return fmt::format("{} {} batches: worker{} {} had no more", all, counts_[0],
                     who.size() > 1 ? "s" : "", fmt::join(who, ", "));
}

}  // namespace flotilla::job

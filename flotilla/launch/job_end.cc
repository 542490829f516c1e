#include "flotilla/launch/job_end.h"

#include <fmt/format.h>

namespace flotilla::launch {

int JobEnd::exit_code() const {
  if (culprit) return culprit->job_code();
  if (!stalled.empty()) return Outcome{.stuck = stalled}.job_code();
  if (interrupted != 0) return 128 + interrupted;
  return lost.empty() ? 0 : 1;
}

std::string JobEnd::explanation() const {
  const std::vector<Standing> others = together(stock, culprit ? culprit->name() : "");
  if (culprit) return failure_block(*culprit, others);
  if (stalled.empty() && interrupted != 0) return "";
  const std::string& why = stalled.empty() ? lost : stalled;
  return why.empty() ? "" : fmt::format("fleetrun: {}\n{}", why, standing_table(others));
}

}  // namespace flotilla::launch

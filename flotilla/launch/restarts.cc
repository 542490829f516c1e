#include "flotilla/launch/restarts.h"

#include <fmt/format.h>

namespace flotilla::launch {

std::optional<std::string> Restarts::allow(const Outcome& failed) {
  // What ended by itself would do so again; what was killed may have been in the way of others.
  const bool killed = failed.role == "server" && failed.ending.signal != 0 && failed.stuck.empty();
  const int64_t limit = limit_.value_or(killed ? kServerRestarts : 0);
  if (count_ >= limit) return std::nullopt;
  ++count_;
  return fmt::format("{}; restart {} of {}", sentence_of(failed), count_, limit);
}

}  // namespace flotilla::launch

#include "flotilla/rpc/outage.h"

#include <charconv>
#include <optional>
#include <string>

#include "flotilla/base/env.h"
#include "flotilla/base/error.h"

namespace flotilla::rpc {

Outage Outage::from_environment() {
  const std::optional<std::string> text = env::text("FLT_OUTAGE_LIMIT");
  if (!text) return {};
  double seconds = 0;
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, seconds);
  require(error == std::errc() && stop == end && kLeast <= seconds && seconds <= kMost,
          "FLT_OUTAGE_LIMIT must be a number of seconds from {} to {}, but is \"{}\"", kLeast,
          kMost, *text);
  Outage outage;
  outage.limit = std::chrono::round<milliseconds>(std::chrono::duration<double>(seconds));
  outage.come_back = std::min(outage.come_back, outage.limit);
  return outage;
}

}  // namespace flotilla::rpc

#include "flotilla/launch/voice.h"

#include <fcntl.h>

#include "flotilla/base/error.h"

namespace flotilla::launch {

Voice::Voice(const JobOptions& options)
    : quiet_(options.quiet), events_fd_(static_cast<int>(options.events_fd)) {
  require(!is_heard() || fcntl(events_fd_, F_SETFD, FD_CLOEXEC) == 0,
          "--events_fd must be an open file descriptor, but is {}", events_fd_);
}

void Voice::tell(std::string_view event) {
  if (is_heard()) writer_.write(events_fd_, event);
}

}  // namespace flotilla::launch

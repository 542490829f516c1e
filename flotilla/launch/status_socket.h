// flotilla/launch/status_socket.h
//
// Where a launcher answers what its job is doing, for `flotilla inspect job`: a Unix socket that is
// no file, named after the launcher's process. It answers its own user and root alone, and who asks
// believes a socket of its own user alone: any user may bind any such name.

#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <string>
#include <vector>

#include "flotilla/base/fd.h"

namespace flotilla::launch {

class StatusSocket {
 public:
  // Of this process. A system that has no such sockets costs only the answers.
  StatusSocket();

  // Readable when somebody asks; -1 where there is no socket, or for a moment after there were no
  // descriptors to answer with: polled, it would be readable at once.
  int fd() const;
  // Answers some of those who ask, and waits for nobody.
  void answer(const std::function<std::string()>& text);

 private:
  Fd listener_;
  std::chrono::steady_clock::time_point again_ = {};
};

// The launchers of this user that run on this host, in the order of their process ids.
std::vector<pid_t> running_launchers();

// What a launcher says, as it came. Refuses a process that is none of this user's, or that does not
// answer in two seconds.
std::string ask_launcher(pid_t launcher);

}  // namespace flotilla::launch

// flotilla/launch/status_socket.h
//
// Where a launcher answers what its job is doing, for `flotilla inspect job`: a Unix socket that is
// no file, named after the launcher's process. It answers its own user and root alone.

#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <vector>

#include "flotilla/base/fd.h"

namespace flotilla::launch {

class StatusSocket {
 public:
  // Of this process. A system that has no such sockets costs only the answers.
  StatusSocket();

  // Readable when somebody asks; -1 where there is no socket.
  int fd() const { return listener_.get(); }
  // Answers whoever asks, and waits for nobody.
  void answer(const std::function<std::string()>& text) const;

 private:
  Fd listener_;
};

// The launchers that run on this host, of all users, in the order of their process ids.
std::vector<pid_t> running_launchers();

// What a launcher says. Refuses a process that is none, or that does not answer in two seconds.
std::string ask_launcher(pid_t launcher);

}  // namespace flotilla::launch

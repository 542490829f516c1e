// flotilla/job/status_port.h
//
// A port of the loopback interface that answers `GET /metrics`, for Prometheus and for people:
//
//   curl http://127.0.0.1:6081/metrics
//
// A few connections at a time, each for at most two seconds: who says nothing holds nobody up, and
// where more come the oldest goes. Without descriptors it rests, and asks again.

#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <thread>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/fd.h"

namespace flotilla::job {

class StatusPort {
 public:
  // Port 0 takes one that is free. Refuses one that is taken. `text` is called from another thread.
  StatusPort(int64_t port, std::function<std::string()> text);
  ~StatusPort();
  StatusPort(const StatusPort&) = delete;
  StatusPort& operator=(const StatusPort&) = delete;

  std::string address() const;  // "127.0.0.1:6081"

 private:
  struct Visitor;

  void serve();
  // False: nobody came, for want of descriptors.
  bool let_in(std::deque<Visitor>& visitors) const;
  // False: it is done with, or gone.
  bool talk(Visitor& visitor) const;

  const std::function<std::string()> text_;
  Fd listener_;
  Fd stop_;  // readable: the end
  int64_t port_ = 0;
  std::jthread thread_;  // the last: it uses all of the above
};

// What a status port answers to `GET /metrics`. Refuses an address that does not answer in two
// seconds.
std::string read_status(const Endpoint& port);

// What a request is answered with: status line, headers and body. `text` is called where it is
// asked for.
std::string http_answer(const std::string& request, const std::function<std::string()>& text);

}  // namespace flotilla::job

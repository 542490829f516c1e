// flotilla/job/status_port.h
//
// A port of the loopback interface that answers `GET /metrics`, for Prometheus and for people:
//
//   curl http://127.0.0.1:6081/metrics
//
// It has no thread of its own: whoever has nothing else to do serves it meanwhile.
//
// A few connections at a time, each for at most two seconds: who says nothing holds nobody up, and
// where more come the oldest goes. Without descriptors it rests, and asks again.

#pragma once

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/fd.h"

namespace flotilla::job {

class StatusPort {
 public:
  using Clock = std::chrono::steady_clock;

  // Port 0 takes one that is free. Refuses one that is taken. `text` is called by serve().
  StatusPort(int64_t port, std::function<std::string()> text);
  ~StatusPort();
  StatusPort(const StatusPort&) = delete;
  StatusPort& operator=(const StatusPort&) = delete;

  std::string address() const;  // "127.0.0.1:6081"

  // Answers those who ask until `end`, or until `wake`, a descriptor, can be read. One thread at a
  // time; who comes or is half answered between two calls waits for the next.
  void serve(int wake, Clock::time_point end);

 private:
  struct Visitor;

  // Waits for at most so long, and talks to those who are ready. True: `wake` can be read.
  bool serve_once(int wake, std::chrono::milliseconds longest);
  // False: nobody came, for want of descriptors.
  bool let_in();
  // False: it is done with, or gone.
  bool talk(Visitor& visitor) const;

  const std::function<std::string()> text_;
  const Fd listener_;
  int64_t port_ = 0;
  std::deque<Visitor> visitors_;  // by their deadlines
  Clock::time_point open_ = {};   // nobody is let in before
};

// What a status port answers to `GET /metrics`. Refuses an address that does not answer in two
// seconds.
std::string read_status(const Endpoint& port);

// What a request is answered with: status line, headers and body. `text` is called where it is
// asked for.
std::string http_answer(const std::string& request, const std::function<std::string()>& text);

}  // namespace flotilla::job

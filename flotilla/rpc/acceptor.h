// flotilla/rpc/acceptor.h
//
// The door of a server: a thread that accepts connections and hands them to gRPC, which takes
// connections but cannot adopt a socket that the launcher keeps across a restart of this process.
//
// A connection is unauthenticated until a call on it has shown the job's token. Until then it is
// limited: in time; in calls without the token; in descriptors, of which some are left for
// everything else that this process does; and in number. Where there are too many, the source that
// has the most loses those that say nothing, or else the slowest; where all have just come, the
// next ones wait.
//
// Thread safety: all calls, from any thread.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <thread>

#include "flotilla/base/fd.h"
#include "flotilla/base/mutex.h"
#include "flotilla/rpc/authenticator.h"

namespace flotilla::rpc {

// How much of a process unauthenticated connections may take.
struct DoorLimits {
  using Time = std::chrono::milliseconds;

  int64_t unauthenticated = 1024;  // at a time, or as many as a part of the descriptors allows
  Time patience{30'000};           // until the token is shown
  Time first_word{200};            // where there are too many: until the first byte
  Time handshake{2'000};           // where there are too many: until the token is shown
  int64_t refusals = 16;           // calls without it, on one connection
  int64_t reserve = 64;            // descriptors that connections leave free
};

class Acceptor {
 public:
  // `name` is what refusals are logged under.
  Acceptor(Fd listener, std::string name, const DoorLimits& limits);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  // Begins, once: `on_connection(listener, connection)`, from the thread.
  void start(std::function<void(int, Fd)> on_connection);
  // For good; connections that wait to be accepted stay with the socket.
  void stop();

  // What came of a call. `peer` as gRPC writes it.
  void welcome(const std::string& peer);
  // Logged, but not each of a source that has many.
  void refuse(const std::string& peer, const std::string& why);

  // That have not shown the token yet.
  int64_t unauthenticated() const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Unauthenticated {
    Fd socket = {};  // a second descriptor of the connection: gRPC has the first
    std::string source = {};
    Clock::time_point came = {};
    int64_t refusals = 0;
  };

  using Iterator = std::map<std::string, Unauthenticated>::iterator;

  void run();
  // False: not for a moment.
  bool accept();
  // Those whose time is over.
  void dismiss() FLT_REQUIRES(mutex_);
  // For one more. False: none has been there for long enough to go.
  bool make_room() FLT_REQUIRES(mutex_);
  void close(Iterator peer, const char* why) FLT_REQUIRES(mutex_);
  void complain(const std::string& source, std::string_view why);
  int64_t reserve() const;
  int64_t most_unauthenticated() const;

  const Fd listener_;
  const Fd stop_;  // readable: the end
  const std::string name_;
  const DoorLimits limits_;
  std::function<void(int, Fd)> on_connection_;
  Clock::time_point again_ = {};  // nobody is accepted before
  RefusalLog log_;
  mutable Mutex mutex_;
  std::map<std::string, Unauthenticated> unauthenticated_
      FLT_GUARDED_BY(mutex_);  // by address and port
  std::thread thread_;
};

// A socket that listens at "host:port"; none where it cannot.
Fd listen_at(const std::string& address, const std::function<bool()>& stop = {});

// The port that a socket listens on; refuses what is no listening socket of TCP.
int listening_port(const Fd& listener);

}  // namespace flotilla::rpc

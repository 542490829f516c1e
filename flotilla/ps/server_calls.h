// flotilla/ps/server_calls.h
//
// How requests of one worker reach the servers of its job: they go to all that they concern at
// once; a server that is lost is asked again, at the address that it has by then, until it answers.
// Pushes get their numbers here.
//
// Thread safety: all calls, from any thread; pushes of several threads go out one after the other.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/base/mutex.h"
#include "flotilla/ps/channel.h"
#include "flotilla/ps/request.h"

namespace flotilla::ps {

// A number that no other process of the job has: names this one's pushes for ever.
uint64_t new_incarnation();

// A request that is ready to be sent to a server.
struct Outgoing {
  int server = 0;
  Bytes request = {};
  size_t room = 0;  // how long the answer is; 0: unknown
  bool has_push = false;
};

class ServerCalls {
 public:
  struct Options {
    Sender self = {};
    int servers = 1;
    uint64_t incarnation = 0;
    // Makes a channel to a server, where it is now. Does not wait long for it: throws kUnavailable
    // where it is not there, and is called again. Asks `aborted`, which lives as long as the call,
    // about ten times a second, and throws once it is true.
    std::function<std::shared_ptr<Channel>(int server, const std::function<bool()>& aborted)>
        connect = {};
    // How long a server may be away.
    std::chrono::milliseconds patience = std::chrono::minutes(10);
    // Told once for each loss: "server 1 is away (...); trying again".
    std::function<void(const std::string& notice)> on_notice = {};
  };

  ServerCalls(const ServerCalls&) = delete;
  ServerCalls& operator=(const ServerCalls&) = delete;

  int servers() const { return options_.servers; }
  const Sender& self() const { return options_.self; }

  // A step's request, in memory of the server's channel. `room`: bytes of the answer.
  Outgoing prepare(int server, const ScatteredStep& step, size_t room);
  // Sends all and waits for all answers, in the order of the requests. Throws the first refusal; a
  // server that does not come back; the reason of an abort().
  // Holds push_mutex_ only where there is a push, which clang cannot follow.
  std::vector<Bytes> send(std::span<Outgoing> requests)
      FLT_THREAD_ANNOTATION(no_thread_safety_analysis);

  // The same for what is no step: to one server, or to all.
  Bytes ask(int server, const Request& request);
  std::vector<Bytes> ask_all(const Request& request);

  // Ends all waits, now and later; the first reason counts.
  void abort(const std::string& reason);

 protected:
  explicit ServerCalls(Options options);
  ~ServerCalls();

 private:
  struct Pending;
  class Waiting;

  std::vector<Bytes> send_all(std::span<Outgoing> requests)
      FLT_THREAD_ANNOTATION(no_thread_safety_analysis);
  std::vector<Bytes> ask_servers(int begin, int end, const Request& request);

  // Throws where the server cannot be reached.
  std::shared_ptr<Channel> channel(int server);
  // The next request to the server goes over another channel, unless it does already.
  void drop(int server, const std::shared_ptr<Channel>& channel);
  void start(Pending& pending, size_t index, const std::shared_ptr<Waiting>& waiting);
  void try_again_later(Pending& pending, const Error& why);
  bool aborted() const;
  void check_aborted() const;

  const Options options_;

  mutable Mutex mutex_;
  std::vector<std::shared_ptr<Channel>> channels_ FLT_GUARDED_BY(mutex_);
  std::string aborted_ FLT_GUARDED_BY(mutex_);

  Mutex push_mutex_;  // held from a push's id to its answer
  uint64_t incarnation_ FLT_GUARDED_BY(push_mutex_);
  std::vector<uint64_t> sequences_ FLT_GUARDED_BY(push_mutex_);  // of the last push, by server
};

}  // namespace flotilla::ps

// flotilla/rpc/store_table.h
//
// What a job's store knows, and how it answers: keys, counters, waits, watches, barriers, members.
// No network here: requests go in, replies come out, each with the client that it is for.
//
// Thread safety: none; the server holds a lock around every call.

#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "flotilla/rpc/control.pb.h"

namespace flotilla::rpc {

using ClientId = uint64_t;

struct Outgoing {
  ClientId to = 0;
  Reply reply = {};
};

// What a process says of itself while it runs. Times are in seconds.
struct Report {
  int64_t step = -1;
  std::string doing = {};                      // what it does or waits for, in words
  double doing_seconds = 0;                    // since when
  bool for_others = false;                     // it waits for other processes
  double age = 0;                              // since the process began
  std::map<std::string, double> seconds = {};  // so far, by kind of work
  std::map<std::string, double> reached = {};  // moments of its start, since the process began
};

// A process of the job.
struct Member {
  std::string role = {};
  int64_t rank = -1;
  std::string host = {};
  int64_t pid = 0;
  int64_t attempt = 0;

  Report last = {};
  std::chrono::steady_clock::time_point reported = {};  // when it came; {}: never
  bool silent = false;  // of one that is lost: its connection did not end, nothing came any more
};

// "worker 1 (pid 4711 on node-2)"
std::string name_of(const Member& member);

class StoreTable {
 public:
  // Longer keys and larger values are refused.
  static constexpr size_t kMaxKey = 4096;
  static constexpr size_t kMaxValue = size_t{64} << 20;

  // Appends the replies that a request causes. A client is known from its first request on, which
  // must be Hello. False: the client shall be disconnected once its reply is sent.
  bool handle(ClientId from, const Request& request, std::vector<Outgoing>& out);

  // The client's session has ended: its leased keys go, its waits are forgotten, and a barrier in
  // which it waited fails for the others. Returns the member where one is lost that had not left.
  std::vector<Member> gone(ClientId client, std::vector<Outgoing>& out);

  // Tells every client, now and whenever a new one comes, that the job ends. The first reason
  // counts.
  void stop(const std::string& reason, std::vector<Outgoing>& out);
  // Why the job ends; "": it goes on.
  const std::string& stopped() const { return stopped_; }

  // Null where there is no such key.
  const std::string* find(const std::string& key) const {
    const auto found = entries_.find(key);
    return found == entries_.end() ? nullptr : &found->second.value;
  }

  std::vector<Member> members() const;
  // REQUIRES: the client said Hello and is not gone.
  const Member& member(ClientId client) const { return clients_.at(client).member; }
  // It has said Hello, and not Leave.
  bool stays(ClientId client) const {
    const auto found = clients_.find(client);
    return found != clients_.end() && !found->second.left;
  }

 private:
  struct Waiting {
    ClientId client = 0;
    uint64_t id = 0;
  };
  struct Entry {
    std::string value = {};
    ClientId lease = 0;  // 0: stays
  };
  struct Client {
    Member member = {};
    bool left = false;
  };
  struct Gate {
    int64_t members = 0;
    std::vector<Waiting> arrived = {};
  };

  bool hello(ClientId from, const Request& request, Reply& reply);
  void set(ClientId from, const Set& set, Reply& reply, std::vector<Outgoing>& out);
  // Nothing: the reply comes later.
  bool get(ClientId from, const Request& request, Reply& reply);
  void add(const Add& add, Reply& reply, std::vector<Outgoing>& out);
  void erase(const std::string& prefix, std::vector<Outgoing>& out);
  void watch(ClientId from, const Request& request, std::vector<Outgoing>& out);
  void barrier(ClientId from, const Request& request, std::vector<Outgoing>& out);

  void put(const std::string& key, Entry entry, std::vector<Outgoing>& out);
  void changed(const std::string& key, const std::string* value, std::vector<Outgoing>& out) const;

  std::map<ClientId, Client> clients_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, std::vector<Waiting>> waits_;     // by key
  std::vector<std::pair<std::string, Waiting>> watches_;  // by prefix
  std::map<std::string, Gate> gates_;                     // by name
  std::string stopped_;                                   // empty: no
};

}  // namespace flotilla::rpc

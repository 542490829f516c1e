// flotilla/rpc/store_client.h
//
// A process's connection to the store of its job: keys that others can wait for, counters,
// barriers, and the news that the job ends.
//
// Every call that waits ends when what it waits for is there, when the job stops, when the store is
// lost or when cancel() is called; in the last three cases it throws kUnavailable with the reason.
//
// A connection to another host that breaks is made again with the same identity, for as long as the
// store may be silent (outage.h); nobody waiting notices, and no request counts twice. The store is
// lost soon where its process is gone: nobody listens there any more (Outage::come_back; a firewall
// may refuse connections for a moment).
//
// Thread safety: all calls, from any thread.

#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "flotilla/rpc/outage.h"
#include "flotilla/rpc/store_table.h"
#include "flotilla/rpc/tls.h"

namespace flotilla::rpc {

class StoreClient {
 public:
  struct Options {
    std::string address = {};
    std::string token = {};
    Member self = {};  // role, rank, host, pid and attempt
    Tls tls = Tls::from_environment();

    // How long the store may take to appear: hosts start in any order.
    std::chrono::milliseconds patience = std::chrono::seconds(60);
    // Asked about ten times a second by the thread that makes the client, until the store has
    // welcomed it: true ends that with kUnavailable.
    std::function<bool()> stop = {};

    // How long the store may be silent. Nothing: as the environment says, on another host.
    std::optional<Outage> outage = {};
    // Waits so much longer: a process lets its launcher say first who is gone.
    std::chrono::milliseconds longer = {};

    // Called once, from another thread, when the store says that the job ends and why, or when the
    // store is lost. It must not call the client.
    std::function<void(const std::string& reason)> on_stop = {};

    // The stop of the job is told, but ends no call of this client: launchers have more to say to
    // each other. Then on_stop may be called twice.
    bool outlives_stop = false;
  };

  // Refuses a store that does not answer in time, that does not know the token, or that already
  // has this role and rank.
  explicit StoreClient(Options options);
  // Says goodbye where leave() has not, and waits for at most a second for it.
  ~StoreClient();
  StoreClient(const StoreClient&) = delete;
  StoreClient& operator=(const StoreClient&) = delete;

  void set(const std::string& key, const std::string& value);
  // The key goes when this process does.
  void set_leased(const std::string& key, const std::string& value);
  // The value that counts: that of the first who set it.
  std::string set_if_absent(const std::string& key, const std::string& value);
  std::optional<std::string> find(const std::string& key);
  // Waits until somebody sets it.
  std::string get(const std::string& key);
  // The sum, from 0 on.
  int64_t add(const std::string& key, int64_t amount);
  // All keys that begin with `prefix`.
  void erase(const std::string& prefix);
  // Waits until `members` clients are here.
  void barrier(const std::string& name, int64_t members);

  // `changed(key, value)` for all keys that begin with `prefix`, first for those that are there;
  // without a value where a key is erased. Called from another thread, in order; it must not call
  // the client.
  using Changed = std::function<void(const std::string&, const std::optional<std::string>&)>;
  void watch(const std::string& prefix, Changed changed);

  // Sets a key without waiting until the store has it. False: it never will.
  bool post(const std::string& key, const std::string& value, bool only_if_absent = false);

  // For the launcher's table of who does what. Never waits.
  void report(const Report& report);

  // The store is about to close: when it does, it is not looked for.
  void expect_end();
  // The process is about to end as it should.
  void leave();
  // Ends all waits, now and later.
  void cancel(const std::string& reason);

 private:
  class Connection;
  class Session;
  std::unique_ptr<Session> session_;
};

}  // namespace flotilla::rpc

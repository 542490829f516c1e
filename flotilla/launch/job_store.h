// flotilla/launch/job_store.h
//
// The store of a job as a launcher sees it: served here or by the first host, and what the
// processes have told it.

#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/launch/members.h"
#include "flotilla/rpc/store_server.h"

namespace flotilla::launch {

class JobStore {
 public:
  struct Options {
    std::string token = {};
    std::vector<std::string> only_from = {};  // hosts; empty: all
    int64_t processes = 0;                    // that this host starts
    // Asked while it waits: true ends that.
    std::function<bool()> stop = {};
  };
  explicit JobStore(Options options) : options_(std::move(options)) {}

  // Serves a new store in the place of the last one. `lose(why)` is called, by any thread, when the
  // launcher of another host is gone; null: nobody asks. Refuses an address that is taken, with who
  // has it.
  using Lose = std::function<void(const std::string& why)>;
  void serve(const std::string& address, const Lose& lose);
  // Where the processes find it: where it is served, unless somebody says otherwise.
  const std::string& address() const { return address_; }
  void set_address(std::string address) { address_ = std::move(address); }

  // What the processes have told, as far as it is served here.
  Members& members() { return members_; }
  const Members& members() const { return members_; }
  // A value; nothing also where another host serves the store.
  std::optional<std::string> find(const std::string& key);
  // Whether the launcher of another host than this one is still connected.
  bool has_other_launchers(int64_t self);
  // All who wait hear the reason.
  void stop(const std::string& reason);

 private:
  const Options options_;
  Members members_;  // before the server, which tells it
  std::optional<rpc::StoreServer> server_;
  std::string address_;
};

}  // namespace flotilla::launch

// flotilla/rpc/store_server.h
//
// The store of a job, served over gRPC: every process of the job connects to it (store_client.h)
// and stays connected. A client whose connection breaks comes back with its session, and neither
// side misses or repeats anything; see outage.h for how long it may take. Within one host a
// connection that ends is a process that is gone, and the store uses no thread while nobody asks.
//
//   StoreServer server({.token = new_token()});
//   spawn(..., {"FLT_STORE=" + server.address(), "FLT_JOB_TOKEN=" + token});
//
// Thread safety: all calls, from any thread.

#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "flotilla/rpc/outage.h"
#include "flotilla/rpc/store_table.h"
#include "flotilla/rpc/tls.h"

namespace flotilla::rpc {

// 128 random bits in hexadecimal digits.
std::string new_token();

class StoreServer {
 public:
  enum class Happening {
    kJoined,
    kProgress,
    kLeft,  // said goodbye
    kLost,  // its connection ended without, or it was silent for too long (Member::silent)
  };

  struct Options {
    // Host and port to listen on; port 0 takes one that is free.
    std::string address = "127.0.0.1:0";
    // Asked now and then while the name of that host is looked up: true, or what it throws, ends
    // that, and the address cannot be listened on.
    std::function<bool()> stop = {};

    // Connections without it are refused and logged. REQUIRES: not empty
    std::string token = {};

    // Hosts and addresses from which connections are taken; empty: any.
    std::vector<std::string> only_from = {};

    Tls tls = Tls::from_environment();

    // Descriptors that connections leave free, for what else this process does.
    int64_t reserve = 64;

    // There is no launcher that sees processes die: the first that is lost stops the job.
    bool stop_when_lost = false;

    // How long a client may be silent. Nothing: as the environment says, and clients of this host
    // are never waited for.
    std::optional<Outage> outage = {};

    // Called from threads of the server, one call at a time, without any lock held.
    std::function<void(Happening, const Member&)> on_event = {};
  };

  // Refuses an address that cannot be listened on.
  explicit StoreServer(Options options);
  // Ends all connections.
  ~StoreServer();
  StoreServer(const StoreServer&) = delete;
  StoreServer& operator=(const StoreServer&) = delete;

  // Host and port, with the port that was taken.
  const std::string& address() const;

  // Tells every process why the job ends; see StoreClient::Options::on_stop.
  void stop(const std::string& reason);

  std::vector<Member> members() const;
  // The value of a key.
  std::optional<std::string> find(const std::string& key) const;

 private:
  class Service;
  std::unique_ptr<Service> service_;
};

}  // namespace flotilla::rpc

// flotilla/testing/local_servers.h
//
// Parameter servers within a test's process: stores and services, and channels that call them
// without a network. A server can be killed and started again, as a launcher does.

#pragma once

#include <filesystem>
#include <memory>
#include <vector>

#include "flotilla/base/mutex.h"
#include "flotilla/ps/client.h"
#include "flotilla/ps/service.h"
#include "flotilla/ps/store.h"

namespace flotilla::testing {

class LocalServers {
 public:
  // Without a directory tables live in memory alone.
  LocalServers(int servers, int workers, std::filesystem::path directory = {});
  ~LocalServers();

  std::shared_ptr<ps::Client> client(int rank);
  std::shared_ptr<ps::Channel> channel(int server);
  ps::Service& service(int server);
  ps::Store& store(int server);

  // Calls that wait end as if the connection were lost; a client waits until start().
  void kill(int server);
  void start(int server);

 private:
  struct Server;
  class LocalChannel;

  std::shared_ptr<Server> running(int server) const;

  const int workers_;
  const std::filesystem::path directory_;
  mutable Mutex mutex_;
  std::vector<std::shared_ptr<Server>> servers_ FLT_GUARDED_BY(mutex_);
};

}  // namespace flotilla::testing

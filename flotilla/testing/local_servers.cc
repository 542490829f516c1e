#include "flotilla/testing/local_servers.h"

#include <atomic>
#include <string>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/ps/local_call.h"

namespace flotilla::testing {

struct LocalServers::Server {
  Server(ps::StoreOptions options, int workers)
      : store(std::move(options)), service(store, {.workers = workers, .threads = 1}) {}
  ps::Store store;
  ps::Service service;
  std::shared_ptr<std::atomic<bool>> ended = {};  // set once all of it is gone
};

// Each request looks for the server anew: one that was started again is found.
class LocalServers::LocalChannel final : public ps::Channel {
 public:
  LocalChannel(const LocalServers& servers, int server) : servers_(servers), server_(server) {}
  ps::Bytes allocate(size_t bytes) override { return ps::heap_bytes(bytes); }
  void call(const ps::Bytes& request, size_t /*room*/, Done done) override {
    auto call = std::make_shared<ps::LocalCall>(request, std::move(done));
    std::string reason;
    {
      const MutexLock lock(mutex_);
      reason = cancelled_;
    }
    const std::shared_ptr<Server> server = servers_.running(server_);
    if (!server && reason.empty()) reason = "the server is not there";
    if (!reason.empty()) {
      call->refuse(Error(ErrorKind::kUnavailable, reason));
    } else {
      server->service.handle(std::move(call));
    }
  }
  void cancel(const std::string& reason) override {
    const MutexLock lock(mutex_);
    cancelled_ = reason;
  }

 private:
  const LocalServers& servers_;
  const int server_;
  Mutex mutex_;
  std::string cancelled_ FLT_GUARDED_BY(mutex_);
};

LocalServers::LocalServers(int servers, int workers, std::filesystem::path directory)
    : workers_(workers), directory_(std::move(directory)), servers_(static_cast<size_t>(servers)) {
  for (int server = 0; server < servers; ++server) start(server);
}

LocalServers::~LocalServers() = default;

std::shared_ptr<LocalServers::Server> LocalServers::running(int server) const {
  const MutexLock lock(mutex_);
  return servers_.at(static_cast<size_t>(server));
}

void LocalServers::start(int server) {
  int servers = 0;
  {
    const MutexLock lock(mutex_);
    servers = static_cast<int>(servers_.size());
  }
  ps::StoreOptions options = {.share = {server, servers}};
  if (!directory_.empty()) options.directory = directory_ / std::to_string(server);
  auto ended = std::make_shared<std::atomic<bool>>(false);
  std::shared_ptr<Server> made(new Server(std::move(options), workers_), [ended](Server* ending) {
    delete ending;
    *ended = true;
    ended->notify_all();
  });
  made->ended = ended;
  const MutexLock lock(mutex_);
  servers_[static_cast<size_t>(server)] = std::move(made);
}

void LocalServers::kill(int server) {
  std::shared_ptr<Server> killed;
  {
    const MutexLock lock(mutex_);
    killed.swap(servers_.at(static_cast<size_t>(server)));
  }
  killed->service.stop("the server was killed");
  // Requests that are under way hold it; the next one may open its directory once they are done.
  const std::shared_ptr<std::atomic<bool>> ended = killed->ended;
  killed.reset();
  ended->wait(false);
}

ps::Service& LocalServers::service(int server) { return running(server)->service; }
ps::Store& LocalServers::store(int server) { return running(server)->store; }

std::shared_ptr<ps::Client> LocalServers::client(int rank) {
  int servers = 0;
  {
    const MutexLock lock(mutex_);
    servers = static_cast<int>(servers_.size());
  }
  return std::make_shared<ps::Client>(
      ps::Client::Options{.self = {rank, workers_},
                          .servers = servers,
                          .incarnation = ps::new_incarnation(),
                          .connect = [this](int server, const auto&) { return channel(server); }});
}

std::shared_ptr<ps::Channel> LocalServers::channel(int server) {
  return std::make_shared<LocalChannel>(*this, server);
}

}  // namespace flotilla::testing

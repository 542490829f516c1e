// flotilla/rpc/data_testing.h
//
// What the tests of the data channel share: servers that echo or keep their calls, requests that
// are texts, processes that can be killed.

#pragma once

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstring>
#include <future>
#include <thread>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/base/mutex.h"
#include "flotilla/rpc/acceptor.h"
#include "flotilla/rpc/data_client.h"
#include "flotilla/rpc/data_server.h"
#include "flotilla/testing/patience.h"

namespace flotilla::rpc {

using namespace std::chrono_literals;

inline void echo(const std::shared_ptr<DataCall>& call) {
  Payload reply = call->allocate(call->request().size());
  std::ranges::copy(call->request(), reply.bytes().begin());
  call->answer(std::move(reply));
}

// Keeps calls until they are taken.
class Shelf {
 public:
  void put(std::shared_ptr<DataCall> call) {
    const MutexLock lock(mutex_);
    calls_.push_back(std::move(call));
    changed_.notify_all();
  }
  std::shared_ptr<DataCall> take() {
    MutexLock lock(mutex_);
    while (calls_.empty()) changed_.wait(lock);
    auto call = std::move(calls_.front());
    calls_.erase(calls_.begin());
    return call;
  }

 private:
  Mutex mutex_;
  Condition changed_;
  std::vector<std::shared_ptr<DataCall>> calls_ FLT_GUARDED_BY(mutex_);
};

inline DataServer::Options serve(std::function<void(std::shared_ptr<DataCall>)> on_call) {
  DataServer::Options options;
  options.token = "secret";
  options.on_call = std::move(on_call);
  return options;
}

inline DataClient::Options to(const std::string& address) {
  return {.address = address, .token = "secret", .patience = 10s};
}

inline std::string text(const Payload& payload) {
  return {reinterpret_cast<const char*>(payload.bytes().data()), payload.size()};
}

inline Payload written(DataClient& client, const std::string& text) {
  Payload payload = client.allocate(text.size());
  std::memcpy(payload.bytes().data(), text.data(), text.size());
  return payload;
}

inline std::future<std::string> ask(DataClient& client, const std::string& request,
                                    size_t room = 0) {
  auto promise = std::make_shared<std::promise<std::string>>();
  client.call(written(client, request), room, [promise](Payload reply, std::exception_ptr error) {
    if (error) {
      promise->set_exception(error);
    } else {
      promise->set_value(text(reply));
    }
  });
  return promise->get_future();
}

inline ErrorKind kind_of(std::future<std::string> answer) {
  try {
    answer.get();
  } catch (const Error& error) {
    return error.kind();
  }
  throw std::logic_error("not refused");
}

inline std::string long_text(size_t bytes) {
  std::string text(bytes, ' ');
  for (size_t i = 0; i < bytes; ++i) text[i] = static_cast<char>(i * 2654435761 >> 13);
  return text;
}

inline Fd listening() {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in any = {};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&any), sizeof any), 0);
  EXPECT_EQ(::listen(fd.get(), 64), 0);
  return fd;
}

inline std::string address_of(const Fd& listener) {
  return "127.0.0.1:" + std::to_string(listening_port(listener));
}

// Somebody who takes a connection, says the first words of HTTP/2 where told to, and nothing more.
class Mute {
 public:
  explicit Mute(bool greets) : greets_(greets) {}
  ~Mute() {
    ::shutdown(listener_.get(), SHUT_RDWR);
    if (thread_.joinable()) thread_.join();
  }

  std::string address() const { return address_of(listener_); }

 private:
  void run() {
    constexpr char kSettings[] = {0, 0, 0, 4, 0, 0, 0, 0, 0};
    while (true) {
      Fd socket(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!socket) return;
      [[maybe_unused]] const ssize_t sent =
          ::send(socket.get(), kSettings, sizeof kSettings, MSG_NOSIGNAL);
      sockets_.push_back(std::move(socket));
    }
  }

  const bool greets_;
  const Fd listener_ = listening();
  std::vector<Fd> sockets_;
  std::thread thread_{greets_ ? std::thread([this] { run(); }) : std::thread()};
};

inline bool answers(DataClient& client) {
  try {
    return ask(client, "hello").get() == "hello";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kUnavailable);
    return false;
  }
}

// Asks until an answer went through shared memory both ways.
inline bool shares(DataClient& client) {
  const std::string sent = long_text(50'000);
  return soon([&] {
    const DataClient::Stats before = client.stats();
    EXPECT_TRUE(ask(client, sent, sent.size()).get() == sent);
    const DataClient::Stats after = client.stats();
    return after.shared_requests > before.shared_requests &&
           after.shared_replies > before.shared_replies;
  });
}

// Another process of this binary, which runs one of the tests that are off by default, with
// `listener` as its descriptor 3. A fork alone would leave it without gRPC's threads.
class Child {
 public:
  Child(const std::string& test, const Fd& listener) : pid_(::fork()) {
    if (pid_ != 0) return;
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::dup2(listener.get(), kInherited);
    ::fcntl(kInherited, F_SETFD, 0);  // also where it had that number before
    const std::string filter = "--gtest_filter=" + test;
    ::execl("/proc/self/exe", "rpc_test", filter.c_str(), "--gtest_also_run_disabled_tests",
            nullptr);
    ::_exit(1);
  }
  ~Child() { kill(); }

  void kill() {
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

  static constexpr int kInherited = 3;

 private:
  pid_t pid_ = 0;
};

}  // namespace flotilla::rpc

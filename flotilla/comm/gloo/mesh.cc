#include "flotilla/comm/gloo/mesh.h"

#include <gloo/transport/context.h>
#include <gloo/transport/pair.h>
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <signal.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <map>
#include <stdexcept>
#include <thread>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/base/mutex.h"
#include "flotilla/base/thread.h"
#include "flotilla/comm/gloo/sockets.h"
#include "flotilla/comm/queue.h"
#include "flotilla/rpc/outage.h"
#include "flotilla/rpc/resolve.h"
#include "flotilla/rpc/store_server.h"

namespace flotilla::comm {
namespace {

// How long a rank may take that has said where it is.
std::chrono::milliseconds connect_patience() {
  return std::max<std::chrono::milliseconds>(std::chrono::seconds(60),
                                             2 * rpc::Outage::from_environment().limit);
}
// A wait ends when the bytes are here, the connection is lost or somebody aborts it: the control
// plane decides how long a peer may take, so Gloo gets a limit that never comes.
constexpr std::chrono::milliseconds kForEver = std::chrono::hours(24 * 365);

// Whether the job goes on while hosts meet.
constexpr std::chrono::milliseconds kCheck{100};

// For what has arrived or will not, and for what others may not expect yet.
constexpr std::chrono::milliseconds kMoment{10};
constexpr std::chrono::milliseconds kLastWords{200};

// From when on a host that answers nothing is gone where the control plane can still reach both,
// and only the way between them is cut. TCP tries again after twice the time each time: what was
// cut for less than the limit has been tried again by then.
std::chrono::seconds silence_limit() {
  return std::chrono::ceil<std::chrono::seconds>(2 * rpc::Outage::from_environment().limit);
}

// What a rank writes to the store: its host's address, where it listens for each other rank, and by
// which word it will know it.
// value := address '\n' (listener: byte[kMaxByteSize]) * ranks (word: byte[32]) * ranks
constexpr size_t kListenerBytes = gloo::transport::Address::kMaxByteSize;
constexpr size_t kWordBytes = 32;
constexpr uint64_t kWordChannel = ~uint64_t{0};
// On which a rank says at last why it leaves, padded to this length.
constexpr uint64_t kFarewellChannel = kWordChannel - 1;
constexpr size_t kFarewellBytes = 1024;

// Gloo writes to sockets that may be closed; that is an error, not the end of the process.
void ignore_broken_pipes() {
  struct sigaction now = {};
  ::sigaction(SIGPIPE, nullptr, &now);
  if (now.sa_handler == SIG_DFL) ::signal(SIGPIPE, SIG_IGN);
}

std::string make_words(size_t count) {
  std::string words;
  for (size_t i = 0; i < count; ++i) words += rpc::new_token();
  return words;
}

// The bytes of one of Gloo's addresses begin with the system's form of it.
sockaddr_storage address_in(const std::vector<char>& bytes) {
  sockaddr_storage address = {};
  std::memcpy(&address, bytes.data(), std::min(bytes.size(), sizeof address));
  return address;
}

// Throws why the job has ended, once it has.
std::function<bool()> ended(rpc::StoreClient& store, const std::string& key) {
  return [&store, key] {
    store.find(key);
    return false;
  };
}

// Gloo would look the name up itself, and nobody could end that. `stop` throws to do so.
std::shared_ptr<gloo::transport::Device> make_device(const std::string& address,
                                                     const std::function<bool()>& stop) {
  const rpc::Resolved found = rpc::resolve({.host = address}, stop);
  std::string why = "its name " + (found.ok() ? "has no address" : found.problem());
  const WithoutSignals guard;  // its thread inherits them
  for (const addrinfo* each = found.addresses.get(); each != nullptr; each = each->ai_next) {
    const std::string numeric = rpc::numeric_text(each->ai_addr, each->ai_addrlen);
    try {
      return gloo::transport::tcp::CreateDevice({numeric.c_str()});
    } catch (const std::exception& error) {
      why = error.what();
    }
  }
  throw Error(ErrorKind::kUnavailable,
              fmt::format("this host cannot be reached by others as {}: {}", address, why));
}

class Sending final : public Mesh::Transfer {
 public:
  explicit Sending(std::unique_ptr<gloo::transport::UnboundBuffer> buffer)
      : buffer_(std::move(buffer)) {}
  bool wait() override { return buffer_->waitSend(kForEver); }
  void interrupt() override { buffer_->abortWaitSend(); }

 private:
  const std::unique_ptr<gloo::transport::UnboundBuffer> buffer_;
};

class Receiving final : public Mesh::Transfer {
 public:
  explicit Receiving(std::unique_ptr<gloo::transport::UnboundBuffer> buffer)
      : buffer_(std::move(buffer)) {}
  bool wait() override { return buffer_->waitRecv(kForEver); }
  void interrupt() override { buffer_->abortWaitRecv(); }

 private:
  const std::unique_ptr<gloo::transport::UnboundBuffer> buffer_;
};

// Looks beside a thread that waits for Gloo, which asks nobody, whether the job goes on.
class Lookout {
 public:
  // `give_up` is called again and again once the job has ended: a wait may only be about to begin.
  Lookout(rpc::StoreClient& store, std::string key, std::function<void()> give_up)
      : store_(store), key_(std::move(key)), give_up_(std::move(give_up)) {
    const WithoutSignals guard;
    thread_ =
        start_thread<std::thread>("checks whether the job is still running", [this] { run(); });
  }
  ~Lookout() {
    {
      const MutexLock lock(mutex_);
      over_ = true;
      changed_.notify_all();
    }
    thread_.join();
  }
  Lookout(const Lookout&) = delete;
  Lookout& operator=(const Lookout&) = delete;

  // Throws why the job has ended, where it has.
  void check() const {
    const MutexLock lock(mutex_);
    if (!ended_.empty()) throw Error(ErrorKind::kUnavailable, ended_);
  }

 private:
  void run() {
    while (!over_in(kCheck)) {
      try {
        check();
        store_.find(key_);
      } catch (const Error& error) {
        {
          const MutexLock lock(mutex_);
          ended_ = error.sentence();
        }
        give_up_();
      }
    }
  }
  bool over_in(std::chrono::milliseconds time) {
    const auto until = std::chrono::steady_clock::now() + time;
    MutexLock lock(mutex_);
    while (!over_ && changed_.wait_until(lock, until)) continue;
    return over_;
  }

  rpc::StoreClient& store_;
  const std::string key_;
  const std::function<void()> give_up_;
  mutable Mutex mutex_;
  Condition changed_;
  bool over_ FLT_GUARDED_BY(mutex_) = false;
  std::string ended_ FLT_GUARDED_BY(mutex_);
  std::thread thread_;
};

}  // namespace

class Mesh::Pairs {
 public:
  Pairs(const Options& options, const std::function<bool()>& stop)
      : options_(options),
        device_(make_device(options.address, stop)),
        context_(device_->createContext(options.rank, static_cast<int>(options.hosts.size()))),
        words_(make_words(options.hosts.size())) {
    context_->setTimeout(connect_patience() / 5);  // Gloo waits five times as long
    for (size_t r = 0; r < options_.hosts.size(); ++r) {
      if (far(r)) context_->createPair(static_cast<int>(r));
    }
  }

  bool far(size_t rank) const {
    return options_.hosts[rank] != options_.hosts[static_cast<size_t>(options_.rank)];
  }

  std::string introduction() {
    std::string all(options_.hosts.size() * kListenerBytes, '\0');
    for (size_t r = 0; r < options_.hosts.size(); ++r) {
      if (!far(r)) continue;
      const std::vector<char> bytes = context_->getPair(static_cast<int>(r))->address().bytes();
      all.replace(r * kListenerBytes, bytes.size(), bytes.data(), bytes.size());
    }
    return all + words_;
  }

  // `introduction` is what that rank wrote.
  void connect(size_t rank, const std::string& introduction) {
    const auto me = static_cast<size_t>(options_.rank);
    const size_t ranks = options_.hosts.size();
    invariant(introduction.size() == ranks * (kListenerBytes + kWordBytes),
              "rank {} has written {} bytes of addresses", rank, introduction.size());
    const auto& pair = context_->getPair(static_cast<int>(rank));
    const std::vector<char> mine = pair->address().bytes();
    const char* begin = introduction.data() + me * kListenerBytes;
    const std::vector<char> theirs(begin, begin + mine.size());
    pair->connect(theirs);
    const bool found = limit_silence(address_in(mine), address_in(theirs), silence_limit());
    invariant(found, "the socket that is connected to rank {} was not found", rank);
    begin_greeting(rank, introduction.substr(ranks * kListenerBytes + me * kWordBytes, kWordBytes));
  }

  // Waits for the word of a rank that was connected to: anybody can connect, but only those who
  // read the store know it.
  void expect_word(size_t rank) {
    Greeting& greeting = greeting_of(rank);
    const auto patience = connect_patience();
    const bool came = greeting.arriving->waitRecv(patience) && greeting.leaving->waitSend(patience);
    const std::string expected = words_.substr(rank * kWordBytes, kWordBytes);
    if (!came || greeting.theirs != expected) {
      throw std::runtime_error("another process has connected in its place");
    }
    const MutexLock lock(greeting_);
    greetings_.erase(rank);
  }

  // Ends what connect() and expect_word() wait for. From any thread.
  void give_up() {
    for (size_t r = 0; r < options_.hosts.size(); ++r) {
      try {
        if (far(r)) context_->getPair(static_cast<int>(r))->close();
      } catch (const std::exception&) {
        // It was broken before.
      }
    }
    const MutexLock lock(greeting_);
    for (const auto& [rank, greeting] : greetings_) {
      greeting.arriving->abortWaitRecv();
      greeting.leaving->abortWaitSend();
    }
  }

  gloo::transport::Context& context() { return *context_; }

  void expect_farewell(size_t rank) {
    Farewell& farewell = farewells_[rank];
    farewell.arriving = context_->createUnboundBuffer(farewell.text.data(), kFarewellBytes);
    farewell.arriving->recv(static_cast<int>(rank), kFarewellChannel);
  }

  // Asks for it where the connection is lost: it has arrived, or will not.
  std::string farewell_of(size_t rank) {
    Farewell& farewell = farewells_.at(rank);
    try {
      if (!farewell.heard) farewell.heard = farewell.arriving->waitRecv(kMoment);
    } catch (const std::exception&) {
      return "";  // it said nothing
    }
    return farewell.heard ? farewell.text.c_str() : "";
  }

  // Who has just connected may not expect the words yet: they get a moment.
  void close(const std::string& why) {
    const MutexLock lock(closing_);
    if (!last_words_.empty()) return;
    last_words_ = why;
    last_words_.resize(kFarewellBytes);
    last_words_.back() = 0;
    const auto for_others = [&](auto work) FLT_REQUIRES(closing_) {
      for (size_t r = 0; r < options_.hosts.size(); ++r) {
        try {
          if (far(r)) work(static_cast<int>(r));
        } catch (const std::exception&) {
          // It is gone itself.
        }
      }
    };
    for_others([&](int r) FLT_REQUIRES(closing_) {
      leaving_[r] = context_->createUnboundBuffer(last_words_.data(), kFarewellBytes);
      leaving_[r]->send(r, kFarewellChannel);
    });
    const auto until = std::chrono::steady_clock::now() + kLastWords;
    for_others([&](int r) FLT_REQUIRES(closing_) {
      const auto left = until - std::chrono::steady_clock::now();
      leaving_[r]->waitSend(
          std::max(std::chrono::duration_cast<std::chrono::milliseconds>(left), kMoment));
    });
    for_others([&](int r) { context_->getPair(r)->close(); });
  }

 private:
  struct Farewell {
    std::string text = std::string(kFarewellBytes, '\0');
    std::unique_ptr<gloo::transport::UnboundBuffer> arriving = {};
    bool heard = false;
  };
  struct Greeting {
    std::string mine = {};
    std::string theirs = std::string(kWordBytes, '\0');
    std::unique_ptr<gloo::transport::UnboundBuffer> leaving = {};
    std::unique_ptr<gloo::transport::UnboundBuffer> arriving = {};
  };

  // Entries stay where they are.
  Greeting& greeting_of(size_t rank) {
    const MutexLock lock(greeting_);
    return greetings_.at(rank);
  }

  void begin_greeting(size_t rank, std::string word) {
    const MutexLock lock(greeting_);
    Greeting& greeting = greetings_[rank];
    greeting.mine = std::move(word);
    greeting.leaving = context_->createUnboundBuffer(greeting.mine.data(), kWordBytes);
    greeting.arriving = context_->createUnboundBuffer(greeting.theirs.data(), kWordBytes);
    greeting.arriving->recv(static_cast<int>(rank), kWordChannel);
    greeting.leaving->send(static_cast<int>(rank), kWordChannel);
  }

  const Options options_;
  const std::shared_ptr<gloo::transport::Device> device_;
  const std::shared_ptr<gloo::transport::Context> context_;
  const std::string words_;  // that others must say, by rank
  Mutex greeting_;
  std::map<size_t, Greeting> greetings_ FLT_GUARDED_BY(greeting_);  // that are not over, by rank
  std::map<size_t, Farewell> farewells_;                            // by rank
  Mutex closing_;
  std::string last_words_ FLT_GUARDED_BY(closing_);
  std::map<int, std::unique_ptr<gloo::transport::UnboundBuffer>> leaving_ FLT_GUARDED_BY(closing_);
};

Mesh::Mesh(rpc::StoreClient& store, const Options& options)
    : pairs_(std::make_unique<Pairs>(options, ended(store, options.name))),
      addresses_(options.hosts.size(), options.address),
      why_gone_(options.why_gone) {
  ignore_broken_pipes();
  const auto key = [&](size_t r) { return fmt::format("{}/gloo/{}", options.name, r); };
  store.set(key(static_cast<size_t>(options.rank)),
            options.address + "\n" + pairs_->introduction());
  const auto for_others = [&](auto work) {
    for (size_t r = 0; r < options.hosts.size(); ++r) {
      if (!pairs_->far(r)) continue;
      try {
        work(r);
      } catch (const Error&) {
        throw;
      } catch (const std::exception& error) {
        throw Error(ErrorKind::kUnavailable, fmt::format("cannot connect to rank {} on host {}: {}",
                                                         r, addresses_[r], error.what()));
      }
    }
  };
  const Lookout lookout(store, key(static_cast<size_t>(options.rank)),
                        [this] { pairs_->give_up(); });
  try {
    for_others([&](size_t r) {
      const std::string value = store.get(key(r));
      const size_t end = value.find('\n');
      addresses_[r] = value.substr(0, end);
      pairs_->connect(r, value.substr(end + 1));
    });
    for_others([&](size_t r) {
      pairs_->expect_word(r);
      pairs_->expect_farewell(r);
    });
  } catch (...) {
    lookout.check();  // what was given up failed for this reason
    throw;
  }
  lookout.check();
}

Mesh::~Mesh() = default;

bool Mesh::connected(int rank) const { return pairs_->far(static_cast<size_t>(rank)); }

std::unique_ptr<Mesh::Transfer> Mesh::send(int to, uint64_t channel, const void* data,
                                           int64_t bytes) {
  auto buffer =
      pairs_->context().createUnboundBuffer(const_cast<void*>(data), static_cast<size_t>(bytes));
  buffer->send(to, channel);
  return std::make_unique<Sending>(std::move(buffer));
}

std::unique_ptr<Mesh::Transfer> Mesh::recv(int from, uint64_t channel, void* data, int64_t bytes) {
  auto buffer = pairs_->context().createUnboundBuffer(data, static_cast<size_t>(bytes));
  buffer->recv(from, channel);
  return std::make_unique<Receiving>(std::move(buffer));
}

void Mesh::leave(const std::string& why) { pairs_->close(why); }

std::string Mesh::why_left(int rank) { return pairs_->farewell_of(static_cast<size_t>(rank)); }

}  // namespace flotilla::comm

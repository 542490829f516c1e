#include "flotilla/rpc/connecting.h"

#include <grpcpp/grpcpp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/error.h"
#include "flotilla/rpc/dial.h"

namespace flotilla::rpc {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::system_clock;  // gRPC's deadlines

// A server of gRPC speaks first, at once. One that has not after this time waits for TLS, or has
// not begun to accept connections: then the next step finds out.
constexpr milliseconds kFirstWords{500};

// For a step of a conversation. What is not known by then is not known; the wait goes on.
constexpr milliseconds kPatience{500};

// Between two questions whether to stop.
constexpr milliseconds kSlice{100};

struct Free {
  void operator()(SSL_CTX* p) const { SSL_CTX_free(p); }
  void operator()(SSL* p) const { SSL_free(p); }
};

bool speaks_first(const Fd& socket, const std::function<bool()>& enough) {
  pollfd waiting = {socket.get(), POLLIN, 0};
  char byte = 0;
  constexpr milliseconds kSlice{20};
  for (auto left = kFirstWords; left.count() > 0 && !enough(); left -= kSlice) {
    if (::poll(&waiting, 1, static_cast<int>(kSlice.count())) > 0) {
      return ::recv(socket.get(), &byte, 1, MSG_PEEK) == 1;
    }
  }
  return false;
}

void limit(const Fd& socket) {
  const timeval patience = {.tv_sec = 0, .tv_usec = kSlice / std::chrono::microseconds(1)};
  ::setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  ::setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
}

// OpenSSL writes to sockets as to files: one whose other end is gone would end this process.
class WithoutSigpipe {
 public:
  WithoutSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    ::pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~WithoutSigpipe() {
    const timespec at_once = {};
    if (sigismember(&before_, SIGPIPE) == 0) ::sigtimedwait(&pipe_, nullptr, &at_once);
    ::pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_;
  sigset_t before_;
};

// One attempt to speak TLS as gRPC does. Ends early when it is `enough`.
class Conversation {
 public:
  Conversation(const Fd& socket, const std::string& host, const Tls& tls,
               const std::function<bool()>& enough)
      : context_(SSL_CTX_new(TLS_client_method())) {
    if (tls.on()) {
      SSL_CTX_load_verify_locations(context_.get(), tls.authority.c_str(), nullptr);
      SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    }
    if (tls.mutual) {
      SSL_CTX_use_certificate_chain_file(context_.get(), tls.certificate.c_str());
      SSL_CTX_use_PrivateKey_file(context_.get(), tls.key.c_str(), SSL_FILETYPE_PEM);
    }
    talk_.reset(SSL_new(context_.get()));
    const unsigned char protocols[] = {2, 'h', '2'};
    SSL_set_alpn_protos(talk_.get(), protocols, sizeof protocols);
    X509_VERIFY_PARAM* expected = SSL_get0_param(talk_.get());
    const std::string& name = tls.name.empty() ? host : tls.name;
    if (X509_VERIFY_PARAM_set1_ip_asc(expected, name.c_str()) != 1) {
      X509_VERIFY_PARAM_set1_host(expected, name.c_str(), name.size());
    }
    const WithoutSigpipe guard;
    SSL_set_fd(talk_.get(), socket.get());
    begun_ = patiently([&] { return SSL_connect(talk_.get()); }, enough) == 1;
    // Whether the server accepts us shows after the beginning: it speaks, or hangs up.
    char byte = 0;
    const int got = begun_ ? patiently([&] { return SSL_read(talk_.get(), &byte, 1); }, enough) : 0;
    hung_up_ = begun_ && got != 1 && SSL_get_error(talk_.get(), got) != SSL_ERROR_WANT_READ;
    ERR_clear_error();
  }

  bool begun() const { return begun_; }
  bool hung_up() const { return hung_up_; }
  // Why we do not accept its certificate; empty: we do.
  std::string refused() const {
    const long verdict = SSL_get_verify_result(talk_.get());
    return verdict == X509_V_OK ? "" : X509_verify_cert_error_string(verdict);
  }

 private:
  // Again where the other end has said nothing for kSlice.
  template <typename Step>
  int patiently(Step step, const std::function<bool()>& enough) {
    int got = 0;
    for (milliseconds left = kPatience; left.count() > 0; left -= kSlice) {
      got = step();
      if (SSL_get_error(talk_.get(), got) != SSL_ERROR_WANT_READ || enough()) break;
    }
    return got;
  }

  std::unique_ptr<SSL_CTX, Free> context_;
  std::unique_ptr<SSL, Free> talk_;
  bool begun_ = false;
  bool hung_up_ = false;
};

// The sentence on it; empty where both agree, where it cannot be known, or when it is `enough`.
std::string tls_disagreement(const std::string& address, const Tls& tls,
                             const std::function<bool()>& enough) {
  const std::optional<Endpoint> endpoint = find_endpoint(address);
  if (!endpoint) return "";
  const Dialed dialed = dial(*endpoint, kPatience, enough);
  if (!dialed.ok()) return "";
  limit(dialed.socket);
  const bool plain = speaks_first(dialed.socket, enough);
  if ((plain && !tls.on()) || enough()) return "";
  if (plain) {
    return fmt::format(
        "the server at {} does not speak TLS, but this process does: set the FLT_TLS_* variables "
        "for every process of the job, or for none",
        address);
  }
  const Conversation talk(dialed.socket, endpoint->host, tls, enough);
  if (enough()) return "";
  if (!tls.on()) {
    if (!talk.begun()) return "";
    return fmt::format(
        "the server at {} speaks TLS, but this process does not: set the FLT_TLS_* variables for "
        "every process of the job, or for none",
        address);
  }
  if (const std::string why = talk.refused(); !why.empty()) {
    return fmt::format("the certificate of the server at {} is not accepted: {}", address, why);
  }
  if (talk.hung_up()) {
    return fmt::format("the server at {} does not accept {}", address,
                       tls.mutual ? "the certificate of this process"
                                  : "this process without a certificate: FLT_TLS_MUTUAL is set "
                                    "there, but not here");
  }
  return "";
}

bool connects_before(grpc::Channel& channel, Clock::time_point until,
                     const std::function<bool()>& stop) {
  do {
    if (channel.WaitForConnected(std::min(until, Clock::now() + kSlice))) return true;
  } while (Clock::now() < until && !stop());
  return false;
}

}  // namespace

bool wait_for_connection(grpc::Channel& channel, const std::string& address, const Tls& tls,
                         milliseconds patience, const std::function<bool()>& stop) {
  const auto deadline = Clock::now() + patience;
  const auto unknown = Clock::now() + patience_with_names();
  const auto stopped = [&] { return stop && stop(); };
  const auto enough = [&] { return channel.GetState(false) == GRPC_CHANNEL_READY || stopped(); };
  auto look = milliseconds(1000);  // a server that is merely slow is left alone
  while (true) {
    if (connects_before(channel, std::min(deadline, Clock::now() + look), stopped)) return true;
    if (stopped()) return false;
    if (const std::string host = host_of(address); look_up(host, stopped) == Name::kUnknown) {
      if (Clock::now() >= unknown) {
        throw Error(ErrorKind::kUnavailable,
                    fmt::format("nothing answers at {}: the name \"{}\" cannot be resolved",
                                address, host));
      }
      if (Clock::now() >= deadline) return false;
      continue;
    }
    const std::string disagreement = tls_disagreement(address, tls, enough);
    if (!disagreement.empty()) throw Error(ErrorKind::kUnavailable, disagreement);
    if (Clock::now() >= deadline) return false;
    look *= 4;
  }
}

}  // namespace flotilla::rpc

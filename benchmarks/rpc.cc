// benchmarks/rpc.cc
//
// Round trips of bytes between two processes of this host, one call at a time: the client writes a
// request, the server copies it into its answer, the client reads that. Prints one JSON line per
// measurement; transport.py shows them.
//
//   bench_rpc SECONDS

#include <fmt/format.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <future>
#include <numeric>

#include "flotilla/base/error.h"
#include "flotilla/rpc/acceptor.h"
#include "flotilla/rpc/data_client.h"
#include "flotilla/rpc/data_server.h"

namespace flotilla::rpc {
namespace {

using Clock = std::chrono::steady_clock;

Fd listening() {
  Fd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in any = {};
  any.sin_family = AF_INET;
  any.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool listens = ::bind(fd.get(), reinterpret_cast<sockaddr*>(&any), sizeof any) == 0 &&
                       ::listen(fd.get(), 16) == 0;
  require(listens, "no port of the loopback can be listened on");
  return fd;
}

[[noreturn]] void serve(Fd listener) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  DataServer::Options options;
  options.token = "bench";
  options.listener = std::move(listener);
  options.on_call = [](const std::shared_ptr<DataCall>& call) {
    Payload reply = call->allocate(call->request().size());
    std::memcpy(reply.bytes().data(), call->request().data(), reply.size());
    call->answer(std::move(reply));
  };
  const DataServer server(std::move(options));
  while (true) ::pause();
}

void round_trip(DataClient& client, size_t bytes) {
  Payload request = client.allocate(bytes);
  std::memset(request.bytes().data(), 1, bytes);
  std::promise<Payload> promise;
  client.call(std::move(request), bytes, [&](Payload reply, std::exception_ptr error) {
    error ? promise.set_exception(error) : promise.set_value(std::move(reply));
  });
  const Payload reply = promise.get_future().get();
  const auto ones = std::ranges::count(reply.bytes(), std::byte{1});
  invariant(static_cast<size_t>(ones) == bytes, "{} of {} bytes came back", ones, bytes);
}

double per_second(DataClient& client, size_t bytes, double seconds) {
  for (int i = 0; i < 50; ++i) round_trip(client, bytes);
  const Clock::time_point begin = Clock::now();
  int64_t trips = 0;
  double taken = 0;
  while (taken < seconds) {
    for (int i = 0; i < 10; ++i) round_trip(client, bytes);
    trips += 10;
    taken = std::chrono::duration<double>(Clock::now() - begin).count();
  }
  return static_cast<double>(trips) / taken;
}

void measure(double seconds) {
  Fd listener = listening();
  const std::string address = fmt::format("127.0.0.1:{}", listening_port(listener));
  // Before gRPC has threads, which do not survive a fork.
  const pid_t server = ::fork();
  if (server == 0) serve(std::move(listener));
  listener.reset();
  DataClient plain({.address = address, .token = "bench", .shared_bytes = 0});
  DataClient sharing({.address = address, .token = "bench"});
  for (const size_t bytes : {size_t{4096}, size_t{262'144}, size_t{1'700'000}}) {
    for (auto [name, client] : {std::pair("messages", &plain), std::pair("shared", &sharing)}) {
      const double rate = per_second(*client, bytes, seconds);
      fmt::print("{{\"bytes\": {}, \"payloads\": \"{}\", \"value\": {:.1f}}}\n", bytes, name, rate);
    }
  }
  ::kill(server, SIGKILL);
  ::waitpid(server, nullptr, 0);
}

}  // namespace
}  // namespace flotilla::rpc

int main(int count, char** words) {
  flotilla::rpc::measure(count > 1 ? std::atof(words[1]) : 1);
  return 0;
}

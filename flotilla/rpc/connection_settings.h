// flotilla/rpc/connection_settings.h
//
// What both ends of a gRPC connection of ours agree on.

#pragma once

#include <grpcpp/grpcpp.h>

#include <climits>
#include <functional>
#include <memory>

#include "flotilla/base/fd.h"
#include "flotilla/rpc/authenticator.h"
#include "flotilla/rpc/outage.h"

namespace flotilla::rpc {

// Where a client shows the job's token. The ending lets it hold any bytes; gRPC ends a process that
// sends others than printable ASCII without it.
inline constexpr char kTokenKey[] = "flotilla-token-bin";

// How soon a data client tries another connection where its server does not answer; what it had
// asked is asked again. Not within one host: there the kernel closes connections, and a process
// that is merely stopped, in a debugger or by Ctrl-Z, is not gone.
inline int keepalive_ms() { return static_cast<int>(Outage::from_environment().retry().count()); }

// A little more than a value of the store.
inline constexpr int kMaxMessageBytes = 80 << 20;

// Call it before any use of gRPC. Throws Unavailable where the threads that gRPC needs cannot be
// started: gRPC itself would go on without them, and wait for ever.
void prepare_grpc();

// So many threads has a process with connections besides its own.
int grpc_threads();

// What the caller shows; empty where it shows nothing.
inline std::string_view shown_token(const grpc::CallbackServerContext& context) {
  const auto shown = context.client_metadata().find(kTokenKey);
  if (shown == context.client_metadata().end()) return {};
  return {shown->second.data(), shown->second.size()};
}

// What a server answers to a caller that is not welcome: ask again, or never.
inline grpc::Status refusal(Authenticator::Verdict verdict, const std::string& why) {
  switch (verdict) {
    case Authenticator::Verdict::kNotYet:
      return {grpc::StatusCode::ABORTED, why};
    case Authenticator::Verdict::kWrongHost:
      return {grpc::StatusCode::PERMISSION_DENIED, why};
    default:
      return {grpc::StatusCode::UNAUTHENTICATED, why};
  }
}

inline bool within_host(const std::string& address) {
  return address.starts_with("127.") || address.starts_with("localhost:") ||
         address.starts_with("[::1]:");
}

// `address`: where the server listens; whoever has other ways to notice silence gives none.
inline void apply_settings(grpc::ServerBuilder& builder, const std::string& address,
                           int max_message_bytes = kMaxMessageBytes) {
  // Two servers on one port would each get a part of the connections.
  builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
  if (address.empty()) {
    // Without this gRPC lets the kernel close a connection after 20 s of silence.
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, INT_MAX);
  } else if (!within_host(address)) {
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive_ms());
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, keepalive_ms());
  }
  // Clients may have another limit.
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS, 50);
  builder.AddChannelArgument(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  builder.SetMaxReceiveMessageSize(max_message_bytes);
}

// What takes the connections of an Acceptor, once the server is built.
inline std::function<void(int, Fd)> taker(grpc::ServerBuilder& builder,
                                          std::shared_ptr<grpc::ServerCredentials> credentials) {
  using Taker = grpc::experimental::ExternalConnectionAcceptor;
  std::shared_ptr<Taker> connections = builder.experimental().AddExternalConnectionAcceptor(
      grpc::ServerBuilder::experimental_type::ExternalConnectionType::FROM_FD,
      std::move(credentials));
  return [connections](int listener, Fd connection) {
    Taker::NewConnectionParameters parameters;
    parameters.listener_fd = listener;
    parameters.fd = connection.release();
    connections->HandleNewConnection(&parameters);
  };
}

// `address`: as above.
inline grpc::ChannelArguments client_settings(const std::string& address,
                                              int max_message_bytes = kMaxMessageBytes) {
  grpc::ChannelArguments args;
  if (!address.empty() && !within_host(address)) {
    args.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, keepalive_ms());
    args.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, keepalive_ms());
  }
  args.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  args.SetInt(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, 50);
  args.SetInt(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, 50);
  args.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, 1000);
  args.SetMaxReceiveMessageSize(max_message_bytes);
  // Addresses of a job are never behind a proxy.
  args.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  // Each client has a connection of its own, also within one process.
  args.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return args;
}

}  // namespace flotilla::rpc

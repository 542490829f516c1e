// flotilla/rpc/tls.h
//
// TLS for the connections of a job. Every process reads the same variables:
//
//   FLT_TLS_CERT    this host's certificate, a PEM file   } both, or neither
//   FLT_TLS_KEY     its private key                       }
//   FLT_TLS_CA      the authority that has signed the certificates of the job
//   FLT_TLS_MUTUAL  1: servers ask for a certificate too
//   FLT_TLS_NAME    a name that all certificates carry; without it, each carries its host's
//
// With none of them connections are plain, and the job's token is all that protects the job.

#pragma once

#include <memory>
#include <string>

namespace grpc {
class ChannelArguments;
class ChannelCredentials;
class ServerCredentials;
}  // namespace grpc

namespace flotilla::rpc {

struct Tls {
  // Files.
  std::string certificate = {};
  std::string key = {};
  std::string authority = {};

  bool mutual = false;
  std::string name = {};

  bool on() const { return !certificate.empty() || !authority.empty(); }

  static Tls from_environment();
};

// These refuse what is missing or cannot be read, and a key that does not belong to its
// certificate. Without TLS they are plain.
std::shared_ptr<grpc::ServerCredentials> server_credentials(const Tls& tls);
// Adds to `arguments` what the certificate of the server must say.
std::shared_ptr<grpc::ChannelCredentials> client_credentials(const Tls& tls,
                                                             grpc::ChannelArguments& arguments);

}  // namespace flotilla::rpc

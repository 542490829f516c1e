#include "flotilla/rpc/tls.h"

#include <grpcpp/grpcpp.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>

#include "flotilla/base/env.h"
#include "flotilla/base/error.h"
#include "flotilla/base/regular_file.h"

namespace flotilla::rpc {
namespace {

template <auto Free>
struct With {
  template <typename T>
  void operator()(T* p) const {
    Free(p);
  }
};
using Bio = std::unique_ptr<BIO, With<BIO_free>>;
using Certificate = std::unique_ptr<X509, With<X509_free>>;
using Key = std::unique_ptr<EVP_PKEY, With<EVP_PKEY_free>>;

std::string read_file(const char* variable, const std::string& path) {
  const std::string_view kind = other_than_a_file(path);
  require(kind.empty(), "{} names {}, which is {}, not a file", variable, path, kind);
  std::ifstream file(path, std::ios::binary);
  require(file.is_open(), "{} names the file {}, which cannot be opened: {}", variable, path,
          std::strerror(errno));
  return {std::istreambuf_iterator<char>(file), {}};
}

Bio reader(const std::string& pem) {
  return Bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
}

Certificate read_certificate(const char* variable, const std::string& path,
                             const std::string& pem) {
  Certificate certificate(PEM_read_bio_X509(reader(pem).get(), nullptr, nullptr, nullptr));
  ERR_clear_error();
  require(certificate != nullptr, "{} names the file {}, which contains no PEM certificate",
          variable, path);
  return certificate;
}

// A passphrase is never asked for: nobody sits there to give it.
int no_passphrase(char*, int, int, void*) { return -1; }

struct Pem {
  std::string certificate = {};
  std::string key = {};
  std::string authority = {};
};

Pem read_all(const Tls& tls) {
  require(tls.certificate.empty() == tls.key.empty(),
          "FLT_TLS_CERT and FLT_TLS_KEY belong together, but only {} is set",
          tls.key.empty() ? "FLT_TLS_CERT" : "FLT_TLS_KEY");
  Pem pem;
  if (!tls.authority.empty()) {
    pem.authority = read_file("FLT_TLS_CA", tls.authority);
    read_certificate("FLT_TLS_CA", tls.authority, pem.authority);
  }
  if (tls.certificate.empty()) return pem;
  pem.certificate = read_file("FLT_TLS_CERT", tls.certificate);
  pem.key = read_file("FLT_TLS_KEY", tls.key);
  const Certificate certificate =
      read_certificate("FLT_TLS_CERT", tls.certificate, pem.certificate);
  const Key key(PEM_read_bio_PrivateKey(reader(pem.key).get(), nullptr, no_passphrase, nullptr));
  const bool belongs = key != nullptr && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  require(key != nullptr,
          "FLT_TLS_KEY names the file {}, which contains no PEM private key without a passphrase",
          tls.key);
  require(belongs, "the private key in {} does not belong to the certificate in {}", tls.key,
          tls.certificate);
  return pem;
}

}  // namespace

Tls Tls::from_environment() {
  return {.certificate = env::text_or("FLT_TLS_CERT", ""),
          .key = env::text_or("FLT_TLS_KEY", ""),
          .authority = env::text_or("FLT_TLS_CA", ""),
          .mutual = env::flag_or("FLT_TLS_MUTUAL", false),
          .name = env::text_or("FLT_TLS_NAME", "")};
}

std::shared_ptr<grpc::ServerCredentials> server_credentials(const Tls& tls) {
  require(tls.on() || (tls.key.empty() && !tls.mutual),
          "TLS needs FLT_TLS_CERT, FLT_TLS_KEY and FLT_TLS_CA");
  if (!tls.on()) return grpc::InsecureServerCredentials();
  const Pem pem = read_all(tls);
  require(!pem.certificate.empty(), "a server needs FLT_TLS_CERT and FLT_TLS_KEY to speak TLS");
  require(!tls.mutual || !pem.authority.empty(),
          "FLT_TLS_MUTUAL needs FLT_TLS_CA, with which servers verify the certificates of the job");
  grpc::SslServerCredentialsOptions options(
      tls.mutual ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                 : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  options.pem_root_certs = pem.authority;
  options.pem_key_cert_pairs.push_back({pem.key, pem.certificate});
  return grpc::SslServerCredentials(options);
}

std::shared_ptr<grpc::ChannelCredentials> client_credentials(const Tls& tls,
                                                             grpc::ChannelArguments& arguments) {
  if (!tls.on()) return grpc::InsecureChannelCredentials();
  const Pem pem = read_all(tls);
  require(!pem.authority.empty(),
          "TLS needs FLT_TLS_CA, with which this process verifies the servers of the job");
  require(
      !tls.mutual || !pem.certificate.empty(),
      "FLT_TLS_MUTUAL needs FLT_TLS_CERT and FLT_TLS_KEY, which this process presents to servers");
  if (!tls.name.empty()) arguments.SetSslTargetNameOverride(tls.name);
  grpc::SslCredentialsOptions options;
  options.pem_root_certs = pem.authority;
  if (tls.mutual) {
    options.pem_private_key = pem.key;
    options.pem_cert_chain = pem.certificate;
  }
  return grpc::SslCredentials(options);
}

}  // namespace flotilla::rpc

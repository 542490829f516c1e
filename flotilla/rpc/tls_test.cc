// TLS between servers and clients of a job, with certificates that the openssl command makes.

#include "flotilla/rpc/tls.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "flotilla/rpc/data_testing.h"
#include "flotilla/rpc/store_client.h"
#include "flotilla/rpc/store_server.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla::rpc {
namespace {

using testing::HasSubstr;

class TlsTest : public testing::Test, protected TempDir {
 protected:
  void SetUp() override {
    if (std::system("openssl version > /dev/null 2>&1") != 0) {
      GTEST_SKIP() << "the openssl command is absent";
    }
    authority("ca");
  }

  void openssl(const std::string& words) {
    const std::string command = "cd " + path().string() + " && openssl " + words + " 2> errors";
    ASSERT_EQ(std::system(command.c_str()), 0) << command << ": " << get("errors");
  }

  void authority(const std::string& name) {
    openssl("req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=" +
            name + " -keyout " + name + ".key -out " + name + ".pem");
  }

  // Certificate and key for `names`, e.g. "IP:127.0.0.1", signed by `ca`.
  Tls made(const std::string& name, const std::string& names, const std::string& ca = "ca") {
    openssl("req -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj /CN=" + name +
            " -keyout " + name + ".key -out " + name + ".csr");
    put(name + ".ext", "subjectAltName=" + names + "\n");
    openssl("x509 -req -days 2 -in " + name + ".csr -CA " + ca + ".pem -CAkey " + ca +
            ".key -CAcreateserial -extfile " + name + ".ext -out " + name + ".pem");
    return {.certificate = file(name + ".pem"),
            .key = file(name + ".key"),
            .authority = file(ca + ".pem")};
  }

  static DataServer::Options serving(const Tls& tls) {
    DataServer::Options options = serve(echo);
    options.tls = tls;
    return options;
  }

  static DataClient::Options calling(const DataServer& server, const Tls& tls) {
    DataClient::Options options = to(server.address());
    options.tls = tls;
    return options;
  }

  static std::string refusal(const DataServer& server, const Tls& tls) {
    return refusal_of([&] { DataClient client(calling(server, tls)); });
  }
};

TEST_F(TlsTest, CarriesCallsInMessagesAndInSharedMemory) {
  const Tls tls = made("host", "IP:127.0.0.1");
  DataServer server(serving(tls));
  DataClient client(calling(server, {.authority = tls.authority}));
  const std::string sent = long_text(300'000);
  EXPECT_TRUE(soon([&] {
    EXPECT_TRUE(ask(client, sent, sent.size()).get() == sent);
    return client.stats().shared_replies > 0;
  }));
}

TEST_F(TlsTest, MutualAsksForACertificate) {
  Tls tls = made("host", "IP:127.0.0.1");
  tls.mutual = true;
  DataServer server(serving(tls));
  DataClient client(calling(server, tls));
  EXPECT_EQ(ask(client, "x").get(), "x");
  EXPECT_THAT(refusal(server, {.authority = tls.authority}),
              HasSubstr("does not accept this process without a certificate"));
}

TEST_F(TlsTest, AnotherAuthorityIsNotTrusted) {
  authority("other");
  const Tls tls = made("host", "IP:127.0.0.1");
  DataServer server(serving(tls));
  EXPECT_THAT(
      refusal(server, {.authority = file("other.pem")}),
      HasSubstr("the certificate of the server at " + server.address() + " is not accepted: "));
  Tls mutual = tls;
  mutual.mutual = true;
  DataServer careful(serving(mutual));
  Tls outsider = made("outsider", "IP:127.0.0.1", "other");
  outsider.authority = tls.authority;
  outsider.mutual = true;
  EXPECT_THAT(refusal(careful, outsider),
              HasSubstr("does not accept the certificate of this process"));
}

TEST_F(TlsTest, ACertificateIsForItsHostOrForTheNameOfTheJob) {
  const Tls tls = made("host", "DNS:the-job");
  DataServer server(serving(tls));
  EXPECT_THAT(refusal(server, {.authority = tls.authority}), HasSubstr("IP address mismatch"));
  DataClient client(calling(server, {.authority = tls.authority, .name = "the-job"}));
  EXPECT_EQ(ask(client, "x").get(), "x");
}

TEST_F(TlsTest, OneEndWithoutTlsIsSaid) {
  const Tls tls = made("host", "IP:127.0.0.1");
  DataServer plain(serving({}));
  EXPECT_THAT(refusal(plain, {.authority = tls.authority}), HasSubstr("does not speak TLS, but"));
  DataServer server(serving(tls));
  EXPECT_THAT(refusal(server, {}), HasSubstr("speaks TLS, but this process does not"));
}

TEST_F(TlsTest, TheStoreSpeaksItToo) {
  Tls tls = made("host", "IP:127.0.0.1");
  tls.mutual = true;
  StoreServer server({.token = "secret", .tls = tls});
  StoreClient client({.address = server.address(),
                      .token = "secret",
                      .self = {.role = "worker", .host = "here", .pid = 1},
                      .tls = tls});
  client.set("key", "value");
  EXPECT_EQ(client.get("key"), "value");
  EXPECT_THAT(refusal_of([&] {
                StoreClient without({.address = server.address(),
                                     .token = "secret",
                                     .self = {.role = "worker", .rank = 1},
                                     .tls = {}});
              }),
              HasSubstr("speaks TLS, but this process does not"));
}

TEST_F(TlsTest, FilesThatAreMissingOrWrongAreNamed) {
  const Tls tls = made("host", "IP:127.0.0.1");
  const auto refused = [&](auto change) {
    Tls changed = tls;
    change(changed);
    return refusal_of([&] { server_credentials(changed); });
  };
  EXPECT_EQ(refused([&](Tls& t) { t.certificate = file("none.pem"); }),
            "FLT_TLS_CERT names the file " + file("none.pem") +
                ", which cannot be opened: No such file or directory");
  EXPECT_EQ(refused([&](Tls& t) { t.key.clear(); }),
            "FLT_TLS_CERT and FLT_TLS_KEY belong together, but only FLT_TLS_CERT is set");
  EXPECT_EQ(refused([&](Tls& t) { t.authority = put("odd.pem", "odd"); }),
            "FLT_TLS_CA names the file " + file("odd.pem") + ", which contains no PEM certificate");
  EXPECT_EQ(refused([&](Tls& t) { t.key = t.certificate; }),
            "FLT_TLS_KEY names the file " + tls.certificate +
                ", which contains no PEM private key without a passphrase");
  EXPECT_EQ(refused([&](Tls& t) { t.key = file("ca.key"); }),
            "the private key in " + file("ca.key") + " does not belong to the certificate in " +
                tls.certificate);
  EXPECT_EQ(refused([&](Tls& t) { t = {.authority = t.authority}; }),
            "a server needs FLT_TLS_CERT and FLT_TLS_KEY to speak TLS");
  EXPECT_EQ(
      refused([&](Tls& t) {
        t.authority.clear();
        t.mutual = true;
      }),
      "FLT_TLS_MUTUAL needs FLT_TLS_CA, with which servers verify the certificates of the job");
}

TEST(TlsEnvironment, IsReadByEveryProcess) {
  ::setenv("FLT_TLS_CA", "/a/ca.pem", 1);
  ::setenv("FLT_TLS_MUTUAL", "yes", 1);
  ::setenv("FLT_TLS_NAME", "the-job", 1);
  const DataClient::Options options;
  for (const char* name : {"FLT_TLS_CA", "FLT_TLS_MUTUAL", "FLT_TLS_NAME"}) ::unsetenv(name);
  EXPECT_EQ(options.tls.authority, "/a/ca.pem");
  EXPECT_EQ(options.tls.name, "the-job");
  EXPECT_TRUE(options.tls.mutual);
  EXPECT_TRUE(options.tls.on());
  EXPECT_FALSE(DataClient::Options().tls.on());
}

}  // namespace
}  // namespace flotilla::rpc

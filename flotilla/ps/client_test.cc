// flotilla/ps/client_test.cc

#include "flotilla/ps/client.h"

#include <gmock/gmock.h>

#include <atomic>
#include <chrono>
#include <thread>

#include "flotilla/ps/local_call.h"
#include "flotilla/ps/service.h"
#include "flotilla/testing/errors.h"

namespace flotilla::ps {
namespace {

using ::testing::Each;
using Floats = std::vector<float>;

// A way to a service on which some answers become refusals.
class Refusing final : public Channel {
 public:
  Refusing(Service& service, int refusals) : service_(service), left_(refusals) {}
  Bytes allocate(size_t bytes) override { return heap_bytes(bytes); }
  void call(const Bytes& request, size_t /*room*/, Done done) override {
    service_.handle(std::make_shared<LocalCall>(
        request, [this, done = std::move(done)](Bytes answer, std::exception_ptr error) {
          if (left_-- > 0) {
            answer = {};
            error = std::make_exception_ptr(Error(ErrorKind::kInternal, "no memory for it"));
          }
          done(std::move(answer), std::move(error));
        }));
  }
  void cancel(const std::string&) override {}

 private:
  Service& service_;
  int left_;
};

TEST(Client, AnAbortEndsTheWaitForServersThatAreAway) {
  std::atomic<int> tries = 0;
  Client client(
      {.servers = 3,
       .connect = [&](int, const std::function<bool()>& aborted) -> std::shared_ptr<Channel> {
         ++tries;
         while (!aborted()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
         throw Error(ErrorKind::kUnavailable, "the server is not there");
       }});
  std::jthread user([&] {
    while (tries == 0) std::this_thread::yield();
    client.abort("it was interrupted");
  });
  const ScatteredStep step;
  for (const int server : {0, 1, 2}) client.prepare(server, step, 0);
  EXPECT_REFUSED(client.snapshot(), "it was interrupted");
  EXPECT_EQ(tries, 1) << "nobody is looked for after the end";
}

// The server has applied it and could not say so: its number is taken.
TEST(Client, APushThatFailedDoesNotHideTheNextOne) {
  Store store({});
  Service service(store, {.workers = 1, .threads = 0});
  store.create(parse_table("table 2 fc dense width=4 rule=sgd init=constant(0)"));
  Client client({.incarnation = 7, .connect = [&](int, const auto&) {
                   return std::make_shared<Refusing>(service, 1);
                 }});
  const Floats ones(4, 1);
  const auto push = [&] {
    ScatteredStep step;
    step.changes.push_back({{.table = 2, .lr = 1}, {ones}});
    std::vector<Outgoing> requests = {client.prepare(0, step, 0)};
    client.send(requests);
  };
  EXPECT_REFUSED(push(), "no memory for it");
  EXPECT_EQ(store.last_push(7), 1u);
  push();
  push();
  Floats values(4);
  store.pull_dense(2, values);
  EXPECT_THAT(values, Each(-3));
  EXPECT_EQ(store.stats().repeated, 0);
}

}  // namespace
}  // namespace flotilla::ps

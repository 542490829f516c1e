#include "flotilla/job/local_tables.h"

#include <utility>

#include "flotilla/ps/client.h"
#include "flotilla/ps/local_call.h"

namespace flotilla::job {
namespace {

// A service of this process: a call is done when it returns, so that there is none to cancel.
class LocalChannel final : public ps::Channel {
 public:
  explicit LocalChannel(ps::Service& service) : service_(service) {}
  ps::Bytes allocate(size_t bytes) override { return ps::heap_bytes(bytes); }
  void call(const ps::Bytes& request, size_t /*room*/, Done done) override {
    service_.handle(std::make_shared<ps::LocalCall>(request, std::move(done)));
  }
  void cancel(const std::string& /*reason*/) override {}

 private:
  ps::Service& service_;
};

}  // namespace

LocalTables::LocalTables(const std::filesystem::path& checkpoint)
    : store_({}),
      service_(store_, {.workers = 1, .threads = 0}),
      worker_({.mode = ps::Mode::kHalfAsync}) {
  store_.load(checkpoint);
  const auto connect = [this](int, const auto&) {
    return std::make_shared<LocalChannel>(service_);
  };
  worker_.connect(std::make_shared<ps::Client>(ps::Client::Options{
                      .incarnation = ps::new_incarnation(), .connect = connect}),
                  store_.tables());
}

}  // namespace flotilla::job

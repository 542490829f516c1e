#include "flotilla/job/local_tables.h"

#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/ps/client.h"

namespace flotilla::job {
namespace {

class LocalCall final : public ps::Call {
 public:
  LocalCall(ps::Bytes request, ps::Channel::Done done)
      : request_(std::move(request)), done_(std::move(done)) {}
  std::span<const std::byte> request() const override { return request_.data; }
  std::span<std::byte> room(size_t bytes) override {
    answer_ = ps::heap_bytes(bytes);
    return answer_.data;
  }
  void answer() override { done_(answer_, nullptr); }
  void refuse(const Error& error) override { done_({}, std::make_exception_ptr(error)); }

 private:
  const ps::Bytes request_;
  const ps::Channel::Done done_;
  ps::Bytes answer_;
};

// A service of this process: a call is done when it returns, so that there is none to cancel.
class LocalChannel final : public ps::Channel {
 public:
  explicit LocalChannel(ps::Service& service) : service_(service) {}
  ps::Bytes allocate(size_t bytes) override { return ps::heap_bytes(bytes); }
  void call(const ps::Bytes& request, size_t /*room*/, Done done) override {
    service_.handle(std::make_shared<LocalCall>(request, std::move(done)));
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
  worker_.connect(std::make_shared<ps::Client>(ps::Client::Options{
                      .incarnation = ps::new_incarnation(),
                      .connect = [this](int) { return std::make_shared<LocalChannel>(service_); }}),
                  store_.tables());
}

}  // namespace flotilla::job

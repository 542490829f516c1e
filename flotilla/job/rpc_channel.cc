#include "flotilla/job/rpc_channel.h"

#include <optional>
#include <utility>

namespace flotilla::job {
namespace {

ps::Bytes bytes_of(rpc::Payload payload) {
  auto kept = std::make_shared<rpc::Payload>(std::move(payload));
  const std::span<std::byte> data = kept->bytes();
  return {data, std::move(kept)};
}

class RpcChannel : public ps::Channel {
 public:
  explicit RpcChannel(const rpc::DataClient::Options& options) : client_(options) {}

  ps::Bytes allocate(size_t bytes) override { return bytes_of(client_.allocate(bytes)); }

  void call(const ps::Bytes& request, size_t room, Done done) override {
    client_.call({request.data, request.owner}, room,
                 [done = std::move(done)](rpc::Payload answer, std::exception_ptr error) {
                   done(error ? ps::Bytes() : bytes_of(std::move(answer)), std::move(error));
                 });
  }

  void cancel(const std::string& reason) override { client_.cancel(reason); }

 private:
  rpc::DataClient client_;
};

class RpcCall : public ps::Call {
 public:
  explicit RpcCall(std::shared_ptr<rpc::DataCall> call) : call_(std::move(call)) {}

  std::span<const std::byte> request() const override { return call_->request(); }
  std::span<std::byte> room(size_t bytes) override {
    return (answer_ = call_->allocate(bytes)).bytes();
  }
  void answer() override { call_->answer(std::move(answer_)); }
  void refuse(const Error& error) override { call_->refuse(error); }

 private:
  const std::shared_ptr<rpc::DataCall> call_;
  rpc::Payload answer_;
};

}  // namespace

std::shared_ptr<ps::Channel> connect_channel(const rpc::DataClient::Options& options) {
  return std::make_shared<RpcChannel>(options);
}

std::function<void(std::shared_ptr<rpc::DataCall>)> serve_calls(ps::Service& service) {
  return [&service](std::shared_ptr<rpc::DataCall> call) {
    service.submit(std::make_shared<RpcCall>(std::move(call)));
  };
}

}  // namespace flotilla::job

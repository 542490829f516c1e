#include "flotilla/ps/rpc_channel.h"

#include <utility>

namespace flotilla::ps {
namespace {

Bytes bytes_of(rpc::Payload payload) {
  const auto owner = std::make_shared<rpc::Payload>(std::move(payload));
  return {owner->bytes(), owner};
}

class RpcChannel final : public Channel {
 public:
  explicit RpcChannel(rpc::DataClient::Options options) : client_(std::move(options)) {}

  Bytes allocate(size_t bytes) override { return bytes_of(client_.allocate(bytes)); }
  void call(const Bytes& request, size_t room, Done done) override {
    client_.call(rpc::Payload(request.data, request.owner), room,
                 [done = std::move(done)](rpc::Payload reply, std::exception_ptr error) {
                   done(bytes_of(std::move(reply)), std::move(error));
                 });
  }
  void cancel(const std::string& reason) override { client_.cancel(reason); }

 private:
  rpc::DataClient client_;
};

class RpcCall final : public Call {
 public:
  explicit RpcCall(std::shared_ptr<rpc::DataCall> call) : call_(std::move(call)) {}

  std::span<const std::byte> request() const override { return call_->request(); }
  std::span<std::byte> room(size_t bytes) override {
    answer_ = call_->allocate(bytes);
    return answer_.bytes();
  }
  void answer() override { call_->answer(std::move(answer_)); }
  void refuse(const Error& error) override { call_->refuse(error); }

 private:
  const std::shared_ptr<rpc::DataCall> call_;
  rpc::Payload answer_;
};

}  // namespace

std::shared_ptr<Channel> make_rpc_channel(rpc::DataClient::Options options) {
  return std::make_shared<RpcChannel>(std::move(options));
}

std::function<void(std::shared_ptr<rpc::DataCall>)> answer_with(Service& service) {
  return [&service](std::shared_ptr<rpc::DataCall> call) {
    service.submit(std::make_shared<RpcCall>(std::move(call)));
  };
}

}  // namespace flotilla::ps

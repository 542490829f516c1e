#include "flotilla/rpc/data_client.h"

#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <algorithm>
#include <climits>
#include <set>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/base/mutex.h"
#include "flotilla/rpc/connection_settings.h"
#include "flotilla/rpc/frames.h"
#include "flotilla/rpc/messages.h"
#include "flotilla/rpc/statuses.h"

namespace flotilla::rpc {
namespace {

std::shared_ptr<grpc::Channel> open_channel(const DataClient::Options& options) {
  silence_grpc();
  const size_t most = std::min<size_t>(options.max_message + sizeof(ReplyHeader), INT_MAX);
  grpc::ChannelArguments settings = client_settings(options.address, static_cast<int>(most));
  const auto credentials = client_credentials(options.tls, settings);
  return grpc::CreateCustomChannel(options.address, credentials, settings);
}

struct Call {
  grpc::ClientContext context;
  grpc::ByteBuffer request;
  grpc::ByteBuffer reply;
  DataClient::Done done;
};

}  // namespace

class DataClient::Connection {
 public:
  explicit Connection(Options options)
      : options_(std::move(options)), channel_(open_channel(options_)), stub_(channel_) {
    const auto deadline = std::chrono::system_clock::now() + options_.patience;
    if (!channel_->WaitForConnected(deadline)) {
      throw Error(ErrorKind::kUnavailable,
                  fmt::format("no server of the job answers at {} after {:.1f} s", options_.address,
                              std::chrono::duration<double>(options_.patience).count()));
    }
  }

  ~Connection() {
    cancel("the client was closed");
    MutexLock lock(mutex_);
    while (!calls_.empty()) changed_.wait(lock);
  }

  Payload allocate(size_t bytes) { return Payload(bytes); }

  void call(Payload request, size_t /*room*/, Done done) {
    require(request.size() <= options_.max_message,
            "a request has at most {} bytes, but this has {}", options_.max_message,
            request.size());
    auto made = std::make_unique<Call>();
    Call* call = made.release();  // finished() takes it back
    call->context.AddMetadata(kTokenKey, options_.token);
    call->request = to_message(RequestHeader{.request = {.bytes = request.size()}}, request);
    call->done = std::move(done);
    {
      const MutexLock lock(mutex_);
      calls_.insert(call);
      ++stats_.calls;
      if (!cancelled_.empty()) call->context.TryCancel();
    }
    stub_.UnaryCall(&call->context, kCallMethod, grpc::StubOptions(), &call->request, &call->reply,
                    [this, call](const grpc::Status& status) { finished(call, status); });
  }

  void cancel(const std::string& reason) {
    const MutexLock lock(mutex_);
    if (cancelled_.empty()) cancelled_ = reason;
    for (Call* call : calls_) call->context.TryCancel();
  }

  Stats stats() const {
    const MutexLock lock(mutex_);
    return stats_;
  }

 private:
  void finished(Call* finished, const grpc::Status& status) {
    const std::unique_ptr<Call> call(finished);
    Payload reply;
    std::exception_ptr error;
    try {
      if (!status.ok()) throw error_of(status);
      reply = from_message(call->reply);
      read_reply(reply.bytes());
      reply = behind(std::move(reply), sizeof(ReplyHeader));
    } catch (...) {
      reply = {};
      error = std::current_exception();
    }
    call->done(std::move(reply), error);
    call->done = nullptr;  // what it holds goes before the client does
    const MutexLock lock(mutex_);
    calls_.erase(finished);
    changed_.notify_all();
  }

  Error error_of(const grpc::Status& status) const {
    if (auto error = to_error(status)) return *error;
    {
      const MutexLock lock(mutex_);
      if (!cancelled_.empty()) return Error(ErrorKind::kUnavailable, cancelled_);
    }
    const std::string& address = options_.address;
    switch (status.error_code()) {
      case grpc::StatusCode::UNAUTHENTICATED:
        return Error(ErrorKind::kInvalidArgument,
                     fmt::format("the server at {} refused this process: {}", address,
                                 status.error_message()));
      case grpc::StatusCode::UNIMPLEMENTED:
        return Error(ErrorKind::kInvalidArgument,
                     fmt::format("what listens at {} is no data server of a job", address));
      case grpc::StatusCode::RESOURCE_EXHAUSTED:
        return Error(
            ErrorKind::kInvalidArgument,
            fmt::format("a message is too large for the server at {} or for its client", address));
      default:
        return Error(ErrorKind::kUnavailable,
                     fmt::format("the connection to the server at {} was lost", address));
    }
  }

  const Options options_;
  const std::shared_ptr<grpc::Channel> channel_;
  grpc::GenericStub stub_;

  mutable Mutex mutex_;
  Condition changed_;
  std::set<Call*> calls_ FLT_GUARDED_BY(mutex_);  // gRPC has them; finished() frees them
  std::string cancelled_ FLT_GUARDED_BY(mutex_);  // why; empty: it is not
  Stats stats_ FLT_GUARDED_BY(mutex_);
};

DataClient::DataClient(Options options)
    : connection_(std::make_unique<Connection>(std::move(options))) {}
DataClient::~DataClient() = default;
Payload DataClient::allocate(size_t bytes) { return connection_->allocate(bytes); }
void DataClient::call(Payload request, size_t room, Done done) {
  connection_->call(std::move(request), room, std::move(done));
}
void DataClient::cancel(const std::string& reason) { connection_->cancel(reason); }
DataClient::Stats DataClient::stats() const { return connection_->stats(); }

}  // namespace flotilla::rpc

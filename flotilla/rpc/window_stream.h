// flotilla/rpc/window_stream.h
//
// The client's stream on which it shows windows to a server and hears which ones the server has
// opened. Not for headers that others include.

#pragma once

#include <grpcpp/generic/generic_stub.h>

#include <deque>
#include <functional>
#include <string>

#include "flotilla/base/mutex.h"
#include "flotilla/rpc/frames.h"

namespace flotilla::rpc {

class WindowStream final : public grpc::ClientBidiReactor<grpc::ByteBuffer, grpc::ByteBuffer> {
 public:
  // Both are called from gRPC's threads.
  struct Events {
    std::function<void(const WindowVerdict&)> on_verdict = {};
    // Called last: the stream may be destroyed in it, and not before. `for_good`: the server
    // cannot open windows of this process.
    std::function<void(bool for_good)> on_end = {};
  };

  WindowStream(grpc::GenericStub& stub, const std::string& token, Events events);

  void show(const WindowCard& card);
  void close() { context_.TryCancel(); }

 private:
  bool hear();  // false: it is no verdict
  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

  Events events_;
  grpc::ClientContext context_;
  grpc::ByteBuffer verdict_;  // being read

  Mutex mutex_;
  std::deque<grpc::ByteBuffer> cards_ FLT_GUARDED_BY(mutex_);  // the first is being written
  bool broken_ FLT_GUARDED_BY(mutex_) = false;                 // no more writes
};

}  // namespace flotilla::rpc

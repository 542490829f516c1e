#include "flotilla/rpc/window_stream.h"

#include <grpcpp/grpcpp.h>

#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/rpc/connection_settings.h"
#include "flotilla/rpc/messages.h"
#include "flotilla/rpc/window.h"

namespace flotilla::rpc {

WindowStream::WindowStream(grpc::GenericStub& stub, const std::string& token, Events events)
    : events_(std::move(events)) {
  context_.AddMetadata(kTokenKey, token);
  context_.AddMetadata(kBootIdKey, boot_id());
  stub.PrepareBidiStreamingCall(&context_, kWindowsMethod, grpc::StubOptions(), this);
  AddHold();  // cards are written from outside of the On* functions
  StartRead(&verdict_);
  StartCall();
}

void WindowStream::show(const WindowCard& card) {
  const MutexLock lock(mutex_);
  if (broken_) return;
  cards_.push_back(to_message(card));
  if (cards_.size() == 1) StartWrite(&cards_.front());
}

void WindowStream::OnReadDone(bool ok) {
  if (ok && hear()) return StartRead(&verdict_);
  context_.TryCancel();
  const MutexLock lock(mutex_);
  broken_ = true;
  RemoveHold();
}

bool WindowStream::hear() {
  try {
    events_.on_verdict(read_verdict(from_message(verdict_).bytes()));
    return true;
  } catch (const Error&) {
    return false;
  }
}

void WindowStream::OnWriteDone(bool ok) {
  const MutexLock lock(mutex_);
  cards_.pop_front();
  if (!ok) broken_ = true;
  if (!cards_.empty() && !broken_) StartWrite(&cards_.front());
}

void WindowStream::OnDone(const grpc::Status& status) {
  // This object may be gone when it returns.
  const auto on_end = std::move(events_.on_end);
  switch (status.error_code()) {
    case grpc::StatusCode::FAILED_PRECONDITION:
    case grpc::StatusCode::INVALID_ARGUMENT:
    case grpc::StatusCode::PERMISSION_DENIED:
    case grpc::StatusCode::UNAUTHENTICATED:
    case grpc::StatusCode::UNIMPLEMENTED:
      return on_end(true);
    default:
      return on_end(false);
  }
}

}  // namespace flotilla::rpc

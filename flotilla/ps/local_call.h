// flotilla/ps/local_call.h
//
// A request to a service of the same process.

#pragma once

#include <utility>

#include "flotilla/ps/channel.h"

namespace flotilla::ps {

class LocalCall final : public Call {
 public:
  LocalCall(Bytes request, Channel::Done done)
      : request_(std::move(request)), done_(std::move(done)) {}
  std::span<const std::byte> request() const override { return request_.data; }
  std::span<std::byte> room(size_t bytes) override {
    answer_ = heap_bytes(bytes);
    return answer_.data;
  }
  void answer() override { done_(answer_, nullptr); }
  void refuse(const Error& error) override { done_({}, std::make_exception_ptr(error)); }

 private:
  const Bytes request_;
  const Channel::Done done_;
  Bytes answer_;
};

}  // namespace flotilla::ps

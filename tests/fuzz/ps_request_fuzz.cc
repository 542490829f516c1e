// tests/fuzz/ps_request_fuzz.cc
//
// Requests that an attacker sends to a parameter server: each is answered, refused, or waits for
// other workers; the tables stay usable.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/ps/service.h"

namespace {

using namespace flotilla;

class FuzzCall final : public ps::Call {
 public:
  explicit FuzzCall(std::vector<uint64_t> request, size_t size)
      : request_(std::move(request)), size_(size) {}
  std::span<const std::byte> request() const override {
    return std::as_bytes(std::span(request_)).first(size_);
  }
  std::span<std::byte> room(size_t bytes) override {
    room_.resize((bytes + 7) / 8);
    return std::as_writable_bytes(std::span(room_)).first(bytes);
  }
  void answer() override { end(); }
  void refuse(const Error&) override { end(); }

 private:
  void end() {
    if (ended_) std::abort();  // exactly once
    ended_ = true;
  }

  const std::vector<uint64_t> request_;
  const size_t size_;
  std::vector<uint64_t> room_;
  bool ended_ = false;
};

// Those that write files or make tables of any size are decoded only.
bool may_run(std::span<const std::byte> bytes) {
  try {
    switch (ps::decode_request(bytes).kind) {
      case ps::RequestKind::kCreate:
      case ps::RequestKind::kSave:
      case ps::RequestKind::kLoad:
      case ps::RequestKind::kSnapshot:
        return false;
      default:
        return true;
    }
  } catch (const Error&) {
    return true;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::vector<uint64_t> bytes((size + 7) / 8);
  if (size > 0) std::memcpy(bytes.data(), data, size);
  if (!may_run(std::as_bytes(std::span(bytes)).first(size))) return 0;
  ps::Store store({});
  store.create(ps::parse_table("table 1 emb sparse width=2 rule=adam init=uniform(-1, 1)"));
  store.create(ps::parse_table("table 2 fc dense width=3 rule=sgd"));
  ps::Service service(store, {.workers = 2, .threads = 0});
  service.handle(std::make_shared<FuzzCall>(bytes, size));
  std::vector<float> values(3);
  store.pull_dense(2, values);
  return 0;
}

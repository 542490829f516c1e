// tests/fuzz/rpc_frames_fuzz.cc
//
// Messages of the data channel that an attacker sends: taken or refused. What a request that was
// taken refers to lies in the message or in the window, all of it.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/rpc/frames.h"
#include "flotilla/rpc/window.h"

namespace flotilla::rpc {
namespace {

template <typename Function>
void taken_or_refused(Function function) {
  try {
    function();
  } catch (const Error&) {
  }
}

// Reads and writes all of it: the sanitizer sees what lies outside.
void touch(const OpenedWindow& window, const Place& place) {
  taken_or_refused([&] {
    Payload payload = window.at(place);
    if (payload.size() != place.bytes) std::abort();
    std::ranges::reverse(payload.bytes());
  });
}

}  // namespace
}  // namespace flotilla::rpc

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace flotilla::rpc;
  static const auto window = Window::make(ClientKey{}, 0, 1 << 16);
  static const auto opened = std::make_shared<OpenedWindow>(window->card());
  const auto* first = reinterpret_cast<const std::byte*>(data);
  const std::vector<std::byte> bytes(first, first + size);
  taken_or_refused([&] {
    const RequestHeader header = read_request(bytes);
    const bool inside = header.request_window == kNoWindow;
    if (inside && sizeof header + header.request.bytes != bytes.size()) std::abort();
    if (!inside) touch(*opened, header.request);
    if (header.room_window != kNoWindow) touch(*opened, header.room);
  });
  taken_or_refused([&] {
    const ReplyHeader header = read_reply(bytes);
    if (header.in_room == 0 && sizeof header + header.bytes != bytes.size()) std::abort();
  });
  taken_or_refused([&] {
    const WindowCard card = read_card(bytes);
    if (card.pid <= 0 || card.fd < 0 || card.bytes <= sizeof(WindowMark)) std::abort();
  });
  taken_or_refused([&] { read_verdict(bytes); });
  return 0;
}

#include "flotilla/rpc/frames.h"

#include <bit>
#include <cstring>

#include "flotilla/base/error.h"
#include "flotilla/rpc/payload.h"

namespace flotilla::rpc {
namespace {

static_assert(std::endian::native == std::endian::little);

template <typename Header>
Header read(std::span<const std::byte> message, const char* name) {
  require(message.size() >= sizeof(Header), "a {} must have at least {} bytes, but has {}", name,
          sizeof(Header), message.size());
  Header header;
  std::memcpy(&header, message.data(), sizeof header);
  require(header.magic == Header::kMagic, "a {} must begin with {:#x}, but begins with {:#x}", name,
          Header::kMagic, header.magic);
  return header;
}

template <typename Header>
Header read_alone(std::span<const std::byte> message, const char* name) {
  require(message.size() == sizeof(Header), "a {} must have {} bytes, but has {}", name,
          sizeof(Header), message.size());
  return read<Header>(message, name);
}

}  // namespace

RequestHeader read_request(std::span<const std::byte> message) {
  const auto header = read<RequestHeader>(message, "request");
  const size_t behind = message.size() - sizeof header;
  const bool inside = header.request_window == kNoWindow;
  require(behind == (inside ? header.request.bytes : 0) && (!inside || header.request.offset == 0),
          "a request of {} bytes at {} in {} cannot have {} bytes after its header",
          header.request.bytes, header.request.offset, inside ? "its message" : "a window", behind);
  return header;
}

ReplyHeader read_reply(std::span<const std::byte> message) {
  const auto header = read<ReplyHeader>(message, "reply");
  const size_t behind = message.size() - sizeof header;
  require(header.in_room <= 1 && behind == (header.in_room == 1 ? 0 : header.bytes),
          "a reply of {} bytes cannot have {} bytes after its header", header.bytes, behind);
  return header;
}

WindowCard read_card(std::span<const std::byte> message) {
  const auto card = read_alone<WindowCard>(message, "card of a window");
  require(card.pid > 0 && card.pid <= INT32_MAX && card.fd >= 0 && card.fd <= INT32_MAX &&
              card.bytes > sizeof(WindowMark) && card.number != kNoWindow,
          "a card of window {} of {} bytes names the descriptor {} of process {}", card.number,
          card.bytes, card.fd, card.pid);
  return card;
}

WindowVerdict read_verdict(std::span<const std::byte> message) {
  return read_alone<WindowVerdict>(message, "verdict on a window");
}

bool fits(const Place& place, uint64_t window_bytes) {
  return place.offset >= sizeof(WindowMark) && place.offset % kPayloadAlignment == 0 &&
         place.offset <= window_bytes && place.bytes <= window_bytes - place.offset;
}

}  // namespace flotilla::rpc

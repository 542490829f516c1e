// flotilla/rpc/frames.h
//
// What the messages of the data channel (data_client.h, data_server.h) look like. All numbers are
// little-endian.
//
//   request := RequestHeader payload?      payload: where the header names no window for it
//   reply   := ReplyHeader payload?        payload: where it is not in the room of the request
//   card    := WindowCard                  shows the server a window, see window.h
//   verdict := WindowVerdict               what the server says to it
//
// A client opens one stream on which it sends cards and gets verdicts. Its windows are known for
// as long as the stream lasts.
//
// Headers are as long as a payload's alignment, so a message that is received into aligned memory
// holds an aligned payload.

#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace flotilla::rpc {

inline constexpr char kCallMethod[] = "/flotilla.rpc.Data/Call";
inline constexpr char kWindowsMethod[] = "/flotilla.rpc.Data/Windows";

// Random bits that name the windows of one client.
using ClientKey = std::array<std::byte, 16>;

inline constexpr uint32_t kNoWindow = ~uint32_t{0};

// Bytes inside a window of the client.
struct Place {
  uint64_t offset = 0;
  uint64_t bytes = 0;
};

struct RequestHeader {
  static constexpr uint32_t kMagic = 0x31514c46;  // "FLQ1"

  uint32_t magic = kMagic;
  uint32_t reserved = 0;
  ClientKey client = {};  // whose windows; zeros where there is none
  uint32_t request_window = kNoWindow;
  uint32_t room_window = kNoWindow;
  Place request = {};  // of the message's payload where there is no window: {0, its size}
  Place room = {};     // where the answer may be written
};
static_assert(sizeof(RequestHeader) == 64);

struct ReplyHeader {
  static constexpr uint32_t kMagic = 0x31524c46;  // "FLR1"

  uint32_t magic = kMagic;
  uint32_t in_room = 0;  // 1: the payload lies in the room, from its beginning on
  uint64_t bytes = 0;
  std::array<std::byte, 48> reserved = {};
};
static_assert(sizeof(ReplyHeader) == 64);

// A window begins with a WindowMark: whoever opens what the card names knows that it is that one.
struct WindowMark {
  ClientKey client = {};
  uint64_t number = 0;
  std::array<std::byte, 40> reserved = {};

  bool operator==(const WindowMark&) const = default;
};
static_assert(sizeof(WindowMark) == 64);

struct WindowCard {
  static constexpr uint32_t kMagic = 0x31574c46;  // "FLW1"

  uint32_t magic = kMagic;
  uint32_t number = 0;  // of the window among those of the client, from 0
  ClientKey client = {};
  int64_t pid = 0;
  int64_t fd = 0;
  uint64_t bytes = 0;
  uint64_t inode = 0;
};
static_assert(sizeof(WindowCard) == 56);

// The first of a stream, about kNoWindow, says that windows may be shown at all.
struct WindowVerdict {
  static constexpr uint32_t kMagic = 0x31564c46;  // "FLV1"

  uint32_t magic = kMagic;
  uint32_t number = 0;
  uint64_t opened = 0;  // 1: requests may refer to it
};
static_assert(sizeof(WindowVerdict) == 16);

// These refuse what is no message of ours, with a sentence. Places in windows are only known to
// be right when they are compared with the window; those in the message are checked here.
RequestHeader read_request(std::span<const std::byte> message);
ReplyHeader read_reply(std::span<const std::byte> message);
WindowCard read_card(std::span<const std::byte> message);
WindowVerdict read_verdict(std::span<const std::byte> message);

// Where a client says on which host it is when it opens its stream: the boot id of its kernel.
inline constexpr char kBootIdKey[] = "flotilla-boot-id";

// Whether `place` lies behind the mark and inside a window of `window_bytes`, aligned.
bool fits(const Place& place, uint64_t window_bytes);

}  // namespace flotilla::rpc

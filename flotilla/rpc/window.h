// flotilla/rpc/window.h
//
// Memory that a client shares with a server on its host. The client makes it (Window) and sends
// the server a card; the server opens what the card names under /proc (OpenedWindow). From then on
// a message says where in the window its payload lies.
//
//   client: memfd of full size, sealed ──card: pid, fd, inode, size──► server: opens, checks, maps
//
// Whether both are on one host is not guessed: the window begins with random bits that the card
// repeats.

#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "flotilla/base/fd.h"
#include "flotilla/base/mutex.h"
#include "flotilla/rpc/frames.h"
#include "flotilla/rpc/payload.h"

namespace flotilla::rpc {

// The kernel's name for this run of this host; empty where it does not say.
std::string boot_id();

ClientKey new_client_key();

// A mapping of shared memory.
class Mapping {
 public:
  // Throws kUnavailable where there is no memory for it.
  Mapping(int fd, size_t bytes);
  ~Mapping();
  Mapping(const Mapping&) = delete;
  Mapping& operator=(const Mapping&) = delete;

  std::span<std::byte> bytes() const { return bytes_; }

 private:
  std::span<std::byte> bytes_;
};

// The client's side. Thread safety: all calls, from any thread.
class Window : public std::enable_shared_from_this<Window> {
 public:
  // Takes all of its memory at once: later there is none that could be missing. Throws
  // kUnavailable where there is not enough.
  static std::shared_ptr<Window> make(const ClientKey& client, uint32_t number, size_t bytes);
  Window(const ClientKey& client, uint32_t number, size_t bytes);  // make() is for callers

  // Nothing where there is no room. What it gives keeps the window and gives its part back.
  std::optional<Payload> allocate(size_t bytes);

  bool holds(const Payload& payload) const;
  // REQUIRES: holds(payload)
  Place place_of(const Payload& payload) const;

  WindowCard card() const;
  size_t size() const { return mapping_->bytes().size(); }

 private:
  class Part;
  void give_back(uint64_t offset, uint64_t bytes);

  const ClientKey client_;
  const uint32_t number_;
  Fd fd_;
  uint64_t inode_ = 0;
  std::unique_ptr<Mapping> mapping_;

  Mutex mutex_;
  std::map<uint64_t, uint64_t> free_ FLT_GUARDED_BY(mutex_);  // offset -> bytes, none adjacent
};

// The server's side: maps what a card names, for as long as anybody holds it. Refuses what is not
// a sealed memfd of the stated size, with all of its memory, that begins with the mark of the card.
class OpenedWindow : public std::enable_shared_from_this<OpenedWindow> {
 public:
  explicit OpenedWindow(const WindowCard& card);

  size_t size() const { return mapping_->bytes().size(); }
  // Refuses a place that is not in the window. What it gives keeps the window.
  Payload at(const Place& place) const;

 private:
  std::unique_ptr<Mapping> mapping_;
};

// All windows that a server has open. Thread safety: all calls, from any thread.
class OpenedWindows {
 public:
  // Opens one more window of a client; refuses too many, and a number that is open.
  void open(const WindowCard& card);
  // None where it is not open.
  std::shared_ptr<OpenedWindow> find(const ClientKey& client, uint32_t number) const;
  // The client is gone. What calls still use stays mapped until they are done.
  void close(const ClientKey& client);

  // How many, and their bytes.
  std::pair<uint64_t, uint64_t> count() const;

 private:
  mutable Mutex mutex_;
  std::map<ClientKey, std::map<uint32_t, std::shared_ptr<OpenedWindow>>> clients_
      FLT_GUARDED_BY(mutex_);
};

}  // namespace flotilla::rpc

// flotilla/ps/bytes.h
//
// Numbers one after the other in a piece of memory, little endian; reading never goes beyond it.

#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <type_traits>

#include "flotilla/base/error.h"

namespace flotilla::ps {

static_assert(std::endian::native == std::endian::little, "files and frames are little endian");

class ByteWriter {
 public:
  explicit ByteWriter(std::span<std::byte> to) : to_(to) {}

  template <typename T>
    requires std::is_arithmetic_v<T>
  void put(T value) {
    put_bytes({reinterpret_cast<const std::byte*>(&value), sizeof value});
  }
  void put_bytes(std::span<const std::byte> bytes) {
    invariant(bytes.size() <= to_.size(), "{} bytes are left for {}", to_.size(), bytes.size());
    if (!bytes.empty()) std::memcpy(to_.data(), bytes.data(), bytes.size());
    to_ = to_.subspan(bytes.size());
  }

 private:
  std::span<std::byte> to_;
};

class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> from) : from_(from) {}

  size_t left() const { return from_.size(); }

  template <typename T>
    requires std::is_arithmetic_v<T>
  T get() {
    T value;
    std::memcpy(&value, get_bytes(sizeof value).data(), sizeof value);
    return value;
  }
  std::span<const std::byte> get_bytes(size_t count) {
    require(count <= from_.size(), "{} bytes are wanted where {} are left", count, from_.size());
    const std::span<const std::byte> taken = from_.first(count);
    from_ = from_.subspan(count);
    return taken;
  }

 private:
  std::span<const std::byte> from_;
};

}  // namespace flotilla::ps

#include "flotilla/ps/change.h"

#include "flotilla/base/error.h"
#include "flotilla/ps/bytes.h"

namespace flotilla::ps {
namespace {

constexpr size_t kIdBytes = 16;
constexpr size_t kChangeBytes = 32;

size_t padding(size_t floats) { return floats % 2 * sizeof(float); }

size_t size_of(const Push& push) {
  size_t size = 8 + push.ids.size() * kIdBytes;
  for (const Change& change : push.changes) {
    size += kChangeBytes + change.keys.size_bytes() + change.values.size_bytes() +
            padding(change.values.size());
  }
  return size;
}

template <typename T>
std::span<const T> array(ByteReader& from, uint64_t count) {
  require(count <= from.left() / sizeof(T),
          "a push has {} numbers of {} bytes where {} bytes are left", count, sizeof(T),
          from.left());
  const std::span<const std::byte> bytes = from.get_bytes(count * sizeof(T));
  return {reinterpret_cast<const T*>(bytes.data()), static_cast<size_t>(count)};
}

Change decode_change(ByteReader& from) {
  Change change;
  change.table = from.get<uint32_t>();
  const auto action = from.get<uint32_t>();
  require(action <= static_cast<uint32_t>(Action::kAssign), "a push has no action {}", action);
  change.action = static_cast<Action>(action);
  change.lr = from.get<float>();
  change.scale = from.get<float>();
  const auto keys = from.get<uint64_t>(), floats = from.get<uint64_t>();
  change.keys = array<int64_t>(from, keys);
  change.values = array<float>(from, floats);
  from.get_bytes(padding(change.values.size()));
  return change;
}

}  // namespace

std::vector<std::byte> encode(const Push& push) {
  std::vector<std::byte> bytes(size_of(push));
  ByteWriter to(bytes);
  to.put(static_cast<uint32_t>(push.ids.size()));
  to.put(static_cast<uint32_t>(push.changes.size()));
  for (const PushId& id : push.ids) {
    to.put(id.worker);
    to.put(id.sequence);
  }
  for (const Change& change : push.changes) {
    to.put(change.table);
    to.put(static_cast<uint32_t>(change.action));
    to.put(change.lr);
    to.put(change.scale);
    to.put<uint64_t>(change.keys.size());
    to.put<uint64_t>(change.values.size());
    to.put_bytes(std::as_bytes(change.keys));
    to.put_bytes(std::as_bytes(change.values));
    if (padding(change.values.size()) > 0) to.put<uint32_t>(0);
  }
  return bytes;
}

Push decode_push(std::span<const std::byte> bytes) {
  invariant(reinterpret_cast<uintptr_t>(bytes.data()) % 8 == 0, "a push lies at an odd address");
  ByteReader from(bytes);
  const auto ids = from.get<uint32_t>(), changes = from.get<uint32_t>();
  require(ids <= from.left() / kIdBytes, "a push has {} ids where {} bytes are left", ids,
          from.left());
  Push push;
  push.ids.resize(ids);
  for (PushId& id : push.ids) {
    id.worker = from.get<uint64_t>();
    id.sequence = from.get<uint64_t>();
  }
  require(changes <= from.left() / kChangeBytes, "a push has {} changes where {} bytes are left",
          changes, from.left());
  for (uint32_t i = 0; i < changes; ++i) push.changes.push_back(decode_change(from));
  require(from.left() == 0, "a push has {} bytes too many", from.left());
  return push;
}

}  // namespace flotilla::ps

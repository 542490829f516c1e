#include "flotilla/ps/change.h"

#include "flotilla/base/error.h"
#include "flotilla/ps/bytes.h"

namespace flotilla::ps {
namespace {

constexpr size_t kIdBytes = 16;
constexpr size_t kChangeBytes = 32;

size_t padding(size_t floats) { return floats % 2 * sizeof(float); }

size_t floats_of(const ScatteredChange& scattered) {
  size_t floats = 0;
  for (const std::span<const float> piece : scattered.pieces) floats += piece.size();
  return floats;
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
  require(action <= static_cast<uint32_t>(Action::kAssign), "unknown push action {}", action);
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

size_t encoded_size(std::span<const PushId> ids, std::span<const ScatteredChange> changes) {
  size_t size = kFirstIdOffset + ids.size() * kIdBytes;
  for (const ScatteredChange& scattered : changes) {
    const size_t floats = floats_of(scattered);
    size += kChangeBytes + scattered.change.keys.size_bytes() + floats * sizeof(float) +
            padding(floats);
  }
  return size;
}

void encode(std::span<const PushId> ids, std::span<const ScatteredChange> changes,
            std::span<std::byte> bytes) {
  ByteWriter to(bytes);
  to.put(static_cast<uint32_t>(ids.size()));
  to.put(static_cast<uint32_t>(changes.size()));
  for (const PushId& id : ids) {
    to.put(id.worker);
    to.put(id.sequence);
  }
  for (const ScatteredChange& scattered : changes) {
    const Change& change = scattered.change;
    const size_t floats = floats_of(scattered);
    to.put(change.table);
    to.put(static_cast<uint32_t>(change.action));
    to.put(change.lr);
    to.put(change.scale);
    to.put<uint64_t>(change.keys.size());
    to.put<uint64_t>(floats);
    to.put_bytes(std::as_bytes(change.keys));
    for (const std::span<const float> piece : scattered.pieces) to.put_bytes(std::as_bytes(piece));
    if (padding(floats) > 0) to.put<uint32_t>(0);
  }
}

std::vector<std::byte> encode(const Push& push) {
  std::vector<ScatteredChange> changes;
  for (const Change& change : push.changes) changes.push_back({change, {change.values}});
  std::vector<std::byte> bytes(encoded_size(push.ids, changes));
  encode(push.ids, changes, bytes);
  return bytes;
}

Push decode_push(std::span<const std::byte> bytes) {
  invariant(reinterpret_cast<uintptr_t>(bytes.data()) % 8 == 0,
            "a push must be aligned to 8 bytes");
  ByteReader from(bytes);
  const auto ids = from.get<uint32_t>(), changes = from.get<uint32_t>();
  require(ids <= from.left() / kIdBytes, "a push has {} ids where {} bytes are left", ids,
          from.left());
  Push push = {.bytes = bytes};
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

#include "flotilla/ps/request.h"

#include <array>
#include <charconv>

#include "flotilla/base/error.h"
#include "flotilla/ps/bytes.h"

namespace flotilla::ps {
namespace {

constexpr uint32_t kMagic = 0x31734c46;  // "FLs1": a peer of another kind is found out at once
constexpr size_t kHeaderBytes = 16;
constexpr size_t kStepBytes = 16;
constexpr size_t kPullBytes = 16;
constexpr uint32_t kDense = 1;
constexpr uint32_t kCreateRows = 2;
// The id that encode() leaves open.
constexpr std::array<PushId, 1> kNoId = {};

constexpr std::array<std::string_view, 3> kStates = {"present", "away", "left"};

void put_header(ByteWriter& to, RequestKind kind, const Sender& sender) {
  to.put(kMagic);
  to.put(static_cast<uint32_t>(kind));
  to.put(static_cast<uint32_t>(sender.rank));
  to.put(static_cast<uint32_t>(sender.workers));
}

size_t push_offset(size_t pulls) { return kHeaderBytes + kStepBytes + pulls * kPullBytes; }

std::span<const int64_t> get_keys(ByteReader& from, uint64_t count) {
  require(count <= from.left() / sizeof(int64_t), "a pull has {} keys where {} bytes are left",
          count, from.left());
  const std::span<const std::byte> bytes = from.get_bytes(count * sizeof(int64_t));
  return {reinterpret_cast<const int64_t*>(bytes.data()), static_cast<size_t>(count)};
}

Step decode_step(ByteReader& from) {
  Step step;
  const auto push_bytes = from.get<uint64_t>();
  step.in_round = from.get<uint32_t>() != 0;
  const auto pulls = from.get<uint32_t>();
  require(pulls <= from.left() / kPullBytes, "a step has {} pulls where {} bytes are left", pulls,
          from.left());
  std::vector<uint64_t> keys(pulls);
  for (uint32_t i = 0; i < pulls; ++i) {
    Pull& pull = step.pulls.emplace_back();
    pull.table = from.get<uint32_t>();
    const auto flags = from.get<uint32_t>();
    pull.dense = (flags & kDense) != 0;
    pull.create = (flags & kCreateRows) != 0;
    keys[i] = from.get<uint64_t>();
    require(!pull.dense || keys[i] == 0, "a pull of the dense table {} has {} keys", pull.table,
            keys[i]);
  }
  require(push_bytes % 8 == 0, "a push has {} bytes, which is not a multiple of 8", push_bytes);
  step.has_push = push_bytes > 0;
  if (step.has_push) {
    step.push = decode_push(from.get_bytes(push_bytes));
    require(step.push.ids.size() == 1, "a worker's push must have one id, but has {}",
            step.push.ids.size());
  }
  for (uint32_t i = 0; i < pulls; ++i) step.pulls[i].keys = get_keys(from, keys[i]);
  return step;
}

bool is_about_files(RequestKind kind) {
  return kind == RequestKind::kSave || kind == RequestKind::kSaved || kind == RequestKind::kLoad ||
         kind == RequestKind::kCheck;
}

Presence decode_presence(ByteReader& from, int rank) {
  Presence presence = {.rank = rank};
  presence.attempt = from.get<uint64_t>();
  presence.version = from.get<uint64_t>();
  const auto state = from.get<uint64_t>();
  require(state < kStates.size(), "unknown worker state {}", state);
  presence.state = static_cast<Presence::State>(state);
  return presence;
}

}  // namespace

std::string print(const Presence& presence) {
  return fmt::format("{} {} {}", presence.attempt, presence.version, kStates[presence.state]);
}

Presence parse_presence(int rank, std::string_view text) {
  Presence presence = {.rank = rank};
  const char* at = text.data();
  const char* const end = at + text.size();
  for (uint64_t* number : {&presence.attempt, &presence.version}) {
    const auto [next, error] = std::from_chars(at, end, *number);
    require(error == std::errc() && next != end && *next == ' ',
            "a worker's presence must be \"attempt version state\", but is \"{}\"", text);
    at = next + 1;
  }
  const std::string_view state(at, static_cast<size_t>(end - at));
  for (size_t i = 0; i < kStates.size(); ++i) {
    if (kStates[i] != state) continue;
    presence.state = static_cast<Presence::State>(i);
    return presence;
  }
  refuse("the state of a worker must be present, away or left, but is \"{}\"", state);
}

// ---- Steps --------------------------------------------------------------------------------------

size_t encoded_size(const ScatteredStep& step) {
  size_t size = push_offset(step.pulls.size());
  if (!step.changes.empty()) size += encoded_size(kNoId, step.changes);
  for (const Pull& pull : step.pulls) size += pull.keys.size_bytes();
  return size;
}

void encode(const Sender& sender, const ScatteredStep& step, std::span<std::byte> bytes) {
  const size_t push_bytes = step.changes.empty() ? 0 : encoded_size(kNoId, step.changes);
  ByteWriter to(bytes);
  put_header(to, RequestKind::kStep, sender);
  to.put<uint64_t>(push_bytes);
  to.put<uint32_t>(step.in_round ? 1 : 0);
  to.put(static_cast<uint32_t>(step.pulls.size()));
  for (const Pull& pull : step.pulls) {
    to.put(pull.table);
    to.put((pull.dense ? kDense : 0) | (pull.create ? kCreateRows : 0));
    to.put<uint64_t>(pull.keys.size());
  }
  const size_t begin = push_offset(step.pulls.size());
  if (push_bytes > 0) encode(kNoId, step.changes, bytes.subspan(begin, push_bytes));
  ByteWriter keys(bytes.subspan(begin + push_bytes));
  for (const Pull& pull : step.pulls) keys.put_bytes(std::as_bytes(pull.keys));
}

void set_push_id(std::span<std::byte> request, const PushId& id) {
  ByteReader from(request.subspan(kHeaderBytes));
  const auto push_bytes = from.get<uint64_t>();
  from.get<uint32_t>();
  const auto pulls = from.get<uint32_t>();
  invariant(push_bytes > 0, "a step without a push was given an id");
  ByteWriter to(request.subspan(push_offset(pulls) + kFirstIdOffset));
  to.put(id.worker);
  to.put(id.sequence);
}

// ---- All others ---------------------------------------------------------------------------------

std::vector<std::byte> encode(const Request& request) {
  invariant(request.kind != RequestKind::kStep, "steps have an encoder of their own");
  std::vector<std::byte> bytes(kHeaderBytes + 24 + request.text.size());
  ByteWriter to(bytes);
  put_header(to, request.kind, request.sender);
  size_t body = 0;
  if (request.kind == RequestKind::kPresence) {
    to.put(request.presence.attempt);
    to.put(request.presence.version);
    to.put<uint64_t>(request.presence.state);
    body = 24;
  } else if (request.kind == RequestKind::kShrink) {
    to.put(request.table);
    to.put(request.shrink.max_unseen);
    to.put(request.shrink.min_score);
    to.put(request.shrink.decay);
    body = 16;
  } else if (request.kind == RequestKind::kScan) {
    to.put<uint64_t>(request.table);
    to.put(static_cast<uint64_t>(request.shard));
    body = 16;
  } else {
    if (is_about_files(request.kind)) {
      to.put(request.files.table);
      to.put(static_cast<uint32_t>(request.files.mode));
      body = 8;
    }
    to.put_bytes(std::as_bytes(std::span(request.text)));
    body += request.text.size();
  }
  bytes.resize(kHeaderBytes + body);
  return bytes;
}

Request decode_request(std::span<const std::byte> bytes) {
  invariant(reinterpret_cast<uintptr_t>(bytes.data()) % 8 == 0,
            "a request must be aligned to 8 bytes");
  ByteReader from(bytes);
  require(from.left() >= kHeaderBytes && from.get<uint32_t>() == kMagic,
          "received {} bytes that are not a request to a parameter server", bytes.size());
  Request request;
  const auto kind = from.get<uint32_t>();
  const auto rank = from.get<uint32_t>(), workers = from.get<uint32_t>();
  require(rank < workers && workers <= 1U << 20, "received a request from worker {} of {}", rank,
          workers);
  request.sender = {static_cast<int>(rank), static_cast<int>(workers)};
  request.kind = static_cast<RequestKind>(kind);
  switch (request.kind) {
    case RequestKind::kStep:
      request.step = decode_step(from);
      break;
    case RequestKind::kPresence:
      request.presence = decode_presence(from, request.sender.rank);
      break;
    case RequestKind::kShrink:
      request.table = from.get<uint32_t>();
      request.shrink.max_unseen = from.get<uint32_t>();
      request.shrink.min_score = from.get<float>();
      request.shrink.decay = from.get<float>();
      break;
    case RequestKind::kScan: {
      const auto table = from.get<uint64_t>(), shard = from.get<uint64_t>();
      require(table <= UINT32_MAX && shard < kShards, "there is no shard {} of table {}", shard,
              table);
      request.table = static_cast<uint32_t>(table);
      request.shard = static_cast<int>(shard);
      break;
    }
    case RequestKind::kSave:
    case RequestKind::kSaved:
    case RequestKind::kLoad:
    case RequestKind::kCheck: {
      request.files.table = from.get<uint32_t>();
      const auto mode = from.get<uint32_t>();
      require(mode <= static_cast<uint32_t>(SaveMode::kDelta),
              "the mode of a save must be 0 (all), 1 (base) or 2 (delta), but is {}", mode);
      request.files.mode = static_cast<SaveMode>(mode);
      [[fallthrough]];
    }
    case RequestKind::kCreate:
    case RequestKind::kValues: {
      const std::span<const std::byte> text = from.get_bytes(from.left());
      request.text = {reinterpret_cast<const char*>(text.data()), text.size()};
      break;
    }
    case RequestKind::kSnapshot:
    case RequestKind::kTables:
    case RequestKind::kStats:
      break;
    default:
      refuse("unknown request kind {}", kind);
  }
  require(from.left() == 0, "a request has {} bytes too many", from.left());
  return request;
}

}  // namespace flotilla::ps

#include "flotilla/tensor/stream.h"

#include <cstring>

#include "flotilla/base/error.h"

namespace flotilla {
namespace {

constexpr uint32_t kVersion = 0;
constexpr int64_t kMaxLevels = 16;
constexpr int64_t kMaxRank = 64;

template <typename T>
void append(std::string& bytes, T number) {
  bytes.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

void append_varint(std::string& bytes, uint64_t number) {
  for (; number >= 0x80; number >>= 7) bytes.push_back(static_cast<char>(number | 0x80));
  bytes.push_back(static_cast<char>(number));
}

std::string describe_tensor(const Tensor& tensor) {
  std::string desc;
  desc.push_back(0x08);
  append_varint(desc, static_cast<uint64_t>(to_paddle(tensor.dtype())));
  for (const int64_t extent : tensor.shape()) {
    desc.push_back(0x10);
    append_varint(desc, static_cast<uint64_t>(extent));
  }
  return desc;
}

}  // namespace

std::string serialize(const Tensor& tensor) {
  const Tensor plain = tensor.plain();
  std::string bytes;
  append(bytes, kVersion);
  append(bytes, static_cast<uint64_t>(tensor.lod().size()));
  for (const std::vector<int64_t>& level : tensor.lod()) {
    append(bytes, static_cast<uint64_t>(level.size() * sizeof(int64_t)));
    bytes.append(reinterpret_cast<const char*>(level.data()), level.size() * sizeof(int64_t));
  }
  append(bytes, kVersion);
  const std::string desc = describe_tensor(plain);
  append(bytes, static_cast<int32_t>(desc.size()));
  bytes += desc;
  bytes.append(static_cast<const char*>(plain.raw()), static_cast<size_t>(plain.bytes()));
  return bytes;
}

TensorReader::TensorReader(std::string_view bytes, std::string what)
    : bytes_(bytes), what_(std::move(what)) {}

std::string_view TensorReader::take(uint64_t count, std::string_view part) {
  const uint64_t left = bytes_.size() - position_;
  require(count <= left, "{}: at byte {} the {} takes {} bytes, but only {} are left", what_,
          position_, part, count, left);
  const std::string_view taken = bytes_.substr(position_, count);
  position_ += count;
  return taken;
}

template <typename T>
T TensorReader::number(std::string_view part) {
  T value;
  std::memcpy(&value, take(sizeof(T), part).data(), sizeof(T));
  return value;
}

LoD TensorReader::lod() {
  const uint64_t levels = number<uint64_t>("number of LoD levels");
  require(levels <= kMaxLevels, "{}: a tensor has at most {} LoD levels, but byte {} says {}",
          what_, kMaxLevels, position_ - 8, levels);
  LoD lod(levels);
  for (std::vector<int64_t>& level : lod) {
    const uint64_t size = number<uint64_t>("size of a LoD level");
    require(size % sizeof(int64_t) == 0,
            "{}: a LoD level takes {} bytes, which is not a multiple of 8", what_, size);
    const std::string_view data = take(size, "LoD level");
    level.resize(size / sizeof(int64_t));
    if (size > 0) std::memcpy(level.data(), data.data(), size);
  }
  return lod;
}

uint64_t TensorReader::varint(std::string_view& rest) {
  uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    require(!rest.empty(), "{}: the description of a tensor ends within a number, before byte {}",
            what_, position_);
    const auto byte = static_cast<unsigned char>(rest.front());
    rest.remove_prefix(1);
    value |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return value;
  }
  refuse("{}: the description of a tensor before byte {} holds a number of more than 64 bits",
         what_, position_);
}

std::pair<DType, Shape> TensorReader::describe(std::string_view desc) {
  DType dtype = f32;
  bool has_dtype = false;
  Shape shape;
  const auto add = [&](uint64_t extent) {
    require(static_cast<int64_t>(extent) >= 0 && shape.rank() < kMaxRank,
            "{}: a tensor before byte {} has extent {} at axis {}", what_, position_,
            static_cast<int64_t>(extent), shape.rank());
    shape.push_back(static_cast<int64_t>(extent));
  };
  while (!desc.empty()) {
    const uint64_t tag = varint(desc);
    if (tag == 0x08) {
      const uint64_t code = varint(desc);
      require(code < 64 && is_paddle_dtype(static_cast<int>(code)),
              "{}: a tensor before byte {} has dtype code {}, which Flotilla does not know", what_,
              position_, code);
      dtype = from_paddle(static_cast<int>(code));
      has_dtype = true;
    } else if (tag == 0x10) {
      add(varint(desc));
    } else if (tag == 0x12) {
      const uint64_t size = varint(desc);
      require(size <= desc.size(), "{}: the extents of a tensor end before byte {}", what_,
              position_);
      std::string_view packed = desc.substr(0, size);
      desc.remove_prefix(size);
      while (!packed.empty()) add(varint(packed));
    } else {
      refuse("{}: the description of a tensor before byte {} holds an unknown field {}", what_,
             position_, tag >> 3);
    }
  }
  require(has_dtype, "{}: the description of a tensor before byte {} names no dtype", what_,
          position_);
  return {dtype, shape};
}

Tensor TensorReader::next() {
  const uint32_t version = number<uint32_t>("version of a tensor");
  require(version == kVersion, "{}: at byte {} the version of a tensor must be 0, but is {}", what_,
          position_ - 4, version);
  LoD levels = lod();
  const uint32_t inner = number<uint32_t>("version of a tensor's data");
  require(inner == kVersion, "{}: at byte {} the version of a tensor's data must be 0, but is {}",
          what_, position_ - 4, inner);
  const int32_t size = number<int32_t>("size of a tensor's description");
  require(size >= 0, "{}: at byte {} the description of a tensor takes {} bytes", what_,
          position_ - 4, size);
  const auto [dtype, shape] =
      describe(take(static_cast<uint64_t>(size), "description of a tensor"));
  // The product is checked against what is left before anything is multiplied past 64 bits.
  uint64_t bytes = static_cast<uint64_t>(size_of(dtype));
  bool empty = false;
  for (const int64_t extent : shape) empty = empty || extent == 0;
  for (const int64_t extent : shape) {
    require(empty || static_cast<uint64_t>(extent) <= (bytes_.size() - position_) / bytes,
            "{}: at byte {} a tensor of shape {} and {} needs more than the {} bytes that are left",
            what_, position_, shape, dtype, bytes_.size() - position_);
    bytes = empty ? 0 : bytes * static_cast<uint64_t>(extent);
  }
  const std::string_view data = take(bytes, "elements of a tensor");
  Tensor tensor(dtype, shape);
  if (bytes > 0) std::memcpy(tensor.raw(), data.data(), bytes);
  tensor.set_lod(std::move(levels));
  return tensor;
}

}  // namespace flotilla

// flotilla/tensor/stream.h
//
// Tensors as Paddle's save, save_combine and .pdiparams files hold them, one behind the other.
//
// stream  := tensor*                                              little endian
// tensor  := version:u32=0 levels:u64 level* version:u32=0 desc_size:i32 desc data
// level   := bytes:u64 offset:u64[bytes / 8]                      the LoD
// desc    := protobuf { 1: dtype code (varint); 2: extent (varint, one entry each, or packed) }
// data    := the elements, row by row

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "flotilla/tensor/tensor.h"

namespace flotilla {

// The bytes of one tensor; a blocked layout is undone, padding left out.
std::string serialize(const Tensor& tensor);

// Reads tensors from the front of `bytes`. Sizes are checked before memory is taken; refuses with
// the byte at which something else was expected.
class TensorReader {
 public:
  // `what` names the source in error messages: a file's path.
  TensorReader(std::string_view bytes, std::string what);

  bool at_end() const { return position_ == bytes_.size(); }
  size_t position() const { return position_; }
  Tensor next();

 private:
  std::string_view take(uint64_t count, std::string_view part);
  template <typename T>
  T number(std::string_view part);
  LoD lod();
  uint64_t varint(std::string_view& rest);
  std::pair<DType, Shape> describe(std::string_view desc);

  std::string_view bytes_;
  std::string what_;
  size_t position_ = 0;
};

}  // namespace flotilla

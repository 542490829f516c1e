// flotilla/base/dtype.h
//
// The element types of tensors, and the one place where a type meets its C++ type.

#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "flotilla/base/error.h"

namespace flotilla {

// A 16-bit float stored, not computed with: kernels convert.
struct Half {
  uint16_t bits = 0;
};
struct BFloat16 {
  uint16_t bits = 0;
};

enum class DType : int8_t { kBool, kInt8, kUint8, kInt16, kInt32, kInt64, kF16, kBF16, kF32, kF64 };

inline constexpr DType boolean = DType::kBool;
inline constexpr DType i8 = DType::kInt8;
inline constexpr DType u8 = DType::kUint8;
inline constexpr DType i16 = DType::kInt16;
inline constexpr DType i32 = DType::kInt32;
inline constexpr DType i64 = DType::kInt64;
inline constexpr DType f16 = DType::kF16;
inline constexpr DType bf16 = DType::kBF16;
inline constexpr DType f32 = DType::kF32;
inline constexpr DType f64 = DType::kF64;

int64_t size_of(DType dtype);

// Short names as in plans and error messages: "f32", "i64", "bool".
std::string_view name_of(DType dtype);
// Accepts "f32", "float32", "fp32", "int64", ...; refuses anything else.
DType parse_dtype(std::string_view name);

// numpy's and Paddle's long name: "float32".
std::string_view long_name_of(DType dtype);

// The codes of Paddle's VarType.Type: 5 is float32.
int to_paddle(DType dtype);
DType from_paddle(int code);
bool is_paddle_dtype(int code);

inline bool is_floating(DType d) { return d == f32 || d == f64 || d == f16 || d == bf16; }

template <typename T>
struct DTypeOf;
template <>
struct DTypeOf<bool> {
  static constexpr DType value = boolean;
};
template <>
struct DTypeOf<int8_t> {
  static constexpr DType value = i8;
};
template <>
struct DTypeOf<uint8_t> {
  static constexpr DType value = u8;
};
template <>
struct DTypeOf<int16_t> {
  static constexpr DType value = i16;
};
template <>
struct DTypeOf<int32_t> {
  static constexpr DType value = i32;
};
template <>
struct DTypeOf<int64_t> {
  static constexpr DType value = i64;
};
template <>
struct DTypeOf<Half> {
  static constexpr DType value = f16;
};
template <>
struct DTypeOf<BFloat16> {
  static constexpr DType value = bf16;
};
template <>
struct DTypeOf<float> {
  static constexpr DType value = f32;
};
template <>
struct DTypeOf<double> {
  static constexpr DType value = f64;
};

template <typename T>
inline constexpr DType dtype_of = DTypeOf<T>::value;

// Calls f(T{}) with the C++ type of an arithmetic `dtype`; refuses the 16-bit floats.
template <typename F>
decltype(auto) visit_dtype(DType dtype, F&& f) {
  switch (dtype) {
    case DType::kBool:
      return f(bool{});
    case DType::kInt8:
      return f(int8_t{});
    case DType::kUint8:
      return f(uint8_t{});
    case DType::kInt16:
      return f(int16_t{});
    case DType::kInt32:
      return f(int32_t{});
    case DType::kInt64:
      return f(int64_t{});
    case DType::kF32:
      return f(float{});
    case DType::kF64:
      return f(double{});
    default:
      refuse("dtype {} is stored but not computed with here", name_of(dtype));
  }
}

}  // namespace flotilla

template <>
struct fmt::formatter<flotilla::DType> : fmt::formatter<std::string_view> {
  auto format(flotilla::DType dtype, fmt::format_context& context) const {
    return fmt::formatter<std::string_view>::format(flotilla::name_of(dtype), context);
  }
};

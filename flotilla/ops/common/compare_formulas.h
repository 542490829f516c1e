// flotilla/ops/common/compare_formulas.h
//
// Questions about one or two numbers, and what becomes of their bits. Whatever is not zero is true.

#pragma once

#include <type_traits>

#include "flotilla/base/host_device.h"
#include "flotilla/ops/common/types.h"

namespace flotilla::ops::compare {

struct CompareInfo {
  const char* type = "";
  const char* sign = "";  // Out = X sign Y
  bool keeps_zero = false;
};

struct Equal {
  static constexpr CompareInfo kInfo = {"equal", "=="};
  FLT_FN static bool f(auto x, auto y) { return x == y; }
};
struct NotEqual {
  static constexpr CompareInfo kInfo = {"not_equal", "!="};
  FLT_FN static bool f(auto x, auto y) { return x != y; }
};
struct Less {
  static constexpr CompareInfo kInfo = {"less_than", "<"};
  FLT_FN static bool f(auto x, auto y) { return x < y; }
};
struct LessEqual {
  static constexpr CompareInfo kInfo = {"less_equal", "<="};
  FLT_FN static bool f(auto x, auto y) { return x <= y; }
};
struct Greater {
  static constexpr CompareInfo kInfo = {"greater_than", ">"};
  FLT_FN static bool f(auto x, auto y) { return x > y; }
};
struct GreaterEqual {
  static constexpr CompareInfo kInfo = {"greater_equal", ">="};
  FLT_FN static bool f(auto x, auto y) { return x >= y; }
};

struct And {
  static constexpr CompareInfo kInfo = {"logical_and", "and"};
  FLT_FN static bool f(auto x, auto y) { return (x != 0) & (y != 0); }
};
struct Or {
  static constexpr CompareInfo kInfo = {"logical_or", "or"};
  FLT_FN static bool f(auto x, auto y) { return (x != 0) | (y != 0); }
};
struct Xor {
  static constexpr CompareInfo kInfo = {"logical_xor", "xor"};
  FLT_FN static bool f(auto x, auto y) { return (x != 0) != (y != 0); }
};

// Bit by bit; of bools, the logic above.
struct BitAnd {
  static constexpr CompareInfo kInfo = {"bitwise_and", "&", true};
  FLT_FN static auto f(auto x, auto y) { return x & y; }
};
struct BitOr {
  static constexpr CompareInfo kInfo = {"bitwise_or", "|", true};
  FLT_FN static auto f(auto x, auto y) { return x | y; }
};
struct BitXor {
  static constexpr CompareInfo kInfo = {"bitwise_xor", "^", true};
  FLT_FN static auto f(auto x, auto y) { return x ^ y; }
};

// Of one number, as functions for map() and cuda::map().
struct BitNot {
  static constexpr const char* kType = "bitwise_not";
  template <typename T>
  FLT_FN T operator()(T x) const {
    return static_cast<T>(x ^ (std::is_same_v<T, bool> ? 1 : -1));
  }
};
struct Not {
  static constexpr const char* kType = "logical_not";
  FLT_FN bool operator()(auto x) const { return x == 0; }
};
// An infinity and NaN leave something when they are subtracted from themselves.
struct IsFinite {
  static constexpr const char* kType = "isfinite";
  FLT_FN bool operator()(auto x) const { return x - x == 0; }
};
struct IsInf {
  static constexpr const char* kType = "isinf";
  FLT_FN bool operator()(auto x) const { return x == x && x - x != 0; }
};
struct IsNan {
  static constexpr const char* kType = "isnan";
  FLT_FN bool operator()(auto x) const { return x != x; }
};

using Comparisons = Types<Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual>;
using Logic = Types<And, Or, Xor>;
using Bits = Types<BitAnd, BitOr, BitXor>;

}  // namespace flotilla::ops::compare

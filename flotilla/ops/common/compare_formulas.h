// flotilla/ops/common/compare_formulas.h
//
// Questions about one or two numbers. Whatever is not zero is true.

#pragma once

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

// Of one number, as functions for map() and cuda::map().
struct Not {
  FLT_FN bool operator()(auto x) const { return x == 0; }
};
// An infinity and NaN leave something when they are subtracted from themselves.
struct IsFinite {
  FLT_FN bool operator()(auto x) const { return x - x == 0; }
};
struct IsInf {
  FLT_FN bool operator()(auto x) const { return x == x && x - x != 0; }
};
struct IsNan {
  FLT_FN bool operator()(auto x) const { return x != x; }
};

using Comparisons = Types<Equal, NotEqual, Less, LessEqual, Greater, GreaterEqual>;
using Logic = Types<And, Or, Xor>;

}  // namespace flotilla::ops::compare

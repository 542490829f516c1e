// flotilla/ir/attr.h
//
// The value of an operator's attribute. There is one alternative for each kind of attribute in
// Paddle's framework.proto, because a program that travels must keep the kinds it came with.

#pragma once

#include <complex>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "flotilla/base/error.h"

namespace flotilla {

// A sub-block of the same program.
struct BlockRef {
  int32_t index = -1;
  bool operator==(const BlockRef&) const = default;
};

// A variable that stands where an attribute is expected.
struct VarRef {
  std::string name = {};
  bool operator==(const VarRef&) const = default;
};

// Paddle's SCALAR: a number that keeps the type it was given in.
struct Scalar {
  std::variant<bool, int64_t, double, std::complex<double>> value = false;
  bool operator==(const Scalar&) const = default;
};

using Attr =
    std::variant<std::monostate, bool, int32_t, int64_t, float, double, std::string, BlockRef,
                 VarRef, Scalar, std::vector<bool>, std::vector<int32_t>, std::vector<int64_t>,
                 std::vector<float>, std::vector<double>, std::vector<std::string>,
                 std::vector<BlockRef>, std::vector<VarRef>, std::vector<Scalar>>;

using Attrs = std::map<std::string, Attr, std::less<>>;

// "int", "longs", "string": the kind as error messages and docs name it.
std::string_view kind_of(const Attr& attr);

// `value` as the kind of `model`: a Python int given for a float, a tuple of ints for longs, an
// empty list of unknown kind; a `model` without a kind takes any. Whole numbers keep their value
// and numbers become the nearest float; anything else is refused, naming `what`.
Attr convert(const Attr& value, const Attr& model, std::string_view what);

// `attr` as T; whole numbers of any width, lists of them, and floats of both widths convert.
// Supported T: bool, int64_t, int32_t, float, double, std::string, BlockRef, and std::vector of
// bool, int64_t, int32_t, float, double, std::string, BlockRef.
template <typename T>
T attr_as(const Attr& attr, std::string_view name);

// The value as it stands in the text form of a program: 1, 1L, 0.5, "text", [1, 2], block 3.
std::string to_string(const Attr& attr);

}  // namespace flotilla

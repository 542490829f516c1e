#include "flotilla/base/dtype.h"

#include <algorithm>
#include <array>
#include <string>
#include <vector>

namespace flotilla {
namespace {

struct Row {
  DType dtype = f32;
  int64_t size = 0;
  std::string_view name = {};
  std::string_view long_name = {};
  int paddle = 0;
};

constexpr std::array kRows = {
    Row{boolean, 1, "bool", "bool", 0}, Row{i8, 1, "i8", "int8", 21},
    Row{u8, 1, "u8", "uint8", 20},      Row{i16, 2, "i16", "int16", 1},
    Row{i32, 4, "i32", "int32", 2},     Row{i64, 8, "i64", "int64", 3},
    Row{f16, 2, "f16", "float16", 4},   Row{bf16, 2, "bf16", "bfloat16", 22},
    Row{f32, 4, "f32", "float32", 5},   Row{f64, 8, "f64", "float64", 6},
};

const Row& row_of(DType dtype) { return kRows[static_cast<size_t>(dtype)]; }

}  // namespace

int64_t size_of(DType dtype) { return row_of(dtype).size; }
std::string_view name_of(DType dtype) { return row_of(dtype).name; }
std::string_view long_name_of(DType dtype) { return row_of(dtype).long_name; }
int to_paddle(DType dtype) { return row_of(dtype).paddle; }

bool is_paddle_dtype(int code) {
  return std::any_of(kRows.begin(), kRows.end(), [=](const Row& r) { return r.paddle == code; });
}

DType from_paddle(int code) {
  for (const Row& row : kRows) {
    if (row.paddle == code) return row.dtype;
  }
  refuse("{} is not a dtype code; float32 is 5, int64 is 3", code);
}

DType parse_dtype(std::string_view name) {
  std::vector<std::string> names;
  for (const Row& row : kRows) {
    if (name == row.name || name == row.long_name) return row.dtype;
    names.emplace_back(row.long_name);
  }
  if (name == "fp32" || name == "float") return f32;
  if (name == "fp64" || name == "double") return f64;
  if (name == "fp16") return f16;
  if (name == "int") return i32;
  refuse("\"{}\" is not a dtype.{}", name, did_you_mean(name, names));
}

}  // namespace flotilla

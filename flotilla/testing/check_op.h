// flotilla/testing/check_op.h
//
// One description of a case, many checks from it; a new kernel is covered on the day it is
// registered.
//
//   1. Every dtype that has a kernel gives what cpu/f64 gives: f32 from the same inputs, 16-bit
//      floats but for their roundings, whole numbers from rounded ones. Rank 4 also in blocks.
//   2. The gradient in f64 is what finite differences say; f32 and 16-bit kernels agree with it.
//   3. The same number of threads gives the same bits, and another number the same values.
//   4. On a GPU (cuda preset): CUDA kernels, replayed from a graph too, give what the CPU's give.
// Shapes stay small: each of at most 40 elements of an input costs two runs.

#pragma once

#include <map>
#include <string>
#include <vector>

#include "flotilla/testing/run_op.h"

namespace flotilla {

struct OpCase {
  std::string type = {};
  Inputs inputs = {};
  Attrs attrs = {};

  // As in OpOptions.
  std::map<std::string, int> outputs = {};
  std::map<std::string, std::string> in_place = {};

  // Input slots whose gradient is checked. By default all that hold floats and are not marked
  // no_grad.
  std::vector<std::string> grad_inputs = {};

  // Output slots that the checked gradient comes from. By default all that the gradient op reads
  // the gradient of.
  std::vector<std::string> grad_outputs = {};

  // Off: the op is differentiable, but not at this point.
  bool grad = true;

  // Off: whole numbers have another meaning here (a division, a mean).
  bool integers = true;

  // Off: there is no f64 kernel to compare with, as of an op that passes make from others.
  bool reference = true;

  // How far f32 may lie from f64, relative to the largest element where that is above one.
  double tolerance = 1e-5;

  // How far finite differences may lie from the gradient in f64, likewise.
  double grad_tolerance = 1e-6;
};

void check_op(const OpCase& c);

}  // namespace flotilla

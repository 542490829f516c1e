// flotilla/testing/cases.h
//
// Programs with all that a run of them needs, as text: what tests run, recorded for the fuzzer that
// bends it (tests/fuzz/run_program_fuzz.cc).
//
//   case
//   <the program, as ir/text.h prints it>
//   feed x f32 2,3 - 0 0.5 1 1.5 2 2.5       name, dtype, extents, LoD, elements
//   state w f32 - - 1                        a scalar in the scope
//   feed s i64 3,1 0,2,3 5 6 7               LoD: levels apart by ;
//   fetch y z
//   end

#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "flotilla/tensor/tensor.h"

namespace flotilla {

struct NamedTensor {
  std::string name = {};
  Tensor tensor = {};
};

struct Case {
  std::string program = {};
  std::vector<NamedTensor> feeds = {};
  std::vector<NamedTensor> states = {};
  std::vector<std::string> fetches = {};
};

std::string to_text(const Case& c);
// Refuses text that to_text did not write.
std::vector<Case> parse_cases(std::string_view text);

}  // namespace flotilla

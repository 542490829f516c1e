// flotilla/kernel/caller.h
//
// What a running program may ask of whoever runs it.
//
// Thread safety: all functions; several executors may ask at once.

#pragma once

#include <cstdint>
#include <vector>

#include "flotilla/tensor/tensor.h"

namespace flotilla {

class Caller {
 public:
  virtual ~Caller() = default;
  // What the user's function `number` makes of `inputs`. What it throws ends the run.
  virtual std::vector<Tensor> call(int64_t number, const std::vector<Tensor>& inputs) = 0;
  // Throws where the user wants the run to end. Loops ask in every round.
  virtual void check_interrupt() = 0;
};

}  // namespace flotilla

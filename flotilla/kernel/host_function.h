// flotilla/kernel/host_function.h
//
// How an operator calls a function of the program that uses this library, by the number it was
// registered under. The language that programs are written in says here how.
//
// Thread safety: all functions; a caller may be called by several executors at once.

#pragma once

#include <cstdint>
#include <vector>

#include "flotilla/tensor/tensor.h"

namespace flotilla {

// Calls the function `number`. What it throws reaches whoever runs the program.
using HostCaller = std::vector<Tensor> (*)(int64_t number, const std::vector<Tensor>& inputs);

// Called once, before programs run.
void set_host_caller(HostCaller caller);

// Refuses where nobody said how.
std::vector<Tensor> call_host(int64_t number, const std::vector<Tensor>& inputs);

}  // namespace flotilla

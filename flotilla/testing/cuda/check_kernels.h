// flotilla/testing/cuda/check_kernels.h
//
// What check_op() adds where there is a GPU: a CUDA kernel is covered on the day it is registered,
// by the cases that its operator has already.

#pragma once

#include <vector>

#include "flotilla/testing/run_op.h"

namespace flotilla {

// Runs every op of the program that has a CUDA kernel for its dtype on the GPU, on the values that
// the CPU computed: apart and in place, at once and as a captured graph. Its outputs must lie
// within `tolerance` of the CPU's, and a replay must give the bits of the first run. Ops with
// sequences, ops whose input is overwritten later, and ops with sparse rows whose kernel takes only
// dense tensors are left out.
//
// The value is the number of kernels that were run; 0 without a GPU.
int check_cuda_kernels(const Program& program, const std::vector<Feed>& feeds,
                       const std::vector<Feed>& persistables, double tolerance);

}  // namespace flotilla

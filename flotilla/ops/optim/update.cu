// flotilla/ops/optim/update.cu
//
// Update rules on a GPU whose gradients are dense.

#include "flotilla/ops/optim/update.cuh"
#include "flotilla/update/adadelta.h"
#include "flotilla/update/adam.h"
#include "flotilla/update/adamax.h"
#include "flotilla/update/decayed_adagrad.h"
#include "flotilla/update/momentum.h"
#include "flotilla/update/proximal.h"
#include "flotilla/update/sgd.h"

namespace flotilla::ops {
namespace {

[[maybe_unused]] const bool kSingle =
    add_cuda_update<update::AdadeltaFormula, 2, 1>("adadelta") &&
    add_cuda_update<update::AdamaxFormula, 2, 1>("adamax") &&
    add_cuda_update<update::DecayedAdagradFormula, 1, 1>("decayed_adagrad") &&
    add_cuda_update<update::ProximalGdFormula, 0, 1>("proximal_gd") &&
    add_cuda_update<update::ProximalAdagradFormula, 1, 1>("proximal_adagrad");

[[maybe_unused]] const bool kTogether =
    add_cuda_update<update::AdamFormula, 2, kMostTogether>("merged_adam") &&
    add_cuda_update<update::AdamFormula, 2, kMostTogether>("fused_adam") &&
    add_cuda_update<update::MomentumFormula, 1, kMostTogether>("fused_momentum") &&
    add_cuda_update<update::SgdFormula, 0, kMostTogether>("fused_sgd");

}  // namespace
}  // namespace flotilla::ops

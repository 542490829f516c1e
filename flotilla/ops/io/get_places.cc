// flotilla/ops/io/get_places.cc
//
// get_places: the devices that a program of 0.14 handed to ParallelDo. A process is one device, and
// nothing reads the list: it has no kernel (plan/drafter.cc).

#include "flotilla/op/infer.h"
#include "flotilla/op/op_def.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) { c.out("Out").kind = VarKind::kPlaceList; }

const OpDef& get_places = define_op({
    .type = "get_places",
    .doc = "The devices that a program may use; nothing reads them.",
    .outputs = {{"Out", "the list"}},
    .attrs = {{"device_count", int32_t{0}, "how many; 0: all"},
              {"device_type", std::string("AUTO"), "CPU, CUDA or AUTO"}},
    .infer = infer,
});

}  // namespace
}  // namespace flotilla::ops

// flotilla/ops/sequence/lod_reset.cc
//
// lod_reset: the sequences of Y where it has some, else offsets that are the elements of Y or
// `target_lod`; with `append` as a further level below those of X.

#include "flotilla/ops/common/labels.h"
#include "flotilla/ops/common/move.h"
#include "flotilla/ops/common/sequences.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

void infer_reset(InferContext& c) {
  const VarMeta& x = c.in("X");
  const std::vector<int64_t> target = c.attr<std::vector<int64_t>>("target_lod");
  require(x.shape.rank() > 0, "X must have rows, but has shape {}", x.shape);
  require(c.has_in("Y") || target.size() > 1,
          "lod_reset needs sequences: Y, or a target_lod of at least two offsets");
  VarMeta out = like(x);
  const bool append = c.attr<bool>("append");
  const bool from_lod = c.has_in("Y") && c.in("Y").lod_level > 0;
  out.lod_level = (append ? x.lod_level : 0) + (from_lod ? c.in("Y").lod_level : 1);
  out.sequences = from_lod ? c.in("Y").sequences : c.has_in("Y") ? -1 : std::ssize(target) - 1;
  if (c.has_in("Y") && !from_lod) {
    check_labels(c, "Y");
    const int64_t offsets = c.in("Y").shape.numel();
    if (offsets > 0) out.sequences = offsets - 1;
  }
  out.lod_source = kOwnLod;
  c.out("Out") = std::move(out);
}

// The offsets that Y holds, or `target_lod`.
std::function<std::vector<int64_t>()> new_offsets(PrepareContext& c) {
  const bool listed = c.has("Y") && c.meta("Y").lod_level == 0;
  return [target = c.attr<std::vector<int64_t>>("target_lod"),
          count = listed ? c.shape("Y").numel() : 0,
          numbers = listed ? LabelsIn(c, "Y") : LabelsIn()] {
    if (count == 0) return target;
    std::vector<int64_t> offsets;
    for (int64_t i = 0; i < count; ++i) offsets.push_back(numbers[i]);
    return offsets;
  };
}

constexpr auto reset = []<typename T>(PrepareContext& c) -> Step {
  return [copy = pass_through(c, "X", "Out"), append = c.attr<bool>("append"),
          rows = c.shape("X")[0], x = c.lod("X"), y = c.has("Y") ? c.lod("Y") : LodHandle(),
          offsets = new_offsets(c), lod = c.lod_out("Out")] {
    LoD made = append && x.get() != nullptr ? *x.get() : LoD();
    if (const LoD* other = y.get(); other != nullptr && !other->empty()) {
      made.insert(made.end(), other->begin(), other->end());
    } else {
      made.push_back(offsets());
    }
    check_lod(made, rows);
    lod.set(std::move(made));
    copy();
  };
};

const OpDef& lod_reset = define_op({
    .type = "lod_reset",
    .doc = "Gives the rows of X other sequences.",
    .inputs = {{.name = "X", .doc = "rows"},
               optional_constant("Y", "whose LoD is taken, or offsets")},
    .outputs = {{.name = "Out", .doc = "X with other sequences", .like = "X"}},
    .attrs = {{"target_lod", std::vector<int32_t>{}, "offsets, without Y"},
              {"append", false, "whether they become a level below those of X"}},
    .infer = infer_reset,
    .grad = grad_op({shape_of("X")},
                    {.kernels = kernels_for<float, double>([]<typename T>(PrepareContext& c) {
                       return pass_through(c, "Out@GRAD", "X@GRAD");
                     })}),
    .kernels = kernels_for<float, double, int32_t, int64_t>(reset),
});

}  // namespace
}  // namespace flotilla::ops

// flotilla/ops/sequence/filter_by_instag.cc
//
// filter_by_instag: the instances of Ins of which a tag in Ins_tag is one of Filter_tag. An
// instance is a sequence, or with `is_lod` false a row; Ins_tag has a sequence of tags for each.
//
// IndexMap holds a row for each instance that is kept: its first row in Out, its first row in Ins,
// the number of its rows. Where none is kept, Out is one row of out_val_if_empty whose LossWeight
// is 0; all others have 1.

#include <algorithm>
#include <functional>
#include <numeric>
#include <set>
#include <vector>

#include "flotilla/ops/common/labels.h"
#include "flotilla/ops/common/sequences.h"
#include "flotilla/ops/common/shape_checks.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  const VarMeta& ins = c.in("Ins");
  if (c.attr<bool>("is_lod")) check_sequences(c, "Ins");
  check_sequences(c, "Ins_tag");
  check_labels(c, "Ins_tag");
  check_labels(c, "Filter_tag");
  require(ins.shape.rank() >= 2, "Ins must have rows of numbers, but has shape {}", ins.shape);
  c.out("Out") = cut_anew({.dtype = ins.dtype}, with_rows(ins.shape, -1));
  c.out("LossWeight") = cut_anew({.dtype = f32}, Shape{-1, 1});
  c.out("IndexMap") = cut_anew({.dtype = i64}, Shape{-1, 3});
}

struct Kept {
  int64_t to = 0;
  int64_t from = 0;
  int64_t rows = 0;
};

// Says in every run which instances it keeps.
std::function<std::vector<Kept>()> filter_of(PrepareContext& c) {
  return [is_lod = c.attr<bool>("is_lod"), rows = c.shape("Ins")[0], ins = Sequences(c, "Ins"),
          tags = Sequences(c, "Ins_tag"), numbers = LabelsIn(c, "Ins_tag"),
          filter = LabelsIn(c, "Filter_tag"), wanted = c.shape("Filter_tag").numel()] {
    const int64_t count = is_lod ? ins.count() : rows;
    require(tags.count() == count, "Ins has {} instances, but Ins_tag has {} sequences", count,
            tags.count());
    std::set<int64_t> listed;
    for (int64_t i = 0; i < wanted; ++i) listed.insert(filter[i]);
    std::vector<Kept> kept;
    int64_t row = 0;
    tags.for_each([&](int64_t s, int64_t begin, int64_t end) {
      bool fits = false;
      for (int64_t i = begin; i < end; ++i) fits = fits || listed.contains(numbers[i]);
      if (!fits) return;
      kept.push_back(is_lod ? Kept{row, ins.offsets()[s], ins.length(s)} : Kept{row, s, 1});
      row += kept.back().rows;
    });
    return kept;
  };
}

LoD one_by_one(int64_t count) {
  std::vector<int64_t> offsets(static_cast<size_t>(count) + 1);
  std::iota(offsets.begin(), offsets.end(), int64_t{0});
  return {offsets};
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& row = c.shape("Ins");
  return [filter = filter_of(c), row, width = row.numel(1, row.rank()),
          empty = static_cast<T>(c.attr<int64_t>("out_val_if_empty")), ins = c.in<T>("Ins"),
          out = c.dynamic_out<T>("Out"), weights = c.dynamic_out<float>("LossWeight"),
          map = c.dynamic_out<int64_t>("IndexMap"), out_lod = c.lod_out("Out"),
          weights_lod = c.lod_out("LossWeight"), map_lod = c.lod_out("IndexMap")] {
    std::vector<Kept> kept = filter();
    const bool none = kept.empty();
    if (none) kept.push_back({0, 1, 1});
    const int64_t rows = kept.back().to + kept.back().rows, count = std::ssize(kept);
    T* to = out.resize(with_rows(row, rows));
    std::fill_n(weights.resize(Shape{count, 1}), count, none ? 0.0f : 1.0f);
    int64_t* places = map.resize(Shape{count, 3});
    LoD lod = {{0}};
    for (const Kept& one : kept) {
      for (const int64_t number : {one.to, one.from, one.rows}) *places++ = number;
      lod[0].push_back(one.to + one.rows);
      if (!none) {
        std::copy_n(ins.data() + one.from * width, one.rows * width, to + one.to * width);
      }
    }
    if (none) std::fill_n(to, width, empty);
    out_lod.set(std::move(lod));
    weights_lod.set(one_by_one(count));
    map_lod.set(one_by_one(count));
  };
};

void infer_grad(InferContext& c) {
  const Shape &ins = c.in("Ins").shape, &map = c.in("IndexMap").shape,
              &out = c.in("Out@GRAD").shape, &weights = c.in("LossWeight").shape;
  require(
      ins.rank() >= 2 && out.rank() == ins.rank() && fits(with_rows(out, -1), with_rows(ins, -1)),
      "Out@GRAD must have the columns of Ins, but they are {} and {}", out, ins);
  require(map.rank() == 2 && map[1] == 3 && (!weights.known() || weights.numel() > 0),
          "IndexMap must have three columns and LossWeight a number, but they are {} and {}", map,
          weights);
  c.out("Ins@GRAD") = like(c.in("Ins"));
}

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const Shape& ins = c.shape("Ins");
  return [n = ins.numel(), width = ins.numel(1, ins.rank()), count = c.shape("IndexMap")[0],
          rows = ins[0], kept_rows = c.shape("Out@GRAD")[0], weights = c.in<float>("LossWeight"),
          map = c.in<int64_t>("IndexMap"), dout = c.in<T>("Out@GRAD"),
          dins = c.out<T>("Ins@GRAD")] {
    std::fill_n(dins.data(), n, T{0});
    if (weights.data()[0] == 0) return;
    for (int64_t i = 0; i < count; ++i) {
      const int64_t* place = map.data() + i * 3;
      const auto lies_in = [&](int64_t first, int64_t all) {
        return 0 <= first && 0 <= place[2] && place[2] <= all && first <= all - place[2];
      };
      require(lies_in(place[0], kept_rows) && lies_in(place[1], rows),
              "IndexMap takes {} rows from {} to {}, but there are {} and {}", place[2], place[0],
              place[1], kept_rows, rows);
      std::copy_n(dout.data() + place[0] * width, place[2] * width, dins.data() + place[1] * width);
    }
  };
};

const OpDef& filter_by_instag = define_op({
    .type = "filter_by_instag",
    .doc = "The instances that have one of some tags.",
    .inputs = {{.name = "Ins", .doc = "rows of instances"},
               constant("Ins_tag", "tags with a LoD"),
               constant("Filter_tag", "tags that are wanted")},
    .outputs = {{.name = "Out", .doc = "rows of those that are kept"},
                constant("LossWeight", "1 for each that is kept"),
                constant("IndexMap", "where they come from")},
    .attrs = {{"is_lod", true, "whether an instance is a sequence, not a row"},
              {"out_val_if_empty", int64_t{0}, "what Out holds where nothing is kept"}},
    .infer = infer,
    .grad = grad_op({shape_of("Ins"), "LossWeight", "IndexMap"},
                    {.kernels = kernels_for<float, double>(backward), .infer = infer_grad}),
    .kernels = kernels_for<float, double, int64_t>(forward),
});

}  // namespace
}  // namespace flotilla::ops

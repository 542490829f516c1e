// flotilla/ops/metric/auc.cc
//
// auc: the area under the ROC curve, from histograms of the predictions of positive and negative
// samples. A prediction p falls into bucket floor(p * num_thresholds).
//
// StatPos and StatNeg, with B = num_thresholds + 1:
//
//   slide_steps = 0:  B counts of all runs so far
//   slide_steps = s:  s * B counts of each of the last s runs, B counts of all of them together,
//                     and the number of runs so far, whose remainder by s picks the counts to
//                     replace

#include <algorithm>

#include "flotilla/ops/common/labels.h"
#include "flotilla/ops/common/optional_slots.h"

namespace flotilla::ops {
namespace {

// What attributes may ask for: the counts are still counted without overflow.
constexpr int64_t kMost = int64_t{1} << 31;

void infer(InferContext& c) {
  const Shape& predict = c.in("Predict").shape;
  require(predict.rank() == 2 && predict[1] != 0,
          "Predict must have rank 2 and a column, but has shape {}", predict);
  check_row_labels(c, "Predict");
  const int64_t slide = c.attr<int64_t>("slide_steps");
  const int64_t thresholds = c.attr<int64_t>("num_thresholds");
  require(0 <= slide && slide < kMost && 0 < thresholds && thresholds < kMost,
          "slide_steps must not be negative and num_thresholds positive, both below 2^31, but they "
          "are {} and {}",
          slide, thresholds);
  const int64_t buckets = thresholds + 1;
  const int64_t wanted = slide == 0 ? buckets : (1 + slide) * buckets + 1;
  for (const std::string slot : {"StatPos", "StatNeg"}) {
    const Shape& stat = c.in(slot).shape;
    // Layers of Paddle give a window of no steps a count of runs too, which nobody reads.
    require(stat.numel() == wanted || (slide == 0 && stat.numel() == wanted + 1) || !stat.known(),
            "{} must hold {} counts for num_thresholds {} and slide_steps {}, but has shape {}",
            slot, wanted, buckets - 1, slide, stat);
    c.out(slot + "Out") = c.in(slot);
  }
  c.out("AUC") = VarMeta::tensor(f64, {1});
}

struct Histogram {
  int64_t* counts;  // of this run
  int64_t* totals;  // of the window; the same where there is none
  int64_t* runs;    // null where there is no window
  int64_t slide = 0;

  Histogram(int64_t* stat, int64_t buckets, int64_t slide_steps)
      : counts(stat), totals(stat), runs(nullptr), slide(slide_steps) {
    if (slide == 0) return;
    runs = stat + (slide + 1) * buckets;
    *runs = std::max<int64_t>(0, *runs);
    counts = stat + *runs % slide * buckets;
    totals = stat + slide * buckets;
    for (int64_t i = 0; i < buckets; ++i) totals[i] -= counts[i];
    std::fill_n(counts, buckets, 0);
  }

  void add(int64_t bucket) const {
    ++counts[bucket];
    if (runs != nullptr) ++totals[bucket];
  }
  void finish() const {
    if (runs != nullptr) ++*runs;
  }
};

// Trapezoids from the highest bucket down; zero where one class is missing.
double area(const int64_t* positive, const int64_t* negative, int64_t buckets) {
  double positives = 0, negatives = 0, sum = 0;
  for (int64_t i = buckets; i-- > 0;) {
    const double before = positives;
    positives += static_cast<double>(positive[i]);
    negatives += static_cast<double>(negative[i]);
    sum += static_cast<double>(negative[i]) * (positives + before) / 2;
  }
  return positives > 0 && negatives > 0 ? sum / (positives * negatives) : 0.0;
}

constexpr auto prepare = []<typename T>(PrepareContext& c) -> Step {
  const int64_t rows = c.shape("Predict")[0], width = c.shape("Predict")[1];
  const int64_t thresholds = c.attr<int64_t>("num_thresholds");
  const int64_t slide = c.attr<int64_t>("slide_steps");
  const int64_t positives = c.shape("StatPos").numel(), negatives = c.shape("StatNeg").numel();
  c.in_place("StatPos", "StatPosOut");
  c.in_place("StatNeg", "StatNegOut");
  return [=, predict = c.in<T>("Predict"), labels = LabelsIn(c, "Label"),
          weight = given<float>(c, "InsTagWeight"),
          weights = c.has("InsTagWeight") ? c.shape("InsTagWeight").numel() : 0,
          pos = c.in<int64_t>("StatPos"), pos_out = c.out<int64_t>("StatPosOut"),
          neg = c.in<int64_t>("StatNeg"), neg_out = c.out<int64_t>("StatNegOut"),
          auc = c.out<double>("AUC")] {
    if (pos.data() != pos_out.data()) std::copy_n(pos.data(), positives, pos_out.data());
    if (neg.data() != neg_out.data()) std::copy_n(neg.data(), negatives, neg_out.data());
    const Histogram positive(pos_out.data(), thresholds + 1, slide);
    const Histogram negative(neg_out.data(), thresholds + 1, slide);
    // A single weight of zero marks a batch that stands in for none.
    const bool counts = weights != 1 || *weight.data() != 0;
    for (int64_t r = 0; counts && r < rows; ++r) {
      const T p = predict.data()[r * width + width - 1];
      require(p >= 0 && p <= 1, "prediction {} is {}, but must lie in [0, 1]", r, p);
      (labels[r] != 0 ? positive : negative)
          .add(static_cast<int64_t>(p * static_cast<T>(thresholds)));
    }
    positive.finish();
    negative.finish();
    *auc.data() = area(positive.totals, negative.totals, thresholds + 1);
  };
};

const OpDef& auc = define_op({
    .type = "auc",
    .doc = "The area under the ROC curve of all predictions so far, or of the last runs.",
    .inputs = {{"Predict", "probabilities, [samples, classes]; the last column counts"},
               {"Label", "0 or 1 for each sample"},
               {"StatPos", "histogram of positive samples"},
               {"StatNeg", "histogram of negative samples"},
               {.name = "InsTagWeight", .doc = "a single 0: leave it out", .optional = true}},
    .outputs = {{"AUC", "one f64"},
                {"StatPosOut", "in the place of StatPos"},
                {"StatNegOut", "in the place of StatNeg"}},
    .attrs = {{"curve", "ROC", "ignored: the curve is ROC"},
              {"num_thresholds", 8191, "buckets of a histogram, less one"},
              {"slide_steps", 1, "how many runs the window holds; 0: all"}},
    .infer = infer,
    .kernels = kernels_for<float, double>(prepare),
});

}  // namespace
}  // namespace flotilla::ops

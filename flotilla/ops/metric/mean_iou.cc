// flotilla/ops/metric/mean_iou.cc
//
// mean_iou: how well the classes of pixels were found. A class's share is what was right of all
// that belonged to it or was taken for it; the mean is over the classes that occur.

#include <algorithm>
#include <vector>

#include "flotilla/ops/common/labels.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

void infer(InferContext& c) {
  check_labels(c, "Predictions");
  check_labels(c, "Labels");
  const Shape &found = c.in("Predictions").shape, &right = c.in("Labels").shape;
  require(fits(found.numel(), right.numel()),
          "Predictions and Labels must be of one size, but are {} and {}", found, right);
  const int64_t classes = c.attr<int64_t>("num_classes");
  require(classes > 0, "num_classes must be positive, but is {}", classes);
  c.out("OutMeanIou") = VarMeta::tensor(f32, {1});
  c.out("OutWrong") = c.out("OutCorrect") = VarMeta::tensor(i32, {classes});
}

using Counts = std::vector<int32_t>;

// What earlier batches counted, one number for each class.
std::vector<In<int32_t>> earlier(PrepareContext& c, std::string_view slot, int64_t classes) {
  std::vector<In<int32_t>> all;
  for (size_t i = 0; i < c.count(slot); ++i) {
    require(c.shape(slot, i).numel() == classes, "{} must hold {} numbers, but has shape {}", slot,
            classes, c.shape(slot, i));
    all.push_back(c.in<int32_t>(slot, i));
  }
  return all;
}

Counts sum_of(const std::vector<In<int32_t>>& parts, int64_t classes) {
  Counts sum(static_cast<size_t>(classes), 0);
  for (const In<int32_t>& part : parts) {
    for (size_t i = 0; i < sum.size(); ++i) sum[i] += part.data()[i];
  }
  return sum;
}

float mean_share(const Counts& wrong, const Counts& correct) {
  float sum = 0;
  int64_t occurring = 0;
  for (size_t i = 0; i < wrong.size(); ++i) {
    const int32_t all = wrong[i] + correct[i];
    if (all == 0) continue;
    ++occurring;
    sum += static_cast<float>(correct[i]) / static_cast<float>(all);
  }
  return occurring == 0 ? 0.0f : sum / static_cast<float>(occurring);
}

Step prepare(PrepareContext& c) {
  const int64_t classes = c.attr<int64_t>("num_classes"), count = c.shape("Labels").numel();
  std::vector<In<float>> means;
  for (size_t i = 0; i < c.count("InMeanIou"); ++i) means.push_back(c.in<float>("InMeanIou", i));
  return [=, found = LabelsIn(c, "Predictions"), labels = LabelsIn(c, "Labels"),
          wrongs = earlier(c, "InWrongs", classes), corrects = earlier(c, "InCorrects", classes),
          mean = c.out<float>("OutMeanIou"), wrong_out = c.out<int32_t>("OutWrong"),
          correct_out = c.out<int32_t>("OutCorrect")] {
    // Apart from the results, which may be the variables of the earlier counts.
    Counts wrong = sum_of(wrongs, classes), correct = sum_of(corrects, classes);
    for (int64_t i = 0; i < count; ++i) {
      const auto label = static_cast<size_t>(labels.checked(i, classes, 0));
      const auto taken = static_cast<size_t>(found.checked(i, classes, 0));
      if (label == taken) {
        ++correct[label];
      } else {
        ++wrong[label];
        ++wrong[taken];
      }
    }
    float sum = mean_share(wrong, correct);
    for (const In<float>& one : means) sum += *one.data();
    *mean.data() = sum;
    std::copy(wrong.begin(), wrong.end(), wrong_out.data());
    std::copy(correct.begin(), correct.end(), correct_out.data());
  };
}

const OpDef& mean_iou = define_op({
    .type = "mean_iou",
    .doc = "The mean over classes of what was right of all that belonged to a class or was taken "
           "for it.",
    .inputs = {constant("Predictions", "classes that were found"),
               constant("Labels", "classes that are right"),
               several(optional_constant("InWrongs", "added to the counts")),
               several(optional_constant("InCorrects", "added to the counts")),
               several(single(optional_constant("InMeanIou", "added to the mean")))},
    .outputs = {{"OutMeanIou", "one f32"},
                {"OutWrong", "i32: for each class, pixels missed and wrongly taken for it"},
                {"OutCorrect", "i32: for each class, pixels that are right"}},
    .attrs = {{"num_classes", int32_t{0}, "the number of classes"}},
    .infer = infer,
    .kernels =
        kernels_for<int64_t, int32_t>([]<typename T>(PrepareContext& c) { return prepare(c); }),
});

}  // namespace
}  // namespace flotilla::ops

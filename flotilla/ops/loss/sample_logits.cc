// flotilla/ops/loss/sample_logits.cc
//
// sample_logits: for a softmax over some of the classes only (Jean et al., 2015). Each row of
// Logits gives those of its labels and of `num_samples` classes that all rows share, less the
// logarithm of how likely a class is drawn.
//
//   Samples = labels, then drawn classes; SampledLogits = Logits[Samples] - log(Probabilities)
//
// Low class numbers are likely: P(k) = log((k + 2) / (k + 1)) / log(classes + 1). Classes are drawn
// until `num_samples` different ones are found, in `tries` tries: Probabilities = 1 - (1 -
// P)^tries. A drawn class that is a label of the row is taken out by 1e20, with
// remove_accidental_hits.

#include <algorithm>
#include <cmath>
#include <vector>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/ops/common/labels.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

constexpr double kTakenOut = 1e20;

void infer(InferContext& c) {
  check_labels(c, "Labels");
  const Shape &logits = c.in("Logits").shape, &labels = c.in("Labels").shape;
  const int64_t drawn = c.attr<int64_t>("num_samples");
  require(logits.rank() == 2 && labels.rank() == 2,
          "Logits and Labels must be matrices, but are {} and {}", logits, labels);
  require(fits(labels[0], logits[0]),
          "Labels must have a row for each of Logits, but they are {} and {}", labels, logits);
  require(drawn > 0 && (logits[1] < 0 || drawn <= logits[1]),
          "num_samples must lie in [1, {}], the number of classes, but is {}", logits[1], drawn);
  const DType dtype = c.dtype("Logits");
  const Shape both = {logits[0], labels[1] < 0 ? -1 : labels[1] + drawn};
  if (c.attr<bool>("use_customized_samples")) {
    for (const char* slot : {"CustomizedSamples", "CustomizedProbabilities"}) {
      require(c.has_in(slot), "use_customized_samples needs {}", slot);
      require(fits(c.in(slot).shape, both), "{} must have shape {}, but has {}", slot, both,
              c.in(slot).shape);
    }
  }
  c.out("Samples") = VarMeta::tensor(i64, both);
  c.out("Probabilities") = VarMeta::tensor(dtype, both);
  c.out("LogitsDim") = VarMeta::tensor(dtype, logits);
  c.out("LabelsDim") = VarMeta::tensor(c.dtype("Labels"), labels);
  c.out("SampledLogits") = VarMeta::tensor(dtype, both);
  c.out("SampledLabels") = VarMeta::tensor(i64, labels);
}

double likely(int64_t label, int64_t classes) {
  const double k = static_cast<double>(label);
  return std::log((k + 2) / (k + 1)) / std::log(static_cast<double>(classes + 1));
}

// Different classes, and how many tries it took to find them.
struct Drawn {
  std::vector<int64_t> classes = {};
  int64_t tries = 0;

  double probability(int64_t label, int64_t all) const {
    const double p = likely(label, all);
    const double count = static_cast<double>(classes.size());
    if (tries == std::ssize(classes)) return p * count;
    return -std::expm1(static_cast<double>(tries) * std::log1p(-p));
  }
};

Drawn draw(const RandomStream& stream, int64_t count, int64_t classes) {
  Drawn found;
  std::vector<bool> seen(static_cast<size_t>(classes));
  const double range = std::log(static_cast<double>(classes + 1));
  while (std::ssize(found.classes) < count) {
    const uint32_t bits = stream.at(static_cast<uint64_t>(found.tries++))[0];
    const auto place = static_cast<int64_t>(std::exp(unit_number<double>(bits) * range)) - 1;
    const int64_t label = std::clamp<int64_t>(place, 0, classes - 1);
    if (seen[static_cast<size_t>(label)]) continue;
    seen[static_cast<size_t>(label)] = true;
    found.classes.push_back(label);
  }
  return found;
}

int64_t checked_sample(int64_t sample, int64_t row, int64_t classes) {
  require(0 <= sample && sample < classes, "a sample of row {} is {}, but there are {} classes",
          row, sample, classes);
  return sample;
}

struct Sizes {
  int64_t rows, classes, labels, drawn;
  bool removes;

  explicit Sizes(PrepareContext& c)
      : rows(c.shape("Logits")[0]),
        classes(c.shape("Logits")[1]),
        labels(c.shape("Labels")[1]),
        drawn(c.attr<int64_t>("num_samples")),
        removes(c.attr<bool>("remove_accidental_hits")) {}
  int64_t both() const { return labels + drawn; }

  // Row i of SampledLogits, once its samples and probabilities are there.
  template <typename T>
  void gather(int64_t i, const T* logits, const int64_t* samples, const T* likely, T* to) const {
    const int64_t* mine = samples + i * both();
    for (int64_t k = 0; k < both(); ++k) {
      T value = logits[i * classes + checked_sample(mine[k], i, classes)];
      const bool hit = k >= labels && std::find(mine, mine + labels, mine[k]) != mine + labels;
      if (removes && hit) value -= static_cast<T>(kTakenOut);
      to[i * both() + k] = value - std::log(likely[i * both() + k]);
    }
  }
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const bool custom = c.attr<bool>("use_customized_samples");
  const int64_t seed = c.attr<int64_t>("seed");
  return [s = Sizes(c), custom, labels = LabelsIn(c, "Labels"), random = c.random(seed),
          repeats = seed != 0, runs = uint64_t{0}, logits = c.in<T>("Logits"),
          given = custom ? LabelsIn(c, "CustomizedSamples") : LabelsIn(),
          given_likely = custom ? c.in<T>("CustomizedProbabilities") : In<T>(),
          samples = c.out<int64_t>("Samples"), likely = c.out<T>("Probabilities"),
          out = c.out<T>("SampledLogits"), places = c.out<int64_t>("SampledLabels")]() mutable {
    const Drawn drawn =
        custom ? Drawn() : draw(random.draw(repeats ? 0 : runs++), s.drawn, s.classes);
    parallel_for(s.rows, s.both() * 40, [&](int64_t i) {
      for (int64_t k = 0; k < s.both(); ++k) {
        const int64_t at = i * s.both() + k;
        samples.data()[at] = custom         ? given[at]
                             : k < s.labels ? labels.checked(i * s.labels + k, s.classes, 0)
                                            : drawn.classes[static_cast<size_t>(k - s.labels)];
        likely.data()[at] = custom
                                ? given_likely.data()[at]
                                : static_cast<T>(drawn.probability(samples.data()[at], s.classes));
      }
      for (int64_t k = 0; k < s.labels; ++k) places.data()[i * s.labels + k] = k;
      s.gather(i, logits.data(), samples.data(), likely.data(), out.data());
    });
  };
};

void infer_grad(InferContext& c) {
  const Shape &logits = c.in("LogitsDim").shape, &samples = c.in("Samples").shape;
  require(logits.rank() == 2 && samples.rank() == 2 && fits(logits[0], samples[0]),
          "Samples must have a row for each of Logits, but they are {} and {}", samples, logits);
  c.out("Logits@GRAD") = VarMeta::tensor(c.dtype("LogitsDim"), c.in("LogitsDim").shape);
}

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const int64_t rows = c.shape("Samples")[0], both = c.shape("Samples")[1];
  return [=, classes = c.shape("LogitsDim")[1], samples = c.in<int64_t>("Samples"),
          dout = c.in<T>("SampledLogits@GRAD"), dx = c.out<T>("Logits@GRAD")] {
    parallel_for(rows, both * 4 + classes, [&](int64_t i) {
      T* to = dx.data() + i * classes;
      std::fill_n(to, classes, T{0});
      for (int64_t at = i * both; at < (i + 1) * both; ++at) {
        to[checked_sample(samples.data()[at], i, classes)] += dout.data()[at];
      }
    });
  };
};

// Real Paddle wants chosen samples to be one variable with what comes out.
void join_chosen_samples(Block& block, size_t position) {
  const Op& op = block.op(position);
  for (const char* slot : {"Samples", "Probabilities"}) {
    const std::string chosen = std::string("Customized") + slot;
    if (!op.has_input(chosen) || !op.has_output(slot)) continue;
    const std::string from = op.output(slot), to = op.input(chosen);
    for (const auto& each : block.ops()) each->rename(from, to);
  }
}

const OpDef& sample_logits = define_op({
    .type = "sample_logits",
    .doc = "The logits of labels and of classes that are drawn.",
    .inputs = {{.name = "Logits", .doc = "[rows, classes]"},
               constant("Labels", "[rows, labels of each]"),
               optional_constant("CustomizedSamples", "labels and classes"),
               optional_constant("CustomizedProbabilities", "of each")},
    .outputs = {constant("Samples", "i64: labels, then drawn classes"),
                constant("Probabilities", "of each"),
                constant("LogitsDim", "carries the shape of Logits"),
                optional_constant("LabelsDim", "carries the shape of Labels"),
                {.name = "SampledLogits", .doc = "[rows, labels + num_samples]"},
                constant("SampledLabels", "i64: where labels stand there")},
    .attrs = {{"use_customized_samples", false, "whether samples are given"},
              {"uniq", true, "always: drawn classes are different"},
              {"remove_accidental_hits", true, "whether labels among drawn classes are taken out"},
              {"num_samples", 1, "classes to draw"},
              {"seed", 0, "not 0: the same classes are drawn in each run"}},
    .infer = infer,
    .grad = grad_op({shape_of("LogitsDim"), shape_of("LabelsDim"), "Samples"},
                    {.kernels = kernels_for<float, double>(backward),
                     .infer = infer_grad,
                     .inputs = {{.name = "SampledLogits@GRAD",
                                 .doc = "gradient of SampledLogits",
                                 .like = "Samples"}}}),
    .kernels = kernels_for<float, double>(forward),
    .to_paddle = join_chosen_samples,
});

}  // namespace
}  // namespace flotilla::ops

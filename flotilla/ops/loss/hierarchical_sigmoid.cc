// flotilla/ops/loss/hierarchical_sigmoid.cc
//
// hierarchical_sigmoid: classes are leaves of a binary tree, and a label costs one two-way decision
// at each inner node on its path (Morin and Bengio, 2005).
//
//   z = clip(X[i] . W[node j of the path] + Bias[node], -40, 40), 0 behind the path
//   PreOut[i, j] = log(1 + exp(z)), Out[i] = sum of PreOut[i] - sum of z where the path turns right
//
// PreOut has as many columns as the longest path: a shorter one adds log(2) for each that it lacks,
// which no gradient sees. Without a PathTable the tree is complete: the path of class c reads the
// bits of c + num_classes from the lowest on, and the node at a bit is the number above that bit,
// less one.

#include <bit>
#include <cmath>

#include "flotilla/op/export_to_paddle.h"
#include "flotilla/ops/common/labels.h"
#include "flotilla/ops/common/scalar.h"
#include "flotilla/ops/loss/chosen_rows.h"

namespace flotilla::ops {
namespace {

constexpr double kSteepest = 40;

const ScoreSlots kSlots = {"X", "W"};

int64_t longest_path(int64_t classes) { return std::bit_width(static_cast<uint64_t>(classes - 1)); }

void infer(InferContext& c) {
  const Shape &x = c.in("X").shape, &w = c.in("W").shape;
  const int64_t classes = c.attr<int64_t>("num_classes");
  require(x.rank() == 2 && w.rank() == 2 && fits(x[1], w[1]),
          "X and W must be matrices of one width, but are {} and {}", x, w);
  check_row_labels(c);
  require(classes >= 2, "num_classes must be at least 2, but is {}", classes);
  const bool custom = c.has_in("PathTable");
  require(custom == c.has_in("PathCode"),
          "PathTable and PathCode must both be there, or none of them");
  require(custom || w[0] >= classes - 1, "W must have {} rows, but has shape {}", classes - 1, w);
  check_count(c, "Bias", w[0]);
  int64_t length = longest_path(classes);
  if (custom) {
    const Shape& table = c.in("PathTable").shape;
    require(table.rank() == 2 && fits(table[0], x[0]),
            "PathTable must have a row for each of X, but they have the shapes {} and {}", table,
            x);
    check_same_shape(c, "PathCode", "PathTable");
    length = table[1];
  }
  c.out("Out") = VarMeta::tensor(c.dtype("X"), Shape{x[0], 1});
  c.out("PreOut") = VarMeta::tensor(c.dtype("X"), Shape{x[0], length});
  c.out("W_Out") = VarMeta::tensor(c.dtype("W"), w);
}

// The nodes on the paths of a batch, which are rows of W.
struct Paths {
  int64_t samples, most, classes, nodes;
  LabelsIn labels;
  In<int64_t> table, code;  // may be missing

  explicit Paths(PrepareContext& c)
      : samples(c.shape("PreOut")[0]),
        most(c.shape("PreOut")[1]),
        classes(c.attr<int64_t>("num_classes")),
        nodes(c.shape("W")[0]),
        labels(c, "Label"),
        table(given<int64_t>(c, "PathTable")),
        code(given<int64_t>(c, "PathCode")) {}

  int64_t count(int64_t i) const {
    if (!table) return std::bit_width(static_cast<uint64_t>(number(i))) - 1;
    const int64_t* path = table.data() + i * most;
    return std::find_if(path, path + most, [](int64_t node) { return node < 0; }) - path;
  }
  int64_t row(int64_t i, int64_t k) const {
    if (!table) return (number(i) >> (k + 1)) - 1;
    const int64_t node = table.data()[i * most + k];
    require(node < nodes, "the path of sample {} has node {}, but W has {} rows", i, node, nodes);
    return node;
  }
  bool turns_right(int64_t i, int64_t k) const {
    return table ? code.data()[i * most + k] != 0 : ((number(i) >> k) & 1) != 0;
  }
  int64_t number(int64_t i) const { return labels.checked(i, classes, 0) + classes; }
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  return [paths = Paths(c), scores = Scores<T>(c, kSlots), out = c.out<T>("Out"),
          pre = c.out<T>("PreOut")] {
    parallel_for(paths.samples, paths.most * (scores.width + 40), [&](int64_t i) {
      T* to = pre.data() + i * paths.most;
      std::fill_n(to, paths.most, std::log(T{2}));
      const int64_t length = paths.count(i);
      T total = static_cast<T>(paths.most - length) * std::log(T{2});
      for (int64_t k = 0; k < length; ++k) {
        const T z = std::clamp(scores(i, paths.row(i, k)), static_cast<T>(-kSteepest),
                               static_cast<T>(kSteepest));
        to[k] = exact::softplus(z);
        total += to[k] - (paths.turns_right(i, k) ? z : T{0});
      }
      out.data()[i] = total;
    });
  };
};

void infer_grad(InferContext& c) { infer_score_grads(c, kSlots, c.in("PreOut").shape.numel()); }

// The gradient of z: (sigmoid(z) - right) * dOut, where sigmoid(z) = 1 - exp(-PreOut)
constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const Paths paths(c);
  return score_grads<T>(
      c, kSlots, paths,
      [paths, pre = c.in<T>("PreOut"), dout = c.in<T>("Out@GRAD")](int64_t i, int64_t k) {
        const T turned = paths.turns_right(i, k) ? T{1} : T{0};
        const T sigmoid = -std::expm1(-pre.data()[i * paths.most + k]);
        return (sigmoid - turned) * dout.data()[i];
      });
};

// 1.8 refuses the op without it; its W is always a parameter.
void add_weight_of_tree(Block& block, size_t position) {
  Op& op = block.op(position);
  const Var* w = op.has_input("W") ? block.find_var_recursive(op.input("W")) : nullptr;
  if (w != nullptr && w->persistable && !op.has_output("W_Out")) op.set_output("W_Out", {w->name});
}

const OpDef& hierarchical_sigmoid = define_op({
    .type = "hierarchical_sigmoid",
    .doc = "The cost of the turns on the way to a class in a binary tree.",
    .inputs = {{.name = "X", .doc = "[samples, width]"},
               {.name = "W", .doc = "[inner nodes, width]"},
               constant("Label", "class of each sample"),
               optional_constant("PathTable", "nodes from the root, then -1"),
               optional_constant("PathCode", "1: to the right"),
               {.name = "Bias", .doc = "[inner nodes, 1]", .optional = true}},
    .outputs = {{.name = "Out", .doc = "[samples, 1]"},
                constant("PreOut", "the logarithms of each turn"),
                optional_constant("W_Out", "W itself; not written")},
    .attrs = with_score_attrs({{"num_classes", 2, "number of classes"}}),
    .infer = infer,
    .grad =
        grad_op({"X", "W", "Label", "PathTable", "PathCode", shape_of("Bias"), "PreOut"},
                {.kernels = kernels_for<float, double>(backward),
                 .infer = infer_grad,
                 .to_paddle = [](Block& b, size_t i) { ask_for_gradient(b, b.op(i), "W", "W"); }}),
    .kernels = kernels_for<float, double>(forward),
    .to_paddle = add_weight_of_tree,
});

}  // namespace
}  // namespace flotilla::ops

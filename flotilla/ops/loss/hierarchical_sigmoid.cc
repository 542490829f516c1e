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

#include <algorithm>
#include <bit>
#include <cmath>

#include "flotilla/device/cpu/parallel.h"
#include "flotilla/op/op_def.h"
#include "flotilla/op/spell_out.h"
#include "flotilla/ops/common/scalar.h"
#include "flotilla/ops/loss/labels.h"
#include "flotilla/ops/tensor/optional_slots.h"

namespace flotilla::ops {
namespace {

constexpr double kSteepest = 40;

int64_t longest_path(int64_t classes) { return std::bit_width(static_cast<uint64_t>(classes - 1)); }

void infer(InferContext& c) {
  check_labels(c, "Label");
  const Shape &x = c.in("X").shape, &w = c.in("W").shape;
  const int64_t classes = c.attr<int64_t>("num_classes");
  require(x.rank() == 2 && w.rank() == 2 && (x[1] < 0 || x[1] == w[1]),
          "X and W must be matrices of one width, but are {} and {}", x, w);
  require(classes >= 2, "num_classes must be at least 2, but is {}", classes);
  require(c.has_in("PathTable") == c.has_in("PathCode"),
          "PathTable and PathCode must both be there, or none of them");
  const bool custom = c.has_in("PathTable");
  require(custom || w[0] >= classes - 1, "W must have {} rows, but has shape {}", classes - 1, w);
  if (custom) {
    const Shape &table = c.in("PathTable").shape, &code = c.in("PathCode").shape;
    require(table.rank() == 2 && (table[0] == x[0] || table[0] < 0 || x[0] < 0),
            "PathTable must have a row for each of X, but they have the shapes {} and {}", table,
            x);
    require(code == table || !code.known() || !table.known(),
            "PathCode must have shape {}, as PathTable has, but has shape {}", table, code);
  }
  const int64_t labels = c.in("Label").shape.numel();
  require(labels < 0 || x[0] < 0 || labels == x[0],
          "Label must hold a class for each row of X, but they have the shapes {} and {}",
          c.in("Label").shape, x);
  const int64_t biases = c.has_in("Bias") ? c.in("Bias").shape.numel() : w[0];
  require(biases < 0 || w[0] < 0 || biases == w[0],
          "Bias must hold a number for each row of W, but they have the shapes {} and {}",
          c.has_in("Bias") ? c.in("Bias").shape : Shape(), w);
  const int64_t length = custom ? c.in("PathTable").shape[1] : longest_path(classes);
  c.out("Out") = VarMeta::tensor(c.dtype("X"), Shape{x[0], 1});
  c.out("PreOut") = VarMeta::tensor(c.dtype("X"), Shape{x[0], length});
  c.out("W_Out") = VarMeta::tensor(c.dtype("W"), w);
}

// The nodes on the paths of a batch.
class Paths {
 public:
  explicit Paths(PrepareContext& c)
      : classes_(c.attr<int64_t>("num_classes")), labels_(c, "Label"), nodes_(c.shape("W")[0]) {
    if (!c.has("PathTable")) return;
    longest_ = c.shape("PathTable")[1];
    table_ = c.in<int64_t>("PathTable");
    code_ = c.in<int64_t>("PathCode");
  }

  struct Turn {
    int64_t node = 0;
    bool right = false;
  };

  int64_t length(int64_t i) const {
    if (!table_) return std::bit_width(static_cast<uint64_t>(number(i))) - 1;
    const int64_t* path = table_.data() + i * longest_;
    return std::find_if(path, path + longest_, [](int64_t node) { return node < 0; }) - path;
  }
  Turn turn(int64_t i, int64_t j) const {
    if (!table_) return {(number(i) >> (j + 1)) - 1, ((number(i) >> j) & 1) != 0};
    const int64_t node = table_.data()[i * longest_ + j];
    require(node < nodes_, "the path of sample {} has node {}, but W has {} rows", i, node, nodes_);
    return {node, code_.data()[i * longest_ + j] != 0};
  }

 private:
  int64_t number(int64_t i) const { return labels_.checked(i, classes_, 0) + classes_; }

  int64_t classes_;
  LabelsIn labels_;
  int64_t nodes_;
  int64_t longest_ = 0;
  In<int64_t> table_;
  In<int64_t> code_;
};

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const int64_t rows = c.shape("X")[0], width = c.shape("X")[1], longest = c.shape("PreOut")[1];
  return [=, paths = Paths(c), x = c.in<T>("X"), w = c.in<T>("W"), b = given<T>(c, "Bias"),
          out = c.out<T>("Out"), pre = c.out<T>("PreOut")] {
    parallel_for(rows, longest * (width + 40), [&](int64_t i) {
      T* to = pre.data() + i * longest;
      std::fill_n(to, longest, std::log(T{2}));
      const int64_t length = paths.length(i);
      T total = static_cast<T>(longest - length) * std::log(T{2});
      for (int64_t j = 0; j < length; ++j) {
        const auto [node, right] = paths.turn(i, j);
        T z = b ? b.data()[node] : T{0};
        for (int64_t k = 0; k < width; ++k) {
          z += x.data()[i * width + k] * w.data()[node * width + k];
        }
        z = std::clamp(z, static_cast<T>(-kSteepest), static_cast<T>(kSteepest));
        to[j] = exact::softplus(z);
        total += to[j] - (right ? z : T{0});
      }
      out.data()[i] = total;
    });
  };
};

void infer_grad(InferContext& c) {
  c.out("X@GRAD") = VarMeta::tensor(c.dtype("X"), c.in("X").shape);
  for (const char* slot : {"W", "Bias"}) {
    if (!c.has_in(slot)) continue;
    VarMeta grad = VarMeta::tensor(c.dtype(slot), c.in(slot).shape);
    if (c.attr<bool>("is_sparse")) {
      grad.kind = VarKind::kSelectedRows;
      grad.rows = c.in("PreOut").shape.numel();
    }
    c.out(std::string(slot) + "@GRAD") = std::move(grad);
  }
}

// Rows of a gradient of W or Bias: dense, or one for each turn; those behind a path are zeros.
template <typename T>
Step spread(PrepareContext& c, const char* slot, const Paths& paths, Out<T> slope, In<T> x) {
  const std::string grad = std::string(slot) + "@GRAD";
  const int64_t rows = c.shape("X")[0], longest = c.shape("PreOut")[1];
  const int64_t width = x ? c.shape("X")[1] : 1, nodes = c.shape("W")[0];
  const bool sparse = c.is_sparse(grad);
  const SparseOut<T> listed = sparse ? c.sparse_out<T>(grad) : SparseOut<T>();
  return [=, dense = sparse ? Out<T>() : c.out<T>(grad)] {
    T* to = sparse ? listed.value.data() : dense.data();
    std::fill_n(to, (sparse ? rows * longest : nodes) * width, T{0});
    for (int64_t i = 0; i < rows; ++i) {
      const int64_t length = paths.length(i);
      if (sparse) {  // what lies behind the path stays with a node that is updated anyway
        const int64_t first = length > 0 ? paths.turn(i, 0).node : 0;
        std::fill_n(listed.rows.data() + i * longest, longest, first);
      }
      for (int64_t j = 0; j < length; ++j) {
        const int64_t at = i * longest + j, node = paths.turn(i, j).node;
        if (sparse) listed.rows.data()[at] = node;
        T* row = to + (sparse ? at : node) * width;
        for (int64_t k = 0; k < width; ++k) {
          row[k] += slope.data()[at] * (x ? x.data()[i * width + k] : T{1});
        }
      }
    }
  };
}

// The gradient of z: (sigmoid(z) - right) * dOut, where sigmoid(z) = 1 - exp(-PreOut)
constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const int64_t rows = c.shape("X")[0], width = c.shape("X")[1], longest = c.shape("PreOut")[1];
  const Paths paths(c);
  const Out<T> slope = c.workspace<T>(std::max<int64_t>(rows * longest, 1));
  std::vector<Step> steps = {[=, pre = c.in<T>("PreOut"), dout = c.in<T>("Out@GRAD")] {
    for (int64_t i = 0; i < rows; ++i) {
      for (int64_t j = 0; j < paths.length(i); ++j) {
        const T turned = paths.turn(i, j).right ? T{1} : T{0};
        const int64_t at = i * longest + j;
        slope.data()[at] = (-std::expm1(-pre.data()[at]) - turned) * dout.data()[i];
      }
    }
  }};
  if (c.has("X@GRAD")) {
    steps.push_back([=, w = c.in<T>("W"), dx = c.out<T>("X@GRAD")] {
      parallel_for(rows, longest * width, [&](int64_t i) {
        T* to = dx.data() + i * width;
        std::fill_n(to, width, T{0});
        for (int64_t j = 0; j < paths.length(i); ++j) {
          const T* row = w.data() + paths.turn(i, j).node * width;
          for (int64_t k = 0; k < width; ++k) to[k] += slope.data()[i * longest + j] * row[k];
        }
      });
    });
  }
  if (c.has("W@GRAD")) steps.push_back(spread(c, "W", paths, slope, c.in<T>("X")));
  if (c.has("Bias@GRAD")) steps.push_back(spread(c, "Bias", paths, slope, In<T>()));
  return [steps] {
    for (const Step& step : steps) step();
  };
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
               {.name = "Label", .doc = "class of each sample", .no_grad = true},
               {.name = "PathTable",
                .doc = "nodes from the root, then -1",
                .optional = true,
                .no_grad = true},
               {.name = "PathCode", .doc = "1: to the right", .optional = true, .no_grad = true},
               {.name = "Bias", .doc = "[inner nodes, 1]", .optional = true}},
    .outputs =
        {{.name = "Out", .doc = "[samples, 1]"},
         {.name = "PreOut", .doc = "the logarithms of each turn", .no_grad = true},
         {.name = "W_Out", .doc = "W itself; not written", .optional = true, .no_grad = true}},
    .attrs = {{"num_classes", 2, "number of classes"},
              {"is_sparse", false, "whether gradients of W and Bias hold only rows that were used"},
              {"remote_prefetch", false, "of no effect"},
              {"trainer_id", 0, "of no effect"},
              {"height_sections", std::vector<int64_t>{}, "of no effect"},
              {"epmap", std::vector<std::string>{}, "of no effect"},
              {"table_names", std::vector<std::string>{}, "of no effect"}},
    .infer = infer,
    .grad =
        grad_op({"X", "W", "Label", "PathTable", "PathCode", shape_of("Bias"), "PreOut"},
                {.kernels = kernels_for<float, double>(backward),
                 .infer = infer_grad,
                 .spell_out = [](Block& b, size_t i) { ask_for_gradient(b, b.op(i), "W", "W"); }}),
    .kernels = kernels_for<float, double>(forward),
    .spell_out = add_weight_of_tree,
});

}  // namespace
}  // namespace flotilla::ops

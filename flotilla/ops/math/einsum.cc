// flotilla/ops/math/einsum.cc
//
// einsum: sums of products of one or two tensors whose axes have labels.
//
//   equation := labels ["," labels] "->" labels
//   labels   := a letter for each axis; "..." stands for the axes in its place, aligned at the last
//
// Labels that Out lacks are summed; one that repeats is a diagonal. InnerCache keeps the operands
// for the gradient, which is an einsum of Out@GRAD and the other operand.
//
//   A[batch, m, k, own], B[batch, k, n, own]: sums over `own`, a matrix product, then Out's order

#include <algorithm>
#include <cctype>
#include <map>
#include <optional>

#include "flotilla/kernel/in_order.h"
#include "flotilla/ops/common/known_value.h"
#include "flotilla/ops/common/product.h"
#include "flotilla/ops/common/slots.h"

namespace flotilla::ops {
namespace {

// A letter, or for an axis behind "..." -1, -2, ... from the last.
using Labels = Ints;
using Extents = std::map<int64_t, int64_t>;

bool has(const Labels& labels, int64_t label) {
  return std::find(labels.begin(), labels.end(), label) != labels.end();
}

// The labels of a term whose "..." stands for `rest` axes.
Labels labels_of(std::string_view term, int64_t rest, std::string_view equation) {
  Labels labels;
  for (size_t i = 0; i < term.size(); ++i) {
    const unsigned char letter = static_cast<unsigned char>(term[i]);
    if (term.substr(i, 3) == "...") {
      for (int64_t axis = rest; axis > 0; --axis) labels.push_back(-axis);
      i += 2;
    } else {
      require(std::isalpha(letter) != 0, "equation \"{}\" holds '{}', which is no label", equation,
              term[i]);
      labels.push_back(letter);
    }
  }
  return labels;
}

struct Equation {
  std::vector<Labels> operands = {};
  Labels out = {};
  Extents extents = {};  // -1: not known
};

// Adds the axes of an operand; an extent of 1 is repeated.
void add_extents(Equation& e, const Labels& labels, const Shape& shape, std::string_view text) {
  for (size_t a = 0; a < labels.size(); ++a) {
    const int64_t extent = shape[static_cast<int64_t>(a)];
    const auto [found, is_new] = e.extents.emplace(labels[a], extent);
    int64_t& known = found->second;
    if (is_new || extent == 1 || extent == known) continue;
    require(known <= 1 || extent < 0, "a label of \"{}\" has the extents {} and {}", text, known,
            extent);
    if (known == 1 || known < 0) known = extent;
  }
}

Equation parse(std::string text, const std::vector<Shape>& shapes) {
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  require(arrow != std::string::npos, "equation \"{}\" has no \"->\"", text);
  std::vector<std::string> terms = {""};
  for (const char letter : text.substr(0, arrow)) {
    if (letter == ',') {
      terms.emplace_back();
    } else {
      terms.back().push_back(letter);
    }
  }
  require(terms.size() == shapes.size(), "equation \"{}\" is for {} operands, but there are {}",
          text, terms.size(), shapes.size());
  require(terms.size() <= 2, "einsum takes one or two operands, but there are {}", terms.size());
  Equation e;
  int64_t most = 0;
  for (size_t i = 0; i < terms.size(); ++i) {
    const bool open = terms[i].find("...") != std::string::npos;
    const int64_t named = static_cast<int64_t>(terms[i].size()) - (open ? 3 : 0);
    const int64_t rest = shapes[i].rank() - named;
    require(rest == 0 || (rest > 0 && open), "\"{}\" of \"{}\" does not fit an operand of shape {}",
            terms[i], text, shapes[i]);
    most = std::max(most, rest);
    e.operands.push_back(labels_of(terms[i], rest, text));
    add_extents(e, e.operands.back(), shapes[i], text);
  }
  e.out = labels_of(std::string_view(text).substr(arrow + 2), most, text);
  for (const int64_t label : e.out) {
    require(e.extents.contains(label), "equation \"{}\" has a label in Out that no operand has",
            text);
  }
  return e;
}

void infer(InferContext& c) {
  const size_t count = c.in_count("Operands");
  std::vector<Shape> shapes;
  for (size_t i = 0; i < count; ++i) shapes.push_back(c.in("Operands", i).shape);
  const Equation e = parse(c.attr<std::string>("equation"), shapes);
  Ints dims;
  for (const int64_t label : e.out) dims.push_back(e.extents.at(label));
  if (dims.empty()) dims.push_back(1);
  c.out("Out") = VarMeta::tensor(c.dtype("Operands"), Shape(std::move(dims)));
  for (size_t i = 0; i < count; ++i) {
    const VarMeta& x = c.in("Operands", i);
    require(x.dtype == c.dtype("Operands"), "operands must have one dtype, but hold {} and {}",
            c.dtype("Operands"), x.dtype);
    if (i < c.out_count("InnerCache")) c.out("InnerCache", i) = like(x);
    Ints extents = x.shape.dims();
    extents.insert(extents.begin(), 0);
    if (i < c.out_count("XShape")) {
      c.out("XShape", i) = VarMeta::tensor(x.dtype, Shape(std::move(extents)));
    }
  }
}

// ---- One contraction ----------------------------------------------------------------------------

// A tensor whose axes have labels. An axis of extent 1 that others repeat has none.
struct Labelled {
  Labels labels = {};  // each once
  Ints strides = {};   // those of a diagonal added up
  bool diagonal = false;

  Labelled(const Labels& axes, const Shape& shape, const Extents& extents) {
    const Ints dense = dense_strides(shape);
    for (size_t a = 0; a < axes.size(); ++a) {
      if (shape[static_cast<int64_t>(a)] != extents.at(axes[a])) continue;
      const auto at = std::find(labels.begin(), labels.end(), axes[a]);
      if (at == labels.end()) {
        labels.push_back(axes[a]);
        strides.push_back(dense[a]);
      } else {
        strides[static_cast<size_t>(at - labels.begin())] += dense[a];
        diagonal = true;
      }
    }
  }
  // 0: repeated along the label.
  int64_t stride(int64_t label) const {
    const auto at = std::find(labels.begin(), labels.end(), label);
    return at == labels.end() ? 0 : strides[static_cast<size_t>(at - labels.begin())];
  }
};

Shape shape_of(const Labels& labels, const Extents& extents) {
  Shape made;
  for (const int64_t label : labels) made.push_back(extents.at(label));
  return made;
}

int64_t count_of(const Labels& labels, const Extents& extents) {
  return shape_of(labels, extents).numel();
}

// Moves a tensor to another one that may lack some of its labels, or have others.
BoxCopy moved(const Labels& labels, const Ints& to, const Labelled& from, const Extents& extents,
              int64_t size) {
  Ints strides;
  for (const int64_t label : labels) strides.push_back(from.stride(label));
  return BoxCopy(shape_of(labels, extents).dims(), to, strides, size);
}

// An operand as a dense tensor [kept], its own labels summed.
template <typename T>
class Gathered {
 public:
  Gathered(PrepareContext& c, const Labelled& x, const Labels& kept, const Labels& own,
           const Extents& extents)
      : rows_(count_of(kept, extents)),
        width_(count_of(own, extents)),
        copy_(moved(joined(kept, own), dense_strides(shape_of(joined(kept, own), extents)), x,
                    extents, sizeof(T))),
        all_(c.workspace<T>(rows_ * std::max<int64_t>(width_, 1))) {}

  // Valid until it runs again.
  const T* run(const T* x) const {
    T* all = all_.data();
    if (rows_ * width_ > 0) {
      copy_.run(reinterpret_cast<char*>(all), reinterpret_cast<const char*>(x));
    }
    if (width_ == 1) return all;
    for (int64_t row = 0; row < rows_; ++row) {
      T sum = 0;
      for (int64_t i = 0; i < width_; ++i) sum += all[row * width_ + i];
      all[row] = sum;
    }
    return all;
  }

 private:
  int64_t rows_ = 0, width_ = 0;
  BoxCopy copy_;
  Out<T> all_;
};

// Which labels of two operands and of the result go together.
struct Groups {
  Labels batch = {}, m = {}, n = {}, k = {}, own_a = {}, own_b = {};

  Groups(const Labels& a, const Labels& b, const Labels& out) {
    for (const int64_t label : a) {
      const bool in_b = has(b, label), in_out = has(out, label);
      (in_b ? (in_out ? batch : k) : (in_out ? m : own_a)).push_back(label);
    }
    for (const int64_t label : b) {
      if (!has(a, label)) (has(out, label) ? n : own_b).push_back(label);
    }
  }
  Labels made() const { return joined(joined(batch, m), n); }
};

template <typename T>
class Contraction {
 public:
  // `b` may have no labels: a number.
  Contraction(PrepareContext& c, const Labelled& a, const Labelled& b, const Labelled& out,
              int64_t out_numel, const Extents& extents)
      : groups_(a.labels, b.labels, out.labels),
        a_(c, a, joined(groups_.batch, joined(groups_.m, groups_.k)), groups_.own_a, extents),
        b_(c, b, joined(groups_.batch, joined(groups_.k, groups_.n)), groups_.own_b, extents),
        product_(c, {.m = count_of(groups_.m, extents),
                     .n = count_of(groups_.n, extents),
                     .k = count_of(groups_.k, extents),
                     .batch = {count_of(groups_.batch, extents)}}),
        result_(c.workspace<T>(count_of(groups_.made(), extents))),
        // Labels that no operand has repeat the result.
        spread_(moved(out.labels, out.strides,
                      Labelled(groups_.made(), shape_of(groups_.made(), extents), extents), extents,
                      sizeof(T))),
        clear_(out.diagonal ? out_numel : 0) {}

  void run(const T* a, const T* b, T* out) const {
    product_.run(a_.run(a), b_.run(b), result_.data());
    zero_bytes(out, clear_ * static_cast<int64_t>(sizeof(T)));
    spread_.run(reinterpret_cast<char*>(out), reinterpret_cast<const char*>(result_.data()));
  }

 private:
  Groups groups_;
  Gathered<T> a_, b_;
  Product<T> product_;
  Out<T> result_;
  BoxCopy spread_;
  int64_t clear_ = 0;  // elements outside a diagonal are zero
};

// ---- Forward and backward -----------------------------------------------------------------------

// A variable of the op, and the labels of its axes.
struct Part {
  std::string_view slot;
  size_t i;
  const Labels& labels;
};

// Stands for a second operand where there is none.
template <typename T>
constexpr T kOne = 1;

template <typename T>
Step contract(PrepareContext& c, const Extents& extents, const Part& a,
              const std::optional<Part>& b, const Part& out) {
  const auto labelled = [&](const Part& part) {
    return Labelled(part.labels, c.shape(part.slot, part.i), extents);
  };
  return [contraction = Contraction<T>(c, labelled(a), b ? labelled(*b) : Labelled({}, {}, extents),
                                       labelled(out), c.shape(out.slot, out.i).numel(), extents),
          x = c.in<T>(a.slot, a.i), y = b ? c.in<T>(b->slot, b->i) : In<T>(),
          to = c.out<T>(out.slot, out.i)] {
    contraction.run(x.data(), y ? y.data() : &kOne<T>, to.data());
  };
}

// The equation of the op, whose operands are in `slot`.
Equation equation_of(const PrepareContext& c, std::string_view slot) {
  std::vector<Shape> shapes;
  for (size_t i = 0; i < c.count(slot); ++i) shapes.push_back(c.shape(slot, i));
  return parse(c.attr<std::string>("equation"), shapes);
}

constexpr auto forward = []<typename T>(PrepareContext& c) -> Step {
  const Equation e = equation_of(c, "Operands");
  std::optional<Part> second;
  if (e.operands.size() == 2) second.emplace(Part{"Operands", 1, e.operands[1]});
  std::vector<Step> steps = {
      contract<T>(c, e.extents, {"Operands", 0, e.operands[0]}, second, {"Out", 0, e.out})};
  for (size_t i = 0; i < c.count("InnerCache"); ++i) {
    if (c.has("InnerCache", i)) steps.push_back(pass_through(c, "Operands", "InnerCache", {}, i));
  }
  return in_order(std::move(steps));
};

constexpr auto backward = []<typename T>(PrepareContext& c) -> Step {
  const Equation e = equation_of(c, "InnerCache");
  std::vector<Step> steps;
  for (size_t i = 0; i < c.count("Operands@GRAD"); ++i) {
    if (!c.has("Operands@GRAD", i)) continue;
    std::optional<Part> other;
    if (e.operands.size() == 2) other.emplace(Part{"InnerCache", 1 - i, e.operands[1 - i]});
    steps.push_back(contract<T>(c, e.extents, {"Out@GRAD", 0, e.out}, other,
                                {"Operands@GRAD", i, e.operands[i]}));
  }
  return in_order(std::move(steps));
};

// Real Paddle wants the shapes, by another name than that of the output.
void give_shapes(Block& block, size_t position) {
  Op& op = block.op(position);
  for (size_t i = 0; i < position; ++i) {
    const Op& forward = block.op(i);
    if (forward.type() != "einsum" || !forward.has_output("InnerCache")) continue;
    if (forward.output_list("InnerCache").front() != op.input_list("InnerCache").front()) continue;
    const auto shapes = forward.output_list("XShape");
    op.set_input("x_shape", {shapes.begin(), shapes.end()});
  }
}

const OpDef& einsum = define_op({
    .type = "einsum",
    .doc = "Sums of products of tensors whose axes have labels.",
    .inputs = {{.name = "Operands", .doc = "one or two", .list = true}},
    .outputs = {{.name = "Out", .doc = "the labels after the arrow"},
                {.name = "InnerCache",
                 .doc = "the operands, for the gradient",
                 .optional = true,
                 .list = true,
                 .no_grad = true,
                 .like = "Operands"},
                several(optional_constant("XShape", "empty, [0, extents of the operand...]"))},
    .attrs = {{"equation", std::string(), "labels of the axes: ij,jk->ik"}},
    .infer = infer,
    .grad = grad_op({"InnerCache"}, {.kernels = kernels_for<float, double>(backward),
                                     .inputs = {several(unread("x_shape"))},
                                     .to_paddle = give_shapes}),
    .kernels = kernels_for<float, double>(forward),
});

}  // namespace
}  // namespace flotilla::ops

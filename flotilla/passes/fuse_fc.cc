// flotilla/passes/fuse_fc.cc
//
// A product with a weight, a bias and an activation become one op.
//
//     mul(X=x, Y=w) -> m
//     elementwise_add(X=m, Y=b) -> a      ==>   fc(Input=x, W=w, Bias=b) -> Out=y, MulOut=m
//     relu(X=a) -> y                                {activation_type="relu"}
//
// The product's kernel adds the bias and applies the activation while the result is in the cache.
// m and a may have other readers only where those ask for the shape: elementwise_add_grad asks for
// the shape of m. Such a variable stays as an output that is never filled.

#include "flotilla/passes/fuse_fc.h"

#include <optional>

#include "flotilla/passes/fully_connected.h"
#include "flotilla/passes/uses.h"

namespace flotilla::passes {
namespace {

struct Match {
  size_t product = 0;
  size_t sum = 0;
  std::optional<size_t> activation = {};

  std::vector<size_t> positions() const {
    std::vector<size_t> all = {product, sum};
    if (activation.has_value()) all.push_back(*activation);
    return all;
  }
};

// The position of the only op that reads the result of the op at `position` in slot X.
std::optional<size_t> next_op(const Uses& uses, size_t position) {
  const Op& op = uses.block().op(position);
  const std::string& out = op.output("Out");
  if (!uses.is_temporary(out)) return std::nullopt;
  const std::optional<size_t> reader = uses.only_reader(out);
  if (!reader.has_value() || *reader < position) return std::nullopt;
  const Op& next = uses.block().op(*reader);
  const auto x = next.input_list("X");
  if (x.size() != 1 || x.front() != out || next.role() != op.role()) return std::nullopt;
  return reader;
}

// Decides only; leaves the block as it is.
std::optional<Match> match(const Uses& uses, size_t position) {
  const Block& block = uses.block();
  const Op& product = block.op(position);
  if (!multiplies_by_weight(block, product) || product.type().ends_with("_grad")) {
    return std::nullopt;
  }
  const Var& weight = block.var(product.input("Y"));
  const std::optional<size_t> sum = next_op(uses, position);
  if (!sum.has_value() || !has_kernel_for("fc", weight)) return std::nullopt;
  const int64_t rank = block.var(product.output("Out")).shape.rank();
  if (!adds_bias(block, block.op(*sum), weight, rank)) return std::nullopt;
  Match found{position, *sum};
  if (!uses.may_sink(found.positions())) return std::nullopt;
  const std::optional<size_t> activation = next_op(uses, *sum);
  if (activation.has_value() && is_fusable_activation(block.op(*activation).type())) {
    const Match longer{position, *sum, activation};
    if (uses.may_sink(longer.positions())) return longer;
  }
  return found;
}

Fusion fuse(const Uses& uses, const Match& match) {
  const Block& block = uses.block();
  const Op& product = block.op(match.product);
  const Op& sum = block.op(match.sum);
  const std::string& product_out = product.output("Out");
  const std::vector<size_t> positions = match.positions();
  Slots outputs = {{"Out", {block.op(positions.back()).output("Out")}}};
  if (uses.is_measured(product_out, positions)) outputs["MulOut"] = {product_out};
  Attrs attrs = marks_of(product);
  attrs["in_num_col_dims"] = row_axes(product, block.var(product_out).shape.rank());
  if (match.activation.has_value()) {
    attrs["activation_type"] = block.op(*match.activation).type();
    const std::string& sum_out = sum.output("Out");
    if (uses.is_measured(sum_out, positions)) outputs["AddOut"] = {sum_out};
  }
  Slots inputs = {
      {"Input", {product.input("X")}}, {"W", {product.input("Y")}}, {"Bias", {sum.input("Y")}}};
  return {positions, Op("fc", std::move(inputs), std::move(outputs), std::move(attrs))};
}

}  // namespace

void fuse_fc(PassContext& context) {
  Block& block = context.main.global_block();
  const Uses uses(block, context);
  std::vector<Fusion> fusions;
  for (size_t i = 0; i < block.size(); ++i) {
    if (const std::optional<Match> found = match(uses, i)) fusions.push_back(fuse(uses, *found));
  }
  apply(block, std::move(fusions));
}

}  // namespace flotilla::passes

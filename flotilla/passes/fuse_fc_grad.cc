// flotilla/passes/fuse_fc_grad.cc
//
// The gradients of an activation, a bias and a product with a weight become one op.
//
//     relu_grad(Out=y, Out@GRAD=dy) -> X@GRAD=da
//     elementwise_add_grad(X=m, Y=b, Out@GRAD=da) -> X@GRAD=dm, Y@GRAD=db
//     mul_grad(X=x, Y=w, Out@GRAD=dm) -> X@GRAD=dx, Y@GRAD=dw
//   ==>
//     fused_fc_grad(Input=x, W=w, Bias=b, Out=y, Out@GRAD=dy)
//         -> Input@GRAD=dx, W@GRAD=dw, Bias@GRAD=db {activation_type="relu"}
//
// da is read twice and dm is da: in one op neither has to be stored, and the sums for db run while
// da is in the cache. Without an activation the first line is missing.

#include "flotilla/passes/fuse_fc_grad.h"

#include <optional>

#include "flotilla/passes/fully_connected.h"
#include "flotilla/passes/uses.h"

namespace flotilla::passes {
namespace {

constexpr std::string_view kGrad = "_grad";

struct Match {
  std::optional<size_t> activation = {};
  size_t sum = 0;
  size_t product = 0;

  std::vector<size_t> positions() const {
    std::vector<size_t> all = {sum, product};
    if (activation.has_value()) all.insert(all.begin(), *activation);
    return all;
  }
};

// Whether `gradient` passes from one op to the one at `reader`, and nobody else sees it.
bool is_private(const Uses& uses, const std::string& gradient, size_t reader) {
  return uses.is_temporary(gradient) && uses.only_reader(gradient) == reader &&
         uses.readers(gradient).size() == 1;
}

bool holds_only(std::span<const std::string> slot, const std::string& name) {
  return slot.size() == 1 && slot.front() == name;
}

// The op that makes the gradient which the sum at `position` takes, if it is an activation's.
std::optional<size_t> activation_before(const Uses& uses, size_t position) {
  const Block& block = uses.block();
  const std::string& gradient = block.op(position).input("Out@GRAD");
  if (!is_private(uses, gradient, position)) return std::nullopt;
  const size_t writer = uses.writers(gradient).front();
  const Op& op = block.op(writer);
  if (writer > position || !op.type().ends_with(kGrad)) return std::nullopt;
  const std::string forward = op.type().substr(0, op.type().size() - kGrad.size());
  const bool fits = is_fusable_activation(forward) && op.has_input("Out") &&
                    holds_only(op.output_list("X@GRAD"), gradient) &&
                    op.role() == block.op(position).role();
  return fits ? std::optional(writer) : std::nullopt;
}

// Decides only; leaves the block as it is.
std::optional<Match> match(const Uses& uses, size_t position) {
  const Block& block = uses.block();
  const Op& sum = block.op(position);
  if (sum.type() != "elementwise_add_grad" || sum.output_list("X@GRAD").size() != 1 ||
      sum.output_list("Y@GRAD").size() != 1) {
    return std::nullopt;
  }
  const std::string& gradient = sum.output("X@GRAD");
  const std::optional<size_t> next = uses.only_reader(gradient);
  if (!next.has_value() || *next < position || !is_private(uses, gradient, *next)) {
    return std::nullopt;
  }
  const Op& product = block.op(*next);
  if (!multiplies_by_weight(block, product) || !product.type().ends_with(kGrad) ||
      !holds_only(product.input_list("Out@GRAD"), gradient) || product.role() != sum.role()) {
    return std::nullopt;
  }
  const Var& weight = block.var(product.input("Y"));
  const int64_t rank = block.var(gradient).shape.rank();
  if (!adds_bias(block, sum, weight, rank) || !has_kernel_for("fused_fc_grad", weight)) {
    return std::nullopt;
  }
  const Match shorter{.sum = position, .product = *next};
  const Match longer{activation_before(uses, position), position, *next};
  if (longer.activation.has_value() && uses.may_sink(longer.positions())) return longer;
  return uses.may_sink(shorter.positions()) ? std::optional(shorter) : std::nullopt;
}

void copy_slot(std::span<const std::string> vars, const char* slot, Slots& to) {
  if (!vars.empty()) to[slot] = {vars.begin(), vars.end()};
}

Fusion fuse(const Block& block, const Match& match) {
  const Op& product = block.op(match.product);
  const Op& sum = block.op(match.sum);
  const std::vector<size_t> positions = match.positions();
  const Op& first = block.op(positions.front());
  Attrs attrs = marks_of(first);
  attrs["in_num_col_dims"] = row_axes(product, block.var(sum.output("X@GRAD")).shape.rank());
  Slots inputs = {{"Input", {product.input("X")}},
                  {"W", {product.input("Y")}},
                  {"Bias", {sum.input("Y")}},
                  {"Out@GRAD", {first.input("Out@GRAD")}}};
  if (match.activation.has_value()) {
    attrs["activation_type"] = first.type().substr(0, first.type().size() - kGrad.size());
    inputs["Out"] = {first.input("Out")};
  }
  Slots outputs;
  copy_slot(product.output_list("X@GRAD"), "Input@GRAD", outputs);
  copy_slot(product.output_list("Y@GRAD"), "W@GRAD", outputs);
  copy_slot(sum.output_list("Y@GRAD"), "Bias@GRAD", outputs);
  return {positions, Op("fused_fc_grad", std::move(inputs), std::move(outputs), std::move(attrs))};
}

}  // namespace

void fuse_fc_grad(PassContext& context) {
  Block& block = context.main.global_block();
  const Uses uses(block, context);
  std::vector<Fusion> fusions;
  for (size_t i = 0; i < block.size(); ++i) {
    if (const std::optional<Match> found = match(uses, i)) fusions.push_back(fuse(block, *found));
  }
  apply(block, std::move(fusions));
}

}  // namespace flotilla::passes

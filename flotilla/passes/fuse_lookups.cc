// flotilla/passes/fuse_lookups.cc
//
// Lookups, the reshapes behind them and the concat that joins the rows become one op, and so do
// their gradients: a model with 26 slots has 26 of each, and each is too small to be worth a step.
//
//     lookup_table_v2(Ids=a, W=w) -> p
//     reshape2(X=p) -> q
//     lookup_table_v2(Ids=b, W=w) -> r    ==>   lookup_concat(Ids=[a, b], W=w, X=dense) -> out
//     reshape2(X=r) -> s
//     concat(X=[q, s, dense]) -> out
//
//     concat_grad(Out@GRAD=dout) -> X@GRAD=[dq, ds, @EMPTY@]
//     reshape2_grad(Out@GRAD=ds) -> dr
//     lookup_table_v2_grad(Ids=b, W=w, Out@GRAD=dr) -> dw1
//     reshape2_grad(Out@GRAD=dq) -> dp
//     lookup_table_v2_grad(Ids=a, W=w, Out@GRAD=dp) -> dw2
//     sum(X=[dw1, dw2]) -> dw
//   ==>
//     lookup_concat_grad(Ids=[b, a], W=w, X=dense, Out@GRAD=dout) -> W@GRAD=dw
//
// Both sides change or none. Other inputs of the concat, and lookups whose results somebody else
// sees, stay as they are and become X. A sum that also adds up other gradients keeps those.

#include "flotilla/passes/fuse_lookups.h"

#include <algorithm>
#include <map>
#include <optional>

#include "flotilla/passes/fully_connected.h"
#include "flotilla/passes/uses.h"

namespace flotilla::passes {
namespace {

using Ints = std::vector<int64_t>;

// Positions of the ops that make one input of a concat from rows of a table.
struct Piece {
  size_t input = 0;  // which input of the concat
  size_t lookup = 0;
  std::optional<size_t> reshape = {};
  std::optional<size_t> reshape_grad = {};
  std::optional<size_t> lookup_grad = {};
  std::string table = {};
  int64_t columns = 0;
  int64_t padding = -1;
  bool is_sparse = false;
  size_t place = 0;  // of its gradient among those of the table
};

// Gradients of a table in a sum, one behind the other.
struct Summed {
  size_t sum = 0;
  size_t begin = 0, end = 0;
  bool whole = false;  // the sum has no others
};

struct Join {
  size_t concat = 0;
  std::optional<size_t> concat_grad = {};
  std::vector<Piece> pieces = {};           // in the order of the concat's inputs
  std::map<std::string, Summed> sums = {};  // by table; those of several pieces

  std::vector<size_t> forward() const {
    std::vector<size_t> all = {concat};
    for (const Piece& piece : pieces) {
      all.push_back(piece.lookup);
      if (piece.reshape) all.push_back(*piece.reshape);
    }
    std::sort(all.begin(), all.end());
    return all;
  }
  std::vector<size_t> backward() const {
    std::vector<size_t> all = {*concat_grad};
    for (const Piece& piece : pieces) {
      all.push_back(*piece.lookup_grad);
      if (piece.reshape_grad) all.push_back(*piece.reshape_grad);
    }
    for (const auto& [table, summed] : sums) {
      if (summed.whole) all.push_back(summed.sum);
    }
    std::sort(all.begin(), all.end());
    return all;
  }
};

// ---- Matching -----------------------------------------------------------------------------------

bool is_lookup(const Op& op) {
  return op.type() == "lookup_table" || op.type() == "lookup_table_v2";
}

// Ops that change the extents alone; none with an extent from a tensor.
bool is_reshape(const Op& op) {
  static const Names types = {"reshape",
                              "reshape2",
                              "squeeze",
                              "squeeze2",
                              "flatten",
                              "flatten2",
                              "flatten_contiguous_range"};
  return types.contains(op.type()) && op.input_list("X").size() == 1 &&
         op.input_list("Shape").empty() && op.input_list("ShapeTensor").empty();
}

// A table that lies here and whose kernel is there.
bool is_local_table(const Block& block, const Op& lookup) {
  const Var* table = block.find_var(lookup.input("W"));
  return table != nullptr && table->shape.rank() == 2 && table->shape[0] > 0 &&
         table->shape[1] > 0 && !lookup.attr_or("is_distributed", false) &&
         !lookup.attr_or("remote_prefetch", false) && has_kernel_for("lookup_concat", *table);
}

// The op that writes a temporary.
std::optional<size_t> writer_of(const Uses& uses, std::string_view var) {
  return uses.is_temporary(var) ? std::optional(uses.writers(var).front()) : std::nullopt;
}

// The only op that reads a temporary, if it is of this type and reads it as Out@GRAD.
std::optional<size_t> gradient_behind(const Uses& uses, const std::string& var,
                                      std::string_view type) {
  if (var == kEmptyVar || !uses.is_temporary(var)) return std::nullopt;
  const std::vector<size_t>& readers = uses.readers(var);
  if (readers.size() != 1) return std::nullopt;
  const Op& op = uses.block().op(readers.front());
  const auto given = op.input_list("Out@GRAD");
  const bool fits = op.type() == type && given.size() == 1 && given.front() == var;
  return fits ? std::optional(readers.front()) : std::nullopt;
}

// The gradient half of a piece, from its entry in concat_grad on.
bool match_backward(const Uses& uses, const Op& concat_grad, Piece& piece) {
  const Block& block = uses.block();
  const auto grads = concat_grad.output_list("X@GRAD");
  if (grads.size() != concat_grad.input_list("X").size()) return false;
  std::string passed = grads[piece.input];
  if (piece.reshape) {
    piece.reshape_grad = gradient_behind(uses, passed, block.op(*piece.reshape).type() + "_grad");
    if (!piece.reshape_grad) return false;
    passed = block.op(*piece.reshape_grad).output("X@GRAD");
  }
  const Op& lookup = block.op(piece.lookup);
  piece.lookup_grad = gradient_behind(uses, passed, lookup.type() + "_grad");
  if (!piece.lookup_grad) return false;
  const Op& grad = block.op(*piece.lookup_grad);
  piece.is_sparse = grad.attr_or("is_sparse", false);
  return grad.input("Ids") == lookup.input("Ids") && grad.input("W") == lookup.input("W") &&
         grad.output_list("W@GRAD").size() == 1 && grad.output("W@GRAD") != kEmptyVar &&
         grad.attr_or<int64_t>("padding_idx", -1) == piece.padding;
}

// Nobody but these ops sees what the op at `position` writes.
bool is_private(const Uses& uses, size_t position, const std::vector<size_t>& positions) {
  for (const std::string& name : names_in(uses.block().op(position).outputs())) {
    if (name == kEmptyVar) continue;
    if (!uses.is_temporary(name) || uses.is_measured(name, positions)) return false;
  }
  return true;
}

std::optional<Piece> match_piece(const Uses& uses, const Join& join, size_t input) {
  const Block& block = uses.block();
  const Op& concat = block.op(join.concat);
  const auto inputs = concat.input_list("X");
  const std::string& name = inputs[input];
  if (std::count(inputs.begin(), inputs.end(), name) != 1) return std::nullopt;
  const std::optional<size_t> writer = writer_of(uses, name);
  if (!writer || *writer > join.concat) return std::nullopt;
  Piece piece{.input = input, .lookup = *writer};
  if (is_reshape(block.op(*writer))) {
    piece.reshape = writer;
    const std::optional<size_t> before = writer_of(uses, block.op(*writer).input("X"));
    if (!before || *before > *writer) return std::nullopt;
    piece.lookup = *before;
  }
  const Op& lookup = block.op(piece.lookup);
  if (!is_lookup(lookup) || !is_local_table(block, lookup)) return std::nullopt;
  if (lookup.role() != concat.role()) return std::nullopt;
  piece.table = lookup.input("W");
  piece.padding = lookup.attr_or<int64_t>("padding_idx", -1);
  const Shape& shape = block.var(name).shape;
  if (shape.rank() != 2 || shape[1] <= 0) return std::nullopt;
  piece.columns = shape[1];
  if (piece.columns % block.var(piece.table).shape[1] != 0) return std::nullopt;

  std::vector<size_t> own = {join.concat, piece.lookup};
  if (piece.reshape) own.push_back(*piece.reshape);
  if (join.concat_grad) {
    if (!match_backward(uses, block.op(*join.concat_grad), piece)) return std::nullopt;
    own.push_back(*join.concat_grad);
    own.push_back(*piece.lookup_grad);
    if (piece.reshape_grad) own.push_back(*piece.reshape_grad);
  }
  if (!is_private(uses, piece.lookup, own)) return std::nullopt;
  if (piece.reshape && !is_private(uses, *piece.reshape, own)) return std::nullopt;
  return piece;
}

// The gradient op of the concat, which is to be the only one; false where there are more.
bool find_concat_grad(const Uses& uses, Join& join) {
  const Block& block = uses.block();
  const auto inputs = block.op(join.concat).input_list("X");
  for (const std::string& name : inputs) {
    for (const size_t reader : uses.readers(name)) {
      const Op& op = block.op(reader);
      if (op.type() != "concat_grad" || !std::ranges::equal(op.input_list("X"), inputs)) continue;
      if (join.concat_grad && *join.concat_grad != reader) return false;
      join.concat_grad = reader;
    }
  }
  return true;
}

// Where the gradients of a table's pieces stand in one sum. Also says in which order.
std::optional<Summed> match_sum(const Uses& uses, const std::vector<Piece*>& pieces) {
  const Block& block = uses.block();
  std::optional<Summed> found;
  for (Piece* piece : pieces) {
    const std::string& grad = block.op(*piece->lookup_grad).output("W@GRAD");
    const std::vector<size_t>& readers = uses.readers(grad);
    if (!uses.is_temporary(grad) || readers.size() != 1) return std::nullopt;
    const Op& sum = block.op(readers.front());
    if (sum.type() != "sum" || (found && found->sum != readers.front())) return std::nullopt;
    const auto added = sum.input_list("X");
    if (std::count(added.begin(), added.end(), grad) != 1) return std::nullopt;
    piece->place = static_cast<size_t>(std::find(added.begin(), added.end(), grad) - added.begin());
    if (!found) found = {readers.front(), piece->place, piece->place + 1};
    found->begin = std::min(found->begin, piece->place);
    found->end = std::max(found->end, piece->place + 1);
  }
  const bool together = found->end - found->begin == pieces.size();
  found->whole = pieces.size() == block.op(found->sum).input_list("X").size();
  // Dense gradients are added from the first on: (a + b) + c is not a + (b + c).
  const bool in_order = pieces.front()->is_sparse || found->begin == 0;
  const bool alike = std::all_of(pieces.begin(), pieces.end(), [&](const Piece* piece) {
    return piece->is_sparse == pieces.front()->is_sparse;
  });
  return together && in_order && alike ? found : std::nullopt;
}

// Finds the sums of the gradients; pieces whose gradients are used in other ways are left out.
void match_sums(const Uses& uses, Join& join) {
  std::map<std::string, std::vector<Piece*>> by_table;
  for (Piece& piece : join.pieces) by_table[piece.table].push_back(&piece);
  Names dropped;
  for (const auto& [table, pieces] : by_table) {
    if (pieces.size() == 1) continue;
    if (const std::optional<Summed> found = match_sum(uses, pieces)) {
      join.sums[table] = *found;
    } else {
      dropped.insert(table);
    }
  }
  std::erase_if(join.pieces, [&](const Piece& piece) { return dropped.contains(piece.table); });
}

bool joins_columns(const Block& block, const Op& op) {
  if (op.type() != "concat" || !op.input_list("AxisTensor").empty()) return false;
  const int64_t axis = op.attr_or<int64_t>("axis", 0);
  return (axis == 1 || axis == -1) && block.var(op.output("Out")).shape.rank() == 2;
}

// Decides only; leaves the block as it is.
std::optional<Join> match(const Uses& uses, size_t position) {
  const Block& block = uses.block();
  const Op& concat = block.op(position);
  Join join{.concat = position};
  if (!joins_columns(block, concat) || !find_concat_grad(uses, join)) return std::nullopt;
  const auto inputs = concat.input_list("X");
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (std::optional<Piece> piece = match_piece(uses, join, i)) join.pieces.push_back(*piece);
  }
  const DType dtype = block.var(concat.output("Out")).dtype;
  std::erase_if(join.pieces,
                [&](const Piece& piece) { return block.var(piece.table).dtype != dtype; });
  if (join.concat_grad) match_sums(uses, join);
  if (join.pieces.size() < 2 || !uses.may_sink(join.forward())) return std::nullopt;
  if (join.concat_grad && !uses.may_rise(join.backward())) return std::nullopt;
  // The columns of all inputs must be known, for the offsets of the pieces.
  for (const std::string& name : inputs) {
    const Shape& shape = block.var(name).shape;
    if (shape.rank() != 2 || shape[1] <= 0) return std::nullopt;
  }
  return join;
}

// ---- Rewriting ----------------------------------------------------------------------------------

bool holds_input(const std::vector<Piece>& pieces, size_t input) {
  return std::any_of(pieces.begin(), pieces.end(),
                     [&](const Piece& piece) { return piece.input == input; });
}

// The inputs and attributes that both fused ops have.
struct Shared {
  Slots inputs = {};
  Attrs attrs = {};
};

Shared shared_parts(const Block& block, const Join& join, const std::vector<Piece>& pieces,
                    const Op& marks) {
  const auto inputs = block.op(join.concat).input_list("X");
  Ints begins = {0};
  for (const std::string& name : inputs) begins.push_back(begins.back() + block.var(name).shape[1]);
  std::vector<std::string> tables, ids, others;
  Ints numbers, offsets, columns, paddings, other_offsets, sparse;
  for (const Piece& piece : pieces) {
    auto found = std::find(tables.begin(), tables.end(), piece.table);
    if (found == tables.end()) {
      tables.push_back(piece.table);
      sparse.push_back(piece.is_sparse ? 1 : 0);
      found = tables.end() - 1;
    }
    ids.push_back(block.op(piece.lookup).input("Ids"));
    numbers.push_back(found - tables.begin());
    offsets.push_back(begins[piece.input]);
    columns.push_back(piece.columns);
    paddings.push_back(piece.padding);
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (holds_input(pieces, i)) continue;
    others.push_back(inputs[i]);
    other_offsets.push_back(begins[i]);
  }
  Shared shared{.attrs = marks_of(marks)};
  shared.inputs = {{"Ids", ids}, {"W", tables}};
  if (!others.empty()) shared.inputs["X"] = others;
  shared.attrs["tables"] = numbers;
  shared.attrs["offsets"] = offsets;
  shared.attrs["columns"] = columns;
  shared.attrs["padding_idx"] = paddings;
  shared.attrs["x_offsets"] = other_offsets;
  shared.attrs["is_sparse"] = sparse;
  return shared;
}

// Sums that lose inputs, by position.
using ShorterSums = std::map<size_t, std::vector<std::string>>;

Fusion fuse_backward(const Block& block, const Join& join, ShorterSums& sums) {
  const Op& concat_grad = block.op(*join.concat_grad);
  std::vector<Piece> pieces = join.pieces;
  std::stable_sort(pieces.begin(), pieces.end(),
                   [](const Piece& a, const Piece& b) { return a.place < b.place; });
  Shared shared = shared_parts(block, join, pieces, concat_grad);
  shared.inputs["Out@GRAD"] = {concat_grad.input("Out@GRAD")};
  Slots outputs;
  for (const std::string& table : shared.inputs.at("W")) {
    std::vector<std::string> own;
    for (const Piece& piece : pieces) {
      if (piece.table == table) own.push_back(block.op(*piece.lookup_grad).output("W@GRAD"));
    }
    const auto summed = join.sums.find(table);
    const bool whole = summed != join.sums.end() && summed->second.whole;
    outputs["W@GRAD"].push_back(whole ? block.op(summed->second.sum).output("Out") : own.front());
    if (summed == join.sums.end() || whole) continue;
    // The first of the gradients stands for all from now on.
    const auto added = block.op(summed->second.sum).input_list("X");
    std::vector<std::string>& left =
        sums.try_emplace(summed->second.sum, added.begin(), added.end()).first->second;
    std::erase_if(left, [&](const std::string& name) {
      return std::find(own.begin() + 1, own.end(), name) != own.end();
    });
  }
  const auto inputs = concat_grad.input_list("X"), grads = concat_grad.output_list("X@GRAD");
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!holds_input(pieces, i)) outputs["X@GRAD"].push_back(grads[i]);
  }
  return {join.backward(), Op("lookup_concat_grad", shared.inputs, outputs, shared.attrs),
          Fusion::kFirst};
}

}  // namespace

void fuse_lookups(PassContext& context) {
  Block& block = context.main.global_block();
  const Uses uses(block, context);
  std::vector<Fusion> fusions;
  ShorterSums sums;
  for (size_t i = 0; i < block.size(); ++i) {
    const std::optional<Join> join = match(uses, i);
    if (!join) continue;
    const Op& concat = block.op(join->concat);
    const Shared shared = shared_parts(block, *join, join->pieces, concat);
    fusions.push_back({join->forward(), Op("lookup_concat", shared.inputs,
                                           {{"Out", {concat.output("Out")}}}, shared.attrs)});
    if (join->concat_grad) fusions.push_back(fuse_backward(block, *join, sums));
  }
  for (const auto& [position, added] : sums) {
    const Op& sum = block.op(position);
    fusions.push_back({{position}, Op(sum.type(), {{"X", added}}, sum.outputs(), sum.attrs())});
  }
  apply(block, std::move(fusions));
}

}  // namespace flotilla::passes

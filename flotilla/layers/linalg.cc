#include "flotilla/layers/linalg.h"

#include <algorithm>
#include <cctype>
#include <functional>
#include <numeric>

#include "flotilla/layers/functions.h"

namespace flotilla::layers {
namespace {

constexpr const char* kDots = "...";

std::string dots(const std::string& term) { return term.find(kDots) == term.npos ? "" : kDots; }

// The labels of a term, each once.
std::string labels(const std::string& term) {
  std::string found;
  for (const char c : term) {
    const bool label = std::isalpha(static_cast<unsigned char>(c)) != 0;
    if (label && found.find(c) == found.npos) found += c;
  }
  return found;
}

// The labels of `of` that `among` has.
std::string shared(const std::string& of, const std::string& among) {
  std::string found = labels(of);
  std::erase_if(found, [&](char c) { return among.find(c) == among.npos; });
  return found;
}

std::string once_sorted(const std::string& terms) {
  std::string found = labels(terms);
  std::erase_if(found, [&](char c) { return std::count(terms.begin(), terms.end(), c) != 1; });
  std::sort(found.begin(), found.end());
  return found;
}

std::vector<std::string> terms_of(const std::string& text) {
  std::vector<std::string> terms = {""};
  for (const char c : text) {
    if (c == ',') {
      terms.emplace_back();
    } else {
      terms.back() += c;
    }
  }
  return terms;
}

Variable contract(const std::string& equation, const Variables& operands) {
  const auto count = static_cast<int64_t>(operands.size());
  return op("einsum", {{"Operands", operands}}, {{"equation", equation}},
            {.outputs = {"Out", {"InnerCache", count}, {"XShape", count}}});
}

}  // namespace

Variable matrix_product(Variable x, Variable y, bool transpose_x, bool transpose_y,
                        const std::string& name) {
  const Inputs both = {{"X", x}, {"Y", y}};
  if (context().writes_v1) {
    return op("matmul", both, {{"transpose_X", transpose_x}, {"transpose_Y", transpose_y}},
              {.name = name});
  }
  return op("matmul_v2", both, {{"trans_x", transpose_x}, {"trans_y", transpose_y}},
            {.name = name});
}

Variable outer(Variable x, Variable y, const std::string& name) {
  const Variable left = reshape(x, {-1, 1}), right = reshape(y, {1, -1});
  return op("matmul_v2", {{"X", left}, {"Y", right}}, {}, {.name = name, .layer = "outer"});
}

Variable inner(Variable x, Variable y, const std::string& name) {
  const auto width = [](Variable of) { return of.shape()[of.shape().rank() - 1]; };
  const Variable rows = reshape(x, {-1, width(x)}), columns = reshape(y, {-1, width(y)});
  std::vector<int64_t> shape(x.shape().begin(), x.shape().end() - 1);
  shape.insert(shape.end(), y.shape().begin(), y.shape().end() - 1);
  return op("reshape2", {{"X", matrix_product(rows, columns, false, true)}}, {{"shape", shape}},
            {.name = name, .outputs = {"Out", "XShape"}});
}

Variable norm(Variable x, const NormOptions& options) {
  const std::vector<int64_t>& axes = options.axes;
  const double order = options.p.value_or(2);
  require(axes.size() < 2 || order == 2, "matrices have the norm p='fro' here, but p is {}", order);
  if (axes.size() > 1 || (axes.empty() && !options.p)) {
    const std::vector<int64_t> first = {0};
    return op("frobenius_norm", {{"X", x}},
              {{"keep_dim", options.keep_dim},
               {"reduce_all", axes.empty()},
               {"dim", axes.empty() ? first : axes}},
              {.name = options.name});
  }
  return op("p_norm", {{"X", x}},
            {{"porder", static_cast<float>(order)},
             {"keepdim", options.keep_dim},
             {"asvector", axes.empty()},
             {"epsilon", 1e-12f},
             {"axis", axes.empty() ? -1 : axes.front()}},
            {.name = options.name});
}

Variable einsum(const std::string& equation, Variables operands) {
  std::string text = equation;
  std::erase(text, ' ');
  const size_t arrow = text.find("->");
  const std::string left = text.substr(0, arrow);
  std::vector<std::string> terms = terms_of(left);
  require(terms.size() == operands.size(), "'{}' is for {} operands, but {} are given", equation,
          terms.size(), operands.size());
  const std::string right =
      arrow == text.npos ? dots(left) + once_sorted(left) : text.substr(arrow + 2);
  while (terms.size() > 2) {
    const std::string pair = terms[0] + terms[1];
    const std::string needed =
        std::accumulate(terms.begin() + 2, terms.end(), right, std::plus<std::string>());
    const std::string made = dots(pair) + shared(pair, needed);
    operands[0] =
        contract(fmt::format("{},{}->{}", terms[0], terms[1], made), {operands[0], operands[1]});
    terms[0] = made;
    operands.erase(operands.begin() + 1);
    terms.erase(terms.begin() + 1);
  }
  std::string joined = terms[0];
  for (size_t i = 1; i < terms.size(); ++i) joined += "," + terms[i];
  return contract(joined + "->" + right, operands);
}

}  // namespace flotilla::layers

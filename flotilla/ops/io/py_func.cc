// flotilla/ops/io/py_func.cc
//
// py_func: Out is what a function of the user's program makes of X. Extents of Out that are not
// declared follow from what it returns.
//
// Its gradient is what another function makes of X, Out and the gradients of Out, in that order;
// `skipped` numbers those of X and Out that it does not take. Without that function gradients stop.

#include <cstring>
#include <set>

#include "flotilla/kernel/caller.h"
#include "flotilla/op/grad_context.h"
#include "flotilla/ops/common/known_value.h"

namespace flotilla::ops {
namespace {

// A variable that is handed over: a copy, because the function may keep it.
struct Given {
  VarMeta meta = {};
  In<char> data = {};  // none: zeros
  LodHandle lod = {};

  Tensor copy() const {
    Tensor made(meta.dtype, meta.shape);
    if (data) std::memcpy(made.raw(), data.data(), static_cast<size_t>(made.bytes()));
    if (const LoD* found = lod.get(); found != nullptr) made.set_lod(*found);
    return made;
  }
};

void add_given(PrepareContext& c, const char* slot, std::vector<Given>& all) {
  for (size_t i = 0; i < c.count(slot); ++i) {
    all.push_back({c.meta(slot, i), c.in_bytes(slot, i), c.lod(slot, i)});
  }
}

// A variable that takes a result.
struct Taken {
  std::string name = {};
  VarMeta meta = {};
  bool wanted = true;
  Out<char> known = {};
  DynamicOut<char> dynamic = {};

  void take(const Tensor& result) const {
    require(result.dtype() == meta.dtype, "the function gave {} for \"{}\", which holds {}",
            result.dtype(), name, meta.dtype);
    bool fits = result.shape().rank() == meta.shape.rank();
    for (int64_t a = 0; fits && a < meta.shape.rank(); ++a) {
      fits = meta.shape[a] < 0 || meta.shape[a] == result.shape()[a];
    }
    require(fits, "the function gave shape {} for \"{}\", which has shape {}", result.shape(), name,
            meta.shape);
    const Tensor plain = result.plain();
    char* to = meta.shape.known() ? known.data() : dynamic.resize(plain.shape());
    std::memcpy(to, plain.raw(), static_cast<size_t>(plain.bytes()));
  }
};

std::vector<Taken> results_of(PrepareContext& c, const char* slot) {
  std::vector<Taken> all;
  for (size_t i = 0; i < c.count(slot); ++i) {
    Taken taken = {.name = c.op().output_list(slot)[i], .wanted = c.has(slot, i)};
    if (taken.wanted) {
      taken.meta = c.meta(slot, i);
      if (taken.meta.shape.known()) {
        taken.known = c.out_bytes(slot, i);
      } else {
        taken.dynamic = c.dynamic_out<char>(slot, i);
      }
    }
    all.push_back(std::move(taken));
  }
  return all;
}

Step call(Caller* caller, int64_t number, std::vector<Given> given, std::vector<Taken> taken) {
  require(caller != nullptr,
          "the program calls function {}, but only Python programs have functions", number);
  return [caller, number, given = std::move(given), taken = std::move(taken)] {
    std::vector<Tensor> inputs;
    for (const Given& one : given) inputs.push_back(one.copy());
    const std::vector<Tensor> results = caller->call(number, inputs);
    require(results.size() == taken.size(), "the function must give {} tensors, but gave {}",
            taken.size(), results.size());
    for (size_t i = 0; i < taken.size(); ++i) {
      if (taken[i].wanted && results[i].defined()) taken[i].take(results[i]);
      require(!taken[i].wanted || results[i].defined(), "the function gave nothing for \"{}\"",
              taken[i].name);
    }
  };
}

Step forward(PrepareContext& c) {
  c.bytes_of_any_dtype();
  std::vector<Given> given;
  add_given(c, "X", given);
  return call(c.around().caller, c.attr<int64_t>("forward_callable_id"), std::move(given),
              results_of(c, "Out"));
}

Step backward(PrepareContext& c) {
  c.bytes_of_any_dtype();
  std::vector<Given> all;
  add_given(c, "X", all);
  add_given(c, "Out", all);
  const std::vector<int64_t> listed = c.attr<std::vector<int64_t>>("skipped");
  const std::set<int64_t> skipped(listed.begin(), listed.end());
  std::vector<Given> given;
  for (int64_t i = 0; i < std::ssize(all); ++i) {
    if (!skipped.contains(i)) given.push_back(all[static_cast<size_t>(i)]);
  }
  for (size_t i = 0; i < c.count("Out@GRAD"); ++i) {
    // Where no gradient flowed into a result, the function sees zeros.
    if (c.has("Out@GRAD", i)) {
      given.push_back({c.meta("Out@GRAD", i), c.in_bytes("Out@GRAD", i), c.lod("Out@GRAD", i)});
    } else {
      given.push_back({.meta = c.meta("Out", i)});
    }
  }
  return call(c.around().caller, c.attr<int64_t>("backward_callable_id"), std::move(given),
              results_of(c, "X@GRAD"));
}

void infer_grad(InferContext& c) {
  for (size_t i = 0; i < c.in_count("X"); ++i) c.out("X@GRAD", i) = like(c.in("X", i));
}

std::vector<std::string> listed(std::span<const std::string> names) {
  return {names.begin(), names.end()};
}

void grad(GradContext& g) {
  const Op& op = g.op();
  if (op.attr<int64_t>("backward_callable_id") < 0) return;
  const auto names = op.attr<std::vector<std::string>>("backward_skip_vars");
  const std::vector<std::string> x = listed(op.input_list("X")),
                                 out = listed(op.output_list("Out"));
  std::vector<int64_t> skipped;
  std::vector<std::string> douts, dxs;
  for (size_t i = 0; i < x.size() + out.size(); ++i) {
    const std::string& name = i < x.size() ? x[i] : out[i - x.size()];
    if (std::ranges::find(names, name) != names.end()) skipped.push_back(static_cast<int64_t>(i));
  }
  const auto or_none = [](std::string name) {
    return name.empty() ? std::string(kEmptyVar) : name;
  };
  for (size_t i = 0; i < out.size(); ++i) douts.push_back(or_none(g.output_grad("Out", i)));
  for (size_t i = 0; i < x.size(); ++i) dxs.push_back(or_none(g.input_grad("X", i)));
  g.emit(
      "py_func_grad", {{"X", x}, {"Out", out}, {"Out@GRAD", douts}}, {{"X@GRAD", dxs}},
      {{"backward_callable_id", op.attr<int64_t>("backward_callable_id")}, {"skipped", skipped}});
}

const OpDef& py_func = define_op({
    .type = "py_func",
    .doc = "What a function of the user's program makes of X.",
    .inputs = {{.name = "X", .doc = "what it takes", .optional = true, .list = true}},
    .outputs = {{.name = "Out", .doc = "what it gives", .optional = true, .list = true}},
    .attrs = {{"forward_callable_id", 0, "number of the function"},
              {"backward_callable_id", -1, "number of its gradient; -1: none"},
              {"backward_skip_vars", std::vector<std::string>{},
               "variables of X and Out that the gradient does not take"}},
    .grad = custom_grad(grad),
    .kernels = kernels_for_all([]<typename T>(PrepareContext& c) { return forward(c); }),
    .side_effect = true,
});

const OpDef& py_func_grad = define_op({
    .type = "py_func_grad",
    .doc = "Gradient of py_func, by a function of the user's program.",
    .inputs = {{.name = "X", .doc = "inputs of the op", .list = true},
               {.name = "Out", .doc = "its results", .optional = true, .list = true},
               {.name = "Out@GRAD", .doc = "gradients of them", .optional = true, .list = true}},
    .outputs = {{.name = "X@GRAD", .doc = "gradients of X", .list = true}},
    .attrs = {{"backward_callable_id", -1, "number of the function"},
              {"skipped", std::vector<int64_t>{}, "what of X and Out it does not take"}},
    .infer = infer_grad,
    .kernels = kernels_for_all([]<typename T>(PrepareContext& c) { return backward(c); }),
});

}  // namespace
}  // namespace flotilla::ops

#include <algorithm>

#include "flotilla/op/infer.h"
#include "flotilla/op/op_def.h"
#include "flotilla/op/print.h"
#include "flotilla/testing/errors.h"

namespace flotilla {
namespace {

TEST(Registry, FindsWhatIsDefined) {
  EXPECT_EQ(op_def("toy_mul").type, "toy_mul");
  EXPECT_EQ(find_op("toy_nothing"), nullptr);
  const std::vector<std::string> types = op_types();
  EXPECT_TRUE(std::is_sorted(types.begin(), types.end()));
  EXPECT_TRUE(std::binary_search(types.begin(), types.end(), "toy_mul"));
}

TEST(Registry, ListsTheKernelsThereAre) {
  EXPECT_EQ(find_kernel(op_def("toy_mul"), kCpu, f64).dtype, f64);
  EXPECT_REFUSED(find_kernel(op_def("toy_mul"), kCuda, f16),
                 "no kernel for toy_mul on cuda with dtype f16. Its kernels are: cpu f32, cpu f64");
}

TEST(Registry, PrintsADefinition) {
  EXPECT_EQ(print(op_def("toy_mul")),
            "op toy_mul\n  in X\n  in Y\n  out Out\n  gradient toy_mul_grad of X, Y\n"
            "  kernels cpu: f32 f64\n");
  const OpDef def = {.type = "all",
                     .doc = "Has all.",
                     .inputs = {{.name = "X", .doc = "many", .optional = true, .list = true},
                                {.name = "Y", .no_grad = true, .shape_only = true, .one = true}},
                     .outputs = {{.name = "Out", .like = "X"}},
                     .attrs = {{"axis", int64_t{-1}, "a direction"}, {"name", std::string("n")}},
                     .grad = custom_grad([](GradContext&) {}),
                     .dtype_slot = "Y",
                     .side_effect = true};
  EXPECT_EQ(print(def, Docs::kShown),
            "op all with a side effect of declared shapes: Has all.\n"
            "  in X list optional: many\n  in Y no_grad shape_only one\n  out Out like X\n"
            "  attr axis = -1L (long): a direction\n  attr name = \"n\" (string)\n"
            "  gradient of other ops\n  dtype of Y\n");
}

TEST(Registry, RefusesASecondDefinition) {
  EXPECT_REFUSED(define_op({.type = "toy_mul"}), "the op \"toy_mul\" is defined twice");
}

// What passes, autodiff and the planner rely on, for every op there is.
TEST(Registry, EveryOpIsWellFormed) {
  for (const std::string& type : op_types()) {
    SCOPED_TRACE(type);
    const OpDef& def = op_def(type);
    EXPECT_NE(def.doc, "");
    std::vector<std::string> names;
    for (const Slot& slot : def.inputs) names.push_back("in " + slot.name);
    for (const Slot& slot : def.outputs) names.push_back("out " + slot.name);
    for (const AttrSpec& attr : def.attrs) names.push_back("attr " + attr.name);
    std::sort(names.begin(), names.end());
    EXPECT_EQ(std::adjacent_find(names.begin(), names.end()), names.end()) << "a name comes twice";
    for (const Kernel& kernel : def.kernels) {
      EXPECT_NE(kernel.prepare, nullptr);
      EXPECT_EQ(std::count_if(def.kernels.begin(), def.kernels.end(),
                              [&](const Kernel& other) {
                                return other.device == kernel.device && other.dtype == kernel.dtype;
                              }),
                1)
          << name_of(kernel.device) << " " << name_of(kernel.dtype) << " comes twice";
    }
    if (!def.dtype_slot.empty()) {
      EXPECT_TRUE(def.find_input(def.dtype_slot) != nullptr ||
                  def.find_output(def.dtype_slot) != nullptr)
          << "dtype_slot " << def.dtype_slot;
    }
  }
}

// What a rule states beside what follows must be given by somebody.
TEST(Registry, EveryInputOfAGradientOpGetsAVariable) {
  for (const std::string& type : op_types()) {
    const OpDef& def = op_def(type);
    if (def.grad.kind != GradRule::kGradOp) continue;
    SCOPED_TRACE(type);
    const OpDef* grad = find_op(def.grad_type());
    ASSERT_NE(grad, nullptr) << "the gradient op has no kernels";
    for (const Slot& slot : grad->inputs) {
      if (slot.optional) continue;  // other versions of Paddle give it
      const bool used = std::ranges::count(def.grad.uses, slot.name, &Use::slot) == 1;
      const bool is_grad = std::ranges::any_of(
          def.outputs, [&](const Slot& out) { return grad_name(out.name) == slot.name; });
      EXPECT_TRUE(used || is_grad) << slot.name << " of the gradient op never gets a variable";
    }
  }
}

TEST(Broadcast, FollowsNumpyAndPaddlesAxis) {
  EXPECT_EQ(broadcast({2, 3, 4}, {4}, -1), Shape({2, 3, 4}));
  EXPECT_EQ(broadcast({2, 3, 4}, {3}, 1), Shape({2, 3, 4}));
  EXPECT_EQ(broadcast({2, 3, 4}, {2, 3}, 0), Shape({2, 3, 4}));
  EXPECT_EQ(broadcast({2, 1, 4}, {3, 1}, -1), Shape({2, 3, 4}));
  EXPECT_EQ(broadcast({4}, {2, 3, 4}, -1), Shape({2, 3, 4}));
  EXPECT_EQ(broadcast({-1, 3}, {3}, -1), Shape({-1, 3}));
  EXPECT_EQ(broadcast({2, 3}, {2, 1, 1}, 0), Shape({2, 3}));
  EXPECT_EQ(broadcast({1}, {2, 3}, 0), Shape({2, 3}));
  EXPECT_EQ(broadcast({2}, {-1, 3}, 0), Shape({2, 3}));
  EXPECT_REFUSED(
      broadcast({2, 3}, {4}, -1),
      "X of shape [2, 3] and Y of shape [4] do not broadcast at axis -1: 3 does not match 4");
  EXPECT_REFUSED(broadcast({2, 3}, {2, 3}, 1),
                 "Y of shape [2, 3] does not fit into X of shape [2, 3] at axis 1");
  EXPECT_REFUSED(
      broadcast({3}, {2, 3}, 0),
      "X of shape [2, 3] and Y of shape [3] do not broadcast at axis 0: 2 does not match 3");
}

TEST(ResolveReshape, CopiesAndWorksOut) {
  EXPECT_EQ(resolve_reshape({2, 3, 4}, {0, -1}), Shape({2, 12}));
  EXPECT_EQ(resolve_reshape({-1, 3, 4}, {-1, 12}), Shape({-1, 12}));
  EXPECT_REFUSED(resolve_reshape({2, 3}, {-1, -1}), "shape [-1, -1] may hold -1 once");
  EXPECT_REFUSED(resolve_reshape({2, 3}, {4, -1}), "X of shape [2, 3] cannot take shape [4, -1]");
  EXPECT_REFUSED(
      resolve_reshape({2, 3}, {3, 9223372036854775806}),
      "a tensor can have 2^55 elements at most, but 3 times 9223372036854775806 are asked for");
  EXPECT_REFUSED(resolve_reshape({2, 3}, {7}),
                 "X of shape [2, 3] holds 6 elements, but shape [7] asks for 7");
  EXPECT_REFUSED(resolve_reshape({2}, {1, 0}), "shape [1, 0] copies extent 1 of X, but X is [2]");
}

}  // namespace
}  // namespace flotilla

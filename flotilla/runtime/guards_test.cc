// Runs between guards, as fuzzers make them: a kernel that leaves its values is found.

#include <gmock/gmock.h>

#include <algorithm>

#include "flotilla/base/guard.h"
#include "flotilla/ir/text.h"
#include "flotilla/op/op_def.h"
#include "flotilla/runtime/executor.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/tensors.h"

namespace flotilla {
namespace {

using ::testing::HasSubstr;

const OpDef& long_op = define_op({
    .type = "toy_long",
    .doc = "Writes `more` elements behind its output.",
    .inputs = {{"X", "any tensor"}},
    .outputs = {{"Out", "like X"}},
    .attrs = {{"more", 0, "elements"}},
    .infer = [](InferContext& c) { c.out("Out") = c.in("X"); },
    .kernels = kernels_for<float>([]<typename T>(PrepareContext& c) -> Step {
      return [n = c.shape("X").numel() + c.attr<int64_t>("more"), out = c.out<T>("Out")] {
        std::fill_n(out.data(), n, T{1});
      };
    }),
});

std::string run(int more) {
  const auto program =
      parse(fmt::format("var x f32[3] data\nvar y f32[3]\nvar z f32[3]\n"
                        "toy_long(X=x) -> Out=y {{more={}}}\nrelu(X=y) -> Out=z\n",
                        more));
  Executor executor({.guarded = true});
  Scope scope;
  return message_of([&] { executor.run(*program, {{"x", tensor({1, 2, 3})}}, {"z"}, scope); });
}

TEST(Guards, WhatIsWrittenOutsideOfAValueIsFound) {
#ifdef FLT_GUARDS
  GTEST_SKIP() << "the address sanitizer ends the process";
#endif
  EXPECT_EQ(run(0), "(not refused)");
  EXPECT_THAT(run(1), HasSubstr("a kernel wrote outside of its values"));
}

}  // namespace
}  // namespace flotilla

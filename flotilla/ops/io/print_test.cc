// flotilla/ops/io/print_test.cc

#include "flotilla/testing/check_op.h"
#include "flotilla/testing/errors.h"

namespace flotilla {
namespace {

std::string printed(const Tensor& in, const Attrs& attrs) {
  testing::internal::CaptureStdout();
  const OpResult result = run_op("print", {{"In", in}}, attrs);
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_EQ(result.at("Out").shape(), in.shape());
  return text;
}

TEST(Print, WritesWhatATensorHolds) {
  EXPECT_EQ(printed(tensor({1, -2.5, 0.125}), {{"message", "here"}}),
            "Variable: In_0\n"
            "  - message: here\n"
            "  - place: Place(cpu)\n"
            "  - shape: [3]\n"
            "  - dtype: float32\n"
            "  - data: [1 -2.5 0.125]\n");
}

TEST(Print, WritesNoMoreThanItIsAskedFor) {
  EXPECT_EQ(printed(tensor({1, 2, 3}), {{"summarize", 2},
                                        {"print_tensor_name", false},
                                        {"print_tensor_type", false},
                                        {"print_tensor_shape", false}}),
            "  - place: Place(cpu)\n  - data: [1 2 ...]\n");
  EXPECT_EQ(printed(tensor({1}), {{"first_n", 0}}), "");
  EXPECT_EQ(printed(tensor({1}), {{"print_phase", "BACKWARD"}}), "");
}

TEST(Print, RefusesAnUnknownPhase) {
  EXPECT_REFUSED(build_op("print", {{"In", tensor({1})}}, {{"print_phase", "SIDEWAYS"}}),
                 "print_phase must be BOTH, FORWARD or BACKWARD, but is \"SIDEWAYS\"");
}

}  // namespace
}  // namespace flotilla

#include <cmath>

#include "flotilla/testing/check_op.h"

namespace flotilla {
namespace {

const Tensor kChances = tensor({0.25, 0.5, 0.75});
const Tensor kLabels = tensor({0, 1, 1});

TEST(PointwiseLosses, KnownValues) {
  EXPECT_THAT(run_op("log_loss", {{"Predicted", kChances}, {"Labels", kLabels}}).at("Loss"),
              near({0.287549, 0.692947, 0.287549}, 1e-5));
  EXPECT_THAT(run_op("bce_loss", {{"X", kChances}, {"Label", kLabels}}).at("Out"),
              near({0.287682, 0.693147, 0.287682}, 1e-5));
  EXPECT_THAT(run_op("bce_loss", {{"X", tensor({0, 1})}, {"Label", tensor({1, 0})}}).at("Out"),
              near({100, 100}, 1e-4));
  EXPECT_THAT(
      run_op("hinge_loss", {{"Logits", tensor({-0.5, 0.25, 3})}, {"Labels", kLabels}}).at("Loss"),
      near({0.5, 0.75, 0}, 1e-6));
}

TEST(PointwiseLosses, AllKernelsAgree) {
  const Tensor x = uniform({5, 7}, 0.05, 0.95), y = uniform({5, 7}, 0, 1, 2);
  check_op({.type = "log_loss", .inputs = {{"Predicted", x}, {"Labels", y}}});
  check_op({.type = "log_loss",
            .inputs = {{"Predicted", x}, {"Labels", y}},
            .attrs = {{"epsilon", 0.01f}}});
  check_op({.type = "bce_loss", .inputs = {{"X", x}, {"Label", y}}});
  check_op({.type = "hinge_loss",
            .inputs = {{"Logits", uniform({6, 1}, -2, 2)},
                       {"Labels", tensor({0, 1, 1, 0, 1, 0}, {6, 1})}}});
}

TEST(PointwiseLosses, RefuseShapesThatDiffer) {
  EXPECT_REFUSED(build_op("log_loss", {{"Predicted", kChances}, {"Labels", tensor({1, 0})}}),
                 "Predicted and Labels must have one shape, but they are [3] and [2]");
}

TEST(TeacherStudentSigmoidLoss, AllKernelsAgree) {
  const Inputs inputs = {{"X", uniform({6, 1}, -3, 3)},
                         {"Label", tensor({-2, -1, 0.2, 0.9, 1.3, 1}, Shape{6, 1})}};
  check_op({.type = "teacher_student_sigmoid_loss", .inputs = inputs});
  EXPECT_THAT(run_op("teacher_student_sigmoid_loss",
                     {{"X", full({4, 1}, 0)}, {"Label", tensor({-2, -1, 0.5, 1.5}, Shape{4, 1})}})
                  .at("Y"),
              near({std::log(2), std::log(2), 2 * std::log(2), 2 * std::log(2)}, 1e-6));
  EXPECT_REFUSED(build_op("teacher_student_sigmoid_loss",
                          {{"X", full({4, 2}, 0)}, {"Label", full({4, 2}, 0)}}),
                 "X and Label must be columns, but have shapes [4, 2] and [4, 2]");
}

}  // namespace
}  // namespace flotilla

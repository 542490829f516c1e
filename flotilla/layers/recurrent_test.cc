#include "flotilla/layers/recurrent.h"

#include <gtest/gtest.h>

#include "flotilla/layers/nn.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/layers.h"

namespace flotilla::layers {
namespace {

class Recurrent : public LayersTest {
 protected:
  const Variable x_ = data("x", {-1, 6}, f32, {.lod_level = 1});
  const Variable wide_ = data("wide", {-1, 8}, f32, {.lod_level = 1});
  const Variable h_ = data("h", {-1, 2}), c_ = data("c", {-1, 2});

  std::string parameters() const {
    std::string list;
    for (const Var* one : main_->parameters()) {
      list += fmt::format("{}{}{}", list.empty() ? "" : " ", one->name, one->shape);
    }
    return list;
  }
};

TEST_F(Recurrent, DynamicLstm) {
  const HiddenAndCell state = dynamic_lstm(wide_, 8);
  EXPECT_EQ(state.hidden.name(), "lstm_0_0.tmp_0");
  EXPECT_EQ(state.cell.name(), "lstm_0_0.tmp_1");
  EXPECT_EQ(state.hidden.shape(), (Shape{-1, 2}));
  EXPECT_EQ(parameters(), "lstm_0.w_0[2, 8] lstm_0.b_0[1, 14]");
  dynamic_lstm(wide_, 8, {.h_0 = h_, .c_0 = c_, .use_peepholes = false, .name = "mine"});
  EXPECT_EQ(parameters(), "lstm_0.w_0[2, 8] lstm_0.b_0[1, 14] mine.w_0[2, 8] mine.b_0[1, 8]");
  const Op& op = *main_->global_block().ops().back();
  EXPECT_EQ(op.input("H0"), "h");
  EXPECT_EQ(op.input("C0"), "c");
}

TEST_F(Recurrent, DynamicGru) {
  const Variable hidden = dynamic_gru(x_, 2);
  EXPECT_EQ(hidden.name(), "gru_0_0.tmp_0");
  EXPECT_EQ(hidden.shape(), (Shape{-1, 2}));
  dynamic_gru(x_, 2, {.bias = kNoBias, .is_reverse = true});
  EXPECT_EQ(parameters(), "gru_0.w_0[2, 6] gru_0.b_0[1, 6] gru_1.w_0[2, 6]");
}

TEST_F(Recurrent, LstmUnit) {
  const HiddenAndCell state = lstm_unit(x_, h_, c_, {.forget_bias = 1});
  EXPECT_EQ(state.cell.name(), "lstm_unit_0.tmp_0");
  EXPECT_EQ(state.hidden.name(), "lstm_unit_0.tmp_1");
  EXPECT_EQ(parameters(), "fc_0.w_0[8, 8] fc_0.b_0[8]");
  EXPECT_REFUSED(lstm_unit(x_, h_, data("row", {-1})),
                 "the cells of lstm_unit must be [rows, width], but \"row\" is [-1]");
}

TEST_F(Recurrent, GruUnit) {
  const GruUnit step = gru_unit(x_, h_, 6);
  EXPECT_EQ(step.hidden.shape(), (Shape{-1, 2}));
  EXPECT_EQ(step.gates.shape(), (Shape{-1, 6}));
  EXPECT_EQ(parameters(), "gru_unit_0.w_0[2, 6] gru_unit_0.b_0[1, 6]");
  const Op& op = *main_->global_block().ops().back();
  EXPECT_EQ(op.attr<int32_t>("activation"), 2);
  EXPECT_EQ(op.attr<int32_t>("gate_activation"), 1);
  EXPECT_REFUSED(gru_unit(x_, h_, 6, {.activation = "softmax"}),
                 "an activation must be one of ('identity', 'sigmoid', 'tanh', 'relu'), but is "
                 "'softmax'");
}

}  // namespace
}  // namespace flotilla::layers

#include "flotilla/passes/ps_split.h"

#include "flotilla/testing/training.h"

namespace flotilla::passes {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class PsSplit : public TrainingTest {
 protected:
  // Two slots share a table; a layer joins them.
  layers::Variable click_model(const layers::EmbeddingOptions& options = {
                                   .is_sparse = true, .weight = {.name = "emb"}}) {
    layers::Variables rows;
    for (const char* slot : {"c0", "c1"}) {
      rows.push_back(layers::embedding(layers::data(slot, {-1}, i64), 1000, 8, options));
    }
    return layers::mean(layers::fc(rows, 1, {.weight = {.name = "w"}, .bias = layers::kNoBias}));
  }
  std::vector<ServerTable> split(PsMode mode) {
    std::vector<ServerTable> tables = ps_split(*main_, *startup_, {.mode = mode, .geo_steps = 10});
    verify(*main_, Stage::kParallel);
    verify(*startup_, Stage::kParallel);
    return tables;
  }
  std::string rpc_ops() const {
    std::string lines;
    for (const auto& op : main_->global_block().ops()) {
      if (!op->has_attr("table_id") && op->type() != "send_barrier") continue;
      Op plain = *op;
      plain.remove_attr("op_role");
      lines += print(plain) + "\n";
    }
    return lines;
  }
};

TEST_F(PsSplit, PullsRowsAndPushesGradients) {
  layers::Variables rows;
  const layers::EmbeddingOptions options = {.is_sparse = true, .weight = {.name = "emb"}};
  for (const char* slot : {"c0", "c1"}) {
    rows.push_back(layers::embedding(layers::data(slot, {-1}, i64), 1000, 8, options));
  }
  const layers::Variable sum = layers::elementwise("elementwise_add", rows[0], rows[1]);
  layers::sgd(0.5).minimize(layers::mean(
      layers::fc(sum, 1, {.weight = {.name = "w"}, .bias = layers::ParamAttr{.name = "b"}})));
  const std::vector<ServerTable> tables = split(PsMode::kSync);
  EXPECT_EQ(rpc_ops(), text(R"(
    distributed_lookup_table(Ids=[c0, c1], W=emb) -> Outputs=[embedding_0.tmp_0, embedding_1.tmp_0] {is_distributed=true, is_test=false, lookup_table_version="lookup_table_v2", padding_idx=-1L, table_id=1}
    send(LearningRate=learning_rate_0, X=[b@GRAD, w@GRAD]) {table_id=0}
    distributed_push_sparse(Grads=[embedding_1.tmp_0@GRAD, embedding_0.tmp_0@GRAD], Ids=[c1, c0], LearningRate=learning_rate_0) {padding_idx=-1L, size=8, table_id=1}
    send_barrier()
    recv() -> [b, w] {table_id=0}
  )"));
  const std::vector<std::string> types = types_of(main_->global_block());
  EXPECT_THAT(types, Not(Contains("sgd")));
  EXPECT_THAT(types, Not(Contains("lookup_table_v2_grad")));
  EXPECT_THAT(types, Not(Contains("sum")));
  EXPECT_EQ(startup_->global_block().count("fake_init"), 1);
  ASSERT_EQ(tables.size(), 2);
  EXPECT_THAT(tables[0].params, ElementsAre("b", "w"));
  EXPECT_EQ(tables[0].width, 9);
  EXPECT_EQ(tables[1].name, "emb");
  EXPECT_EQ(tables[1].rows, 1000);
  EXPECT_EQ(tables[1].width, 8);
  EXPECT_EQ(tables[1].first.kind, "uniform");
  EXPECT_FLOAT_EQ(tables[1].first.b, std::sqrt(6.0f / 1008));
}

TEST_F(PsSplit, WaitsForNobodyWhereItIsAsynchronous) {
  layers::sgd(0.5).minimize(linear());
  split(PsMode::kAsync);
  EXPECT_EQ(main_->global_block().count("send_barrier"), 0);
  EXPECT_EQ(main_->global_block().count("recv"), 1);
}

TEST_F(PsSplit, LeavesAccumulatorsToServers) {
  layers::adam(0.5).minimize(linear());
  const std::vector<ServerTable> tables = split(PsMode::kSync);
  EXPECT_THAT(startup_ops(), Not(HasSubstr("moment")));
  EXPECT_THAT(startup_ops(), HasSubstr("learning_rate_0"));
  EXPECT_EQ(main_->global_block().find_var("fc_0.w_0_moment1_0"), nullptr);
  EXPECT_EQ(tables[0].rule, "adam");
  EXPECT_FLOAT_EQ(tables[0].numbers.at("beta2"), 0.999f);
}

TEST_F(PsSplit, KeepsParametersThatLearnAtTheirOwnPaceApart) {
  layers::momentum(0.5, 0.8f, layers::l2_decay(0.25f)).minimize(linear({.learning_rate = 2}));
  const std::vector<ServerTable> tables = split(PsMode::kSync);
  ASSERT_EQ(tables.size(), 2);
  EXPECT_EQ(tables[0].learning_rate, "learning_rate_0");
  EXPECT_EQ(tables[1].learning_rate, "tmp_0");
  EXPECT_FLOAT_EQ(tables[1].l2, 0.25f);
  EXPECT_FLOAT_EQ(tables[1].numbers.at("mu"), 0.8f);
}

// Only the rows that are looked up decay, on the server; dense parameters where they are.
TEST_F(PsSplit, GivesDecayOfRowsToServers) {
  layers::Optimizer("adagrad", {.regularization = layers::l2_decay(0.25f),
                                .attrs = {{"initial_accumulator_value", 0.5f}}})
      .minimize(click_model());
  const std::vector<ServerTable> tables = split(PsMode::kSync);
  ASSERT_EQ(tables.size(), 2);
  EXPECT_FLOAT_EQ(tables[0].l2, 0);
  EXPECT_FLOAT_EQ(tables.back().l2, 0.25f);
  EXPECT_FLOAT_EQ(tables.back().numbers.at("initial_accumulator_value"), 0.5f);
  EXPECT_THAT(types_of(main_->global_block()), Contains("scale"));
  EXPECT_THAT(ops(), Not(HasSubstr("scale(X=emb)")));
}

TEST_F(PsSplit, LeavesTheProgramOfGeoAsItIs) {
  layers::sgd(0.5).minimize(click_model());
  const std::string before = ops(), startup = startup_ops();
  split(PsMode::kGeo);
  EXPECT_EQ(ops().substr(0, before.size()), before);
  EXPECT_EQ(startup_ops(), startup);
  EXPECT_THAT(rpc_ops(), HasSubstr("geo_sgd(Ids=[c0, c1], X=emb) -> emb {k_steps=10, table_id="));
}

TEST_F(PsSplit, LeavesNothingButLookupsInAProgramForTests) {
  layers::sgd(0.5).minimize(click_model());
  split(PsMode::kSync);
  const auto types = types_of(main_->clone(true)->global_block());
  EXPECT_THAT(types, Contains("distributed_lookup_table"));
  for (const char* const type : {"send", "recv", "send_barrier", "distributed_push_sparse"}) {
    EXPECT_THAT(types, Not(Contains(type)));
  }
}

// A lookup cannot run before its ids are there.
TEST_F(PsSplit, JoinsOnlyLookupsWhoseIdsAreThere) {
  const layers::EmbeddingOptions options = {.is_sparse = true, .weight = {.name = "emb"}};
  const layers::Variable first = layers::embedding(layers::data("c0", {-1}, i64), 1000, 8, options);
  const layers::Variable ids = layers::cast(layers::data("c1", {-1}, i32), i64);
  const layers::Variable second = layers::embedding(ids, 1000, 8, options);
  layers::sgd(0.5).minimize(layers::mean(layers::elementwise("elementwise_add", first, second)));
  split(PsMode::kAsync);
  EXPECT_EQ(main_->global_block().count("distributed_lookup_table"), 2);
  EXPECT_EQ(main_->global_block().count("distributed_push_sparse"), 1);
}

TEST_F(PsSplit, KeepsADenseEmbeddingDense) {
  layers::sgd(0.5).minimize(click_model({.weight = {.name = "emb"}}));
  for (const ServerTable& table : split(PsMode::kSync)) EXPECT_FALSE(table.sparse);
  EXPECT_EQ(main_->global_block().count("lookup_table_v2"), 2);
}

TEST_F(PsSplit, RefusesWhatServersCannotDo) {
  layers::Optimizer("rmsprop", {}).minimize(linear());
  EXPECT_REFUSED(split(PsMode::kSync),
                 "parameter servers have no rule for rmsprop, which updates \"fc_0.b_0\"; there "
                 "are: adagrad, adam, adamw, ftrl, momentum, sgd");
}

TEST_F(PsSplit, RefusesToClipRowsThatGoToServers) {
  layers::Optimizer("sgd", {.clip = layers::clip_by_global_norm(1)}).minimize(click_model());
  const std::string before = ops();
  EXPECT_REFUSED(split(PsMode::kSync),
                 "the gradient of the sparse table \"emb\" goes to servers as lookups leave it, "
                 "but elementwise_mul changes it first");
  EXPECT_EQ(ops(), before);
}

}  // namespace
}  // namespace flotilla::passes

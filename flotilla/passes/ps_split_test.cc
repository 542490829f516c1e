#include "flotilla/passes/ps_split.h"

#include "flotilla/testing/training.h"

namespace flotilla::passes {
namespace {

using ::testing::Contains;
using ::testing::ContainsRegex;
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
      if (!op->attrs().contains("table_id") && op->type() != "send_barrier") continue;
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
    distributed_push_sparse(Grads=[embedding_0.tmp_0@GRAD, embedding_1.tmp_0@GRAD], Ids=[c0, c1], LearningRate=learning_rate_0) {padding_idx=-1L, size=8, table_id=1}
    send_barrier(X=[b@GRAD, w@GRAD, embedding_0.tmp_0@GRAD, embedding_1.tmp_0@GRAD, c0, c1])
    recv(X=[b, w]) -> [b, w] {table_id=0}
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

// How long a step waits is the worker's affair: the program is one.
TEST_F(PsSplit, MakesTheSameProgramWhetherOrNotWorkersWait) {
  layers::sgd(0.5).minimize(click_model());
  std::vector<std::string> programs;
  for (const PsMode mode : {PsMode::kSync, PsMode::kAsync, PsMode::kHalfAsync}) {
    const auto main = main_->clone(), startup = startup_->clone();
    ps_split(*main, *startup, {.mode = mode});
    programs.push_back(print(*main) + print(*startup));
  }
  EXPECT_EQ(programs[0], programs[1]);
  EXPECT_EQ(programs[0], programs[2]);
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

// Where workers update, servers need no rule.
TEST_F(PsSplit, TakesEveryOptimizerToGeo) {
  layers::Optimizer("rmsprop", {.clip = layers::clip_by_value(-1, 1)}).minimize(click_model());
  const std::vector<ServerTable> tables = split(PsMode::kGeo);
  ASSERT_EQ(tables.size(), 2);
  EXPECT_EQ(tables[1].width, 8);
  EXPECT_EQ(tables[1].rows, 1000);
}

// What follows the updates sees the parameters after them.
TEST_F(PsSplit, ReceivesWhereTheUpdatesStood) {
  layers::sgd(0.5).minimize(linear());
  main_->global_block().push_back(
      Op("scale", {{"X", {"fc_0.w_0"}}}, {{"Out", {"fc_0.w_0@GRAD"}}}, {{"scale", 2.0f}}));
  split(PsMode::kSync);
  const std::vector<std::string> types = types_of(main_->global_block());
  ASSERT_GE(types.size(), 2);
  EXPECT_EQ(types[types.size() - 2], "recv");
  EXPECT_EQ(types.back(), "scale");
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
  layers::sgd(0.5).minimize(linear());
  Block& block = main_->global_block();
  const size_t last = block.size() - 1;
  Op update("dpsgd", block.op(last).inputs(), block.op(last).outputs(), block.op(last).attrs());
  block.erase(last);
  block.insert(last, std::move(update));
  EXPECT_THAT(refusal_of([&] { split(PsMode::kSync); }),
              ::testing::StartsWith("parameter servers have no rule for dpsgd, which updates "
                                    "\"fc_0.w_0\"; their rules are: adadelta, adagrad, adam, "));
}

// Their steps need the norm of each parameter.
TEST_F(PsSplit, ParametersOfLayerwiseRulesHaveTablesOfTheirOwn) {
  for (const std::string rule : {"lamb", "lars_momentum"}) {
    main_ = std::make_shared<Program>();
    startup_ = std::make_shared<Program>();
    const layers::ProgramGuard programs(main_, startup_);
    const layers::NameGuard names;
    layers::Optimizer(rule, {}).minimize(linear());
    const std::vector<ServerTable> tables = split(PsMode::kSync);
    ASSERT_EQ(tables.size(), 2u) << rule;
    EXPECT_THAT(tables[0].params, ElementsAre("fc_0.b_0"));
    EXPECT_THAT(tables[1].params, ElementsAre("fc_0.w_0"));
    EXPECT_EQ(tables[1].rule, rule);
    const auto decay =
        tables[1].numbers.find(rule == "lamb" ? "weight_decay" : "lars_weight_decay");
    ASSERT_NE(decay, tables[1].numbers.end());
    EXPECT_EQ(decay->second, rule == "lamb" ? 0.01f : 0.0005f);
  }
}

// Its learning rate is another one, with or without the decay.
TEST_F(PsSplit, AdamwWithoutDecayKeepsItsRatio) {
  for (const float ratio : {1.0f, 0.5f}) {
    main_ = std::make_shared<Program>();
    startup_ = std::make_shared<Program>();
    const layers::ProgramGuard programs(main_, startup_);
    const layers::NameGuard names;
    layers::Optimizer("adamw", {.attrs = {{"with_decay", false}, {"lr_ratio", ratio}}})
        .minimize(linear());
    ServerTable table = split(PsMode::kSync).front();
    EXPECT_EQ(table.rule, ratio == 1 ? "adam" : "adamw");
    EXPECT_EQ(table.numbers.contains("lr_ratio"), ratio != 1);
    EXPECT_EQ(table.numbers.contains("coeff"), ratio != 1);
    EXPECT_EQ(table.numbers["coeff"], 0);
  }
}

TEST_F(PsSplit, TakesAwayTheOpThatMovesAPowerOn) {
  layers::Optimizer("adamax", {}).minimize(linear());
  EXPECT_GT(main_->global_block().count("scale"), 0);
  EXPECT_EQ(split(PsMode::kSync).front().rule, "adamax");
  EXPECT_EQ(main_->global_block().count("scale"), 0);
  EXPECT_EQ(main_->global_block().find_var("fc_0.w_0_beta1_pow_acc_0"), nullptr);
}

// Clipping needs the rows that the worker has, and leaves rows; decay is the servers' all the same.
TEST_F(PsSplit, PushesClippedRows) {
  layers::Optimizer(
      "sgd", {.regularization = layers::l2_decay(0.25f), .clip = layers::clip_by_global_norm(1)})
      .minimize(click_model());
  const std::vector<ServerTable> tables = split(PsMode::kSync);
  EXPECT_FLOAT_EQ(tables.back().l2, 0.25f);
  EXPECT_THAT(rpc_ops(), HasSubstr("distributed_push_sparse(LearningRate=learning_rate_0, "
                                   "Rows=emb@GRAD) {padding_idx=-1L, size=8, table_id=1}"));
  EXPECT_EQ(main_->global_block().count("lookup_table_v2_grad"), 2);
  EXPECT_THAT(ops(), Not(HasSubstr("scale(X=emb)")));
}

TEST_F(PsSplit, PushesRowsClippedByValue) {
  layers::Optimizer("sgd", {.clip = layers::clip_by_value(-1, 1)}).minimize(click_model());
  split(PsMode::kSync);
  EXPECT_THAT(rpc_ops(), ContainsRegex("distributed_push_sparse.*Rows=clip_[0-9]+.tmp_0"));
}

TEST_F(PsSplit, PushesRowsThat1xClips) {
  layers::GradClip clip = layers::clip_by_global_norm(1);
  clip.in_place = false;
  layers::Optimizer("sgd", {.clip = clip}).minimize(click_model());
  split(PsMode::kSync);
  EXPECT_THAT(rpc_ops(), ContainsRegex("distributed_push_sparse.*Rows=elementwise_mul_[0-9].tmp"));
}

TEST_F(PsSplit, RefusesToMakeRowsDense) {
  layers::Optimizer sgd("sgd", {});
  std::vector<ParamGrad> gradients = sgd.backward(click_model());
  for (ParamGrad& pg : gradients) {
    if (pg.param != "emb") continue;
    const layers::Variable param = main_->global_block().var(pg.param);
    pg.grad = layers::op("elementwise_add", {{"X", param}, {"Y", param}}).name();
  }
  sgd.apply_gradients(gradients);
  const std::string before = ops();
  EXPECT_REFUSED(split(PsMode::kSync),
                 "the gradient of the sparse table \"emb\" goes to servers as rows, but "
                 "elementwise_add makes it dense");
  EXPECT_EQ(ops(), before);
}

// One request brings the rows of all tables.
TEST_F(PsSplit, LooksUpSeveralTablesAtOnce) {
  const auto rows = [](const char* table, const char* ids, int64_t width) {
    return layers::embedding(layers::data(ids, {-1}, i64), 100, width,
                             {.is_sparse = true, .weight = {.name = table}});
  };
  const layers::Variables parts = {rows("deep", "c0", 4), rows("wide", "c0", 1),
                                   rows("deep", "c1", 4), rows("wide", "c1", 1)};
  layers::sgd(0.5).minimize(layers::mean(layers::concat(parts, 1)));
  const auto before = main_->clone();
  split(PsMode::kSync);
  const Op& lookup = main_->global_block().op(0);
  ASSERT_EQ(lookup.type(), "distributed_lookup_table");
  EXPECT_THAT(lookup.input_list("W"), ElementsAre("deep", "wide"));
  EXPECT_THAT(lookup.input_list("Ids"), ElementsAre("c0", "c1", "c0", "c1"));
  EXPECT_THAT(lookup.attr<std::vector<int32_t>>("slots"), ElementsAre(2, 2));
  EXPECT_EQ(main_->global_block().count("distributed_lookup_table"), 1);
  const auto test = main_->clone(true);
  look_up_here(*test);
  EXPECT_EQ(test->global_block().count("lookup_table_v2"), 4);
  EXPECT_EQ(test->global_block().op(2).input("W"), "wide");
  EXPECT_EQ(test->global_block().op(2).output("Out"), parts[1].name());
}

// A push knows one padding: what has others is made zero before.
TEST_F(PsSplit, KeepsPaddingsApart) {
  layers::Variables rows;
  for (const int64_t padding : {-1, 7}) {
    layers::EmbeddingOptions options = {.is_sparse = true, .weight = {.name = "emb"}};
    if (padding >= 0) options.padding_idx = padding;
    rows.push_back(
        layers::embedding(layers::data(padding < 0 ? "c0" : "c1", {-1}, i64), 1000, 8, options));
  }
  layers::sgd(0.5).minimize(layers::mean(layers::elementwise("elementwise_add", rows[0], rows[1])));
  split(PsMode::kAsync);
  EXPECT_EQ(main_->global_block().count("distributed_lookup_table"), 2);
  EXPECT_EQ(main_->global_block().count("lookup_table_v2_grad"), 1);
  EXPECT_THAT(rpc_ops(), HasSubstr("Ids=c0, LearningRate=learning_rate_0, Rows=emb@GRAD@RENAME"));
}

// One stream for one initializer, so that what is drawn after it is as in one process.
TEST_F(PsSplit, DrawsWhatTheInitializersOfTablesDraw) {
  const auto table = [](const char* name, const layers::Initializer& initializer) {
    return layers::embedding(
        layers::data(std::string(name) + "_ids", {-1}, i64), 1000, 8,
        {.is_sparse = true, .weight = {.name = name, .initializer = initializer}});
  };
  const layers::Variable sum =
      layers::elementwise("elementwise_add", table("drawn", layers::uniform(-0.5f, 0.5f, 7)),
                          table("filled", layers::constant(0.25f)));
  layers::sgd(0.5).minimize(layers::mean(sum));
  const std::vector<ServerTable> tables = split(PsMode::kAsync);
  EXPECT_THAT(startup_ops(),
              HasSubstr("fake_init() -> drawn {draws=true, dtype=5, seed=7, shape=[1000L, 8L]}"));
  EXPECT_THAT(startup_ops(),
              HasSubstr("fake_init() -> filled {draws=false, dtype=5, seed=0, shape=[1000L, 8L]}"));
}

// A clone for tests is often made before minimize().
TEST_F(PsSplit, LooksUpOnServersInAProgramThatOnlyLooks) {
  const layers::Variable loss = click_model();
  const auto test = main_->clone(true);
  layers::sgd(0.5).minimize(loss);
  look_up_on_servers(*test, split(PsMode::kSync));
  EXPECT_EQ(test->global_block().count("lookup_table_v2"), 0);
  const Op& lookup = test->global_block().op(0);
  EXPECT_EQ(lookup.type(), "distributed_lookup_table");
  EXPECT_TRUE(lookup.attr<bool>("is_test"));
  look_up_here(*test);
  EXPECT_EQ(test->global_block().count("lookup_table_v2"), 2);
  EXPECT_EQ(test->global_block().op(1).input("Ids"), "c1");
}

}  // namespace
}  // namespace flotilla::passes

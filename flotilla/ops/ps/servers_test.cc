#include <gmock/gmock.h>

#include "flotilla/op/build.h"
#include "flotilla/ps/client.h"
#include "flotilla/ps/worker.h"
#include "flotilla/testing/local_servers.h"
#include "flotilla/testing/run_op.h"

namespace flotilla::ops {
namespace {

constexpr const char* kRows = "table 1 emb sparse width=2 rule=sgd init=constant(5)";
constexpr const char* kDense = "table 0 w dense width=3 rule=sgd";

class ServersTest : public ::testing::Test {
 protected:
  ServersTest() {
    const std::vector<ps::TableSpec> tables = {ps::parse_table(kDense), ps::parse_table(kRows)};
    const std::shared_ptr<ps::Client> client = servers_.client(0);
    client->create(tables);
    worker_.connect(client, tables);
  }

  void declare(const std::string& name, const Tensor& tensor) {
    program_->global_block().add_var({.name = name,
                                      .dtype = tensor.dtype(),
                                      .shape = tensor.shape(),
                                      .lod_level = static_cast<int32_t>(tensor.lod().size()),
                                      .is_data = true});
    feeds_.push_back({name, tensor});
  }
  void persist(const std::string& name, const Tensor& tensor) {
    program_->global_block().add_var(
        {.name = name, .dtype = tensor.dtype(), .shape = tensor.shape(), .persistable = true});
    scope_.var(name) = tensor;
  }
  void op(const std::string& type, const Slots& inputs, const Slots& outputs,
          const Attrs& attrs = {}) {
    append_op(program_->global_block(), type, inputs, outputs, attrs);
  }
  std::vector<Tensor> run(const std::vector<std::string>& fetches) {
    Executor executor({.servers = &worker_});
    std::vector<Tensor> values;
    for (const FetchedValue& value : executor.run(*program_, feeds_, fetches, scope_)) {
      values.push_back(dense(value));
    }
    return values;
  }
  // Rows as the servers have them.
  std::vector<float> rows(std::vector<int64_t> ids) {
    std::vector<float> values(ids.size() * 2);
    const ps::Lookup lookup = {ids, values.data()};
    worker_.lookup(1, {&lookup, 1}, ps::Worker::kNoPadding, true);
    return values;
  }

  testing::LocalServers servers_{2, 1};
  ps::Worker worker_{{.mode = ps::Mode::kSync}};
  std::shared_ptr<Program> program_ = std::make_shared<Program>();
  std::vector<Feed> feeds_;
  Scope scope_;
};

const Attrs kTable = {{"table_id", 1}};
const Attrs kV2 = {{"table_id", 1}, {"lookup_table_version", "lookup_table_v2"}};

TEST_F(ServersTest, LooksUpSlotsOfEveryShape) {
  const std::vector<int64_t> seven = {7};
  const std::vector<float> gradient = {1, 2};
  worker_.push_rows(1, {{seven, gradient.data()}}, ps::Worker::kNoPadding, 1);
  worker_.end_step();
  persist("emb", full({0, 2}, 0));
  declare("a", ints({7, 8, 7, 0}, {2, 2}));
  declare("b", ints({8, 7}, {2}, i32));
  Attrs attrs = kV2;
  attrs["padding_idx"] = int64_t{8};
  op("distributed_lookup_table", {{"Ids", {"a", "b"}}, {"W", {"emb"}}}, {{"Outputs", {"x", "y"}}},
     attrs);
  const std::vector<Tensor> found = run({"x", "y"});
  EXPECT_THAT(found[0], near(tensor({4, 3, 0, 0, 4, 3, 5, 5}, Shape{2, 2, 2}), 0));
  EXPECT_THAT(found[1], near(tensor({{0, 0}, {4, 3}}), 0));
}

// lookup_table drops the last extent; the sequences of the ids are those of the rows.
TEST_F(ServersTest, DropsTheLastExtentAndKeepsSequences) {
  persist("emb", full({0, 2}, 0));
  declare("a", with_lod(ints({7, 8, 9}, {3, 1}), {{0, 1, 3}}));
  op("distributed_lookup_table", {{"Ids", {"a"}}, {"W", {"emb"}}}, {{"Outputs", {"x"}}}, kTable);
  EXPECT_EQ(program_->global_block().var("x").lod_level, 1);
  const Tensor x = run({"x"})[0];
  EXPECT_THAT(x, has_shape({3, 2}));
  EXPECT_EQ(x.lod(), (LoD{{0, 1, 3}}));
}

// A program that only looks leaves no rows behind.
TEST_F(ServersTest, MakesNoRowsInTests) {
  persist("emb", full({0, 2}, 0));
  declare("a", ints({7, 8}));
  Attrs attrs = kV2;
  attrs["is_test"] = true;
  op("distributed_lookup_table", {{"Ids", {"a"}}, {"W", {"emb"}}}, {{"Outputs", {"x"}}}, attrs);
  EXPECT_THAT(run({"x"})[0], all_equal_to(5));
  int64_t rows = 0;
  for (int server = 0; server < 2; ++server) {
    for (const auto& table : servers_.store(server).stats().tables) {
      if (table.spec.id == 1) rows += table.sparse.rows;
    }
  }
  EXPECT_EQ(rows, 0);
}

// What was noted is used at the end of the step: what comes in between must not write over it.
TEST_F(ServersTest, AStepPushesAndReceives) {
  const std::vector<float> first = {10, 20, 30};
  const std::span<const float> parts[] = {first};
  worker_.give(0, parts);
  persist("w", tensor({1, 1}, Shape{1, 2}));
  persist("b", tensor({1}));
  declare("lr", tensor({0.5}));
  declare("ids", ints({7, 8, 7}));
  declare("g", tensor({{1, 1}, {2, 2}, {3, 3}}));
  declare("dw", tensor({2, 4}, Shape{1, 2}));
  declare("db", tensor({6}));
  op("scale", {{"X", {"g"}}}, {{"Out", {"g2"}}}, {{"scale", 2.0f}});
  op("scale", {{"X", {"dw"}}}, {{"Out", {"dw2"}}}, {{"scale", 2.0f}});
  op("send", {{"X", {"dw2", "db"}}, {"LearningRate", {"lr"}}}, {}, {{"table_id", 0}});
  op("distributed_push_sparse", {{"Ids", {"ids"}}, {"Grads", {"g2"}}, {"LearningRate", {"lr"}}}, {},
     {{"table_id", 1}, {"padding_idx", int64_t{8}}, {"size", 2}});
  op("scale", {{"X", {"g"}}}, {{"Out", {"other"}}}, {{"scale", 9.0f}});
  op("scale", {{"X", {"dw"}}}, {{"Out", {"another"}}}, {{"scale", 9.0f}});
  op("send_barrier", {{"X", {"dw2", "db", "ids", "g2"}}}, {});
  op("recv", {{"X", {"w", "b"}}}, {{"Out", {"w", "b"}}}, {{"table_id", 0}});
  const std::vector<Tensor> found = run({"w", "b", "other", "another"});
  EXPECT_THAT(found[0], near(tensor({8, 16}, Shape{1, 2}), 0));
  EXPECT_THAT(found[1], near({27}, 0));
  EXPECT_THAT(scope_.var("w"), near(tensor({8, 16}, Shape{1, 2}), 0));
  EXPECT_THAT(rows({7, 8}), ::testing::ElementsAre(1, 1, 5, 5));
}

// Rows that an op has made sparse already, clipped ones for example.
TEST_F(ServersTest, PushesSparseRows) {
  declare("lr", tensor({1}));
  declare("ids", ints({7, 9, 7}));
  declare("g", tensor({{1, 2}, {3, 4}, {5, 6}}));
  persist("emb", full({0, 2}, 0));
  op("lookup_table_v2_grad", {{"Ids", {"ids"}}, {"W", {"emb"}}, {"Out@GRAD", {"g"}}},
     {{"W@GRAD", {"rows"}}}, {{"is_sparse", true}});
  op("distributed_push_sparse", {{"Rows", {"rows"}}, {"LearningRate", {"lr"}}}, {},
     {{"table_id", 1}, {"size", 2}});
  op("send_barrier", {{"X", {"rows"}}}, {});
  run({});
  EXPECT_THAT(rows({7, 9}), ::testing::ElementsAre(-1, -3, 2, 1));
}

TEST_F(ServersTest, ATableOfABillionRowsTakesNoMemory) {
  program_->global_block().add_var(
      {.name = "emb", .shape = {1'000'000'000, 64}, .persistable = true});
  program_->global_block().add_var({.name = "w", .shape = {4}, .persistable = true});
  const Attrs table = {
      {"shape", std::vector<int64_t>{1'000'000'000, 64}}, {"draws", true}, {"seed", 3}};
  op("fake_init", {}, {{"Out", {"emb"}}}, table);
  EXPECT_EQ(program_->global_block().var("emb").shape, Shape({1'000'000'000, 64}));
  run({});
  EXPECT_THAT(scope_.var("emb"), has_shape({0, 64}));
  ASSERT_NE(worker_.drawn("emb"), nullptr);
  EXPECT_EQ(worker_.drawn("emb")->seed, 3);
}

TEST(Servers, RefusesAProcessWithoutServers) {
  EXPECT_REFUSED(run_op("send_barrier", {}, {}),
                 "send_barrier is for a worker of parameter servers, but this process knows none: "
                 "run the program under fleetrun, and call fleet.init_worker() first");
}

TEST(Servers, RefusesShapesThatDoNotFit) {
  const Operands table = tensor({{1, 2}});
  EXPECT_REFUSED(build_op("distributed_lookup_table", {{"Ids", ints({1, 2})}, {"W", table}},
                          {{"table_id", 0}}),
                 "the last extent of Ids must be 1, but Ids has shape [2]");
  EXPECT_REFUSED(build_op("distributed_lookup_table", {{"Ids", tensor({1})}, {"W", table}}, {}),
                 "Ids must hold i64 or i32, but \"Ids_0\" holds f32");
  EXPECT_REFUSED(
      build_op("distributed_push_sparse",
               {{"Ids", ints({1, 2})}, {"Grads", tensor({1, 2, 3})}, {"LearningRate", tensor({1})}},
               {{"size", 2}}),
      "ids of shape [2] have rows of 2 elements, but their gradient has shape [3]");
}

}  // namespace
}  // namespace flotilla::ops

#include "flotilla/job/server_tables.h"

#include <gmock/gmock.h>

#include <barrier>
#include <numeric>
#include <thread>

#include "flotilla/ps/client.h"
#include "flotilla/testing/local_servers.h"
#include "flotilla/testing/tensors.h"
#include "flotilla/testing/training.h"

namespace flotilla::job {
namespace {

using passes::PsMode;

TEST(ServerTables, EntriesSayWhichKeysGetARow) {
  EXPECT_EQ(parse_entry(""), ps::Admission());
  EXPECT_EQ(parse_entry("none"), ps::Admission());
  EXPECT_EQ(parse_entry("count_filter_entry:5"), (ps::Admission{ps::Admission::kCount, 5}));
  EXPECT_EQ(parse_entry("probability_entry:0.1"),
            (ps::Admission{ps::Admission::kProbability, 0.1}));
  EXPECT_REFUSED(parse_entry("count_filter_entry:many"),
                 "the entry of a sparse table must be count_filter_entry:<n> or "
                 "probability_entry:<p>, but is \"count_filter_entry:many\"");
}

TEST(ServerTables, OptionsOfAWorker) {
  const ps::WorkerOptions options = worker_options(
      {.mode = PsMode::kHalfAsync, .send_queue = 3, .max_merge = 4, .pushes_per_refresh = 5},
      {.index = 1, .workers = 2, .server_endpoints = {"127.0.0.1:1"}}, nullptr);
  EXPECT_EQ(options.mode, ps::Mode::kHalfAsync);
  EXPECT_EQ(options.rank, 1);
  EXPECT_EQ(options.workers, 2);
  EXPECT_EQ(options.send_queue, 3);
  EXPECT_EQ(options.max_merge, 4);
  EXPECT_EQ(options.pushes_per_refresh, 5);
  EXPECT_REFUSED(worker_options({.send_queue = 0}, {}, nullptr),
                 "send_queue_size must be a number from 1 to 2147483647, but is 0");
}

class ServerTraining : public passes::TrainingTest {
 protected:
  // Two slots share a table, a third has its own; a layer joins them with dense inputs.
  layers::Variable click_model(const layers::Initializer& initializer) {
    layers::Variables parts = {layers::data("x", {-1, 3})};
    for (const char* slot : {"c0", "c1"}) {
      parts.push_back(layers::embedding(layers::data(slot, {-1}, i64), 50, 6,
                                        {.is_sparse = true,
                                         .padding_idx = 3,
                                         .weight = {.name = "emb", .initializer = initializer}}));
    }
    parts.push_back(layers::sparse_embedding(layers::data("c2", {-1, 1}, i64), 70, 5,
                                             {.weight = {.name = "wide"}}));
    const layers::Variable hidden = layers::fc(layers::concat(parts, 1), 8, {.act = "relu"});
    return layers::mean(layers::square(layers::fc(hidden, 1)));
  }

  static std::vector<Feed> batch(int step, int rank, int ranks) {
    const int64_t n = 8 / ranks;
    const auto seed = static_cast<uint64_t>(step + 1);
    const auto rows = [&](const Tensor& all, Shape shape) {
      const std::vector<double> values = values_of(all);
      const auto width = static_cast<int64_t>(values.size()) / 8;
      const auto begin = values.begin() + rank * n * width;
      shape[0] = n;
      return from_values({begin, begin + n * width}, shape, all.dtype());
    };
    return {{"x", rows(uniform({8, 3}, -1, 1, seed), {n, 3})},
            {"c0", rows(uniform_ints({8}, 0, 50, seed), {n})},
            {"c1", rows(uniform_ints({8}, 0, 50, seed + 100), {n})},
            {"c2", rows(uniform_ints({8, 1}, 0, 70, seed + 200), {n, 1})}};
  }

  static std::vector<double> dense_parameters(Scope& scope) {
    std::vector<double> all;
    for (const char* name : {"fc_0.w_0", "fc_0.b_0", "fc_1.w_0", "fc_1.b_0"}) {
      const std::vector<double> values = values_of(scope.var(name));
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  struct Trained {
    std::vector<double> losses = {};
    std::vector<double> dense = {};
    std::vector<double> emb = {};
  };

  Trained train_alone(int steps) {
    Trained trained;
    Generator generator(11);
    Executor executor({.generator = &generator});
    Scope scope;
    executor.run(*startup_, {}, {}, scope);
    for (int step = 0; step < steps; ++step) {
      const auto loss = executor.run(*main_, batch(step, 0, 1), {loss_}, scope);
      trained.losses.push_back(values_of(std::get<Tensor>(loss[0]))[0]);
    }
    trained.dense = dense_parameters(scope);
    trained.emb = values_of(scope.var("emb"));
    return trained;
  }

  // Every worker is a thread with programs, a scope and an executor of its own.
  std::vector<Trained> train(int workers, int steps, PsMode mode) {
    testing::LocalServers servers(2, workers);
    std::vector<Trained> trained(static_cast<size_t>(workers));
    std::barrier<> together(workers);
    std::vector<std::jthread> threads;
    for (int rank = 0; rank < workers; ++rank) {
      const auto main = main_->clone(), startup = startup_->clone();
      const auto tables = passes::ps_split(*main, *startup, {.mode = mode, .geo_steps = 4});
      threads.emplace_back([=, this, &servers, &together, &trained] {
        try {
          run_worker(servers.client(rank), {mode, rank, workers, steps}, *main, *startup, tables,
                     together, trained[static_cast<size_t>(rank)]);
        } catch (const std::exception& error) {
          ADD_FAILURE() << error.what();
          together.arrive_and_drop();
        }
      });
    }
    threads.clear();
    return trained;
  }

  struct Part {
    PsMode mode = PsMode::kSync;
    int rank = 0;
    int workers = 1;
    int steps = 0;
  };

  void run_worker(std::shared_ptr<ps::Client> client, const Part& part, const Program& main,
                  const Program& startup, const std::vector<passes::ServerTable>& tables,
                  std::barrier<>& together, Trained& trained) {
    ps::Worker worker(worker_options({.mode = part.mode},
                                     {.index = part.rank, .workers = part.workers}, nullptr));
    Generator generator(11);
    Executor executor({.generator = &generator, .servers = &worker});
    Scope scope;
    executor.run(startup, {}, {}, scope);
    const std::vector<ps::TableSpec> specs = table_specs(tables, part.mode, worker);
    if (part.rank == 0) client->create(specs);
    together.arrive_and_wait();
    worker.connect(client, specs);
    if (part.rank == 0) fill(worker, tables, part, scope);
    together.arrive_and_wait();
    if (part.rank != 0) fill(worker, tables, part, scope);
    for (int step = 0; step < part.steps; ++step) {
      const auto loss = executor.run(main, batch(step, part.rank, part.workers), {loss_}, scope);
      trained.losses.push_back(values_of(std::get<Tensor>(loss[0]))[0]);
    }
    worker.flush();
    together.arrive_and_wait();
    read(worker, tables, part, scope, trained);
  }

  static void fill(ps::Worker& worker, const std::vector<passes::ServerTable>& tables,
                   const Part& part, Scope& scope) {
    for (const passes::ServerTable& table : tables) {
      if (table.sparse && part.mode != PsMode::kGeo) continue;
      std::vector<std::span<float>> parts;
      for (const std::string& name : table.params) {
        Tensor& tensor = scope.var(name);
        parts.emplace_back(tensor.data<float>(), static_cast<size_t>(tensor.shape().numel()));
      }
      const std::vector<std::span<const float>> given(parts.begin(), parts.end());
      const auto id = static_cast<uint32_t>(table.id);
      if (part.rank == 0) {
        worker.give(id, given);
      } else {
        worker.take(id, parts);
      }
    }
  }

  // What the servers have, and in a synchronous step the worker as well.
  static void read(ps::Worker& worker, const std::vector<passes::ServerTable>& tables,
                   const Part& part, Scope& scope, Trained& trained) {
    for (const passes::ServerTable& table : tables) {
      const auto id = static_cast<uint32_t>(table.id);
      if (!table.sparse && part.mode != PsMode::kSync) {
        std::vector<float> values(static_cast<size_t>(table.width));
        const std::span<float> parts[] = {values};
        worker.take(id, parts);
        trained.dense.insert(trained.dense.end(), values.begin(), values.end());
      }
      if (table.name != "emb") continue;
      std::vector<int64_t> ids(50);
      for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(i);
      std::vector<float> rows(ids.size() * 6);
      const ps::Lookup lookup = {ids, rows.data()};
      worker.lookup(id, {&lookup, 1}, ps::Worker::kNoPadding, true);
      trained.emb.assign(rows.begin(), rows.end());
    }
    if (part.mode == PsMode::kSync) trained.dense = dense_parameters(scope);
  }

  // A fresh model in main_ and startup_.
  void build(const layers::Initializer& initializer, const layers::OptimizerOptions& options,
             const std::string& rule = "sgd") {
    main_ = std::make_shared<Program>();
    startup_ = std::make_shared<Program>();
    const layers::ProgramGuard programs(main_, startup_);
    const layers::NameGuard names;
    const layers::Variable loss = click_model(initializer);
    loss_ = loss.name();
    layers::Optimizer(rule, options).minimize(loss);
  }

  std::string loss_;
};

double farthest(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
  double most = 0;
  for (size_t i = 0; i < a.size(); ++i) most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

// Whatever is drawn, on the worker or on the servers, is what one process draws.
TEST_F(ServerTraining, RowsStartAsInOneProcess) {
  for (const auto& [name, initializer] :
       std::map<std::string, layers::Initializer>{{"uniform", layers::uniform(-0.5, 0.25)},
                                                  {"seeded", layers::uniform(-0.5, 0.25, 7)},
                                                  {"normal", layers::normal(0.5, 2)},
                                                  {"truncated", layers::truncated_normal(1, 0.5)},
                                                  {"constant", layers::constant(0.125)},
                                                  {"xavier", layers::xavier()}}) {
    build(initializer, {});
    const Trained expected = train_alone(0), found = train(1, 0, PsMode::kSync)[0];
    EXPECT_EQ(found.dense, expected.dense) << name;
    EXPECT_EQ(found.emb, expected.emb) << name;
  }
}

TEST_F(ServerTraining, SynchronousWorkersAreOneProcess) {
  for (const std::string rule : {"sgd", "adam"}) {
    Attrs attrs;
    if (rule == "adam") attrs["lazy_mode"] = true;
    build(layers::uniform(-0.5, 0.5), {.learning_rate = 0.05, .attrs = attrs}, rule);
    const Trained alone = train_alone(20);
    for (const int workers : {1, 2, 4}) {
      const std::vector<Trained> trained = train(workers, 20, PsMode::kSync);
      for (size_t step = 0; step < 20; ++step) {
        double mean = 0;
        for (const Trained& one : trained) mean += one.losses[step] / workers;
        EXPECT_NEAR(mean, alone.losses[step], 1e-5) << rule << workers;
      }
      for (const Trained& one : trained) {
        EXPECT_LT(farthest(one.dense, alone.dense), 1e-4) << rule << workers;
        EXPECT_LT(farthest(one.emb, alone.emb), 1e-4) << rule << workers;
      }
      EXPECT_EQ(trained.front().dense, trained.back().dense) << rule << workers;
    }
  }
}

// Clipping stays with the worker: of one worker, it is that of one process.
TEST_F(ServerTraining, AWorkerClipsItsGradients) {
  build(layers::uniform(-0.5, 0.5),
        {.learning_rate = 0.5, .clip = layers::clip_by_global_norm(0.05f)});
  const Trained alone = train_alone(10), one = train(1, 10, PsMode::kHalfAsync)[0];
  EXPECT_LT(farthest(one.losses, alone.losses), 1e-5);
  EXPECT_LT(farthest(one.emb, alone.emb), 1e-5);
}

double mean_of(std::span<const double> losses) {
  return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
}

TEST_F(ServerTraining, OtherModesLearnTheSame) {
  build(layers::uniform(-0.5, 0.5), {.learning_rate = 0.05});
  const double start = mean_of(train_alone(20).losses);
  for (const PsMode mode : {PsMode::kAsync, PsMode::kHalfAsync, PsMode::kGeo}) {
    const std::vector<Trained> trained = train(2, 100, mode);
    EXPECT_LT(mean_of(std::span(trained[0].losses).last(20)), start / 2) << static_cast<int>(mode);
    EXPECT_EQ(trained[0].dense, trained[1].dense) << static_cast<int>(mode);
  }
}

}  // namespace
}  // namespace flotilla::job

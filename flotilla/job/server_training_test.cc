// flotilla/job/server_training_test.cc
//
// Whole steps of workers, as threads of this process with servers in it: what they learn is what
// one process learns.

#include <gmock/gmock.h>

#include <barrier>
#include <future>
#include <numeric>
#include <thread>

#include "flotilla/job/server_tables.h"
#include "flotilla/layers/conv.h"
#include "flotilla/layers/lr_ops.h"
#include "flotilla/ps/client.h"
#include "flotilla/runtime/dataset_run.h"
#include "flotilla/testing/local_servers.h"
#include "flotilla/testing/tensors.h"
#include "flotilla/testing/training.h"
#include "flotilla/update/rule.h"

namespace flotilla::job {
namespace {

using passes::PsMode;

class ServerTraining : public passes::TrainingTest {
 protected:
  // Two slots share a table, a third has its own; a layer joins them with dense inputs.
  layers::Variable click_model(const layers::Initializer& initializer) {
    layers::Variables parts = {layers::data("x", {-1, 3})};
    for (const char* slot : {"c0", "c1"}) {
      parts.push_back(layers::embedding(layers::data(slot, {-1}, i64), 50, 6,
                                        {.is_sparse = true,
                                         .padding_idx = paddings_.at(slot),
                                         .weight = {.name = "emb", .initializer = initializer}}));
    }
    parts.push_back(layers::embedding(layers::data("c2", {-1}, i64), 70, 5,
                                      {.is_sparse = true, .weight = {.name = "wide"}}));
    const layers::Variable hidden = layers::fc(layers::concat(parts, 1), 8, {.act = "relu"});
    return layers::mean(layers::square(layers::fc(hidden, 1)));
  }

  std::vector<Feed> batch(int step, int rank, int ranks) const {
    const int64_t n = 8 / ranks;
    const auto seed = static_cast<uint64_t>(step + 1);
    const auto rows = [&](const Tensor& all, Shape shape) {
      const std::vector<double> values = values_of(all);
      const auto width = static_cast<int64_t>(values.size()) / 8;
      const auto begin = values.begin() + rank * n * width;
      shape[0] = n;
      return from_values({begin, begin + n * width}, shape, all.dtype());
    };
    if (main_->global_block().find_var("image") != nullptr) {
      return {{"image", rows(uniform({8, 8, 6, 6}, -1, 1, seed), {n, 8, 6, 6})}};
    }
    if (main_->global_block().find_var("words") != nullptr) return {words(step)};
    return {{"x", rows(uniform({8, 3}, -1, 1, seed), {n, 3})},
            {"c0", rows(uniform_ints({8}, 0, 50, seed), {n})},
            {"c1", rows(uniform_ints({8}, 0, 50, seed + 100), {n})},
            {"c2", rows(uniform_ints({8}, 0, 70, seed + 200), {n})}};
  }

  data::Batch tensors(int step) const {
    data::Batch tensors;
    for (Feed& feed : batch(step, 0, 1)) tensors.push_back(std::move(feed.tensor));
    return tensors;
  }

  // Sequences of other lengths in every step.
  static Feed words(int step) {
    std::vector<int64_t> offsets = {0};
    for (int i = 0; i < 4; ++i) offsets.push_back(offsets.back() + 1 + (step * 3 + i * 5) % 7);
    const Tensor ids = uniform_ints({offsets.back(), 1}, 0, 50, static_cast<uint64_t>(step + 1));
    return {"words", with_lod(ids, {offsets})};
  }

  // All but the sparse tables, of which a worker has no rows.
  std::vector<double> dense_parameters(Scope& scope) const {
    std::vector<double> all;
    for (const Var* parameter : main_->parameters()) {
      if (parameter->name == "emb" || parameter->name == "wide") continue;
      const std::vector<double> values = values_of(scope.var(parameter->name));
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  struct Trained {
    std::vector<double> losses = {};
    std::vector<double> dense = {};
    std::vector<double> emb = {};
    double test_loss = 0;  // of the program as it was before minimize()
    bool blocked = false;  // a parameter lay in a layout of its own
  };

  static double loss_of(const std::vector<FetchedValue>& fetched) {
    return values_of(std::get<Tensor>(fetched[0]))[0];
  }

  Trained train_alone(int steps) {
    Trained trained;
    Generator generator(11);
    Executor executor({.generator = &generator});
    Scope scope;
    executor.run(*startup_, {}, {}, scope);
    for (int step = 0; step < steps; ++step) {
      trained.losses.push_back(loss_of(executor.run(*main_, batch(step, 0, 1), {loss_}, scope)));
    }
    trained.test_loss = loss_of(executor.run(*test_, batch(99, 0, 1), {loss_}, scope));
    trained.dense = dense_parameters(scope);
    if (const Tensor* emb = scope.find("emb")) trained.emb = values_of(*emb);
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
      trained.losses.push_back(
          loss_of(executor.run(main, batch(step, part.rank, part.workers), {loss_}, scope)));
    }
    worker.flush();
    together.arrive_and_wait();
    read(worker, tables, part, scope, trained);
    const auto test = test_->clone();
    if (part.mode != PsMode::kGeo) look_up_on_servers(*test, tables);
    trained.test_loss = loss_of(executor.run(*test, batch(99, 0, 1), {loss_}, scope));
    for (const Var* parameter : main_->parameters()) {
      trained.blocked |= !scope.var(parameter->name).layout().plain();
    }
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
  void read(ps::Worker& worker, const std::vector<passes::ServerTable>& tables, const Part& part,
            Scope& scope, Trained& trained) const {
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

  // A fresh program in main_ and startup_.
  template <typename F>
  void build(F model, layers::OptimizerOptions options, const std::string& rule = "sgd") {
    main_ = std::make_shared<Program>();
    startup_ = std::make_shared<Program>();
    const layers::ProgramGuard programs(main_, startup_);
    const layers::NameGuard names;
    const layers::Variable loss = model();
    loss_ = loss.name();
    test_ = main_->clone(true);
    if (decays_) options.learning_rate_var = layers::exponential_decay(0.1, 1, 0.9).name();
    layers::Optimizer(rule, options).minimize(loss);
  }
  // A worker alone with a server, ready for its first step.
  struct OneWorker {
    OneWorker(const Program& whole, const Program& whole_startup, PsMode mode)
        : main(whole.clone()), worker(worker_options({.mode = mode}, {}, nullptr)) {
      const auto startup = whole_startup.clone();
      const auto tables = passes::ps_split(*main, *startup, {.mode = mode});
      executor.run(*startup, {}, {}, scope);
      const std::vector<ps::TableSpec> specs = table_specs(tables, mode, worker);
      const std::shared_ptr<ps::Client> client = servers.client(0);
      client->create(specs);
      worker.connect(client, specs);
      fill(worker, tables, {.mode = mode}, scope);
    }

    const std::shared_ptr<Program> main;
    testing::LocalServers servers{1, 1};
    ps::Worker worker;
    Generator generator{11};
    Executor executor{{.generator = &generator, .servers = &worker}};
    Scope scope;
  };

  void build_clicks(const layers::Initializer& initializer, const layers::OptimizerOptions& options,
                    const std::string& rule = "sgd") {
    build([&] { return click_model(initializer); }, options, rule);
  }

  std::string loss_;
  std::map<std::string, std::optional<int64_t>> paddings_ = {{"c0", 3}, {"c1", 3}};
  bool decays_ = false;            // the learning rate, by ops of the program
  std::shared_ptr<Program> test_;  // as it is before minimize()
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
    build_clicks(initializer, {});
    const Trained expected = train_alone(0), found = train(1, 0, PsMode::kSync)[0];
    EXPECT_EQ(found.dense, expected.dense) << name;
    EXPECT_EQ(found.emb, expected.emb) << name;
  }
}

TEST_F(ServerTraining, SynchronousWorkersAreOneProcess) {
  for (const std::string rule : {"sgd", "adam"}) {
    Attrs attrs;
    if (rule == "adam") attrs["lazy_mode"] = true;
    build_clicks(layers::uniform(-0.5, 0.5), {.learning_rate = 0.05, .attrs = attrs}, rule);
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
        EXPECT_NEAR(one.test_loss, alone.test_loss, 1e-5) << rule << workers;
      }
      EXPECT_EQ(trained.front().dense, trained.back().dense) << rule << workers;
    }
  }
}

// Whichever rule there is, one that only tests know among them; layerwise ones as well.
TEST_F(ServerTraining, EveryRuleIsTheSameOnServers) {
  for (const std::string& rule : update::rule_names()) {
    build(
        [] {
          const layers::Variable image = layers::data("image", {-1, 8, 6, 6});
          return layers::mean(layers::square(layers::fc(layers::fc(image, 5, {.act = "tanh"}), 3)));
        },
        {.learning_rate = 0.05}, rule);
    const Trained alone = train_alone(8);
    for (const int workers : {1, 2}) {
      const Trained one = train(workers, 8, PsMode::kSync)[0];
      EXPECT_LT(farthest(one.dense, alone.dense), 1e-4) << rule << workers;
    }
    EXPECT_GT(farthest(alone.dense, train_alone(0).dense), 1e-3) << rule;
  }
}

// Clipping stays with the worker: of one worker, it is that of one process.
TEST_F(ServerTraining, AWorkerClipsItsGradients) {
  build_clicks(layers::uniform(-0.5, 0.5),
               {.learning_rate = 0.5, .clip = layers::clip_by_global_norm(0.05f)});
  const Trained alone = train_alone(10), one = train(1, 10, PsMode::kHalfAsync)[0];
  EXPECT_LT(farthest(one.losses, alone.losses), 1e-5);
  EXPECT_LT(farthest(one.emb, alone.emb), 1e-5);
}

TEST_F(ServerTraining, LookupsOfATableMayHavePaddingsOfTheirOwn) {
  for (const std::optional<int64_t> other : {std::optional<int64_t>(), std::optional<int64_t>(5)}) {
    paddings_["c1"] = other;
    build_clicks(layers::uniform(-0.5, 0.5), {.learning_rate = 0.1});
    const Trained alone = train_alone(10), one = train(2, 10, PsMode::kSync)[0];
    EXPECT_LT(farthest(one.dense, alone.dense), 1e-5);
    EXPECT_LT(farthest(one.emb, alone.emb), 1e-5);
  }
}

TEST_F(ServerTraining, RatesThatTheProgramComputesTravelWithGradients) {
  decays_ = true;
  build_clicks(layers::uniform(-0.5, 0.5), {});
  const Trained alone = train_alone(10), one = train(2, 10, PsMode::kSync)[0];
  EXPECT_LT(farthest(one.dense, alone.dense), 1e-5);
  EXPECT_LT(farthest(one.emb, alone.emb), 1e-5);
}

// The weights of a convolution live in a layout of their own; servers have them as they are written
// down.
TEST_F(ServerTraining, ParametersComeAndGoInAnyLayout) {
  build(
      [] {
        const layers::Variable image = layers::data("image", {-1, 8, 6, 6});
        const layers::Variable conv = layers::conv2d(image, 16, {3}, {.act = "relu"});
        return layers::mean(layers::square(layers::fc(conv, 4)));
      },
      {.learning_rate = 0.1}, "adam");
  const Trained alone = train_alone(6);
  for (const PsMode mode : {PsMode::kSync, PsMode::kHalfAsync}) {
    const Trained one = train(1, 6, mode)[0];
    EXPECT_TRUE(one.blocked);
    EXPECT_LT(farthest(one.losses, alone.losses), 1e-5);
  }
  EXPECT_LT(farthest(train(2, 6, PsMode::kSync)[0].dense, alone.dense), 1e-4);
}

TEST_F(ServerTraining, SequencesOfAnyLengthAreLookedUp) {
  build(
      [] {
        const layers::Variable rows = layers::sparse_embedding(
            layers::data("words", {-1, 1}, i64, {.lod_level = 1}), 50, 6,
            {.weight = {.name = "emb", .initializer = layers::uniform(-0.5, 0.5)}});
        return layers::mean(layers::square(
            layers::fc(layers::op("sequence_pool", {{"X", rows}}, {{"pooltype", "SUM"}}), 4)));
      },
      {.learning_rate = 0.1});
  const Trained alone = train_alone(12), one = train(1, 12, PsMode::kSync)[0];
  EXPECT_LT(farthest(one.losses, alone.losses), 1e-5);
  EXPECT_LT(farthest(one.dense, alone.dense), 1e-5);
  EXPECT_LT(farthest(one.emb, alone.emb), 1e-5);
}

double mean_of(std::span<const double> losses) {
  return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size());
}

TEST_F(ServerTraining, OtherModesLearnTheSame) {
  build_clicks(layers::uniform(-0.5, 0.5), {.learning_rate = 0.05});
  const double start = mean_of(train_alone(20).losses);
  for (const PsMode mode : {PsMode::kAsync, PsMode::kHalfAsync, PsMode::kGeo}) {
    const std::vector<Trained> trained = train(2, 400, mode);
    EXPECT_LT(mean_of(std::span(trained[0].losses).last(20)), start / 2) << static_cast<int>(mode);
    EXPECT_EQ(trained[0].dense, trained[1].dense) << static_cast<int>(mode);
  }
}

// A data set tells what comes next: a step is then one request, and learns what it would without.
TEST_F(ServerTraining, RowsOfTheNextBatchComeWithTheAnswerToThisOne) {
  constexpr int kSteps = 12;
  build_clicks(layers::uniform(-0.5, 0.5), {.learning_rate = 0.01});
  for (const PsMode mode : {PsMode::kAsync, PsMode::kSync}) {
    std::vector<double> learned[2];
    int64_t requests[2] = {};
    for (const int ahead : {0, 1}) {
      OneWorker one(*main_, *startup_, mode);
      const int64_t before = one.servers.service(0).stats().requests;
      if (ahead == 0) {
        for (int step = 0; step < kSteps; ++step) {
          one.executor.run(*one.main, batch(step, 0, 1), {loss_}, one.scope);
        }
      } else {
        std::promise<void> made;
        data::BatchPass pass({[&](data::BatchPass& to) {
                               for (int step = 0; step < kSteps; ++step) to.emit(tensors(step));
                               made.set_value();
                             }},
                             kSteps);
        made.get_future().wait();
        run_from_dataset({.program = *one.main, .feeds = {"x", "c0", "c1", "c2"}}, pass,
                         one.executor, one.scope);
      }
      requests[ahead] = one.servers.service(0).stats().requests - before;
      learned[ahead] = dense_parameters(one.scope);
    }
    EXPECT_EQ(learned[0], learned[1]);
    EXPECT_EQ(requests[0], 2 * kSteps);
    EXPECT_EQ(requests[1], kSteps + 1);
  }
}

#ifndef FLT_TSAN  // the races of Hogwild are wanted
// Each thread pushes on its own; none of the steps is lost.
TEST_F(ServerTraining, ThreadsOfADataSetShareTheServers) {
  build_clicks(layers::uniform(-0.5, 0.5), {.learning_rate = 0.01});
  for (const PsMode mode : {PsMode::kAsync, PsMode::kHalfAsync, PsMode::kSync}) {
    OneWorker one(*main_, *startup_, mode);
    data::BatchPass pass({[&](data::BatchPass& to) {
                           for (int step = 0; step < 90; ++step) {
                             if (!to.emit(tensors(step))) return;
                           }
                         }},
                         4);
    const auto pushes = [&] {
      for (const auto& table : one.servers.store(0).stats().tables) {
        if (table.spec.kind == ps::TableSpec::kDense) return table.sparse.pushed;
      }
      return int64_t{-1};
    };
    const int64_t before = pushes();
    const DatasetRunReport report =
        run_from_dataset({.program = *one.main, .feeds = {"x", "c0", "c1", "c2"}, .threads = 3},
                         pass, one.executor, one.scope);
    one.worker.flush();
    EXPECT_EQ(report.threads.size(), mode == PsMode::kSync ? 1 : 3);
    EXPECT_EQ(report.batches(), 90);
    EXPECT_EQ(pushes() - before, 90);
  }
}
#endif

}  // namespace
}  // namespace flotilla::job

#include "flotilla/ps/worker.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/ps/client.h"
#include "flotilla/ps/dense_values.h"
#include "flotilla/ps/floats.h"
#include "flotilla/ps/geo.h"
#include "flotilla/ps/key_plan.h"
#include "flotilla/ps/push_queue.h"
#include "flotilla/update/rule.h"

namespace flotilla::ps {
namespace {

// Rows that one request gives or takes where a whole table moves.
constexpr size_t kRowsAtOnce = 1 << 16;

}  // namespace

// What a connected worker has.
class Worker::State {
 public:
  State(Client& client, const WorkerOptions& options, const std::vector<TableSpec>& tables);

  void give(uint32_t table, std::span<const std::span<const float>> parts);
  void take(uint32_t table, std::span<const std::span<float>> parts);
  void lookup(uint32_t table, std::span<const Lookup> slots, int64_t padding, bool test);
  void prefetch(std::span<const TableIds> tables, bool test);
  void expect(std::vector<ComingIds> coming) {
    if (!queue_) coming_ = std::move(coming);
  }
  void push_rows(uint32_t table, std::vector<RowGradients> slots, int64_t padding, float lr);
  void push_dense(uint32_t table, std::vector<std::span<const float>> parts, float lr);
  void end_step();
  void refresh(uint32_t table, std::span<const std::span<float>> parts);
  void geo_dense(uint32_t table, std::span<const std::span<float>> parts, int64_t k);
  void geo_rows(uint32_t table, std::span<const std::span<const int64_t>> ids,
                std::span<float> rows, int64_t k);
  void flush() {
    if (queue_) queue_->flush();
    for (auto& [table, asked] : asked_) asked.held.clear();
  }

 private:
  // A table's part of the step that is under way.
  struct NotedRows {
    uint32_t table = 0;
    float lr = 0;
    std::vector<float> sums = {};  // a row for each key of the plan
  };
  struct NotedDense {
    uint32_t table = 0;
    float lr = 0;
    std::vector<std::span<const float>> parts = {};
  };
  // The ids that a table was last asked for in this step, and where they went.
  struct Asked {
    std::vector<std::span<const int64_t>> ids = {};
    int64_t padding = kNoPadding;
    bool in_step = false;
    KeyPlan plan = {};
    // The answers that are not read yet: a row for each key of the plan, and what holds them.
    std::vector<const float*> row_of = {};
    std::vector<Bytes> held = {};

    bool is_for(std::span<const std::span<const int64_t>> others, int64_t other_padding) const;
    void make_plan(const TableIds& wanted, int servers);
  };

  const TableSpec& spec(uint32_t table) const;
  // What an answer holds for so many rows.
  size_t even_floats(size_t rows, uint32_t table) const {
    return (rows * static_cast<size_t>(spec(table).width) + 1) / 2 * 2;
  }
  // Cuts the ids by server, unless the step has done so before: the gradients of a lookup come with
  // the same ids.
  Asked& ask_for(const TableIds& ids);
  // Asks the servers for the rows of these tables, which are all different.
  void pull(std::span<const uint32_t> tables, bool test);
  // Adds what `asked` needs of a server, and the bytes of the answer to it.
  void add_pull(ScatteredStep& step, size_t& room, uint32_t table, const Asked& asked, int server,
                bool create) const;
  // Notes where the rows are that a server answered with, from `row` on; returns their end.
  const float* find_rows(uint32_t table, Asked& asked, int server, const float* row) const;
  // What the step after this one asks a table for, where that is known.
  void look_ahead(const TableIds& now);
  void plan_ahead();
  void add_up(NotedRows& noted, const KeyPlan& plan, const std::vector<RowGradients>& slots,
              size_t width) const;
  // A request of the step that is under way.
  Outgoing request_of(int server, bool values);
  void move_rows(const TableSpec& table, std::span<const float> from, std::span<float> to);
  void remember(const TableSpec& table, std::span<const std::span<const float>> parts);

  Client& client_;
  const WorkerOptions options_;
  std::map<uint32_t, TableSpec> tables_;
  const DenseTables dense_;
  std::map<uint32_t, Asked> asked_;
  std::vector<ComingIds> coming_;
  std::map<uint32_t, TableIds> expected_;  // of the next step
  std::map<uint32_t, Asked> ahead_;        // the same, while this step is sent
  std::vector<ComingIds> held_;            // what asked_ borrows from
  std::vector<NotedRows> rows_;
  std::vector<NotedDense> gradients_;
  // What refresh() reads: the answers of all servers; empty: nothing new.
  std::vector<Bytes> values_;
  int64_t pushes_ = 0;
  std::map<uint32_t, GeoDense> geo_dense_;
  std::map<uint32_t, GeoRows> geo_rows_;
  std::unique_ptr<PushQueue> queue_;
};

namespace {

// Merged gradients are added up where two steps are one with their sum.
bool all_add_up(const std::vector<TableSpec>& tables) {
  return std::all_of(tables.begin(), tables.end(), [](const TableSpec& table) {
    const update::Rule* rule = update::find_rule(table.rule.name);
    return rule != nullptr && rule->adds_up;
  });
}

}  // namespace

Worker::State::State(Client& client, const WorkerOptions& options,
                     const std::vector<TableSpec>& tables)
    : client_(client), options_(options), dense_(tables, client.servers()) {
  for (const TableSpec& table : tables) tables_[table.id] = table;
  // Steps can only be merged while they wait.
  const int length = options_.max_merge > 1 ? std::max(options_.send_queue, options_.max_merge)
                                            : options_.send_queue;
  if (options_.mode == Mode::kAsync && length > 0) {
    queue_ = std::make_unique<PushQueue>(
        client_, PushQueue::Options{
                     .length = length, .max_merge = options_.max_merge, .sum = all_add_up(tables)});
  }
}

const TableSpec& Worker::State::spec(uint32_t table) const {
  const auto found = tables_.find(table);
  require(found != tables_.end(), "there is no table {} on the servers", table);
  return found->second;
}

// ---- First values -------------------------------------------------------------------------------

void Worker::State::remember(const TableSpec& table,
                             std::span<const std::span<const float>> parts) {
  if (options_.mode != Mode::kGeo) return;
  if (table.kind == TableSpec::kDense) {
    geo_dense_.erase(table.id);
    geo_dense_.try_emplace(table.id, table, client_.servers(), parts);
  } else {
    geo_rows_.erase(table.id);
    geo_rows_.try_emplace(table.id, table, parts[0]);
  }
}

// Rows from 0 on, in pieces: given where `from` has values, taken otherwise.
void Worker::State::move_rows(const TableSpec& table, std::span<const float> from,
                              std::span<float> to) {
  const auto width = static_cast<size_t>(table.width);
  const size_t rows = std::max(from.size(), to.size()) / width;
  KeyPlan plan;
  for (size_t begin = 0; begin < rows; begin += kRowsAtOnce) {
    std::vector<int64_t> ids(std::min(kRowsAtOnce, rows - begin));
    for (size_t i = 0; i < ids.size(); ++i) ids[i] = static_cast<int64_t>(begin + i);
    const std::span<const int64_t> all[] = {ids};
    plan.make(all, client_.servers(), false, 0);
    std::vector<Outgoing> requests;
    for (int server = 0; server < client_.servers(); ++server) {
      const std::span<const int64_t> keys = plan.keys_of(server);
      ScatteredStep step;
      if (from.empty()) {
        step.pulls = {{.table = table.id, .keys = keys}};
      } else {
        ScatteredChange& change = step.changes.emplace_back();
        change.change = {.table = table.id, .action = Action::kAssign, .keys = keys};
        for (const int64_t key : keys) {
          change.pieces.push_back(from.subspan(static_cast<size_t>(key) * width, width));
        }
      }
      requests.push_back(client_.prepare(server, step, 0));
    }
    const std::vector<Bytes> answers = client_.send(requests);
    if (!from.empty()) continue;
    for (int server = 0; server < client_.servers(); ++server) {
      const std::byte* row = answers[static_cast<size_t>(server)].data.data();
      for (const int64_t key : plan.keys_of(server)) {
        std::memcpy(&to[static_cast<size_t>(key) * width], row, width * sizeof(float));
        row += width * sizeof(float);
      }
    }
  }
}

void Worker::State::give(uint32_t table, std::span<const std::span<const float>> parts) {
  const TableSpec& found = spec(table);
  if (found.kind == TableSpec::kSparse) {
    move_rows(found, parts[0], {});
  } else {
    std::vector<Outgoing> requests;
    for (int server = 0; server < client_.servers(); ++server) {
      ScatteredStep step;
      step.changes.push_back({{.table = table, .action = Action::kAssign},
                              pieces_of(parts, dense_.slice(table, server))});
      requests.push_back(client_.prepare(server, step, 0));
    }
    client_.send(requests);
  }
  remember(found, parts);
}

void Worker::State::take(uint32_t table, std::span<const std::span<float>> parts) {
  const TableSpec& found = spec(table);
  if (found.kind == TableSpec::kSparse) {
    move_rows(found, {}, parts[0]);
  } else {
    std::vector<Outgoing> requests;
    for (int server = 0; server < client_.servers(); ++server) {
      requests.push_back(client_.prepare(server, {.pulls = dense_.pulls()}, dense_.room(server)));
    }
    dense_.read(table, client_.send(requests), parts);
  }
  const std::vector<std::span<const float>> read(parts.begin(), parts.end());
  remember(found, read);
}

// ---- A step -------------------------------------------------------------------------------------

bool Worker::State::Asked::is_for(std::span<const std::span<const int64_t>> others,
                                  int64_t other_padding) const {
  const auto same = [](std::span<const int64_t> a, std::span<const int64_t> b) {
    return a.data() == b.data() && a.size() == b.size();
  };
  return in_step && padding == other_padding &&
         std::equal(ids.begin(), ids.end(), others.begin(), others.end(), same);
}

Worker::State::Asked& Worker::State::ask_for(const TableIds& ids) {
  Asked& asked = asked_[ids.table];
  if (!asked.is_for(ids.slots, ids.padding)) asked.make_plan(ids, client_.servers());
  return asked;
}

void Worker::State::Asked::make_plan(const TableIds& wanted, int servers) {
  ids = wanted.slots;
  padding = wanted.padding;
  in_step = true;
  held.clear();
  plan.make(ids, servers, padding != kNoPadding, padding);
}

void Worker::State::add_pull(ScatteredStep& step, size_t& room, uint32_t table, const Asked& asked,
                             int server, bool create) const {
  const std::span<const int64_t> keys = asked.plan.keys_of(server);
  step.pulls.push_back({.table = table, .create = create, .keys = keys});
  room += even_floats(keys.size(), table) * sizeof(float);
}

const float* Worker::State::find_rows(uint32_t table, Asked& asked, int server,
                                      const float* row) const {
  const auto width = static_cast<size_t>(spec(table).width);
  const size_t begin = asked.plan.begin_of(server), count = asked.plan.keys_of(server).size();
  for (size_t i = 0; i < count; ++i) asked.row_of[begin + i] = row + i * width;
  return row + even_floats(count, table);
}

void Worker::State::pull(std::span<const uint32_t> tables, bool test) {
  std::vector<Outgoing> requests;
  for (int server = 0; server < client_.servers(); ++server) {
    ScatteredStep step;
    size_t room = 0;
    for (const uint32_t table : tables) {
      add_pull(step, room, table, asked_.at(table), server, !test);
    }
    if (room > 0) requests.push_back(client_.prepare(server, step, room));
  }
  const std::vector<Bytes> answers = client_.send(requests);
  for (const uint32_t table : tables) {
    Asked& asked = asked_.at(table);
    asked.held = answers;
    asked.row_of.resize(asked.plan.keys().size());
  }
  for (size_t r = 0; r < requests.size(); ++r) {
    const int server = requests[r].server;
    require(answers[r].data.size() == requests[r].room,
            "server {} answered with {} bytes instead of {}", server, answers[r].data.size(),
            requests[r].room);
    const auto* row = reinterpret_cast<const float*>(answers[r].data.data());
    for (const uint32_t table : tables) row = find_rows(table, asked_.at(table), server, row);
  }
}

void Worker::State::prefetch(std::span<const TableIds> tables, bool test) {
  std::vector<uint32_t> ids;
  for (const TableIds& one : tables) {
    require(std::find(ids.begin(), ids.end(), one.table) == ids.end(),
            "table {} is requested twice at once", spec(one.table).name);
    Asked& asked = asked_[one.table];
    if (!asked.held.empty() && asked.is_for(one.slots, one.padding)) continue;
    asked.make_plan(one, client_.servers());
    ids.push_back(one.table);
  }
  if (!ids.empty()) pull(ids, test);
}

void Worker::State::lookup(uint32_t table, std::span<const Lookup> slots, int64_t padding,
                           bool test) {
  const auto width = static_cast<size_t>(spec(table).width);
  TableIds ids = {.table = table, .padding = padding};
  for (const Lookup& slot : slots) ids.slots.push_back(slot.ids);
  if (asked_[table].held.empty()) asked_[table].in_step = false;
  Asked& asked = ask_for(ids);
  if (asked.held.empty()) pull({&table, 1}, test);
  const uint32_t* place = asked.plan.places().data();
  for (const Lookup& slot : slots) {
    float* to = slot.rows;
    for (size_t i = 0; i < slot.ids.size(); ++i, ++place, to += width) {
      if (*place == KeyPlan::kPadding) {
        std::fill_n(to, width, 0.0f);
      } else {
        copy_row(to, asked.row_of[*place], width);
      }
    }
  }
  asked.held.clear();
  if (test) {
    asked.in_step = false;
  } else {
    look_ahead(ids);
  }
}

void Worker::State::look_ahead(const TableIds& now) {
  TableIds next = {.table = now.table, .padding = now.padding};
  for (const std::span<const int64_t> slot : now.slots) {
    const auto found = std::find_if(coming_.begin(), coming_.end(), [&](const ComingIds& coming) {
      return coming.now == slot.data();
    });
    if (found == coming_.end()) return;
    next.slots.push_back(found->next);
  }
  expected_.try_emplace(now.table, std::move(next));
}

void Worker::State::plan_ahead() {
  ahead_.clear();
  for (const auto& [table, ids] : expected_) {
    Asked& asked = ahead_[table];
    asked.make_plan(ids, client_.servers());
    asked.row_of.resize(asked.plan.keys().size());
  }
  expected_.clear();
}

void Worker::State::add_up(NotedRows& noted, const KeyPlan& plan,
                           const std::vector<RowGradients>& slots, size_t width) const {
  noted.sums.assign(plan.keys().size() * width, 0);
  const uint32_t* place = plan.places().data();
  for (const RowGradients& slot : slots) {
    const float* row = slot.rows;
    for (size_t i = 0; i < slot.ids.size(); ++i, ++place, row += width) {
      if (*place == KeyPlan::kPadding) continue;
      float* sum = noted.sums.data() + *place * width;
      for (size_t j = 0; j < width; ++j) sum[j] += row[j];
    }
  }
}

void Worker::State::push_rows(uint32_t table, std::vector<RowGradients> slots, int64_t padding,
                              float lr) {
  const TableSpec& found = spec(table);
  TableIds ids = {.table = table, .padding = padding};
  for (const RowGradients& slot : slots) ids.slots.push_back(slot.ids);
  const Asked& asked = ask_for(ids);
  NotedRows& noted = rows_.emplace_back();
  noted.table = table;
  noted.lr = lr;
  add_up(noted, asked.plan, slots, static_cast<size_t>(found.width));
}

void Worker::State::push_dense(uint32_t table, std::vector<std::span<const float>> parts,
                               float lr) {
  int64_t floats = 0;
  for (const std::span<const float> part : parts) floats += static_cast<int64_t>(part.size());
  dense_.check(table, floats);
  gradients_.push_back({table, lr, std::move(parts)});
}

Outgoing Worker::State::request_of(int server, bool values) {
  ScatteredStep step = {.in_round = options_.mode == Mode::kSync};
  size_t room = 0;
  if (values) {
    step.pulls = dense_.pulls();
    room = dense_.room(server);
  }
  for (const auto& [table, asked] : ahead_) add_pull(step, room, table, asked, server, true);
  for (const NotedRows& noted : rows_) {
    const KeyPlan& plan = asked_.at(noted.table).plan;
    const auto width = static_cast<size_t>(spec(noted.table).width);
    const std::span<const int64_t> keys = plan.keys_of(server);
    step.changes.push_back({{.table = noted.table, .lr = noted.lr, .keys = keys},
                            {std::span<const float>(noted.sums)
                                 .subspan(plan.begin_of(server) * width, keys.size() * width)}});
  }
  for (const NotedDense& noted : gradients_) {
    const std::span<const std::span<const float>> parts(noted.parts);
    step.changes.push_back({{.table = noted.table, .lr = noted.lr},
                            pieces_of(parts, dense_.slice(noted.table, server))});
  }
  return client_.prepare(server, step, room);
}

void Worker::State::end_step() {
  if (rows_.empty() && gradients_.empty()) return;
  const bool values = !dense_.empty() && (options_.mode != Mode::kAsync ||
                                          ++pushes_ % options_.pushes_per_refresh == 0);
  plan_ahead();
  std::vector<Outgoing> requests;
  for (int server = 0; server < client_.servers(); ++server) {
    requests.push_back(request_of(server, values));
  }
  rows_.clear();
  gradients_.clear();
  for (auto& [table, asked] : asked_) {
    asked.in_step = false;
    asked.held.clear();
  }
  if (queue_) {
    queue_->put({std::move(requests), values});
    values_ = queue_->take_values();
    return;
  }
  values_ = client_.send(requests);
  for (int server = 0; server < client_.servers(); ++server) {
    const Outgoing& request = requests[static_cast<size_t>(server)];
    const std::span<const std::byte> answer = values_[static_cast<size_t>(server)].data;
    require(answer.size() == request.room, "server {} answered with {} bytes instead of {}", server,
            answer.size(), request.room);
    const auto* row = reinterpret_cast<const float*>(answer.data());
    if (values) row += dense_.room(server) / sizeof(float);
    for (auto& [table, asked] : ahead_) row = find_rows(table, asked, server, row);
  }
  for (auto& [table, asked] : ahead_) {
    asked.held = values_;
    std::swap(asked_[table], asked);
  }
  held_ = std::move(coming_);
  coming_.clear();
  if (!values) values_.clear();
}

void Worker::State::refresh(uint32_t table, std::span<const std::span<float>> parts) {
  if (!values_.empty()) dense_.read(table, values_, parts);
}

void Worker::State::geo_dense(uint32_t table, std::span<const std::span<float>> parts, int64_t k) {
  const auto found = geo_dense_.find(table);
  require(found != geo_dense_.end(), "table {} has no initial values", spec(table).name);
  found->second.step(client_, parts, k);
}

void Worker::State::geo_rows(uint32_t table, std::span<const std::span<const int64_t>> ids,
                             std::span<float> rows, int64_t k) {
  const auto found = geo_rows_.find(table);
  require(found != geo_rows_.end(), "table {} has no initial values", spec(table).name);
  found->second.step(client_, ids, rows, k);
}

// ---- What kernels call --------------------------------------------------------------------------

Worker::Worker(WorkerOptions options) : options_(options) {}

Worker::~Worker() = default;

void Worker::drew(const std::string& table, const RandomStream& stream) { drawn_[table] = stream; }

const RandomStream* Worker::drawn(const std::string& table) const {
  const auto found = drawn_.find(table);
  return found == drawn_.end() ? nullptr : &found->second;
}

void Worker::connect(std::shared_ptr<Client> client, const std::vector<TableSpec>& tables) {
  state_.reset();
  client_ = std::move(client);
  tables_ = tables;
  state_ = std::make_unique<State>(*client_, options_, tables);
}

std::unique_ptr<Worker> Worker::twin() {
  state();
  WorkerOptions options = options_;
  options.progress = nullptr;  // this one stands for all
  auto made = std::make_unique<Worker>(options);
  made->connect(client_, tables_);
  return made;
}

Worker::State& Worker::state() {
  if (state_ == nullptr && connect_by_) std::exchange(connect_by_, {})();
  require(state_ != nullptr,
          "the program uses parameter servers, but this worker is not connected to them yet: call "
          "fleet.init_worker() first");
  return *state_;
}

Client& Worker::client() {
  state();
  return *client_;
}

void Worker::give(uint32_t table, std::span<const std::span<const float>> parts) {
  state().give(table, parts);
}

void Worker::take(uint32_t table, std::span<const std::span<float>> parts) {
  state().take(table, parts);
}

void Worker::lookup(uint32_t table, std::span<const Lookup> slots, int64_t padding, bool test) {
  State& state = this->state();
  const Progress::Span span(options_.progress, Progress::Kind::kCommunication,
                            "pulls rows from the servers");
  state.lookup(table, slots, padding, test);
}

void Worker::prefetch(std::span<const TableIds> tables, bool test) {
  State& state = this->state();
  const Progress::Span span(options_.progress, Progress::Kind::kCommunication,
                            "pulls rows from the servers");
  state.prefetch(tables, test);
}

bool Worker::looks_ahead() const {
  return options_.mode != Mode::kGeo && options_.send_queue == 0 && options_.max_merge == 1;
}

void Worker::expect(std::vector<ComingIds> coming) { state().expect(std::move(coming)); }

void Worker::push_rows(uint32_t table, std::vector<RowGradients> slots, int64_t padding, float lr) {
  state().push_rows(table, std::move(slots), padding, lr);
}

void Worker::push_dense(uint32_t table, std::vector<std::span<const float>> parts, float lr) {
  state().push_dense(table, std::move(parts), lr);
}

void Worker::end_step() {
  State& state = this->state();
  const Progress::Span span(options_.progress, Progress::Kind::kCommunication,
                            options_.mode == Mode::kSync ? "waits for the round of all workers"
                                                         : "pushes gradients to the servers");
  state.end_step();
}

void Worker::refresh(uint32_t table, std::span<const std::span<float>> parts) {
  state().refresh(table, parts);
}

void Worker::geo_dense(uint32_t table, std::span<const std::span<float>> parts, int64_t k) {
  State& state = this->state();
  const Progress::Span span(options_.progress, Progress::Kind::kCommunication,
                            "exchanges what has changed with the servers");
  state.geo_dense(table, parts, k);
}

void Worker::geo_rows(uint32_t table, std::span<const std::span<const int64_t>> ids,
                      std::span<float> rows, int64_t k) {
  State& state = this->state();
  const Progress::Span span(options_.progress, Progress::Kind::kCommunication,
                            "exchanges what has changed with the servers");
  state.geo_rows(table, ids, rows, k);
}

void Worker::flush() {
  if (state_) state_->flush();
}

void Worker::abort(const std::string& reason) {
  if (client_) client_->abort(reason);
}

}  // namespace flotilla::ps

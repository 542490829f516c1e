#include "flotilla/runtime/executor.h"

#include <algorithm>
#include <chrono>

#include "flotilla/base/error.h"
#include "flotilla/base/log.h"
#include "flotilla/comm/world.h"
#include "flotilla/data/end_of_pass.h"
#include "flotilla/device/cpu/isa.h"
#include "flotilla/plan/capacity.h"
#include "flotilla/runtime/same_parameters.h"
#include "flotilla/runtime/schedule.h"

namespace flotilla {
namespace {

// A scope as the planner sees it.
class ScopeStore final : public VariableStore {
 public:
  explicit ScopeStore(Scope& scope) : scope_(scope) {}
  Tensor* find(std::string_view name) override { return scope_.find(name); }
  Tensor& make(std::string_view name) override { return scope_.var(name); }

 private:
  Scope& scope_;
};

FeedSpec spec_of(const Feed& feed) {
  const LoD& lod = feed.tensor.lod();
  return {feed.name, feed.tensor.dtype(), feed.tensor.shape(), static_cast<int32_t>(lod.size()),
          lod.empty() ? -1 : static_cast<int64_t>(lod.back().size()) - 1};
}

bool matches(const FeedSpec& spec, const Feed& feed) {
  const LoD& lod = feed.tensor.lod();
  return spec.name == feed.name && spec.dtype == feed.tensor.dtype() &&
         spec.shape == feed.tensor.shape() && spec.lod_levels == static_cast<int32_t>(lod.size()) &&
         (lod.empty() || spec.sequences == static_cast<int64_t>(lod.back().size()) - 1);
}

// As matches(), but the leading extents may differ: a plan with sequences can be adapted.
bool matches_class(const FeedSpec& spec, const Feed& feed) {
  const Shape& shape = feed.tensor.shape();
  return spec.name == feed.name && spec.dtype == feed.tensor.dtype() &&
         spec.lod_levels == static_cast<int32_t>(feed.tensor.lod().size()) &&
         spec.shape.rank() == shape.rank() && shape.rank() > 0 &&
         plan::capacity_of(spec.shape[0]) == plan::capacity_of(shape[0]) &&
         std::equal(spec.shape.begin() + 1, spec.shape.end(), shape.begin() + 1);
}

// Offsets come with the data, so they are checked in every run, not only when a plan is made.
void check_sequences(const Feed& feed) {
  const LoD& lod = feed.tensor.lod();
  if (lod.empty()) return;
  try {
    check_lod(lod, feed.tensor.shape().rank() > 0 ? feed.tensor.shape()[0] : 0);
  } catch (Error& error) {
    error.note("feed", feed.name);
    throw;
  }
}

// A feed must be what data() declared, where it asked for a check.
void check_feed(const Program& program, const Feed& feed) {
  const Var* var = program.global_block().find_var(feed.name);
  require(feed.tensor.defined(), "the feed \"{}\" has no tensor", feed.name);
  require(feed.tensor.layout().plain(), "the feed \"{}\" must be plain, but has layout {}",
          feed.name, feed.tensor.layout());
  if (var == nullptr || !var->need_check_feed) return;
  const Shape &have = feed.tensor.shape(), &declared = var->shape;
  // Axes of one element at the end may be missing, as in labels of shape [n] for [-1, 1].
  bool fits = have.rank() <= declared.rank() && (have.rank() > 0 || declared.rank() == 0);
  for (int64_t a = 0; fits && a < declared.rank(); ++a) {
    fits = a < have.rank() ? declared[a] < 0 || declared[a] == have[a] : declared[a] == 1;
  }
  require(fits, "variable \"{}\" is declared with shape {}, but was fed shape {}", feed.name,
          declared, have);
  require(feed.tensor.dtype() == var->dtype,
          "variable \"{0}\" is declared as {1}, but was fed {2}: feed an array of {1}, e.g. "
          "array.astype(\"{1}\")",
          feed.name, long_name_of(var->dtype), long_name_of(feed.tensor.dtype()));
}

}  // namespace

struct Executor::Entry {
  uint64_t program_id = 0;
  uint64_t program_version = 0;
  std::vector<FeedSpec> feeds;
  std::vector<std::string> fetches;
  Scope* scope = nullptr;
  std::unique_ptr<Plan> plan;
  bool broken = false;  // an attempt to adapt it failed half way

  bool is_for(const Program& program, const std::vector<std::string>& wanted,
              const Scope& where) const {
    return program_id == program.id() && program_version == program.version() && scope == &where &&
           fetches == wanted;
  }

  // Whether the plan runs these feeds; adapts it where that is possible.
  bool takes(const std::vector<Feed>& given) {
    if (std::equal(feeds.begin(), feeds.end(), given.begin(), given.end(), matches)) return true;
    const bool has_lod = std::any_of(feeds.begin(), feeds.end(),
                                     [](const FeedSpec& spec) { return spec.lod_levels > 0; });
    if (!has_lod || broken ||
        !std::equal(feeds.begin(), feeds.end(), given.begin(), given.end(), matches_class)) {
      return false;
    }
    for (size_t i = 0; i < given.size(); ++i) feeds[i] = spec_of(given[i]);
    broken = true;  // until it is known to be whole
    broken = !plan->adapt(feeds);
    return !broken;
  }
};

Executor::Executor() : Executor(Options{}) {}

Executor::Executor(Options options)
    : options_(options),
      own_generator_(
          static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count())),
      arena_([device = options.device](int64_t bytes) {
        return device == nullptr ? Buffer::make(bytes) : device->allocate_host(bytes);
      }),
      exchanged_(options.world == nullptr
                     ? Arena::Allocate(Buffer::make)
                     : [world = options.world](int64_t bytes) { return world->allocate(bytes); }),
      on_device_([device = options.device](int64_t bytes) { return device->allocate(bytes); }) {
  init_isa();
  if (options_.generator == nullptr) options_.generator = &own_generator_;
}

Executor::~Executor() = default;

Plan& Executor::plan(const Program& program, const std::vector<Feed>& feeds,
                     const std::vector<std::string>& fetches, Scope& scope) {
  for (const Feed& feed : feeds) check_sequences(feed);
  ScopeStore store(scope);
  for (auto entry = entries_.begin(); entry != entries_.end(); ++entry) {
    if (!(*entry)->is_for(program, fetches, scope) || !(*entry)->takes(feeds)) continue;
    if (!(*entry)->plan->fits(store)) {
      entries_.erase(entry);
      break;
    }
    entries_.splice(entries_.begin(), entries_, entry);
    return *entries_.front()->plan;
  }
  auto entry = std::make_unique<Entry>();
  entry->program_id = program.id();
  entry->program_version = program.version();
  entry->fetches = fetches;
  entry->scope = &scope;
  for (const Feed& feed : feeds) {
    check_feed(program, feed);
    entry->feeds.push_back(spec_of(feed));
  }
  entry->plan = make_plan(program, *entry, store);
  entry->plan->fits(store);  // looks the variables up
  say_what_runs_on_the_cpu(*entry->plan);
  ++plans_made_;
  entries_.push_front(std::move(entry));
  // A program that changed will not come back as it was.
  std::erase_if(entries_, [&](const std::unique_ptr<Entry>& e) {
    return e->broken || (e->program_id == program.id() && e->program_version != program.version());
  });
  while (static_cast<int64_t>(entries_.size()) > options_.plans) entries_.pop_back();
  return *entries_.front()->plan;
}

void Executor::say_what_runs_on_the_cpu(const Plan& plan) {
  std::vector<std::string> news;
  for (const std::string& type : plan.stats().on_cpu) {
    if (on_cpu_.insert(type).second) news.push_back(type);
  }
  if (news.empty()) return;
  log::info("these ops run on the CPU, not on {}: {}", options_.device->name(),
            fmt::join(news, ", "));
}

void Executor::forget(uint64_t program) {
  std::erase_if(entries_, [&](const auto& entry) { return entry->program_id == program; });
  agreed_.erase(program);
}

std::unique_ptr<Plan> Executor::make_plan(const Program& program, const Entry& entry,
                                          VariableStore& store) {
  comm::World* world = options_.world;
  const auto make = [&](ExchangeLayouts layouts) {
    return Plan::make({.program = program,
                       .feeds = entry.feeds,
                       .fetches = entry.fetches,
                       .store = store,
                       .generator = *options_.generator,
                       .device = options_.device,
                       .world = world,
                       .servers = options_.servers,
                       .exchange_layouts = std::move(layouts),
                       .progress = options_.progress,
                       .caller = options_.caller,
                       .guarded = options_.guarded});
  };
  if (world == nullptr || world->size() == 1) return make({});
  const auto known = agreed_.find(program.id());
  if (known != agreed_.end() && known->second.version == program.version()) {
    return make(known->second.layouts);
  }
  std::vector<std::string> schedule = collective_schedule(program);
  if (schedule.empty()) return make({});
  if (!compares_parameters()) schedule.emplace_back("no comparison of parameters");
  const Progress::Span span(options_.progress, Progress::Kind::kCommunication,
                            "compares a program with other ranks");
  comm::agree_on(world->exchange(), "the collective ops of the program", schedule);
  // Another op beside those, say one that prints, may be meant.
  const std::string other =
      comm::find_difference(world->exchange(), "ops of the program", ops_to_compare(program));
  if (!other.empty() && world->rank() == 0) log::warning("{}", other);
  compare_parameters(*world, exchanged_parameters(program), *entry.scope);
  std::unique_ptr<Plan> plan = make({});
  ExchangeLayouts layouts = agree_on_layouts(*world, plan->exchange_layouts());
  if (layouts != plan->exchange_layouts()) plan = make(layouts);
  agreed_[program.id()] = {program.version(), std::move(layouts)};
  return plan;
}

const std::vector<Read>& Executor::reads_in(const Program& program) {
  const std::pair<uint64_t, uint64_t> wanted = {program.id(), program.version()};
  if (reads_for_ != wanted) {
    reads_ = reads_of(program);
    reads_for_ = wanted;
  }
  return reads_;
}

Executor::Next Executor::next_step(const Program& program, bool has_batch, Scope& scope) {
  comm::World* world = options_.world;
  if (world == nullptr || world->size() == 1) return has_batch ? Next::kRun : Next::kEnd;
  const std::pair<uint64_t, uint64_t> wanted = {program.id(), program.version()};
  if (exchanges_for_ != wanted) {
    exchanges_ = !collective_schedule(program).empty();
    weighs_ = program.global_block().count("weigh_by_samples") > 0;
    exchanges_for_ = wanted;
    last_read_.clear();
  }
  if (!exchanges_) return has_batch ? Next::kRun : Next::kEnd;
  const Progress::Span span(options_.progress, Progress::Kind::kInput,
                            "waits for the batches of other workers");
  const int64_t have = sum_of(world->exchange(), has_batch ? 1 : 0);
  const bool goes_on = weighs_ ? have > 0 : have == world->size();
  world->set_has_data(has_batch || !goes_on);
  if (goes_on) return has_batch ? Next::kRun : Next::kRunWithoutWeight;
  compare_parameters(*world, exchanged_parameters(program), scope);
  return Next::kEnd;
}

std::vector<FetchedValue> Executor::run(const Program& program, const std::vector<Feed>& feeds,
                                        const std::vector<std::string>& fetches, Scope& scope) {
  const std::vector<Read>& reads = reads_in(program);
  if (reads.empty()) return run_fed(program, feeds, fetches, scope);
  std::vector<Feed> read;
  bool ended = false;
  try {
    const Progress::Span span(options_.progress, Progress::Kind::kInput, "waits for a batch");
    read = feeds;
    take_batches(reads, scope, read);
  } catch (const data::EndOfPass&) {
    ended = true;
  }
  switch (next_step(program, !ended, scope)) {
    case Next::kEnd:
      throw data::EndOfPass();
    case Next::kRunWithoutWeight:
      if (last_read_.empty()) last_read_ = blank_batch(program, reads, feeds);
      return run_fed(program, last_read_, fetches, scope);
    case Next::kRun:
      if (weighs_) last_read_ = read;
  }
  if (options_.servers != nullptr && options_.servers->looks_ahead()) {
    announce_rows(*options_.servers, read, coming_batches(reads, scope));
  }
  return run_fed(program, read, fetches, scope);
}

std::vector<FetchedValue> Executor::run_fed(const Program& program, const std::vector<Feed>& feeds,
                                            const std::vector<std::string>& fetches, Scope& scope) {
  return run(plan(program, feeds, fetches, scope), feeds, scope);
}

std::vector<FetchedValue> Executor::run(Plan& plan, const std::vector<Feed>& feeds, Scope& scope) {
  std::vector<Tensor> tensors;
  tensors.reserve(feeds.size());
  for (const Feed& feed : feeds) tensors.push_back(feed.tensor);
  ScopeStore store(scope);
  const Progress::Span span(options_.progress, Progress::Kind::kCompute, "computes");
  std::vector<FetchedValue> values =
      plan.run(store, {arena_, exchanged_, &on_device_}, tensors, options_.check_numbers);
  if (options_.progress != nullptr && (!feeds.empty() || !values.empty())) {
    options_.progress->step_done();
  }
  return values;
}

}  // namespace flotilla

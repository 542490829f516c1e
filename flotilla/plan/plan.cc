#include "flotilla/plan/plan.h"

#include <algorithm>
#include <optional>

#include "flotilla/base/guard.h"
#include "flotilla/device/cpu/backend.h"
#include "flotilla/ir/structure.h"
#include "flotilla/ir/text.h"
#include "flotilla/kernel/caller.h"
#include "flotilla/op/build.h"
#include "flotilla/passes/pass.h"
#include "flotilla/plan/again.h"
#include "flotilla/plan/check_numbers.h"
#include "flotilla/plan/drafter.h"
#include "flotilla/plan/exchange.h"
#include "flotilla/plan/memory.h"
#include "flotilla/plan/segments.h"

namespace flotilla::plan {
namespace {

// Blocks that run one another without end, or too deep, end no walk over them.
const Program& with_sound_blocks(const Program& program) {
  check_blocks(program);
  return program;
}

int64_t rows_of(const Tensor& tensor) { return tensor.shape().rank() > 0 ? tensor.shape()[0] : 0; }

// Whether a value can lie where its variable lies, save for the layout.
bool in_place(const Tensor& tensor, const Value& value) {
  return tensor.defined() && tensor.dtype() == value.meta.dtype &&
         tensor.shape() == value.meta.shape;
}

// While a run lasts, the memory of each variable stays, whoever replaces or erases it meanwhile: a
// function that the program calls, or another thread. The run goes on with what it found.
class Held {
 public:
  explicit Held(std::vector<StoreVar>& vars) : vars_(vars) {}
  ~Held() {
    // Copied, not moved: the next run finds room for the extents, and allocates nothing.
    static const Tensor kNothing;
    for (StoreVar& var : vars_) var.held = kNothing;
  }
  Held(const Held&) = delete;
  Held& operator=(const Held&) = delete;

 private:
  std::vector<StoreVar>& vars_;
};

class CompiledPlan final : public Plan {
 public:
  explicit CompiledPlan(const PlanRequest& request)
      : program_(
            passes::run_plan_passes(with_sound_blocks(request.program), request.fetches, nullptr,
                                    request.device == nullptr ? kCpu : request.device->kernels())),
        process_{.generator = request.generator,
                 .seed = program_->random_seed(),
                 .around = {.world = request.world,
                            .servers = request.servers,
                            .progress = request.progress,
                            .caller = request.caller}},
        draft_(cpu_, request.device),
        guarded_(request.guarded) {
    const Backend::Turn turn = device_turn();
    Drafter(*program_, request, draft_, draft_host_, dynamic_host_).run();
    const MemoryReport memory = assign_memory(draft_, guarded_);
    guard_async_work(draft_);
    segments_.emplace(draft_);
    stats_.arena_bytes = memory.arena_bytes;
    stats_.no_reuse_bytes = memory.no_reuse_bytes;
    stats_.exchanged_bytes = memory.exchanged_bytes;
    stats_.device_bytes = memory.device_bytes;
    count_steps();
    find_views_of_feeds();
    check_memory();
  }

  bool adapt(const std::vector<FeedSpec>& feeds) override {
    const Backend::Turn turn = device_turn();
    segments_->forget();
    return again_host_.adapt(feeds);
  }

  bool fits(VariableStore& store) override {
    for (StoreVar& var : draft_.store_vars) {
      var.tensor = store.find(var.name);
      if (var.written_first) continue;
      const Value& value = draft_.at(var.value);
      const Tensor* tensor = var.tensor;
      if (tensor != nullptr && (std::ssize(tensor->lod()) != var.lod_levels ||
                                sequences_of(tensor->lod()) != var.sequences)) {
        return false;
      }
      if (tensor == nullptr || !tensor->defined() || tensor->dtype() != value.meta.dtype ||
          !(tensor->shape() == value.meta.shape) || !(tensor->layout() == value.layout)) {
        // Before the first run a parameter still has the layout from which this plan moves it.
        if (moved_ || tensor == nullptr || !in_place(*tensor, value) ||
            !(tensor->layout() == var.layout_before)) {
          return false;
        }
      }
    }
    return true;
  }

  bool settled() const override {
    const std::vector<StoreVar>& vars = draft_.store_vars;
    return std::all_of(vars.begin(), vars.end(), [&](const StoreVar& var) {
      const Value& value = draft_.at(var.value);
      return var.tensor != nullptr && in_place(*var.tensor, value) &&
             var.tensor->layout() == value.layout;
    });
  }

  std::vector<FetchedValue> run(VariableStore& store, PlanMemory memory,
                                const std::vector<Tensor>& feeds, bool check_numbers) override {
    check_numbers_ = check_numbers;
    const Backend::Turn turn = device_turn();
    const Held held(draft_.store_vars);
    bind_store(store);
    bind_memory(memory);
    bind_feeds(feeds);
    if (!guarded_) {
      run_all();
      return fetch();
    }
    std::vector<FetchedValue> fetched;
    {
      const Guards guards(*this);
      run_all();
      fetched = fetch();
    }
    check_gaps();
    return fetched;
  }

  const PlanStats& stats() const override { return stats_; }
  const ExchangeLayouts& exchange_layouts() const override { return draft_.exchange_layouts; }
  std::string print() const override;

 private:
  // Between values, while a run lasts: the address sanitizer sees whoever leaves a value, and
  // without it check_gaps() finds what was written there.
  class Guards {
   public:
    explicit Guards(CompiledPlan& plan) : plan_(plan) {
      plan.for_each_gap([&](char* data, int64_t bytes) {
        plan.cpu_.fill(data, kUntouched, bytes);
        guard(data, bytes);
      });
    }
    ~Guards() { unguard(plan_.arena_, plan_.stats_.arena_bytes); }
    Guards(const Guards&) = delete;
    Guards& operator=(const Guards&) = delete;

   private:
    const CompiledPlan& plan_;
  };
  static constexpr uint8_t kUntouched = 0x5A;
  // Calls f(data, bytes) for what belongs to no value of the arena.
  template <typename F>
  void for_each_gap(F f) const;
  void check_gaps() const;

  void count_steps();
  Backend::Turn device_turn() const {
    return draft_.device == nullptr ? Backend::Turn() : draft_.device->enter();
  }
  void check_memory() const;
  void find_views_of_feeds();
  void bind_store(VariableStore& store);
  void place(const StoreVar& var, Value& value);
  void bind_memory(PlanMemory memory);
  void note_largest(Error& error) const;
  void bind_feeds(const std::vector<Tensor>& feeds);
  void run_all();
  void run_nodes(int32_t begin, int32_t end);
  // The host may use what copies between devices have brought.
  void end_copies();
  std::vector<FetchedValue> fetch();
  Tensor elements_of(const Value& value, Shape shape);

  std::shared_ptr<Program> program_;  // after the passes; nodes point at its ops
  CpuBackend cpu_;
  const Process process_;
  Draft draft_;
  // Steps keep the host that prepared them.
  DraftHost draft_host_{draft_, process_};
  AgainHost again_host_{draft_, process_};
  DynamicHost dynamic_host_{draft_, process_};
  std::optional<Segments> segments_;
  PlanStats stats_;
  std::vector<std::pair<int32_t, int32_t>> feed_views_;  // (value, the feed it is a view of)
  char* arena_ = nullptr;
  char* exchanged_ = nullptr;
  char* on_device_ = nullptr;
  bool moved_ = false;  // parameters have the layouts of this plan
  bool check_numbers_ = false;
  bool copies_last_ = false;  // some may be under way
  bool guarded_;
};

template <typename F>
void CompiledPlan::for_each_gap(F f) const {
  std::vector<std::pair<const void*, int64_t>> taken;
  for (const Value& value : draft_.values) {
    if (value.home != Home::kArena || value.device != kHost || value.exchanged ||
        value.last_used < 0) {
      continue;
    }
    taken.emplace_back(value.cell.data, value.bytes());
    taken.emplace_back(value.rows.data, value.rows_bytes());
  }
  for (const Workspace& workspace : draft_.workspaces) {
    if (workspace.device != kHost) continue;
    taken.emplace_back(workspace.cell.data, workspace.bytes);
  }
  std::sort(taken.begin(), taken.end());
  int64_t free = 0;
  for (const auto& [data, bytes] : taken) {
    const int64_t begin = static_cast<const char*>(data) - arena_;
    const bool elsewhere = begin < 0 || begin >= stats_.arena_bytes;  // a view of what was fed
    if (bytes <= 0 || elsewhere) continue;
    if (begin > free) f(arena_ + free, begin - free);
    free = std::max(free, begin + bytes);
  }
  if (stats_.arena_bytes > free) f(arena_ + free, stats_.arena_bytes - free);
}

void CompiledPlan::check_gaps() const {
  for_each_gap([&](const char* data, int64_t bytes) {
    const char* const written =
        std::find_if(data, data + bytes, [](char byte) { return byte != char{kUntouched}; });
    invariant(written == data + bytes, "a kernel wrote outside of its values, at byte {} of {}",
              written - arena_, stats_.arena_bytes);
  });
}

void CompiledPlan::count_steps() {
  for (const Node& node : draft_.nodes) {
    if (!node.kept) continue;
    ++stats_.steps;
    stats_.copies += node.crosses;
    stats_.reorders += node.op == nullptr && !node.crosses;
  }
  for (const StoreVar& var : draft_.store_vars) {
    stats_.kept_there += draft_.at(var.value).device != kHost;
  }
  stats_.segments = std::ssize(segments_->all());
  stats_.on_cpu.assign(draft_.on_cpu.begin(), draft_.on_cpu.end());
}

// A system gives memory that it does not have, and ends whoever touches it.
void CompiledPlan::check_memory() const {
  constexpr int64_t kWorthAsking = int64_t{64} << 20;
  if (stats_.arena_bytes < kWorthAsking) return;
  const int64_t left = memory_left();
  if (stats_.arena_bytes <= left) return;
  Error error(ErrorKind::kInvalidArgument,
              fmt::format("the program needs {} bytes of memory at once, but only {} are available",
                          stats_.arena_bytes, left));
  note_largest(error);
  throw error;
}

void CompiledPlan::find_views_of_feeds() {
  for (size_t v = 0; v < draft_.values.size(); ++v) {
    const Value& value = draft_.values[v];
    const Value& root = draft_.at(value.group);
    if (value.home == Home::kArena && root.home == Home::kFeed) {
      feed_views_.emplace_back(static_cast<int32_t>(v), root.index);
    }
  }
}

void CompiledPlan::bind_store(VariableStore& store) {
  for (StoreVar& var : draft_.store_vars) {
    Value& value = draft_.at(var.value);
    if (var.tensor == nullptr) var.tensor = &store.make(var.name);
    Tensor& tensor = *var.tensor;
    if (!in_place(tensor, value)) {
      try {
        tensor = Tensor(value.meta.dtype, value.meta.shape, value.layout);
      } catch (Error& error) {
        error.note("for", fmt::format("variable \"{}\", {}{}", var.name,
                                      long_name_of(value.meta.dtype), value.meta.shape));
        throw;
      }
    } else if (!(tensor.layout() == value.layout)) {
      tensor = tensor.clone(value.layout);
    }
    var.held = tensor;
    place(var, value);
    value.cell.lod = var.held.lod().empty() ? nullptr : &var.held.lod();
    // Its offsets are the user's, as those of a feed are.
    if (value.cell.lod != nullptr) check_lod(*value.cell.lod, rows_of(var.held));
  }
  moved_ = true;
}

// On the device its memory stays from run to run, until the host asks for it.
void CompiledPlan::place(const StoreVar& var, Value& value) {
  void* const before = value.cell.data;
  if (value.device == kHost) {
    value.cell.data = var.held.raw();
    return;
  }
  const DeviceUse use = var.written_first ? DeviceUse::kReplace
                        : value.written   ? DeviceUse::kChange
                                          : DeviceUse::kRead;
  value.cell.data = var.held.on(*draft_.device, use);
  if (value.cell.data != before) segments_->forget();
}

void CompiledPlan::bind_memory(PlanMemory memory) {
  char* arena = nullptr;
  try {
    arena = static_cast<char*>(memory.arena.reserve(stats_.arena_bytes));
  } catch (Error& error) {
    note_largest(error);
    throw;
  }
  char* exchanged = stats_.exchanged_bytes == 0
                        ? nullptr
                        : static_cast<char*>(memory.exchanged.reserve(stats_.exchanged_bytes));
  char* on_device = stats_.device_bytes == 0
                        ? nullptr
                        : static_cast<char*>(memory.device->reserve(stats_.device_bytes));
  if (arena == arena_ && exchanged == exchanged_ && on_device == on_device_) return;
  arena_ = arena;
  exchanged_ = exchanged;
  on_device_ = on_device;
  segments_->forget();
  for (Value& value : draft_.values) {
    if (value.home != Home::kArena) continue;
    char* base = value.exchanged ? exchanged : value.device == kHost ? arena : on_device;
    value.cell.data = base + value.offset;
    value.rows.data = base + value.rows_offset;
  }
  for (Workspace& workspace : draft_.workspaces) {
    workspace.cell.data = (workspace.device == kHost ? arena : on_device) + workspace.offset;
  }
}

// Which variable makes a program too large for the machine.
void CompiledPlan::note_largest(Error& error) const {
  const Value* largest = nullptr;
  for (const Value& value : draft_.values) {
    if (value.home != Home::kArena || value.name.empty()) continue;
    if (largest == nullptr || value.capacity_bytes() > largest->capacity_bytes()) largest = &value;
  }
  if (largest == nullptr) return;
  error.note(
      "for",
      fmt::format("intermediate values of the program; the largest is \"{}\", {}{}, of {} bytes",
                  largest->name, long_name_of(largest->meta.dtype), largest->meta.shape,
                  largest->capacity_bytes()));
}

void CompiledPlan::bind_feeds(const std::vector<Tensor>& feeds) {
  for (size_t i = 0; i < feeds.size(); ++i) {
    Value& value = draft_.at(static_cast<int32_t>(i));
    value.cell.data = feeds[i].raw();
    value.cell.lod = feeds[i].lod().empty() ? nullptr : &feeds[i].lod();
  }
  for (const auto& [value, feed] : feed_views_) {
    draft_.at(value).cell.data = feeds[static_cast<size_t>(feed)].raw();
  }
}

void CompiledPlan::run_all() {
  const Step& finish = draft_.finish;
  try {
    run_nodes(0, static_cast<int32_t>(draft_.nodes.size()));
  } catch (...) {
    // What was left behind uses memory of this run. The error that came first is the one to tell.
    try {
      if (finish) finish();
    } catch (const Error&) {
    }
    throw;
  }
  if (finish) finish();
  end_copies();
  segments_->ran();
}

void CompiledPlan::end_copies() {
  if (!copies_last_) return;
  copies_last_ = false;
  draft_.device->wait();
}

void CompiledPlan::run_nodes(int32_t begin, int32_t end) {
  int32_t n = begin;
  try {
    for (; n < end; ++n) {
      const Node& node = draft_.nodes[static_cast<size_t>(n)];
      if (!node.kept) continue;
      if (const int32_t ended = check_numbers_ ? 0 : segments_->run(n); ended > 0) {
        n = ended - 1;
        continue;
      }
      if (node.uses_host()) end_copies();
      if (node.before) node.before();
      if (node.body_end == 0) {
        node.step();
        copies_last_ = copies_last_ || node.lasts;
        if (check_numbers_) check_numbers(node, draft_);
        continue;
      }
      const auto holds = [&] {
        end_copies();
        return *static_cast<const bool*>(node.condition->data);
      };
      while (holds()) {
        run_nodes(n + 1, node.body_end);
        if (!node.loop) break;
        if (Caller* caller = process_.around.caller; caller != nullptr) caller->check_interrupt();
      }
      n = node.body_end - 1;
    }
  } catch (Error& error) {
    if (const Op* op = draft_.nodes[static_cast<size_t>(n)].op) note_op(error, *op);
    throw;
  } catch (const std::bad_alloc&) {
    const Op* op = draft_.nodes[static_cast<size_t>(n)].op;
    Error error(ErrorKind::kInvalidArgument, "out of memory in a step of the program");
    if (op != nullptr) note_op(error, *op);
    throw error;
  }
}

// What is dynamic may lie in any layout: it was chosen in this run.
Tensor CompiledPlan::elements_of(const Value& value, Shape shape) {
  Tensor elements(value.meta.dtype, std::move(shape));
  if (value.layout.plain()) {
    cpu_.read(elements.raw(), value.cell.data, value.bytes());
    return elements;
  }
  const Reorder reorder = cpu_.reorder(value.meta.shape, value.meta.dtype, value.layout, {});
  const Pool::Block scratch = draft_.pool.take(reorder.scratch_bytes);
  reorder.run(value.cell.data, elements.raw(), scratch.data());
  return elements;
}

std::vector<FetchedValue> CompiledPlan::fetch() {
  std::vector<FetchedValue> results;
  for (const int32_t id : draft_.fetched) {
    const Value& value = draft_.at(id);
    if (value.sparse()) {
      std::vector<int64_t> dims = value.meta.shape.dims();
      SelectedRows rows{.height = dims.front()};
      dims.front() = value.meta.rows;
      rows.value = elements_of(value, Shape(dims));
      rows.rows.resize(static_cast<size_t>(value.meta.rows));
      cpu_.read(rows.rows.data(), value.rows.data, value.rows_bytes());
      results.emplace_back(std::move(rows));
      continue;
    }
    Tensor result = elements_of(value, value.meta.shape);
    if (value.meta.lod_level > 0 && value.meta.lod_source >= 0) {
      const LoD* lod = draft_.at(value.meta.lod_source).cell.lod;
      if (lod != nullptr) result.set_lod(*lod);
    }
    results.emplace_back(std::move(result));
  }
  return results;
}

std::string describe(const Draft& draft, const Value& value) {
  const std::string device = value.device == kHost ? "" : fmt::format("{} ", draft.device->name());
  std::string place = value.home == Home::kFeed    ? "feed"
                      : value.home == Home::kStore ? device + "store"
                      : value.exchanged            ? fmt::format("exchanged @{}", value.offset)
                                                   : fmt::format("{}@{}", device, value.offset);
  const std::string layout = value.layout.plain() ? "" : fmt::format(" {}", value.layout);
  const std::string rows = value.sparse() ? fmt::format(" rows {}", value.meta.rows) : "";
  return fmt::format("{} {}{}{}{} {}", value.name, value.meta.dtype, value.meta.shape, layout, rows,
                     place);
}

// What a plan has beside the CPU.
std::string describe(const Backend& device, const PlanStats& stats) {
  return fmt::format(
      "on {}: arena {} bytes, {} copies, {} variables, {} segments; on the CPU: {}\n",
      device.name(), stats.device_bytes, stats.copies, stats.kept_there, stats.segments,
      stats.on_cpu.empty() ? "nothing" : fmt::format("{}", fmt::join(stats.on_cpu, ", ")));
}

std::string CompiledPlan::print() const {
  const Draft& d = draft_;
  std::string text = fmt::format(
      "plan of {} steps, {} reorders; arena {} bytes, {} without reuse ({:.1f} times){}\n",
      stats_.steps, stats_.reorders, stats_.arena_bytes, stats_.no_reuse_bytes,
      stats_.arena_bytes == 0
          ? 1.0
          : static_cast<double>(stats_.no_reuse_bytes) / static_cast<double>(stats_.arena_bytes),
      stats_.exchanged_bytes == 0 ? ""
                                  : fmt::format("; exchanged {} bytes", stats_.exchanged_bytes));
  if (d.device != nullptr) text += describe(*d.device, stats_);
  const auto list = [&](const std::vector<int32_t>& ids) {
    std::string joined;
    for (const int32_t id : ids) {
      joined += fmt::format("{}{}", joined.empty() ? "" : "; ", describe(d, d.at(id)));
    }
    return joined;
  };
  for (const Segments::Segment& segment : segments_->all()) {
    text += fmt::format("segment of {} steps: {} to {}\n", segment.steps, segment.begin,
                        segment.end - 1);
  }
  for (size_t n = 0; n < d.nodes.size(); ++n) {
    const Node& node = d.nodes[n];
    if (!node.kept) continue;
    text += fmt::format("{:>4} {:<28} ({}) -> ({})", n,
                        node.op != nullptr ? node.op->type()
                        : node.crosses     ? "copy"
                                           : "reorder",
                        list(node.reads), list(node.writes));
    for (const Workspace* workspace : node.workspaces) {
      text += fmt::format(" workspace {} @{}", workspace->bytes, workspace->offset);
    }
    if (node.body_end > 0) text += fmt::format(" body to {}", node.body_end);
    text += '\n';
  }
  return text;
}

}  // namespace

void* Arena::reserve(int64_t bytes) {
  if (buffer_ == nullptr || buffer_->size() < bytes) {
    buffer_.reset();  // first give back, then take: never both at once
    buffer_ = allocate_(bytes);
  }
  unguard(buffer_->data(), bytes);  // it may have been made for fewer, and rounded up
  return buffer_->data();
}

std::unique_ptr<Plan> Plan::make(const PlanRequest& request) {
  return std::make_unique<CompiledPlan>(request);
}

}  // namespace flotilla::plan

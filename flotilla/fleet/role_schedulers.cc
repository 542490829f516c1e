#include "flotilla/fleet/role_schedulers.h"

#include <algorithm>
#include <charconv>

#include "flotilla/base/endpoint.h"
#include "flotilla/base/env.h"
#include "flotilla/base/error.h"

namespace flotilla::fleet {
namespace {

constexpr int64_t kMostProcesses = 4096;
constexpr int64_t kMostHosts = 65536;

// The names under which a scheduler says the same things. Where two stand together, the first that
// is set counts.
struct Scheduler {
  const char* name;
  const char* rank;
  std::vector<const char*> sizes;
  const char* local_rank;
  const char* local_size;            // null: none
  std::vector<const char*> hosts;    // lists of machines, the first with rank 0
  std::vector<const char*> only_if;  // one of these must be set too; empty: no matter
};

const std::vector<Scheduler>& schedulers() {
  static const std::vector<Scheduler> rows = {
      // Before Slurm: mpirun inside of a Slurm allocation starts the processes itself.
      {"Open MPI",
       "OMPI_COMM_WORLD_RANK",
       {"OMPI_COMM_WORLD_SIZE"},
       "OMPI_COMM_WORLD_LOCAL_RANK",
       "OMPI_COMM_WORLD_LOCAL_SIZE",
       {},
       {}},
      // A batch script is alone although it has a number: only srun starts all tasks.
      {"Slurm",
       "SLURM_PROCID",
       {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"},
       "SLURM_LOCALID",
       nullptr,
       {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST"},
       {"SLURM_STEP_ID", "SLURM_STEP_NODELIST", "SLURM_STEP_NUM_TASKS"}},
  };
  return rows;
}

// The first of `names` that is set; null: none is.
const char* first_set(const std::vector<const char*>& names) {
  for (const char* name : names) {
    if (env::text(name)) return name;
  }
  return nullptr;
}

Role role_of(const Scheduler& scheduler) {
  Role role = {.collective = true, .started_by = scheduler.name};
  const char* size = first_set(scheduler.sizes);
  require(size != nullptr, "{} is set, so this is a task of {}, but {} does not say of how many",
          scheduler.rank, scheduler.name, scheduler.sizes.back());
  role.workers = env::number_or(size, 1, 1, kMostProcesses);
  role.index = env::number_or(scheduler.rank, 0, 0, kMostProcesses);
  require(role.index < role.workers, "{} is {}, but {} is {}", scheduler.rank, role.index, size,
          role.workers);
  role.local_rank = env::number_or(scheduler.local_rank, 0, 0, kMostProcesses);
  require(role.local_rank <= role.index, "{} is {}, but {} is only {}", scheduler.local_rank,
          role.local_rank, scheduler.rank, role.index);
  if (const char* hosts = first_set(scheduler.hosts)) {
    role.hosts = expand_hosts(*env::text(hosts), hosts);
  } else if (scheduler.local_size != nullptr &&
             env::number_or(scheduler.local_size, 0, 1, kMostProcesses) == role.workers) {
    role.hosts = {"127.0.0.1"};
  }
  return role;
}

// Where the entry of a list that begins at `begin` ends: commas inside of brackets do not count.
size_t end_of_entry(std::string_view text, size_t begin) {
  int depth = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    if (text[i] == '[') ++depth;
    if (text[i] == ']') --depth;
    if (text[i] == ',' && depth == 0) return i;
  }
  return text.size();
}

// The numbers of "7" or "08-10", as wide as they are written.
std::optional<std::vector<std::string>> numbers_of(std::string_view range) {
  const size_t dash = std::min(range.find('-'), range.size());
  const std::string_view first = range.substr(0, dash);
  const std::string_view last = dash == range.size() ? first : range.substr(dash + 1);
  int64_t from = 0, to = 0;
  for (const auto& [word, number] : {std::pair(first, &from), std::pair(last, &to)}) {
    const auto [stop, error] = std::from_chars(word.data(), word.data() + word.size(), *number);
    if (error != std::errc() || stop != word.data() + word.size()) return std::nullopt;
  }
  if (from < 0 || to < from || to - from >= kMostHosts) return std::nullopt;
  std::vector<std::string> numbers;
  for (int64_t i = from; i <= to; ++i) numbers.push_back(fmt::format("{:0{}}", i, first.size()));
  return numbers;
}

// "rack[1-2]n[1-2]" has a bracket more behind the first: what follows is expanded for each.
bool expand_entry(std::string_view entry, const std::string& before,
                  std::vector<std::string>& hosts) {
  const size_t open = entry.find('[');
  if (open == std::string_view::npos) {
    const std::string host = before + std::string(entry);
    if (host.empty() || entry.find(']') != std::string_view::npos) return false;
    hosts.push_back(host);
    return std::ssize(hosts) <= kMostHosts;
  }
  const size_t close = entry.find(']', open);
  if (close == std::string_view::npos || close == open + 1) return false;
  for (const std::string& range : split_list(entry.substr(open + 1, close - open - 1))) {
    const auto numbers = numbers_of(range);
    if (!numbers) return false;
    for (const std::string& number : *numbers) {
      const std::string begun = before + std::string(entry.substr(0, open)) + number;
      if (!expand_entry(entry.substr(close + 1), begun, hosts)) return false;
    }
  }
  return true;
}

}  // namespace

std::vector<std::string> expand_hosts(std::string_view text, const std::string& source) {
  std::vector<std::string> hosts;
  for (size_t begin = 0; begin <= text.size();) {
    const size_t end = end_of_entry(text, begin);
    require(expand_entry(text.substr(begin, end - begin), "", hosts),
            "{} must be a list of machines such as node[1-3,7],login, but is \"{}\"", source, text);
    begin = end + 1;
  }
  return hosts;
}

std::optional<Role> role_from_scheduler() {
  for (const Scheduler& scheduler : schedulers()) {
    const bool sure = scheduler.only_if.empty() || first_set(scheduler.only_if) != nullptr;
    if (env::text(scheduler.rank) && sure) return role_of(scheduler);
  }
  return std::nullopt;
}

}  // namespace flotilla::fleet

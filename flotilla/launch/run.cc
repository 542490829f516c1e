#include "flotilla/launch/run.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "flotilla/base/env.h"
#include "flotilla/base/error.h"
#include "flotilla/launch/print.h"
#include "flotilla/launch/rendezvous.h"
#include "flotilla/launch/run_state.h"
#include "flotilla/rpc/job_token.h"

extern char** environ;

namespace flotilla::launch {

namespace fs = std::filesystem;

namespace {

constexpr std::chrono::milliseconds kBeforeTheFirst{1000};
constexpr std::chrono::milliseconds kDrainAfterFailure{2000};

// Hosts that are started one by one cannot share a secret that nobody gave them.
std::string token_of(const Job& job, const JobOptions& options) {
  if (const std::optional<std::string> said = rpc::job_secret()) return *said;
  if (!job.token.empty()) return job.token;
  return job.hosts.size() == 1 ? rpc::new_token() : fmt::format("job {}", options.job_id);
}

// Readable when the process has ended. Refuses one that is not our parent: its number may be that
// of another process by now.
Fd open_parent(int64_t pid) {
  if (pid == 0) return Fd();
  Fd found(static_cast<int>(syscall(SYS_pidfd_open, static_cast<pid_t>(pid), 0)));
  require(found && getppid() == pid,
          "--parent_pid must be the process that started the launcher, but {} is not", pid);
  return found;
}

}  // namespace

Run::Run(const JobOptions& options, Job job)
    : options_(options),
      job_(std::move(job)),
      folder_(job_, options),
      guardian_(folder_.temporary() ? folder_.path().string() : ""),
      parent_(open_parent(options.parent_pid)),
      token_(token_of(job_, options)) {
  if (options_.events_fd >= 0) {
    const int fd = static_cast<int>(options_.events_fd);
    require(fcntl(fd, F_SETFD, FD_CLOEXEC) == 0, "--events_fd is {}, but no descriptor has it", fd);
  }
  for (const Process& process : job_.processes) running_.push_back({.process = &process});
}

int Run::run() {
  announce();
  begin();
  while (anyone_runs() || restart_at_ || (link_ && meeting_ != Meeting::kApart)) wait_once();
  // Whoever asks why the job failed does not wait for all that was printed before.
  const bool failed = culprit_ || !stalled_.empty() || !lost_.empty() || interrupted_ != 0;
  const bool all_read =
      mirror_.drain(outlet_, failed ? std::optional(kDrainAfterFailure) : std::nullopt);
  if (link_) leave_hosts();
  if (!all_read) {
    outlet_.give_up(STDOUT_FILENO);
    say(log_line("WARNING", fmt::format("nobody reads what the workers print; the rest of it is in "
                                        "{}",
                                        job_.log_dir)));
  }
  return close();
}

// Several hosts start their processes once all are there.
void Run::begin() {
  if (job_.hosts.size() > 1) return meet();
  serve_store("127.0.0.1:0");
  start_all();
}

// Where there is no secret. A host that has its own name from a file may call itself over loopback.
std::vector<std::string> Run::only_from() const {
  if (job_.hosts.size() == 1 || rpc::job_secret() || !job_.token.empty()) return {};
  std::vector<std::string> hosts = job_.hosts;
  if (std::ranges::find(hosts, "127.0.0.1") == hosts.end()) hosts.emplace_back("127.0.0.1");
  return hosts;
}

void Run::serve_store(const std::string& address) {
  using Happening = rpc::StoreServer::Happening;
  constexpr int64_t kDescriptors = 8;  // of a process that is started: its log, pipes, pidfd
  rpc::StoreServer::Options settings{
      .address = address, .token = token_, .reserve = 64 + kDescriptors * std::ssize(running_)};
  settings.only_from = only_from();
  settings.stop = [this] { return asked_to_end(); };
  // Bound to the link of this attempt: the end of its store is no loss for the next one.
  const auto lose = link_ ? link_->on_lost() : nullptr;
  const double limit = std::chrono::duration<double>(rpc::Outage::from_environment().limit).count();
  settings.on_event = [this, lose, limit](Happening what, const rpc::Member& member) {
    members_.note(what, member);
    if (what == Happening::kLost && member.role == "launcher" && lose) {
      lose(member.silent ? fmt::format("nothing has been heard from host {} for {:g} s "
                                       "(--outage_limit): it is down, paused or cut off",
                                       member.host, limit)
                         : fmt::format("the launcher on host {} is gone", member.host));
    }
  };
  try {
    store_.emplace(std::move(settings));
  } catch (const Error& error) {
    const std::string holder = holder_of(find_endpoint(address).value_or(Endpoint()).port);
    refuse("{}{}", error.sentence(), holder.empty() ? "" : fmt::format("; {} holds it", holder));
  }
  store_address_ = store_->address();
}

void Run::announce() {
  if (options_.quiet) return;
  if (options_.print_config) outlet_.write(STDOUT_FILENO, configuration_block(options_));
  if (job_.mode == Mode::kServers) {
    std::string said;
    for (const std::string& option : options_.server_options_said) {
      said += fmt::format("{}'{}'", said.empty() ? "" : ", ", option);
    }
    say(log_line("INFO", fmt::format("Run parameter-sever mode. pserver arguments:[{}], cuda "
                                     "count:{}",
                                     said, job_.gpu_count)));
  } else {
    const std::string how = job_.gpu_count > 0 ? "compiled with cuda" : "not compiled with cuda";
    if (options_.collective_options_said.empty() && !options_.run_mode) {
      say(log_line("WARNING", fmt::format("Not found distinct arguments and {}. Default use "
                                          "collective mode",
                                          how)));
    }
    outlet_.write(STDOUT_FILENO,
                  fmt::format("launch train in {} mode\n", job_.devices.there ? "GPU" : "CPU"));
  }
  for (const std::string& notice : job_.notices) say(log_line("WARNING", notice));
}

void Run::start_all() {
  // Without logs the processes write to the same place, and what was said before stands before.
  if (job_.log_dir.empty()) outlet_.settle(kBeforeTheFirst);
  std::string shown;
  for (Running& running : running_) {
    start(running);
    const std::string& role = running.process->role;
    if (options_.quiet || running.outcome.attempt > 0 || role == shown) continue;
    shown = role;
    const auto count = std::count_if(job_.processes.begin(), job_.processes.end(),
                                     [&](const Process& p) { return p.role == role; });
    say(log_line("INFO", fmt::format("Local {}start {} processes. First process distributed "
                                     "environment info (Only For Debug): \n{}",
                                     job_.mode == Mode::kServers ? role + " " : "", count,
                                     environment_table(shown_of(*running.process)))));
  }
  if (job_.mode == Mode::kServers && !job_.log_dir.empty() && restarts_ == 0) {
    say(log_line("INFO", fmt::format("Please check servers, workers and heter_worker logs in "
                                     "{0}/workerlog.*, {0}/serverlog.* and {0}/heterlog.*",
                                     job_.log_dir)));
  }
}

void Run::start(Running& running) {
  const Process& process = *running.process;
  Outcome& outcome = running.outcome;
  outcome = {
      .role = process.role, .rank = process.rank, .host = process.host, .attempt = outcome.attempt};
  const std::string name =
      outcome.attempt == 0 ? process.log : fmt::format("{}.{}", process.log, outcome.attempt);
  const Fd output = job_.log_dir.empty() ? Fd() : begin_log(running, name);
  running.started = Clock::now();
  running.stopped.reset();
  running.restart_at.reset();
  running.child.emplace(Command{.words = process.command,
                                .environment = environment_of(running),
                                .output = output.get(),
                                .keep = process.listener.socket.get(),
                                .cgroup = guardian_.cgroup()});
  outcome.pid = running.child->pid();
  guardian_.guard(running.child->pid());
  tell(event_line("started", outcome));
}

Fd Run::begin_log(Running& running, const std::string& name) {
  const fs::path log = fs::path(job_.log_dir) / name;
  // Collective runs go on in the log of the last one, as they always did.
  Fd output = open_log(log, job_.mode == Mode::kCollective);
  std::error_code ignored;
  running.log_begin = static_cast<int64_t>(fs::file_size(log, ignored));
  running.outcome.log = log;
  const bool first = running.process->role == "worker" && running.process->local == 0;
  if (first || options_.tee) {
    const bool alone = first && !options_.tee;
    mirror_.follow(log, running.log_begin,
                   alone ? "" : fmt::format("[{}] ", running.outcome.name()));
  }
  return output;
}

// What the documents' tables show of a process.
Variables Run::shown_of(const Process& process) const {
  Variables shown = process.shown;
  if (job_.mode == Mode::kCollective) return shown;
  // Real Paddle's processes meet through these; ours through the store, and no folder is made.
  const fs::path folder = fs::temp_directory_path() / fmt::format("flotilla-{}", getpid());
  shown.insert(shown.end(), {{"PADDLE_WITH_GLOO", "0"},
                             {"PADDLE_GLOO_RENDEZVOUS", "3"},
                             {"PADDLE_GLOO_FS_PATH", folder},
                             {"PADDLE_GLOO_HTTP_ENDPOINT", store_address_}});
  return shown;
}

std::vector<std::string> Run::environment_of(const Running& running) const {
  const Process& process = *running.process;
  Variables added = shown_of(process);
  added.insert(added.end(), process.hidden.begin(), process.hidden.end());
  added.insert(added.end(), {{"FLT_STORE", store_address_},
                             {"FLT_JOB_TOKEN", token_},
                             {"FLT_ROLE", process.role},
                             {"FLT_RANK", fmt::to_string(process.rank)},
                             {"FLT_ATTEMPT", fmt::to_string(running.outcome.attempt)},
                             {"FLT_LISTEN_FD", fmt::to_string(process.listener.socket.get())}});
  if (!rpc::job_secret()) added.emplace_back("FLT_MADE_TOKEN", token_);
  if (const std::vector<std::string> hosts = only_from(); !hosts.empty()) {
    added.emplace_back("FLT_ONLY_FROM", fmt::format("{}", fmt::join(hosts, ",")));
  }
  if (running.server()) {
    added.emplace_back("FLT_PS_DIR", folder_.path());
    // No power cut leaves anything of a folder that goes with the job.
    if (folder_.temporary() && !env::text("FLT_PS_SYNC")) added.emplace_back("FLT_PS_SYNC", "off");
  }
  std::vector<std::string> all;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::string_view name = text.substr(0, text.find('='));
    const bool replaced = std::any_of(added.begin(), added.end(),
                                      [&](const auto& variable) { return variable.first == name; });
    // A proxy would stand between the processes of a job.
    if (!replaced && name != "http_proxy" && name != "https_proxy") all.emplace_back(text);
  }
  for (const auto& [name, value] : added) all.push_back(fmt::format("{}={}", name, value));
  return all;
}

int run(const JobOptions& options, const Machine& machine) {
  // Here and in all processes of the job.
  if (options.front != Front::kSpawn) {
    ::setenv("FLT_OUTAGE_LIMIT", fmt::format("{:g}", options.outage_limit).c_str(), 1);
  }
  wait_for_name_of_master(options);
  Job job = plan_job(options, machine);
  join_master(options, machine, job);
  return Run(options, std::move(job)).run();
}

}  // namespace flotilla::launch

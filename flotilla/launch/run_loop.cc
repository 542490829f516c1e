#include "flotilla/launch/run_loop.h"

#include <fmt/format.h>
#include <poll.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <thread>

#include "flotilla/base/error.h"
#include "flotilla/launch/print.h"
#include "flotilla/rpc/job_token.h"

namespace flotilla::launch {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kDrainAfterFailure{2000};
constexpr milliseconds kGoodbye{3000};

// Hosts that are started one by one cannot share a secret that nobody gave them.
std::string token_of(const Job& job, const JobOptions& options) {
  if (const std::optional<std::string> said = rpc::job_secret()) return *said;
  if (!job.token.empty()) return job.token;
  return job.hosts.size() == 1 ? rpc::new_token() : fmt::format("job {}", options.job_id);
}

void announce(const JobOptions& options, const Job& job, Voice& voice) {
  if (options.quiet) return;
  if (options.print_config) voice.print(configuration_block(options));
  if (job.mode == Mode::kServers) {
    std::string said;
    for (const std::string& option : options.server_options_said) {
      said += fmt::format("{}'{}'", said.empty() ? "" : ", ", option);
    }
    voice.say(log_line("INFO", fmt::format("Run parameter-sever mode. pserver arguments:[{}], cuda "
                                           "count:{}",
                                           said, job.gpu_count)));
  } else {
    const std::string how = job.gpu_count > 0 ? "compiled with cuda" : "not compiled with cuda";
    if (options.collective_options_said.empty() && !options.run_mode) {
      voice.say(log_line("WARNING", fmt::format("Not found distinct arguments and {}. Default use "
                                                "collective mode",
                                                how)));
    }
    voice.print(fmt::format("launch train in {} mode\n", job.devices.there ? "GPU" : "CPU"));
  }
  for (const std::string& notice : job.notices) voice.say(log_line("WARNING", notice));
}

}  // namespace

Run::Run(const JobOptions& options, Job job)
    : options_(options),
      job_(std::move(job)),
      folder_(job_, options),
      guardian_(folder_.temporary() ? folder_.path().string() : ""),
      parent_(options.parent_pid),
      voice_(options),
      token_(token_of(job_, options)),
      hosts_(
          options, job_, token_, [this] { return asked_to_end(signals_, parent_); }, voice_),
      store_({.token = token_,
              .only_from = only_from(job_),
              .processes = std::ssize(job_.processes),
              .stop = [this] { return asked_to_end(signals_, parent_); }}),
      processes_(options, job_, guardian_, voice_),
      watch_(options, store_.members(), processes_),
      restarts_(options) {}

int Run::run() {
  announce(options_, job_, voice_);
  begin();
  while (processes_.anyone_runs() || restart_at_ || (hosts_.has_link() && !hosts_.is_apart())) {
    wait_once();
  }
  // Whoever asks why the job failed does not wait for all that was printed before.
  const bool all_read =
      voice_.show_rest(end_.well() ? std::nullopt : std::optional(kDrainAfterFailure));
  if (hosts_.has_link()) {
    // The first host serves the store until the others have left.
    const auto deadline = Clock::now() + kGoodbye;
    while (store_.has_other_launchers(job_.host) && Clock::now() < deadline) {
      std::this_thread::sleep_for(milliseconds(20));
    }
    hosts_.forget();
  }
  if (!all_read) {
    voice_.give_up_rest();
    voice_.say(log_line(
        "WARNING", fmt::format("the output of the workers is not read; the rest of it is in {}",
                               job_.log_dir)));
  }
  return close();
}

// Several hosts start their processes once all are there.
void Run::begin() {
  const bool several = job_.hosts.size() > 1;
  several ? meet() : store_.serve("127.0.0.1:0", nullptr);
  processes_.set_surroundings({.store = store_.address(),
                               .token = token_,
                               .token_is_made = !rpc::job_secret(),
                               .only_from = only_from(job_),
                               .server_folder = folder_.path(),
                               .folder_is_temporary = folder_.temporary()});
  if (!several) processes_.start_all();
}

// Milliseconds until something must be done without being asked.
int Run::patience() const {
  std::optional<Clock::time_point> next = kill_at_;
  const auto sooner = [&next](const std::optional<Clock::time_point>& other) {
    if (other && (!next || *other < *next)) next = other;
  };
  sooner(restart_at_);
  sooner(voice_.due());
  sooner(processes_.next_restart());
  if (hosts_.is_connecting()) return 0;  // connect() itself waits a little
  // Often enough to look for what does not move.
  const double limit = watch_.limit() > 0 ? watch_.limit() : 1;
  const int64_t regular = std::clamp<int64_t>(std::llround(limit * 250), 20, 1000);
  if (!next) return static_cast<int>(regular);
  const auto left = std::chrono::ceil<milliseconds>(*next - Clock::now()).count();
  return static_cast<int>(std::clamp<int64_t>(left, 0, regular));
}

void Run::wait_once() {
  std::vector<pollfd> fds = {{signals_.fd(), POLLIN, 0},
                             {voice_.log_fd(), POLLIN, 0},
                             {status_socket_.fd(), POLLIN, 0},
                             {voice_.room_fd(), POLLIN, 0},
                             {parent_.fd(), POLLIN, 0}};
  const size_t others = fds.size();
  std::vector<Running*> owners;
  for (Running& running : processes_.all()) {
    if (!running.child) continue;
    fds.push_back({running.child->pidfd(), POLLIN, 0});
    owners.push_back(&running);
  }
  if (hosts_.has_link()) fds.push_back({hosts_.link().fd(), POLLIN, 0});
  if (::poll(fds.data(), fds.size(), patience()) < 0) return;
  if (fds[3].revents != 0) voice_.clear_room_fd();
  const std::optional<Clock::time_point> due = voice_.due();
  if (fds[1].revents != 0 || fds[3].revents != 0 || (due && Clock::now() >= *due)) {
    voice_.show_more();
  }
  if (fds[2].revents != 0) status_socket_.answer([this] { return status(); });
  while (const std::optional<int> signal = signals_.next()) on_signal(*signal);
  if (fds[4].revents != 0) on_parent_gone();
  std::vector<Running*> ended;
  for (size_t i = 0; i < owners.size(); ++i) {
    if (fds[i + others].revents == 0) continue;
    processes_.reap(*owners[i]);
    ended.push_back(owners[i]);
  }
  // Of several that ended meanwhile, one that was killed did not fail for what others did.
  std::stable_sort(ended.begin(), ended.end(), [](const Running* a, const Running* b) {
    const auto innocence = [](const Ending& e) { return e.ok() ? 2 : e.signal == 0 ? 1 : 0; };
    return innocence(a->outcome.ending) < innocence(b->outcome.ending);
  });
  for (Running* one : ended) on_end(*one);
  act_on_time();
  if (hosts_.has_link()) on_link();
  check_stall();
}

void Run::act_on_time() {
  if (group_restarts_ && !processes_.anyone_runs()) restart_group();
  if (kill_at_ && Clock::now() >= *kill_at_) {
    kill_at_.reset();
    processes_.signal_all(SIGKILL);
  }
  processes_.start_due();
  if (restart_at_ && Clock::now() >= *restart_at_) {
    restart_at_.reset();
    store_.members().clear();
    end_.stock.clear();
    begin();  // with another store: the old one says that the job has stopped
  }
}

void Run::on_signal(int signal) {
  const bool again = end_.interrupted != 0;
  end_.interrupted = signal;
  restart_at_.reset();
  group_restarts_ = false;
  if (again) return processes_.signal_all(SIGKILL);
  voice_.say(log_line(
      "INFO",
      fmt::format("{} was received: stopping the job. A second one kills it", strsignal(signal))));
  if (hosts_.has_link() && hosts_.is_together()) {
    hosts_.link().report_failure({.role = "launcher",
                                  .rank = job_.host,
                                  .host = job_.hosts[static_cast<size_t>(job_.host)],
                                  .pid = getpid(),
                                  .ending = {.signal = signal}});
    take_stock();
  }
  begin_end(fmt::format("the job was interrupted ({})", strsignal(signal)), signal,
            kGraceAfterInterrupt);
}

// Nobody is left to press Ctrl-C twice.
void Run::on_parent_gone() {
  parent_.forget();
  end_.interrupted = SIGTERM;
  begin_end("the process that started the job is gone", SIGTERM, kGraceAfterFailure);
}

void Run::on_end(Running& running) {
  if (!running.outcome.ending.ok() && !ending_) fail(running);
  if (!hosts_.has_link() && !ending_ && processes_.workers_done() && processes_.anyone_runs()) {
    finish_servers();
  }
}

std::string Run::status() {
  std::string text = fmt::format(
      "job {} (launcher {}): {} {}, running for {:.0f} s, restarts: {}\n", options_.job_id,
      getpid(), job_.mode == Mode::kServers ? "parameter servers" : "collective", options_.script,
      seconds_since(began_), restarts_.count());
  text += standing_table(together({watch_.standing()}, ""));
  for (size_t i = 0; i < job_.endpoints.servers.size(); ++i) {
    const std::optional<std::string> place = store_.find(fmt::format("ps/status/{}", i));
    if (place) text += fmt::format("status {} {}\n", i, *place);
  }
  return text;
}

}  // namespace flotilla::launch

#include "flotilla/launch/environment.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include <algorithm>

#include "flotilla/base/env.h"
#include "flotilla/rpc/job_token.h"

extern char** environ;

namespace flotilla::launch {

namespace fs = std::filesystem;

std::vector<std::string> only_from(const Job& job) {
  if (job.hosts.size() == 1 || rpc::job_secret() || !job.token.empty()) return {};
  std::vector<std::string> hosts = job.hosts;
  if (std::ranges::find(hosts, "127.0.0.1") == hosts.end()) hosts.emplace_back("127.0.0.1");
  return hosts;
}

Variables shown_of(const Job& job, const Process& process, const Surroundings& around) {
  Variables shown = process.shown;
  if (job.mode == Mode::kCollective) return shown;
  // Real Paddle's processes meet through these; ours through the store, and no folder is made.
  const fs::path folder = fs::temp_directory_path() / fmt::format("flotilla-{}", getpid());
  shown.insert(shown.end(), {{"PADDLE_WITH_GLOO", "0"},
                             {"PADDLE_GLOO_RENDEZVOUS", "3"},
                             {"PADDLE_GLOO_FS_PATH", folder},
                             {"PADDLE_GLOO_HTTP_ENDPOINT", around.store}});
  return shown;
}

std::vector<std::string> environment_of(const Job& job, const Process& process, int64_t attempt,
                                        const Surroundings& around) {
  Variables added = shown_of(job, process, around);
  added.insert(added.end(), process.hidden.begin(), process.hidden.end());
  added.insert(added.end(), {{"FLT_STORE", around.store},
                             {"FLT_JOB_TOKEN", around.token},
                             {"FLT_ROLE", process.role},
                             {"FLT_RANK", fmt::to_string(process.rank)},
                             {"FLT_ATTEMPT", fmt::to_string(attempt)},
                             {"FLT_LISTEN_FD", fmt::to_string(process.listener.socket.get())}});
  if (around.token_is_made) added.emplace_back("FLT_MADE_TOKEN", around.token);
  if (!around.only_from.empty()) {
    added.emplace_back("FLT_ONLY_FROM", fmt::format("{}", fmt::join(around.only_from, ",")));
  }
  if (process.role == "server") {
    added.emplace_back("FLT_PS_DIR", around.server_folder);
    // No power cut leaves anything of a folder that goes with the job.
    if (around.folder_is_temporary && !env::text("FLT_PS_SYNC"))
      added.emplace_back("FLT_PS_SYNC", "off");
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

}  // namespace flotilla::launch

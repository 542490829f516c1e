#include "flotilla/base/cgroup.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "flotilla/base/fd.h"

namespace flotilla {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// "0::/a/b" is the line of version 2; others are of version 1.
std::string path_in_hierarchy() {
  std::ifstream file("/proc/self/cgroup");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("0::/")) return line.substr(3);
  }
  return "";
}

// The folder of `path` where a line of mountinfo mounts version 2, or a part of it that has `path`:
// "31 23 0:28 <the part> <where> <options> [<more> ...] - cgroup2 <source> <options>"
std::string folder_at(const std::string& line, const std::string& path) {
  if (line.find(" - cgroup2 ") == std::string::npos) return "";
  std::istringstream words(line);
  std::string skipped, part, where;
  words >> skipped >> skipped >> skipped >> part >> where;
  if (part == "/") return where + path;
  const bool has = path == part || path.starts_with(part + "/");
  return has ? where + path.substr(part.size()) : "";
}

std::vector<std::string> groups_below(const std::string& group) {
  std::vector<std::string> found;
  std::error_code error;
  fs::directory_iterator entry(group, error);
  for (; !error && entry != fs::directory_iterator(); entry.increment(error)) {
    std::error_code gone;
    if (entry->is_directory(gone)) found.push_back(entry->path().string());
  }
  return found;
}

// Where the kernel cannot do it at once (before 5.14). A member of another pid namespace is a 0.
void kill_one_by_one(const std::string& group) {
  std::ifstream members(cgroup_entrance(group));
  for (pid_t pid = 0; members >> pid;) {
    if (pid > 0) ::kill(pid, SIGKILL);
  }
  for (const std::string& below : groups_below(group)) kill_one_by_one(below);
}

void kill_members(const std::string& group) {
  const Fd file(::open((group + "/cgroup.kill").c_str(), O_WRONLY | O_CLOEXEC));
  if (!file || ::write(file.get(), "1", 1) != 1) kill_one_by_one(group);
}

// Whether it is gone. The kernel keeps groups that have members or others below.
bool remove_group(const std::string& group) {
  if (::rmdir(group.c_str()) == 0 || errno == ENOENT) return true;
  for (const std::string& below : groups_below(group)) remove_group(below);
  return ::rmdir(group.c_str()) == 0 || errno == ENOENT;
}

}  // namespace

std::string own_cgroup() {
  const std::string path = path_in_hierarchy();
  // A group outside of the namespace is "/..", and one that was removed "/a (deleted)".
  if (path.empty() || path.find("/..") != std::string::npos) return "";
  std::ifstream mounts("/proc/self/mountinfo");
  for (std::string line; std::getline(mounts, line);) {
    std::string folder = folder_at(line, path);
    while (folder.ends_with('/')) folder.pop_back();
    if (folder.empty()) continue;
    const bool mine =
        access(folder.c_str(), W_OK) == 0 && access(cgroup_entrance(folder).c_str(), W_OK) == 0;
    if (mine) return folder;
  }
  return "";
}

std::string make_cgroup(const std::string& above) {
  static std::atomic<int64_t> count = 0;
  if (above.empty()) return "";
  std::string group = fmt::format("{}/flotilla-{}-{}-{}", above, getpid(),
                                  Clock::now().time_since_epoch().count(), count++);
  return ::mkdir(group.c_str(), 0755) == 0 ? group : "";
}

std::string cgroup_entrance(const std::string& group) {
  return group.empty() ? "" : group + "/cgroup.procs";
}

void end_cgroup(const std::string& group, std::chrono::milliseconds patience) {
  if (group.empty()) return;
  const Clock::time_point deadline = Clock::now() + patience;
  // Mostly nobody is left.
  while (!remove_group(group)) {
    kill_members(group);
    if (Clock::now() >= deadline) return;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
}

}  // namespace flotilla

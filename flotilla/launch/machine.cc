#include "flotilla/launch/machine.h"

#include <ifaddrs.h>
#include <sched.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <set>

#include "flotilla/base/env.h"
#include "flotilla/base/error.h"
#include "flotilla/base/fd.h"
#include "flotilla/launch/spawn.h"
#include "flotilla/rpc/resolve.h"

namespace flotilla::launch {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> own_addresses() {
  std::set<std::string> found = {"127.0.0.1", "localhost"};
  char name[256] = {};
  if (gethostname(name, sizeof name - 1) == 0) found.insert(name);
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) == 0) {
    for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
      if (entry->ifa_addr == nullptr) continue;
      const int family = entry->ifa_addr->sa_family;
      if (family != AF_INET && family != AF_INET6) continue;
      char text[NI_MAXHOST] = {};
      const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
      if (getnameinfo(entry->ifa_addr, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) == 0) {
        found.insert(text);
      }
    }
    freeifaddrs(list);
  }
  return {found.begin(), found.end()};
}

// The interpreter that is meant: the caller's, the one beside this program as it was called (a link
// in a virtual environment, maybe), or that of the PATH.
std::string find_python(const std::string& program) {
  if (const std::optional<std::string> said = env::text("FLT_PYTHON")) return *said;
  const bool has_folder = program.find('/') != std::string::npos;
  const fs::path called = has_folder ? program : find_in_path(program);
  for (const char* name : {"python", "python3"}) {
    const fs::path beside = called.parent_path() / name;
    if (!called.empty() && access(beside.c_str(), X_OK) == 0) return beside;
  }
  return "python3";
}

int64_t count_gpus() {
  std::error_code error;
  int64_t count = 0;
  for (const auto& entry : fs::directory_iterator("/proc/driver/nvidia/gpus", error)) {
    (void)entry;
    ++count;
  }
  return count;
}

// As CUDA reads it: set to nothing it hides all, and an entry that cannot be hides itself and all
// behind it.
std::optional<std::vector<std::string>> visible_gpus() {
  if (!env::is_set("CUDA_VISIBLE_DEVICES")) return std::nullopt;
  std::vector<std::string> ids = env::list("CUDA_VISIBLE_DEVICES");
  ids.erase(std::find(ids.begin(), ids.end(), "-1"), ids.end());
  return ids;
}

}  // namespace

bool Machine::is(const std::string& host) const {
  return std::find(addresses.begin(), addresses.end(), host) != addresses.end();
}

Machine this_machine(const std::string& program) {
  cpu_set_t set;
  const bool known = sched_getaffinity(0, sizeof set, &set) == 0;
  return {.cores = known ? CPU_COUNT(&set) : sysconf(_SC_NPROCESSORS_ONLN),
          .gpus = count_gpus(),
          .visible_gpus = visible_gpus(),
          .addresses = own_addresses(),
          .python = find_python(program)};
}

std::string address_towards(const std::string& host) {
  // The port does not matter: nothing is sent.
  const rpc::Resolved resolved = rpc::resolve({.host = host, .port = "9", .type = SOCK_DGRAM});
  require(resolved.ok(), "the host \"{}\" {}", host, resolved.problem());
  const addrinfo* found = resolved.addresses.get();
  const Fd socket(::socket(found->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  sockaddr_storage self = {};
  socklen_t size = sizeof self;
  char text[NI_MAXHOST] = {};
  const bool known = ::connect(socket.get(), found->ai_addr, found->ai_addrlen) == 0 &&
                     getsockname(socket.get(), reinterpret_cast<sockaddr*>(&self), &size) == 0 &&
                     getnameinfo(reinterpret_cast<sockaddr*>(&self), size, text, sizeof text,
                                 nullptr, 0, NI_NUMERICHOST) == 0;
  require(known, "this machine has no route to the host \"{}\": {}", host, std::strerror(errno));
  return text;
}

}  // namespace flotilla::launch

#include "flotilla/base/save_folder.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <system_error>
#include <thread>
#include <vector>

#include "flotilla/base/error.h"
#include "flotilla/base/save_manifest.h"
#include "flotilla/base/system_reason.h"

namespace flotilla {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kStagingBegin = ".save-";
constexpr std::string_view kStagingEnd = ".unfinished";
constexpr std::string_view kOld = "old";
// Where locks do not tell whether a process is still writing.
constexpr auto kCertainlyDead = std::chrono::hours(24);

bool is_there(const fs::path& path) {
  std::error_code ignored;
  return fs::exists(fs::symlink_status(path, ignored));
}

// A folder itself, not a link to one.
bool is_real_folder(const fs::path& path) {
  std::error_code ignored;
  return fs::symlink_status(path, ignored).type() == fs::file_type::directory;
}

Fd open_folder(const fs::path& folder) {
  return Fd(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
}

// Relative to `root`, manifests last: until then the one in `root` is used.
std::vector<fs::path> files_below(const fs::path& root) {
  std::vector<fs::path> names;
  if (!is_real_folder(root)) return names;
  for (const auto& entry : fs::recursive_directory_iterator(root)) {
    if (!is_real_folder(entry.path())) names.push_back(entry.path().lexically_relative(root));
  }
  std::sort(names.begin(), names.end());
  std::stable_partition(names.begin(), names.end(),
                        [](const fs::path& name) { return !is_manifest(name.native()); });
  return names;
}

// Another process may have moved it already.
void move(const fs::path& from, const fs::path& to) {
  if (::rename(from.c_str(), to.c_str()) == 0) return;
  const int reason = errno;
  if (reason == ENOENT && !is_there(from)) return;
  errno = reason;
  fail_to_save("replace", to);
}

void replace_folders(const fs::path& folder, const fs::path& committed) {
  const fs::path root = committed / kSavedFolders;
  if (!is_real_folder(root)) return;
  const fs::path old = committed / kOld;
  make_folder(old);
  std::vector<fs::path> names;
  for (const auto& entry : fs::directory_iterator(root)) names.push_back(entry.path().filename());
  for (const fs::path& name : names) {
    if (!is_there(root / name)) continue;  // another process has moved it
    fs::remove_all(old / name);
    if (is_there(folder / name)) move(folder / name, old / name);
    move(root / name, folder / name);
  }
}

}  // namespace

void fail_to_save(std::string_view verb, const fs::path& path) {
  refuse("cannot {} {}: {}", verb, path.string(), system_reason(errno));
}

bool is_staging(std::string_view name) {
  return name.starts_with(kStagingBegin) && name.ends_with(kStagingEnd);
}

FolderLock::FolderLock(const fs::path& folder, Kind kind, std::chrono::milliseconds limit)
    : fd_(open_folder(folder)) {
  if (!fd_) return;
  const auto end = std::chrono::steady_clock::now() + limit;
  const int operation = (kind == Kind::kShared ? LOCK_SH : LOCK_EX) | LOCK_NB;
  while (::flock(fd_.get(), operation) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return;
    if (std::chrono::steady_clock::now() > end) {
      state_ = State::kBusy;
      return;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  state_ = State::kHeld;
}

// Not by closing it alone: a process that was forked meanwhile has the descriptor, too.
FolderLock::~FolderLock() {
  if (fd_ && state_ == State::kHeld) ::flock(fd_.get(), LOCK_UN);
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  errno = error.value();
  if (error) fail_to_save("make the folder", folder);
}

void sync_folder(const fs::path& folder) {
  const Fd fd = open_folder(folder);
  if (!fd || ::fsync(fd.get()) != 0) fail_to_save("sync", folder);
}

void check_no_links(const fs::path& folder, const fs::path& name) {
  fs::path at = folder;
  for (const fs::path& part : name.parent_path()) {
    at /= part;
    require(is_real_folder(at) || !is_there(at), "{} cannot be replaced: {} is not a folder",
            (folder / name).string(), at.string());
  }
}

void put_in_place(const fs::path& folder) {
  const fs::path committed = folder / kCommitted;
  if (!is_real_folder(committed)) return;
  std::set<fs::path> parents = {folder};
  for (const fs::path& name : files_below(committed / kSavedFiles)) {
    const fs::path target = folder / name;
    check_no_links(folder, name);
    make_folder(target.parent_path());
    move(committed / kSavedFiles / name, target);
    // Folders that are new are names in theirs.
    for (fs::path at = name; !at.empty(); at = at.parent_path()) {
      parents.insert((folder / at).parent_path());
    }
  }
  replace_folders(folder, committed);
  for (const fs::path& parent : parents) sync_folder(parent);
  std::error_code ignored;  // what stays is not used
  fs::remove_all(committed, ignored);
}

fs::path place_of(const fs::path& folder, std::string_view kind, std::string_view name) {
  const fs::path committed = folder / kCommitted;
  if (is_real_folder(committed)) {
    const fs::path waiting = committed / kind / name;
    if (is_there(waiting)) return waiting;
  }
  return folder / name;
}

void remove_leftovers(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder, error)) {
    if (is_staging(entry.path().filename().native()) && is_real_folder(entry.path())) {
      found.push_back(entry.path());
    }
  }
  for (const fs::path& path : found) {
    const Fd fd = open_folder(path);
    if (!fd) continue;
    const bool locked = ::flock(fd.get(), LOCK_EX | LOCK_NB) == 0;
    if (!locked && errno == EWOULDBLOCK) continue;
    const auto written = fs::last_write_time(path, error);
    if (!locked && (error || fs::file_time_type::clock::now() - written < kCertainlyDead)) continue;
    fs::remove_all(path, error);
  }
}

Staging make_staging(const fs::path& folder, const std::string& name) {
  constexpr int kMostNames = 10'000;
  for (int attempt = 0; attempt < kMostNames; ++attempt) {
    Staging made = {
        .path = folder / fmt::format("{}{}-{}{}", kStagingBegin, ::getpid(), attempt, kStagingEnd)};
    if (::mkdir(made.path.c_str(), 0777) != 0) {
      if (errno == EEXIST) continue;
      fail_to_save("write", folder / name);
    }
    made.lock = open_folder(made.path);
    if (!made.lock && errno != ENOENT) {
      const int reason = errno;
      ::rmdir(made.path.c_str());
      errno = reason;
      fail_to_save("write", folder / name);
    }
    // Before it was locked it looked like a leftover, which others remove.
    const bool taken =
        !made.lock || (::flock(made.lock.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK);
    if (!taken && is_there(made.path)) return made;
  }
  refuse("cannot save into {}: it holds {} interrupted saves that cannot be removed",
         folder.string(), kMostNames);
}

}  // namespace flotilla

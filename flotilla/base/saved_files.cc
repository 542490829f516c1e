#include "flotilla/base/saved_files.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "flotilla/base/crc32c.h"
#include "flotilla/base/error.h"
#include "flotilla/base/log.h"
#include "flotilla/base/regular_file.h"

namespace flotilla {

namespace fs = std::filesystem;

namespace {

// What is read without the lock is still compared with the manifest.
constexpr auto kPatience = std::chrono::seconds(30);
// How long a save may take from one file to the next; large files on a slow disk take longer.
constexpr double kSecondsBetween = 5;
constexpr double kSlowBytesPerSecond = 10e6;

}  // namespace

std::string read_whole(const fs::path& file) {
  const std::string_view kind = other_than_a_file(file);
  require(kind.empty(), "{} is {}, not a file", file.string(), kind);
  const Fd fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  struct stat status = {};
  if (!fd || ::fstat(fd.get(), &status) != 0) {
    not_found("the file \"{}\" cannot be opened: {}", file.string(),
              std::generic_category().message(errno));
  }
  std::string bytes;
  // Some file systems do not know the size of what they have; the file tells by its end.
  for (size_t room = static_cast<size_t>(status.st_size) + 1;; room = 1 << 16) {
    const size_t before = bytes.size();
    bytes.resize(before + room);
    const ssize_t got = ::read(fd.get(), bytes.data() + before, room);
    const int reason = errno;
    bytes.resize(before + static_cast<size_t>(std::max<ssize_t>(got, 0)));
    if (got < 0 && reason == EINTR) continue;
    require(got >= 0, "{} cannot be read: {}", file.string(),
            std::generic_category().message(reason));
    if (got == 0) return bytes;
  }
}

std::optional<SaveManifest> find_manifest(const fs::path& file) {
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored)) return std::nullopt;
  try {
    return parse_save_manifest(read_whole(file));
  } catch (Error& error) {
    refuse(
        "{} is damaged, so the files that it lists cannot be checked: {}; remove it if they are "
        "intact",
        file.string(), error.sentence());
  }
}

std::pair<fs::path, std::string> split(const fs::path& file) {
  return {file.has_parent_path() ? file.parent_path() : fs::path("."), file.filename().string()};
}

SavedFiles::SavedFiles(fs::path folder)
    : folder_(folder.empty() ? fs::path(".") : std::move(folder)) {
  std::error_code ignored;
  if (fs::exists(fs::symlink_status(folder_ / kCommitted, ignored))) {
    const FolderLock lock(folder_, FolderLock::Kind::kExclusive, kPatience);
    try {
      if (lock.state() != FolderLock::State::kBusy) put_in_place(folder_);
    } catch (const std::exception&) {
      // Its files are found where they are.
    }
  }
  lock_.emplace(folder_, FolderLock::Kind::kShared, kPatience);
}

SavedFiles::~SavedFiles() = default;

void SavedFiles::close() { lock_.reset(); }

bool SavedFiles::contains(const std::string& name) const {
  check_file_name(name);
  std::error_code ignored;
  return fs::is_regular_file(place_of(folder_, kSavedFiles, name), ignored);
}

const SaveManifest* SavedFiles::manifest(const std::string& name) {
  const std::string path = manifest_of(name);
  const auto [at, made] = manifests_.try_emplace(path);
  if (made) at->second = find_manifest(place_of(folder_, kSavedFiles, path));
  return at->second ? &*at->second : nullptr;
}

void SavedFiles::compare(const std::string& name, const fs::path& path, std::string_view bytes) {
  const SaveManifest* listed = manifest(name);
  const auto entry = listed == nullptr ? SaveManifest::const_iterator() : listed->find(name);
  const bool found = listed != nullptr && entry != listed->end();
  std::error_code error;
  const auto written = fs::last_write_time(path, error);
  if (!error) read_.push_back({name, found ? entry->second.save : 0, written, bytes.size()});
  if (!found) return;
  const uint32_t crc = crc32c(0, bytes.data(), bytes.size());
  require(
      bytes.size() == entry->second.bytes && crc == entry->second.crc,
      "{} is not the file that was saved: {} bytes with checksum {:x} are listed in {}, but it has "
      "{} bytes with checksum {:x}; restore it, or, if it was replaced on purpose, remove {}",
      path.string(), entry->second.bytes, entry->second.crc, (folder_ / manifest_of(name)).string(),
      bytes.size(), crc, (folder_ / manifest_of(name)).string());
}

std::string SavedFiles::read(const std::string& name) {
  check_file_name(name);
  const fs::path path = place_of(folder_, kSavedFiles, name);
  std::string bytes = read_whole(path);
  compare(name, path, bytes);
  return bytes;
}

std::optional<fs::path> SavedFiles::find_folder(const std::string& name) {
  check_file_name(name);
  const fs::path path = place_of(folder_, kSavedFolders, name);
  std::error_code ignored;
  if (!fs::is_directory(path, ignored)) return std::nullopt;
  if (const SaveManifest* listed = manifest(name); listed != nullptr) {
    const std::string below = name + "/";
    for (auto at = listed->lower_bound(below); at != listed->end(); ++at) {
      if (!at->first.starts_with(below)) break;
      const fs::path file = path / at->first.substr(below.size());
      compare(at->first, file, read_whole(file));
    }
  }
  return path;
}

std::vector<std::string> SavedFiles::names() const {
  std::vector<std::string> found;
  for (const fs::path& root : {folder_, folder_ / kCommitted / kSavedFiles}) {
    std::error_code error;
    auto at = fs::recursive_directory_iterator(root, error);
    for (; !error && at != fs::recursive_directory_iterator(); at.increment(error)) {
      const std::string name = at->path().lexically_relative(root);
      const bool hidden = at->path().filename().native().starts_with('.');
      if (hidden || name == "__tables__") at.disable_recursion_pending();
      if (hidden || is_manifest(name) || name == "__model__") continue;
      if (at->is_regular_file(error)) found.push_back(name);
    }
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void SavedFiles::notice_times() {
  std::sort(read_.begin(), read_.end(),
            [](const Read& a, const Read& b) { return a.written < b.written; });
  for (size_t i = 1; i < read_.size(); ++i) {
    const Read &old = read_[i - 1], &next = read_[i];
    const bool listed = old.save > 0 && next.save > 0;
    const bool one_list = listed && manifest_of(old.name) == manifest_of(next.name);
    if (one_list && old.save == next.save) continue;
    const double seconds = std::chrono::duration<double>(next.written - old.written).count();
    const double most = kSecondsBetween + static_cast<double>(next.bytes) / kSlowBytesPerSecond;
    if (seconds <= most) continue;
    log::warning(
        "{} {} more than one save: {} of {} were written {:.0f} seconds or more before \"{}\", "
        "like \"{}\"",
        folder_.string(),
        listed ? "has files of" : "has no manifest, and its files look like those of", i,
        read_.size(), seconds, next.name, old.name);
    return;
  }
}

}  // namespace flotilla

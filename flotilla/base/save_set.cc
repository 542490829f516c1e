#include "flotilla/base/save_set.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <set>
#include <utility>

#include "flotilla/base/crc32c.h"
#include "flotilla/base/error.h"
#include "flotilla/base/log.h"
#include "flotilla/base/regular_file.h"
#include "flotilla/base/saved_files.h"

namespace flotilla {

namespace fs = std::filesystem;

namespace {

// Others hold the lock for as long as it takes to rename files, or to read them.
constexpr auto kPatience = std::chrono::minutes(2);

ManifestEntry entry_of(std::string_view bytes) {
  return {.bytes = bytes.size(), .crc = crc32c(0, bytes.data(), bytes.size())};
}

// What manifest a folder has; none where it is damaged, since its files are about to be replaced.
SaveManifest manifest_before(const fs::path& path) {
  try {
    return find_manifest(path).value_or(SaveManifest());
  } catch (const Error& error) {
    log::warning("{} is written again: {}", path.string(), error.sentence());
    return {};
  }
}

}  // namespace

SaveSet::SaveSet(fs::path folder, Listed listed)
    : folder_(folder.empty() ? fs::path(".") : std::move(folder)), listed_(listed) {}

SaveSet::~SaveSet() { discard(); }

void SaveSet::discard() {
  std::error_code ignored;
  if (!staging_.path.empty()) fs::remove_all(staging_.path, ignored);
  staging_ = {};
  written_.clear();
  folders_.clear();
}

void SaveSet::begin(const std::string& name) {
  if (!staging_.path.empty()) return;
  make_folder(folder_);
  remove_leftovers(folder_);
  staging_ = make_staging(folder_, name);
}

// After commit() nothing may fail that can be seen before.
void SaveSet::check_target(const fs::path& name) const {
  const fs::path target = folder_ / name;
  check_no_links(folder_, name);
  std::error_code ignored;
  const bool link = fs::is_symlink(fs::symlink_status(target, ignored));
  const std::string_view kind = link ? "" : other_than_a_file(target);
  require(kind.empty(), "cannot replace {} by a file: it is {}", target.string(), kind);
}

void SaveSet::write(const fs::path& file, std::string_view bytes) const {
  make_folder(file.parent_path());
  const Fd fd(::open(file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  const fs::path target = folder_ / file.lexically_relative(staging_.path / kSavedFiles);
  if (!fd) fail_to_save("write", target);
  while (!bytes.empty()) {
    const ssize_t size = ::write(fd.get(), bytes.data(), bytes.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0) fail_to_save("write", target);
    bytes.remove_prefix(static_cast<size_t>(size));
  }
  if (::fsync(fd.get()) != 0) fail_to_save("sync", target);
}

void SaveSet::add(const std::string& name, std::string_view bytes) {
  check_file_name(name);
  check_target(name);
  require(!written_.contains(name), "two files of one save are named \"{}\"", name);
  begin(name);
  write(staging_.path / kSavedFiles / name, bytes);
  written_[name] = entry_of(bytes);
}

fs::path SaveSet::add_folder(const std::string& name) {
  check_file_name(name);
  require(name.find('/') == name.npos, "\"{}\" is not the name of a folder", name);
  begin(name);
  const fs::path made = staging_.path / kSavedFolders / name;
  make_folder(made);
  folders_.push_back(name);
  return made;
}

SaveManifest SaveSet::in_folders() const {
  SaveManifest found;
  for (const std::string& name : folders_) {
    const fs::path root = staging_.path / kSavedFolders;
    for (const auto& entry : fs::recursive_directory_iterator(root / name)) {
      if (entry.path().filename() != "MANIFEST") continue;
      found[entry.path().lexically_relative(root)] = entry_of(read_whole(entry.path()));
    }
  }
  return found;
}

// What is listed already and still there, and what this save wrote.
bool SaveSet::write_manifests(const SaveManifest& written) {
  bool any = false;
  std::error_code ignored;
  std::set<std::string> paths;
  for (const auto& [name, entry] : written) paths.insert(manifest_of(name));
  for (const std::string& path : paths) {
    SaveManifest manifest = manifest_before(folder_ / path);
    uint64_t last = 0;
    for (const auto& [name, entry] : manifest) last = std::max(last, entry.save);
    bool changed = false;
    for (auto [name, entry] : written) {
      if (manifest_of(name) != path) continue;
      if (listed_ == Listed::kWhereListed && !manifest.contains(name)) continue;
      entry.save = last + 1;
      manifest[name] = entry;
      changed = true;
    }
    if (!changed) continue;
    std::erase_if(manifest, [&](const auto& file) {
      const auto& [name, entry] = file;
      if (entry.save > last) return false;
      const std::string_view first = std::string_view(name).substr(0, name.find('/'));
      return std::find(folders_.begin(), folders_.end(), first) != folders_.end() ||
             !fs::exists(folder_ / name, ignored);
    });
    write(staging_.path / kSavedFiles / path, print_manifest(manifest));
    any = true;
  }
  return any;
}

void SaveSet::sync() const {
  for (const auto& entry : fs::recursive_directory_iterator(staging_.path)) {
    if (entry.is_directory()) sync_folder(entry.path());
  }
  sync_folder(staging_.path);
}

void SaveSet::commit() {
  if (staging_.path.empty()) return;
  SaveManifest written = in_folders();
  written.insert(written_.begin(), written_.end());
  const FolderLock lock(folder_, FolderLock::Kind::kExclusive, kPatience);
  require(lock.state() != FolderLock::State::kBusy,
          "cannot save into {}: another process has held its lock for two minutes",
          folder_.string());
  put_in_place(folder_);  // of one who was killed
  const bool listed = write_manifests(written);
  for (const auto& [name, entry] : written_) {
    if (name.find('/') != name.npos) make_folder((folder_ / name).parent_path());
    check_target(name);
  }
  const fs::path committed = folder_ / kCommitted;
  if (written_.size() == 1 && folders_.empty() && !listed) {
    // One rename is one moment without more ado.
    const fs::path target = folder_ / written_.begin()->first;
    const fs::path source = staging_.path / kSavedFiles / written_.begin()->first;
    if (::rename(source.c_str(), target.c_str()) != 0) fail_to_save("replace", target);
    sync_folder(target.parent_path());
    return discard();
  }
  sync();
  // Where there are no locks, others may commit at the same time.
  for (int others = 0; ::rename(staging_.path.c_str(), committed.c_str()) != 0; ++others) {
    const bool again = others < 100 && (errno == ENOTEMPTY || errno == EEXIST);
    if (!again) fail_to_save("write", committed);
    put_in_place(folder_);
  }
  staging_ = {};
  sync_folder(folder_);
  put_in_place(folder_);
  discard();
}

void save_file(const fs::path& file, std::string_view bytes) {
  const auto [folder, name] = split(file);
  SaveSet save(folder, SaveSet::Listed::kWhereListed);
  save.add(name, bytes);
  save.commit();
}

}  // namespace flotilla

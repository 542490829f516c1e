// flotilla/base/save_folder.h
//
// What a folder looks like while a save is under way; save_set.h writes it, saved_files.h reads it.
//
//   <folder>/.save-<pid>-<n>.unfinished/   being written; locked while its process lives
//   <folder>/.save.committed/              the save counts: its files are moved into place
//       files/<name>                       a file that takes the place of <folder>/<name>
//       folders/<name>/                    a folder that does, as a whole
//       old/<name>/                        folders whose place was taken
//
// The rename of the first to the second is the moment at which the old save becomes the new one.
// Whatever happens afterwards, what lies in files/ and folders/ is moved by whoever comes next;
// where that cannot be (a folder that cannot be written to), it is read from there.

#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <string_view>

#include "flotilla/base/fd.h"

namespace flotilla {

inline constexpr std::string_view kCommitted = ".save.committed";
inline constexpr std::string_view kSavedFiles = "files";
inline constexpr std::string_view kSavedFolders = "folders";

bool is_staging(std::string_view name);

// A lock on a folder that ends with its process. Waits for others up to a limit.
class FolderLock {
 public:
  enum class Kind { kShared, kExclusive };
  enum class State {
    kHeld,
    kBusy,  // others hold it
    kNone,  // the folder does not exist, or has no locks (some network file systems)
  };

  FolderLock(const std::filesystem::path& folder, Kind kind, std::chrono::milliseconds limit);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

  State state() const { return state_; }

 private:
  Fd fd_;
  State state_ = State::kNone;
};

// Moves what a committed save has left into place. REQUIRES: the exclusive lock, where there is
// one. May be repeated, and may meet another process that does the same.
void put_in_place(const std::filesystem::path& folder);

// Where a file or folder of the save is now.
std::filesystem::path place_of(const std::filesystem::path& folder, std::string_view kind,
                               std::string_view name);

// Refuses a path whose folders, below `folder`, are not all real ones: links lead elsewhere.
void check_no_links(const std::filesystem::path& folder, const std::filesystem::path& name);

void make_folder(const std::filesystem::path& folder);  // with those above it
void sync_folder(const std::filesystem::path& folder);

// Removes what processes that are gone left unfinished.
void remove_leftovers(const std::filesystem::path& folder);

// A new folder for a save, and its lock; `name` is what cannot be saved where it fails.
struct Staging {
  std::filesystem::path path = {};
  Fd lock = {};
};
Staging make_staging(const std::filesystem::path& folder, const std::string& name);

// With errno.
[[noreturn]] void fail_to_save(std::string_view verb, const std::filesystem::path& path);

}  // namespace flotilla

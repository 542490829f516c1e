// flotilla/base/saved_files.h
//
// Files of a folder that saves (save_set.h), Paddle or anybody else wrote.

#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/save_folder.h"
#include "flotilla/base/save_manifest.h"

namespace flotilla {

// All files that are read through one object are of one moment: saves wait until close(). A save
// that was interrupted after it counted is completed first; where the folder cannot be written to,
// its files are read from where they are.
class SavedFiles {
 public:
  explicit SavedFiles(std::filesystem::path folder);
  ~SavedFiles();
  SavedFiles(const SavedFiles&) = delete;
  SavedFiles& operator=(const SavedFiles&) = delete;

  const std::filesystem::path& folder() const { return folder_; }
  bool contains(const std::string& name) const;
  // The bytes of a file. Refuses one that is missing (kNotFound), whose name leads out of the
  // folder, and one that is not as the manifest lists it.
  std::string read(const std::string& name);
  // Where a folder is that was saved as a whole; compared with the manifest. Nothing where there
  // is none.
  std::optional<std::filesystem::path> find_folder(const std::string& name);
  // Of the files, without manifests, "__model__" and what begins with a dot.
  std::vector<std::string> names() const;

  // Says so where the files that were read look as if they were not written together: some may be
  // left from an older save, which had more files.
  void notice_times();
  // No more is read.
  void close();

 private:
  struct Read {
    std::string name;
    uint64_t save = 0;  // as the manifest says; 0: not listed
    std::filesystem::file_time_type written;
    uint64_t bytes = 0;
  };

  const SaveManifest* manifest(const std::string& name);
  void compare(const std::string& name, const std::filesystem::path& path, std::string_view bytes);

  const std::filesystem::path folder_;
  std::optional<FolderLock> lock_;
  std::map<std::string, std::optional<SaveManifest>> manifests_;
  std::vector<Read> read_;
};

// The bytes of a file. Refuses one that is missing (kNotFound) or is not a regular file.
std::string read_whole(const std::filesystem::path& file);
// Nothing where there is none; refuses one that is damaged.
std::optional<SaveManifest> find_manifest(const std::filesystem::path& file);

// The folder of a file, "." where it is named without, and its name.
std::pair<std::filesystem::path, std::string> split(const std::filesystem::path& file);

}  // namespace flotilla

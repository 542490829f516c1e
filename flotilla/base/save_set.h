// flotilla/base/save_set.h
//
// A save of several files into a folder that counts as one: whoever loads from the folder
// (saved_files.h) gets all files of it, or those that were there before, even where the process is
// killed or the power fails while it is written. Files keep their names; a manifest beside them
// (save_manifest.h) lists them with their checksums. save_folder.h says how.
//
// Several saves into one folder, also at the same time, do not disturb each other: of a file that
// more than one writes, that of the last one stays.

#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "flotilla/base/save_folder.h"
#include "flotilla/base/save_manifest.h"

namespace flotilla {

// Call order: add* commit. Without commit() nothing is left behind. Every failure is an Error that
// names the file; names are those of check_file_name().
class SaveSet {
 public:
  enum class Listed {
    kAll,          // in the manifest
    kWhereListed,  // only files that a manifest lists already
  };

  explicit SaveSet(std::filesystem::path folder, Listed listed = Listed::kAll);
  ~SaveSet();
  SaveSet(const SaveSet&) = delete;
  SaveSet& operator=(const SaveSet&) = delete;

  void add(const std::string& name, std::string_view bytes);
  // An empty folder for the caller to fill, and to force to the disk. It takes the place of
  // <folder>/<name> as a whole. Of its files, those called MANIFEST are listed: they vouch for the
  // others.
  std::filesystem::path add_folder(const std::string& name);

  // The new files are there from here on.
  void commit();
  // Instead of commit().
  void discard();

 private:
  void begin(const std::string& name);
  void check_target(const std::filesystem::path& name) const;
  void write(const std::filesystem::path& file, std::string_view bytes) const;
  SaveManifest in_folders() const;
  bool write_manifests(const SaveManifest& written);  // whether there was one to write
  void sync() const;

  const std::filesystem::path folder_;
  const Listed listed_;
  Staging staging_;       // empty before the first file, and after commit()
  SaveManifest written_;  // their number is set by commit()
  std::vector<std::string> folders_;
};

// A file that is saved alone, and appears whole or not at all. A manifest that lists it does so
// afterwards, too.
void save_file(const std::filesystem::path& file, std::string_view bytes);

}  // namespace flotilla

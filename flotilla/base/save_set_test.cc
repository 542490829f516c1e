#include "flotilla/base/save_set.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <thread>

#include "flotilla/base/error.h"
#include "flotilla/base/saved_files.h"
#include "flotilla/testing/errors.h"
#include "flotilla/testing/killed.h"
#include "flotilla/testing/temp_dir.h"

namespace flotilla {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;
using testing::UnorderedElementsAre;

const std::vector<std::string> kNames = {"a", "m.pdmodel", "m.pdparams", "tower/b", "z"};

// Every file says which save it is of.
void save(const fs::path& folder, const std::string& text) {
  SaveSet save(folder);
  for (const std::string& name : kNames) save.add(name, name + " " + text);
  std::ofstream manifest(save.add_folder("__tables__") / "MANIFEST");
  manifest << text;
  manifest.close();
  require(manifest.good(), "the manifest of the tables cannot be written");
  save.commit();
}

// The save that all files are of.
std::string load(const fs::path& folder) {
  SavedFiles files(folder);
  const std::string text = files.read("a").substr(2);
  for (const std::string& name : kNames) EXPECT_EQ(files.read(name), name + " " + text);
  EXPECT_EQ(read_whole(files.find_folder("__tables__").value() / "MANIFEST"), text);
  return text;
}

std::vector<std::string> hidden(const fs::path& folder) {
  std::vector<std::string> found;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().filename().native().starts_with('.')) {
      found.push_back(entry.path().filename());
    }
  }
  return found;
}

// As somebody who may only read the folder; not as root, who may do everything.
std::string load_as_a_reader(const fs::path& folder) {
  ::chmod(folder.parent_path().c_str(), 0755);
  ::chmod(folder.c_str(), 0555);
  const uid_t root = ::geteuid();
  EXPECT_EQ(::seteuid(root == 0 ? 65534 : root), 0);
  const std::string text = load(folder);
  EXPECT_EQ(::seteuid(root), 0);
  ::chmod(folder.c_str(), 0755);
  return text;
}

class SaveSetFiles : public testing::Test, protected TempDir {};

// In memory, where there is such a folder: what is killed has no need of a disk.
class KilledSaves : public SaveSetFiles {
 protected:
  KilledSaves() {
    std::string name = "/dev/shm/flotilla_XXXXXX";
    if (::mkdtemp(name.data()) == nullptr) return;
    fs::remove_all(dir_);
    dir_ = name;
  }
};

TEST_F(KilledSaves, AreAllThereOrNotAtAll) {
  save(dir_ / "first", "old");
  bool counts = false;
  int waiting = 0;
  for (int number = 1; number < 5000; ++number) {
    const fs::path folder = dir_ / "killed";
    fs::remove_all(folder);
    fs::copy(dir_ / "first", folder, fs::copy_options::recursive);
    const End end = run_until_call(number, [&] { save(folder, "new"); });
    if (end == End::kNotTraced) GTEST_SKIP() << "this process may not trace its children";
    const bool committed = fs::exists(folder / kCommitted);
    if (committed) {
      ++waiting;
      ASSERT_EQ(load_as_a_reader(folder), "new") << "killed before call " << number;
      ASSERT_TRUE(fs::exists(folder / kCommitted));
    }
    const std::string found = load(folder);
    ASSERT_EQ(found, counts || committed || end == End::kDone ? "new" : found);
    counts = found == "new";
    save(folder, "next");
    ASSERT_EQ(load(folder), "next");
    ASSERT_THAT(hidden(folder), IsEmpty()) << "killed before call " << number;
    if (end == End::kDone) break;
  }
  EXPECT_TRUE(counts);
  EXPECT_GE(waiting, static_cast<int>(kNames.size()));
}

TEST_F(KilledSaves, OnAFullDiskAreAllThereOrNotAtAll) {
  save(dir_ / "first", "old");
  for (const bool stays : {false, true}) {
    int refused = 0;
    for (int number = 1; number < 500; ++number) {
      const fs::path folder = dir_ / "full";
      fs::remove_all(folder);
      fs::copy(dir_ / "first", folder, fs::copy_options::recursive);
      const FullDisk end = run_on_full_disk(number, stays, [&] { save(folder, "new"); });
      if (end == FullDisk::kNotTraced) GTEST_SKIP() << "this process may not trace its children";
      const bool committed = fs::exists(folder / kCommitted);
      ASSERT_EQ(hidden(folder).size(), committed ? 1u : 0u) << "call " << number << " failed";
      const std::string found = load(folder);
      if (committed || end != FullDisk::kRefused) {
        ASSERT_EQ(found, "new") << "call " << number << " failed";
      }
      refused += end == FullDisk::kRefused;
      save(folder, "next");
      ASSERT_EQ(load(folder), "next");
      ASSERT_THAT(hidden(folder), IsEmpty()) << "call " << number << " failed";
      if (end == FullDisk::kNotReached) break;
    }
    EXPECT_GE(refused, 3 * static_cast<int>(kNames.size())) << "open, write, sync";
  }
}

TEST_F(SaveSetFiles, ListsFilesWithTheirChecksums) {
  save(dir_, "text");
  EXPECT_EQ(get("__manifest__"),
            "flotilla manifest 1\n"
            "save 1 bytes 4 crc 2f5319e1 __tables__/MANIFEST\n"
            "save 1 bytes 6 crc 4f76bd84 a\n"
            "save 1 bytes 12 crc a8b5888f tower/b\n"
            "save 1 bytes 6 crc dbc05e7f z\n"
            "end 17befcd\n");
  EXPECT_THAT(get("m.manifest"), HasSubstr("m.pdmodel\nsave 1 bytes 15 crc"));
  // What another save writes is added, and what is gone goes.
  fs::remove(dir_ / "z");
  SaveSet other(dir_);
  other.add("a", "other");
  other.add("line\nend %", "");
  other.commit();
  SaveManifest listed = parse_save_manifest(get("__manifest__"));
  EXPECT_EQ(listed.size(), 4u);
  EXPECT_EQ(listed["tower/b"].save, 1u);
  EXPECT_EQ(listed["a"].save, 2u);
  EXPECT_EQ(listed["line\nend %"].save, 2u);
  EXPECT_EQ(SavedFiles(dir_).read("line\nend %"), "");
}

TEST_F(SaveSetFiles, RefusesAFileThatIsNotTheSavedOne) {
  save(dir_, "text");
  const std::string file = put("a", "a texT");
  SavedFiles files(dir_);
  EXPECT_THAT(refusal_of([&] { files.read("a"); }),
              testing::AllOf(StartsWith(file + " is not the file that was saved: 6 bytes with"),
                             HasSubstr("replaced on purpose, remove " +
                                       file.substr(0, file.size() - 1) + "__manifest__")));
  put("__tables__/MANIFEST", "other");
  EXPECT_THAT(refusal_of([&] { files.find_folder("__tables__"); }),
              HasSubstr("__tables__/MANIFEST is not the file that was saved"));
  EXPECT_EQ(files.read("z"), "z text");
  fs::remove(dir_ / "__manifest__");
  EXPECT_EQ(SavedFiles(dir_).read("a"), "a texT");
  put("m.manifest", get("m.manifest") + " ");
  EXPECT_THAT(refusal_of([&] { SavedFiles(dir_).read("m.pdmodel"); }),
              HasSubstr("m.manifest is damaged"));
}

TEST_F(SaveSetFiles, AFileThatIsSavedAloneNeedsNoManifest) {
  save_file(file("alone.pdparams"), "1");
  EXPECT_THAT(names(), ElementsAre("alone.pdparams"));
  save(dir_, "text");
  save_file(file("m.pdparams"), "2");
  save_file(file("deep/down"), "3");
  EXPECT_EQ(SavedFiles(dir_).read("m.pdparams"), "2");
  EXPECT_THAT(hidden(dir_), IsEmpty());
  EXPECT_EQ(SavedFiles(dir_).names(),
            (std::vector<std::string>{"a", "alone.pdparams", "deep/down", "m.pdmodel", "m.pdparams",
                                      "tower/b", "z"}));
}

TEST_F(SaveSetFiles, StaysWithinItsFolder) {
  const std::string evil[] = {"",
                              "..",
                              "../x",
                              "a/../../x",
                              "/x",
                              "a//b",
                              "a/",
                              "./a",
                              "a/..",
                              "__manifest__",
                              "m.manifest",
                              ".save.committed/files/x",
                              ".save-1-2.unfinished",
                              std::string("a\0b", 3)};
  SaveSet save(dir_ / "in");
  SavedFiles files(dir_ / "in");
  for (const std::string& name : evil) {
    EXPECT_THAT(refusal_of([&] { save.add(name, ""); }),
                HasSubstr("cannot be the name of a saved file"))
        << name;
    EXPECT_THAT(refusal_of([&] { files.read(name); }),
                HasSubstr("cannot be the name of a saved file"))
        << name;
  }
  EXPECT_EQ(refusal_of([&] { save.add("../x", ""); }),
            "\"../x\" cannot be the name of a saved file: it must be a relative path inside the "
            "folder of the save, without empty parts, \".\" or \"..\"; rename the variable, or "
            "save all variables to one file");
  save.commit();
  EXPECT_THAT(names(), IsEmpty());
  // Nor do links in the folder lead a save, or the completion of one, elsewhere.
  fs::create_directories(dir_ / "out");
  fs::create_directories(dir_ / "in" / kCommitted / kSavedFiles / "link");
  put("in/.save.committed/files/link/x", "evil");
  fs::create_directory_symlink(dir_ / "out", dir_ / "in" / "link");
  EXPECT_THAT(refusal_of([&] { save.add("link/x", ""); }), HasSubstr("link is not a folder"));
  EXPECT_FALSE(SavedFiles(dir_ / "in").contains("x"));
  EXPECT_TRUE(fs::is_empty(dir_ / "out"));
}

TEST_F(SaveSetFiles, RefusesBeforeAnythingIsReplaced) {
  put("a", "before");
  fs::create_directories(dir_ / "z");
  SaveSet save(dir_);
  save.add("a", "after");
  EXPECT_REFUSED(save.add("z", ""),
                 "cannot replace " + file("z") + " by a file: it is a directory");
  EXPECT_REFUSED(save.add("a", ""), "two files of one save are named \"a\"");
  save.discard();
  EXPECT_EQ(get("a"), "before");
  EXPECT_THAT(names(), UnorderedElementsAre("a", "z"));
}

TEST_F(SaveSetFiles, LetsSavesIntoOneFolderMeet) {
  std::vector<std::jthread> writers;
  for (const char* text : {"one", "two", "six"}) {
    writers.emplace_back([&, text] {
      for (int i = 0; i < 10; ++i) save(dir_, text);
    });
  }
  for (int i = 0; i < 20; ++i) {
    if (fs::exists(dir_ / "__manifest__")) load(dir_);
  }
  writers.clear();
  load(dir_);
  EXPECT_THAT(hidden(dir_), IsEmpty());
}

// A save with fewer files than the one before it leaves what it does not write.
TEST_F(SaveSetFiles, SaysWhereAFileIsLeftFromAnOlderSave) {
  const auto save_all = [&](const std::vector<std::string>& names) {
    SaveSet save(dir_);
    for (const std::string& name : names) save.add(name, "1");
    save.commit();
  };
  const auto notice = [&] {
    SavedFiles files(dir_);
    for (const char* name : {"a", "b", "c"}) files.read(name);
    testing::internal::CaptureStderr();
    files.notice_times();
    return testing::internal::GetCapturedStderr();
  };
  const auto age = [&](const char* name) {
    fs::last_write_time(dir_ / name, fs::last_write_time(dir_ / name) - std::chrono::hours(1));
  };
  save_all({"a", "b", "c"});
  age("a");  // however long a save took
  EXPECT_EQ(notice(), "");
  save_all({"a", "b"});
  EXPECT_EQ(notice(), "") << "saves that follow each other may be parts of one";
  age("c");
  EXPECT_THAT(notice(), HasSubstr(dir_.string() +
                                  " has files of more than one save: 1 of 3 were written 3600 "
                                  "seconds or more before \""));
  EXPECT_THAT(notice(), HasSubstr("like \"c\""));
}

TEST_F(SaveSetFiles, SaysWhereFilesWithoutAManifestWereNotWrittenTogether) {
  put("a", "1");
  put("b", "1");
  SavedFiles files(dir_);
  files.read("a");
  files.read("b");
  testing::internal::CaptureStderr();
  files.notice_times();
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
  fs::last_write_time(dir_ / "a", fs::last_write_time(dir_ / "a") - std::chrono::hours(1));
  SavedFiles again(dir_);
  again.read("a");
  again.read("b");
  testing::internal::CaptureStderr();
  again.notice_times();
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      HasSubstr("has no manifest, and its files look like those of more than one save: 1 of "
                "2 were written 3600 seconds or more before \"b\", like \"a\""));
}

}  // namespace
}  // namespace flotilla

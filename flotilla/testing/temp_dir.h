// flotilla/testing/temp_dir.h
//
// A fresh directory that goes away with the object. A fixture may be one:
//
//     class Idx : public testing::Test, protected TempDir {};

#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace flotilla {

class TempDir {
 public:
  TempDir() {
    std::string name = ::testing::TempDir() + "flotilla_XXXXXX";
    dir_ = ::mkdtemp(name.data());
  }
  ~TempDir() {
    std::error_code ignored;
    std::filesystem::remove_all(dir_, ignored);
  }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  const std::filesystem::path& path() const { return dir_; }
  std::string file(const std::string& name) const { return dir_ / name; }

  // Writes a file and gives its path.
  std::string put(const std::string& name, const std::string& bytes) const {
    std::ofstream(file(name), std::ios::binary) << bytes;
    return file(name);
  }

  std::string get(const std::string& name) const {
    std::ifstream in(file(name), std::ios::binary);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : std::filesystem::directory_iterator(dir_)) {
      found.push_back(entry.path().filename());
    }
    return found;
  }

 protected:
  std::filesystem::path dir_;
};

}  // namespace flotilla

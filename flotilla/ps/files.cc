#include "flotilla/ps/files.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/base/system_reason.h"

namespace flotilla::ps {

void fail_to(std::string_view verb, const std::filesystem::path& path) {
  throw Error(ErrorKind::kUnavailable,
              fmt::format("cannot {} {}: {}", verb, path.string(), system_reason(errno)));
}

std::vector<std::byte> read_file(const std::filesystem::path& path) {
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  if (error) {
    errno = error.value();
    fail_to("read", path);
  }
  return read_piece(path, 0, size);
}

std::vector<std::byte> read_piece(const std::filesystem::path& path, uint64_t offset, size_t size) {
  // What is no file has no bytes; without waiting for one who writes to it.
  const Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat status = {};
  if (!file || ::fstat(file.get(), &status) != 0) fail_to("read", path);
  const auto there = static_cast<uint64_t>(status.st_size);
  require(offset <= there && size <= there - offset,
          "{} has {} bytes, but {} are wanted from byte {} on", path.string(), there, size, offset);
  std::vector<std::byte> bytes(size);
  for (size_t at = 0; at < size;) {
    const ssize_t got =
        ::pread(file.get(), bytes.data() + at, size - at, static_cast<off_t>(offset + at));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_to("read", path);
    require(got > 0, "{} became shorter while it was read", path.string());
    at += static_cast<size_t>(got);
  }
  return bytes;
}

void sync_directory(const std::filesystem::path& directory) {
  const Fd file(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!file || ::fsync(file.get()) != 0) fail_to("sync", directory);
}

void replace_directory(const std::filesystem::path& from, const std::filesystem::path& to) {
  const std::filesystem::path parent = to.has_parent_path() ? to.parent_path() : ".";
  if (!std::filesystem::exists(to)) {
    if (::rename(from.c_str(), to.c_str()) == 0) return sync_directory(parent);
    // Not where somebody else has put one there meanwhile.
    if (errno != ENOTEMPTY && errno != EEXIST) fail_to("rename", from);
  }
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) != 0) {
    if (errno != EINVAL && errno != ENOSYS) fail_to("replace", to);
    // A file system that cannot exchange: for a moment the old one has another name.
    const std::filesystem::path old = to.string() + ".old";
    if (::rename(to.c_str(), old.c_str()) != 0 || ::rename(from.c_str(), to.c_str()) != 0 ||
        ::rename(old.c_str(), from.c_str()) != 0) {
      fail_to("replace", to);
    }
  }
  sync_directory(parent);
  std::filesystem::remove_all(from);  // what was `to`
}

FileWriter::FileWriter(std::filesystem::path path)
    : path_(std::move(path)),
      file_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
  if (!file_) fail_to("create", path_);
}

void FileWriter::write(std::span<const std::byte> bytes) {
  size_ += bytes.size();
  while (!bytes.empty()) {
    const ssize_t written = ::write(file_.get(), bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail_to("write", path_);
    bytes = bytes.subspan(static_cast<size_t>(written));
  }
}

void FileWriter::finish() {
  if (::fsync(file_.get()) != 0) fail_to("sync", path_);
  file_.reset();
}

}  // namespace flotilla::ps

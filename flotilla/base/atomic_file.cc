#include "flotilla/base/atomic_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "flotilla/base/error.h"
#include "flotilla/base/system_reason.h"

namespace flotilla {

AtomicFile::AtomicFile(std::filesystem::path file) : file_(std::move(file)) {
  // A name may be taken: by another thread, or by a process of the same number that was killed.
  for (int attempt = 0; fd_ < 0; ++attempt) {
    temporary_ = file_;
    temporary_ += fmt::format(".{}-{}.tmp", ::getpid(), attempt);
    fd_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd_ < 0 && errno != EEXIST) fail();
  }
}

AtomicFile::~AtomicFile() {
  if (fd_ >= 0) ::close(fd_);
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void AtomicFile::write(std::span<const uint8_t> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail();
    bytes = bytes.subspan(written);
  }
}

void AtomicFile::write(std::string_view text) {
  write(std::span(reinterpret_cast<const uint8_t*>(text.data()), text.size()));
}

void AtomicFile::commit() {
  if (::fsync(fd_) != 0) fail();
  if (::close(std::exchange(fd_, -1)) != 0) fail();
  if (::rename(temporary_.c_str(), file_.c_str()) != 0) fail();
  temporary_.clear();
  // The new name is safe only when the directory is.
  const std::filesystem::path directory = file_.has_parent_path() ? file_.parent_path() : ".";
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) fail();
  const bool synced = ::fsync(fd) == 0;
  const int reason = errno;
  ::close(fd);
  errno = reason;
  if (!synced) fail();
}

void AtomicFile::fail() const {
  refuse("cannot write {}: {}", file_.string(), system_reason(errno));
}

}  // namespace flotilla

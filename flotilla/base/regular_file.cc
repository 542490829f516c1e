#include "flotilla/base/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#include <cerrno>
#include <system_error>

#include "flotilla/base/error.h"

namespace flotilla {
namespace {

bool is_null(const struct stat& status) {
  return S_ISCHR(status.st_mode) && status.st_rdev == makedev(1, 3);
}

const char* kind_of(const struct stat& status) {
  const mode_t mode = status.st_mode;
  if (S_ISREG(mode) || is_null(status)) return "";
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a named pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

void require_regular(const std::filesystem::path& path, const struct stat& status) {
  const std::string_view kind = kind_of(status);
  require(kind.empty(), "{} is {}, not a file", path.string(), kind);
}

}  // namespace

const char* other_than_a_file(const std::filesystem::path& path) {
  struct stat status = {};
  return ::stat(path.c_str(), &status) == 0 ? kind_of(status) : "";
}

Fd open_regular_file(const std::filesystem::path& path) {
  struct stat status = {};
  // Before it is opened, because that alone does something to a device; and afterwards, because it
  // may be another one by then.
  if (::stat(path.c_str(), &status) == 0) require_regular(path, status);
  Fd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file && errno == ENOENT) not_found("{}: no such file", path.string());
  const bool known = file && ::fstat(file.get(), &status) == 0;
  require(known, "{}: cannot read: {}", path.string(), std::generic_category().message(errno));
  require_regular(path, status);
  return file;
}

}  // namespace flotilla

#include "flotilla/rpc/window.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <optional>

#include "flotilla/base/error.h"

namespace flotilla::rpc {
namespace {

constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW;

// Windows of one client that a server opens at most.
constexpr size_t kMaxWindows = 256;

// posix_fallocate counts in these.
constexpr uint64_t kBlock = 512;

[[noreturn]] void no_memory(size_t bytes, int error) {
  throw Error(ErrorKind::kUnavailable, fmt::format("cannot allocate {} bytes of shared memory: {}",
                                                   bytes, std::strerror(error)));
}

uint64_t rounded(uint64_t bytes) {
  return (bytes + kPayloadAlignment - 1) / kPayloadAlignment * kPayloadAlignment;
}

struct stat status_of(const Fd& fd) {
  struct stat status = {};
  const bool found = ::fstat(fd.get(), &status) == 0;
  require(found, "cannot inspect a shared-memory window: {}", std::strerror(errno));
  return status;
}

// A descriptor of another process may be anything: a pipe would block, a device would act.
Fd open_regular(const std::string& path) {
  struct stat status = {};
  require(::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode),
          "{} is not a window of a process on this host", path);
  Fd fd(::open(path.c_str(), O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  require(static_cast<bool>(fd), "{} cannot be opened: {}", path, std::strerror(errno));
  return fd;
}

}  // namespace

std::string boot_id() {
  std::string id;
  std::getline(std::ifstream("/proc/sys/kernel/random/boot_id"), id);
  return id;
}

ClientKey new_client_key() {
  ClientKey key;
  while (::getrandom(key.data(), key.size(), 0) != static_cast<ssize_t>(key.size())) {
  }
  return key;
}

Mapping::Mapping(int fd, size_t bytes) {
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, fd, 0);
  if (memory == MAP_FAILED) no_memory(bytes, errno);
  // A child of a fork has no use for it, and would keep it from being freed.
  ::madvise(memory, bytes, MADV_DONTFORK);
  bytes_ = {static_cast<std::byte*>(memory), bytes};
}

Mapping::~Mapping() { ::munmap(bytes_.data(), bytes_.size()); }

// What a Payload owns of a window.
class Window::Part {
 public:
  Part(std::shared_ptr<Window> window, uint64_t offset, uint64_t bytes)
      : window_(std::move(window)), offset_(offset), bytes_(bytes) {}
  ~Part() { window_->give_back(offset_, bytes_); }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;

 private:
  const std::shared_ptr<Window> window_;
  const uint64_t offset_;
  const uint64_t bytes_;
};

std::shared_ptr<Window> Window::make(const ClientKey& client, uint32_t number, size_t bytes) {
  return std::make_shared<Window>(client, number, bytes);
}

Window::Window(const ClientKey& client, uint32_t number, size_t bytes)
    : client_(client),
      number_(number),
      fd_(::memfd_create("flotilla-window", MFD_CLOEXEC | MFD_ALLOW_SEALING)) {
  if (!fd_ || ::ftruncate(fd_.get(), static_cast<off_t>(bytes)) != 0) no_memory(bytes, errno);
  if (const int error = ::posix_fallocate(fd_.get(), 0, static_cast<off_t>(bytes)); error != 0) {
    no_memory(bytes, error);
  }
  if (::fcntl(fd_.get(), F_ADD_SEALS, kSeals | F_SEAL_SEAL) != 0) no_memory(bytes, errno);
  inode_ = status_of(fd_).st_ino;
  mapping_ = std::make_unique<Mapping>(fd_.get(), bytes);
  const WindowMark mark = {.client = client, .number = number};
  std::memcpy(mapping_->bytes().data(), &mark, sizeof mark);
  free_[sizeof mark] = (bytes - sizeof mark) / kPayloadAlignment * kPayloadAlignment;
}

std::optional<Payload> Window::allocate(size_t bytes) {
  const uint64_t wanted = rounded(std::max<size_t>(bytes, 1));
  uint64_t offset = 0;
  {
    const MutexLock lock(mutex_);
    auto found = free_.begin();
    while (found != free_.end() && found->second < wanted) ++found;
    if (found == free_.end()) return std::nullopt;
    offset = found->first;
    const uint64_t left = found->second - wanted;
    free_.erase(found);
    if (left > 0) free_[offset + wanted] = left;
  }
  return Payload(mapping_->bytes().subspan(offset, bytes),
                 std::make_shared<Part>(shared_from_this(), offset, wanted));
}

void Window::give_back(uint64_t offset, uint64_t bytes) {
  const MutexLock lock(mutex_);
  auto next = free_.lower_bound(offset);
  if (next != free_.end() && next->first == offset + bytes) {
    bytes += next->second;
    next = free_.erase(next);
  }
  if (next != free_.begin()) {
    const auto before = std::prev(next);
    if (before->first + before->second == offset) {
      before->second += bytes;
      return;
    }
  }
  free_[offset] = bytes;
}

bool Window::holds(const Payload& payload) const {
  const std::byte* at = payload.bytes().data();
  const std::span<std::byte> all = mapping_->bytes();
  return at >= all.data() && at < all.data() + all.size();
}

Place Window::place_of(const Payload& payload) const {
  return {.offset = static_cast<uint64_t>(payload.bytes().data() - mapping_->bytes().data()),
          .bytes = payload.size()};
}

WindowCard Window::card() const {
  return {.number = number_,
          .client = client_,
          .pid = ::getpid(),
          .fd = fd_.get(),
          .bytes = size(),
          .inode = inode_};
}

OpenedWindow::OpenedWindow(const WindowCard& card) {
  const Fd fd = open_regular(fmt::format("/proc/{}/fd/{}", card.pid, card.fd));
  const struct stat status = status_of(fd);
  require(S_ISREG(status.st_mode) && static_cast<uint64_t>(status.st_ino) == card.inode &&
              static_cast<uint64_t>(status.st_size) == card.bytes,
          "descriptor {} of process {} is not a window of {} bytes, as announced", card.fd,
          card.pid, card.bytes);
  // Else the client could take memory away that is about to be read, which ends this process.
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  require(seals >= 0 && (seals & kSeals) == kSeals &&
              static_cast<uint64_t>(status.st_blocks) * kBlock >= card.bytes,
          "the window of process {} is not sealed, or has less memory than {} bytes", card.pid,
          card.bytes);
  mapping_ = std::make_unique<Mapping>(fd.get(), card.bytes);
  const WindowMark mark = {.client = card.client, .number = card.number};
  require(std::memcmp(mapping_->bytes().data(), &mark, sizeof mark) == 0,
          "the window of process {} does not begin with its mark", card.pid);
}

Payload OpenedWindow::at(const Place& place) const {
  require(fits(place, size()), "{} bytes at {} do not fit into a window of {} bytes", place.bytes,
          place.offset, size());
  return {mapping_->bytes().subspan(place.offset, place.bytes), shared_from_this()};
}

void OpenedWindows::open(const WindowCard& card) {
  // Mapping takes a while; others need not wait for it.
  auto opened = std::make_shared<OpenedWindow>(card);
  const MutexLock lock(mutex_);
  auto& windows = clients_[card.client];
  require(windows.size() < kMaxWindows && !windows.contains(card.number),
          "window {} is already open, or more than {} windows are", card.number, kMaxWindows);
  windows[card.number] = std::move(opened);
}

std::shared_ptr<OpenedWindow> OpenedWindows::find(const ClientKey& client, uint32_t number) const {
  const MutexLock lock(mutex_);
  const auto windows = clients_.find(client);
  if (windows == clients_.end()) return nullptr;
  const auto window = windows->second.find(number);
  return window == windows->second.end() ? nullptr : window->second;
}

void OpenedWindows::close(const ClientKey& client) {
  decltype(clients_)::node_type gone;  // unmapped without the lock
  const MutexLock lock(mutex_);
  gone = clients_.extract(client);
}

std::pair<uint64_t, uint64_t> OpenedWindows::count() const {
  const MutexLock lock(mutex_);
  std::pair<uint64_t, uint64_t> counted;
  for (const auto& [client, windows] : clients_) {
    counted.first += windows.size();
    for (const auto& [number, window] : windows) counted.second += window->size();
  }
  return counted;
}

}  // namespace flotilla::rpc

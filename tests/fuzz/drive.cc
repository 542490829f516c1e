// tests/fuzz/drive.cc
//
// Drives a fuzzer where clang's libFuzzer is not at hand: the inputs are the files of the corpus,
// then such files with a few bytes changed and bytes drawn anew. Takes those of libFuzzer's options
// that run.py gives; the same seed draws the same inputs.

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" int LLVMFuzzerInitialize(int* argc, char*** argv);
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace {

using Clock = std::chrono::steady_clock;
using Input = std::vector<uint8_t>;

constexpr size_t kMostBytes = 64;  // of an input that is drawn anew

struct Options {
  uint64_t seed = 1;
  int64_t runs = -1;     // negative: until the time is over
  int64_t seconds = -1;  // negative: until the runs are over
  unsigned timeout = 10;
  std::string artifact_prefix = "./";
  std::vector<std::filesystem::path> corpora = {};
};

Options parse(int argc, char** argv) {
  Options options;
  for (const std::string_view word : std::vector<std::string_view>(argv + 1, argv + argc)) {
    const size_t at = std::min(word.find('='), word.size());
    const std::string_view name = word.substr(0, at);
    const std::string value(word.substr(std::min(at + 1, word.size())));
    if (!word.starts_with('-')) {
      options.corpora.emplace_back(word);
    } else if (name == "-seed") {
      options.seed = std::stoull(value);
    } else if (name == "-runs") {
      options.runs = std::stoll(value);
    } else if (name == "-max_total_time") {
      options.seconds = std::stoll(value);
    } else if (name == "-timeout") {
      options.timeout = static_cast<unsigned>(std::stoul(value));
    } else if (name == "-artifact_prefix") {
      options.artifact_prefix = value;
    }
  }
  return options;
}

std::vector<Input> read_corpora(const std::vector<std::filesystem::path>& folders) {
  std::vector<std::filesystem::path> paths;
  for (const auto& folder : folders) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      paths.push_back(entry.path());
    }
  }
  std::sort(paths.begin(), paths.end());
  std::vector<Input> inputs;
  for (const auto& path : paths) {
    std::ifstream file(path, std::ios::binary);
    inputs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  return inputs;
}

class Inputs {
 public:
  Inputs(uint64_t seed, std::vector<Input> corpus) : random_(seed), corpus_(std::move(corpus)) {}

  Input next() {
    if (tried_ < corpus_.size()) return corpus_[tried_++];
    Input made;
    if (!corpus_.empty() && below(2) == 0) made = corpus_[below(corpus_.size())];
    if (made.empty()) {
      made.resize(1 + below(kMostBytes));
      for (uint8_t& byte : made) byte = some_byte();
      return made;
    }
    for (size_t changes = 1 + below(4); changes > 0; --changes) {
      made[below(made.size())] = some_byte();
    }
    return made;
  }

 private:
  size_t below(size_t n) { return random_() % n; }
  uint8_t some_byte() { return static_cast<uint8_t>(random_()); }

  std::mt19937_64 random_;
  std::vector<Input> corpus_;
  size_t tried_ = 0;
};

// What a handler of signals may read: the input that is being tried, and where to keep it.
const Input* g_input = nullptr;
std::string g_artifact;

extern "C" void keep_input(int signal) {
  const int file = open(g_artifact.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file >= 0 && g_input != nullptr) {
    [[maybe_unused]] const ssize_t written = write(file, g_input->data(), g_input->size());
    close(file);
  }
  raise(signal);  // as it would have ended: SA_RESETHAND
}

void keep_inputs_that_crash(const Options& options) {
  g_artifact = options.artifact_prefix + "crash-" + std::to_string(getpid());
  struct sigaction action = {};
  action.sa_handler = keep_input;
  action.sa_flags = SA_RESETHAND | SA_NODEFER;
  for (const int signal : {SIGILL, SIGTRAP, SIGABRT, SIGALRM}) sigaction(signal, &action, nullptr);
#ifndef __SANITIZE_ADDRESS__  // which reports these first, and then aborts
  for (const int signal : {SIGSEGV, SIGBUS, SIGFPE}) sigaction(signal, &action, nullptr);
#endif
}

}  // namespace

int main(int argc, char** argv) {
  const Options options = parse(argc, argv);
  LLVMFuzzerInitialize(&argc, &argv);
  keep_inputs_that_crash(options);
  Inputs inputs(options.seed, read_corpora(options.corpora));
  const auto end = Clock::now() + std::chrono::seconds(options.seconds);
  for (int64_t run = 0; options.runs < 0 || run < options.runs; ++run) {
    if (options.seconds >= 0 && Clock::now() > end) break;
    const Input input = inputs.next();
    g_input = &input;
    alarm(options.timeout);
    LLVMFuzzerTestOneInput(input.data(), input.size());
    alarm(0);
    g_input = nullptr;
  }
  return 0;
}

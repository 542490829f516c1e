#include "flotilla/device/cuda/shared_library.h"

#include <cuda_runtime_api.h>
#include <dlfcn.h>

#include <vector>

namespace flotilla::cuda {
namespace {

// The folder that the CUDA runtime was loaded from; "" where that cannot be told.
std::string runtime_folder() {
  Dl_info info = {};
  if (dladdr(reinterpret_cast<const void*>(&cudaGetErrorString), &info) == 0) return "";
  const std::string path = info.dli_fname;
  const size_t end = path.rfind('/');
  return end == std::string::npos ? "" : path.substr(0, end);
}

}  // namespace

SharedLibrary::SharedLibrary(const std::string& file, const std::string& package) : file_(file) {
  std::vector<std::string> places = {file};
  const std::string folder = runtime_folder();
  if (!folder.empty()) {
    places.push_back(folder + "/" + file);
    places.push_back(folder + "/../../" + package + "/lib/" + file);
  }
  std::string reason;
  for (const std::string& place : places) {
    handle_ = dlopen(place.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (handle_ != nullptr) return;
    if (reason.empty()) reason = dlerror();
  }
  refuse("this program needs {} on a GPU, which cannot be loaded: {}", file, reason);
}

void* SharedLibrary::find(const char* name) const {
  void* found = dlsym(handle_, name);
  require(found != nullptr, "{} has no function {}: it is of another version", file_, name);
  return found;
}

}  // namespace flotilla::cuda

// flotilla/device/cuda/shared_library.h
//
// A library of NVIDIA's that is loaded when it is first needed.

#pragma once

#include <string>

#include "flotilla/base/error.h"

namespace flotilla::cuda {

class SharedLibrary {
 public:
  // Looks where the dynamic linker does, beside the CUDA runtime, and where pip puts `package`.
  // Refuses with all of that where there is none.
  SharedLibrary(const std::string& file, const std::string& package);

  void* handle() const { return handle_; }
  // Refuses a name that the library does not have.
  void* find(const char* name) const;
  // Stores the function of that name.
  template <typename F>
  void load(F*& function, const char* name) const {
    function = reinterpret_cast<F*>(find(name));
  }

 private:
  std::string file_;
  void* handle_ = nullptr;  // never closed: what it made may live until the process ends
};

}  // namespace flotilla::cuda

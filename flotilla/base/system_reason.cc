#include "flotilla/base/system_reason.h"

#include <cerrno>
#include <system_error>

namespace flotilla {

std::string system_reason(int error) {
  std::string text = std::generic_category().message(error);
  if (error == ENOSPC || error == EDQUOT) text += "; free some space, or choose another folder";
  return text;
}

}  // namespace flotilla

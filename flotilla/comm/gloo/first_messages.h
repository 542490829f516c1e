// flotilla/comm/gloo/first_messages.h
//
// Gloo ends the process that gets more than it expects. So the first message of a call to each
// other member is received with room for the longest that there is: it says what is called, and
// holds what there is to send where that is short.
//
//   call and whether more follows : Head   the part : 0 to kShortBytes

#pragma once

#include <cstdint>
#include <memory>

#include "flotilla/comm/call.h"
#include "flotilla/comm/gloo/transfers.h"

namespace flotilla::comm {

class FirstMessages {
 public:
  // Up to here a second step takes longer than that everybody sends everything to everybody: it
  // goes along with the call.
  static constexpr int64_t kShortBytes = 16 << 10;

  // How each begins.
  struct Head {
    Call call = {};
    int64_t follows = 0;  // 1: another message, whatever that member calls
  };

  explicit FirstMessages(int members);

  // Writes that to a member, with what the part sends. The result says what to send, and where
  // there is room for the member's own.
  Transfers::Part write(int member, const Head& head, const Transfers::Part& part);
  // What has come: how it begins, and the part, which goes to where it is received.
  Head head_from(int member) const;
  void take_part(int member, const Transfers::Part& part) const;

 private:
  static constexpr int64_t kMessageBytes = int64_t{sizeof(Head)} + kShortBytes;

  char* to(int member) const { return messages_.get() + 2 * member * kMessageBytes; }
  char* from(int member) const { return to(member) + kMessageBytes; }

  const std::unique_ptr<char[]> messages_;  // to and from each member
};

}  // namespace flotilla::comm

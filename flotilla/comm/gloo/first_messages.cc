#include "flotilla/comm/gloo/first_messages.h"

#include <cstring>

#include "flotilla/comm/slices.h"

namespace flotilla::comm {

using Part = Transfers::Part;

FirstMessages::FirstMessages(int members)
    : messages_(std::make_unique_for_overwrite<char[]>(
          static_cast<size_t>(2 * members * kMessageBytes))) {}

Part FirstMessages::write(int member, const Head& head, const Part& part) {
  std::memcpy(to(member), &head, sizeof head);
  copy(part.from, to(member) + sizeof head, part.send_bytes);
  return {.from = to(member),
          .to = from(member),
          .send_bytes = int64_t{sizeof head} + part.send_bytes,
          .recv_bytes = kMessageBytes};
}

FirstMessages::Head FirstMessages::head_from(int member) const {
  Head head;
  std::memcpy(&head, from(member), sizeof head);
  return head;
}

void FirstMessages::take_part(int member, const Part& part) const {
  copy(from(member) + sizeof(Head), part.to, part.recv_bytes);
}

}  // namespace flotilla::comm

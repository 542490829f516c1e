// What a server does with messages that no client of ours sends.

#include <gmock/gmock.h>
#include <grpcpp/generic/generic_stub.h>
#include <grpcpp/grpcpp.h>

#include <future>

#include "flotilla/rpc/connection_settings.h"
#include "flotilla/rpc/data_testing.h"
#include "flotilla/rpc/frames.h"
#include "flotilla/rpc/messages.h"
#include "flotilla/rpc/window.h"

namespace flotilla::rpc {
namespace {

using grpc::StatusCode;

class DataWire : public testing::Test {
 protected:
  DataServer server_{serve(echo)};
  grpc::GenericStub stub_{
      grpc::CreateChannel(server_.address(), grpc::InsecureChannelCredentials())};

  StatusCode send(const grpc::ByteBuffer& message, const char* method = kCallMethod) {
    grpc::ClientContext context;
    context.AddMetadata(kTokenKey, "secret");
    grpc::ByteBuffer reply;
    std::promise<StatusCode> told;
    stub_.UnaryCall(&context, method, grpc::StubOptions(), &message, &reply,
                    [&](const grpc::Status& status) { told.set_value(status.error_code()); });
    return told.get_future().get();
  }

  // Shows cards on one stream; what the server says to each, and how it ends the stream.
  struct Shown {
    std::vector<bool> opened = {};
    StatusCode end = StatusCode::OK;
  };
  template <typename... Cards>
  Shown show(const std::string& boot, const Cards&... cards) {
    grpc::ClientContext context;
    context.AddMetadata(kTokenKey, "secret");
    context.AddMetadata(kBootIdKey, boot);
    grpc::CompletionQueue queue;
    const auto step = [&] {
      void* tag = nullptr;
      bool ok = false;
      return queue.Next(&tag, &ok) && ok;
    };
    const auto stream = stub_.PrepareCall(&context, kWindowsMethod, &queue);
    stream->StartCall(nullptr);
    Shown shown;
    bool open = step();
    const auto read = [&] {
      grpc::ByteBuffer message;
      stream->Read(&message, nullptr);
      open = open && step();
      if (open) shown.opened.push_back(read_verdict(from_message(message).bytes()).opened == 1);
    };
    const auto write = [&](const grpc::ByteBuffer& card) {
      if (!open) return;
      stream->Write(card, nullptr);
      open = step();
      if (open) read();
    };
    read();
    (write(cards), ...);
    if (open) {
      windows_ = server_.stats().windows;
      stream->WritesDone(nullptr);
      step();
    }
    grpc::Status status;
    stream->Finish(&status, nullptr);
    step();
    queue.Shutdown();
    while (step()) {
    }
    shown.end = status.error_code();
    return shown;
  }

  uint64_t windows_ = 0;  // that were open at the end of the last stream
};

TEST_F(DataWire, MessagesThatAreNotOursAreRefusedAndCounted) {
  Payload body(5);
  EXPECT_EQ(send(to_message(RequestHeader{.request = {.bytes = 5}}, body)), StatusCode::OK);
  EXPECT_EQ(send(to_message(RequestHeader{.request = {.bytes = 6}}, body)),
            StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(send(to_message(RequestHeader{.magic = 7})), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(send(to_message('x')), StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(send(to_message('x'), "/flotilla.rpc.Data/Other"), StatusCode::UNIMPLEMENTED);
  EXPECT_EQ(server_.stats().malformed, 4);
  EXPECT_EQ(server_.stats().calls, 1);
}

TEST_F(DataWire, AWindowThatIsNotOpenIsToldApart) {
  EXPECT_EQ(send(to_message(RequestHeader{.request_window = 0, .request = {64, 64}})),
            StatusCode::FAILED_PRECONDITION);
  Payload body(5);
  EXPECT_EQ(send(to_message(
                RequestHeader{.room_window = 0, .request = {.bytes = 5}, .room = {64, 64}}, body)),
            StatusCode::FAILED_PRECONDITION);
  EXPECT_EQ(server_.stats().calls, 0);
}

TEST_F(DataWire, WindowsAreOpenForAsLongAsTheirStreamLasts) {
  const ClientKey key = new_client_key();
  const auto window = Window::make(key, 0, 1 << 16);
  const Shown good = show(boot_id(), to_message(window->card()));
  EXPECT_THAT(good.opened, testing::ElementsAre(true, true));
  EXPECT_EQ(good.end, StatusCode::OK);
  EXPECT_EQ(windows_, 1);
  EXPECT_TRUE(soon([&] { return server_.stats().windows == 0; }));
}

TEST_F(DataWire, CardsThatAreWrongOpenNothing) {
  // Each with a key of its own: the end of a stream closes what its key has opened.
  const auto made = [] { return Window::make(new_client_key(), 0, 1 << 16); };
  const auto elsewhere = made(), marked = made(), twice = made(), first = made(), second = made();
  EXPECT_EQ(show("another host", to_message(elsewhere->card())).end,
            StatusCode::FAILED_PRECONDITION);

  WindowCard another = marked->card();
  another.number = 1;  // the mark says 0
  EXPECT_THAT(show(boot_id(), to_message(another)).opened, testing::ElementsAre(true, false));
  EXPECT_EQ(server_.stats().windows_refused, 1);

  EXPECT_THAT(show(boot_id(), to_message(twice->card()), to_message(twice->card())).opened,
              testing::ElementsAre(true, true, false));
  EXPECT_EQ(server_.stats().windows_refused, 2);

  EXPECT_EQ(show(boot_id(), to_message('x')).end, StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(show(boot_id(), to_message(first->card()), to_message(second->card())).end,
            StatusCode::INVALID_ARGUMENT);
  EXPECT_EQ(server_.stats().malformed, 2);
  EXPECT_TRUE(soon([&] { return server_.stats().windows == 0; }));
}

}  // namespace
}  // namespace flotilla::rpc

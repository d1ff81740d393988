#include "wire/frame.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <numeric>
#include <thread>

#include "base/clock.h"
#include "base/files.h"

namespace hone::wire {
namespace {

std::span<const std::byte> as_bytes(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

struct Streams {
  UniqueFd left, right;
};
Streams socket_pair() {
  int ends[2];
  EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
  return {UniqueFd(ends[0]), UniqueFd(ends[1])};
}

struct Golden {
  const char* file;
  Json header;
  std::string payload;
};

// The files were written by Python's struct module; docs/frames/README.md says what is in them.
std::vector<Golden> golden() {
  std::string all(256, '\0');
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<char>(i);
  return {{"empty.bin", Json::object(), ""},
          {"request.bin",
           Json{{"op", "release"},
                {"round", 7},
                {"calls", 16},
                {"inputs", {0, 2}},
                {"note", "π ≈ 3.14159"}},
           ""},
          {"payload.bin", Json{{"op", "source"}, {"name", "kernel.cpp"}}, all}};
}

TEST(Frame, GoldenFilesEncodeAndDecodeBitForBit) {
  for (const Golden& expected : golden()) {
    const auto bytes = read_file(std::string(HONE_SOURCE_DIR "/docs/frames/") + expected.file);
    ASSERT_TRUE(bytes.ok()) << bytes.error().text();
    EXPECT_EQ(encode_frame(expected.header, as_bytes(expected.payload)), *bytes) << expected.file;
    FrameDecoder decoder;
    ASSERT_TRUE(decoder.feed(as_bytes(*bytes)).ok());
    auto frame = decoder.take();
    ASSERT_TRUE(frame.ok() && frame->has_value()) << expected.file;
    EXPECT_EQ((*frame)->header, expected.header);
    EXPECT_EQ((*frame)->bytes, expected.payload);
    EXPECT_EQ(decoder.pending_bytes(), 0U);
  }
}

TEST(Frame, DecoderTakesAnyPieces) {
  std::string stream;
  for (const Golden& one : golden()) stream += encode_frame(one.header, as_bytes(one.payload));
  for (const std::size_t step : {1UL, 3UL, 15UL, 17UL, 1000UL}) {
    FrameDecoder decoder;
    std::size_t frames = 0;
    for (std::size_t at = 0; at < stream.size(); at += step) {
      ASSERT_TRUE(decoder.feed(as_bytes(stream.substr(at, step))).ok());
      while (true) {
        auto frame = decoder.take();
        ASSERT_TRUE(frame.ok());
        if (!frame->has_value()) break;
        EXPECT_EQ((*frame)->header, golden()[frames].header);
        ++frames;
      }
    }
    EXPECT_EQ(frames, golden().size()) << "step " << step;
  }
}

TEST(Frame, DecoderRefusesWhatCannotBecomeAFrame) {
  const auto prefix = [](const char* magic, unsigned char header_top, unsigned char payload_top) {
    std::string bytes(magic);
    bytes += std::string{0, 0, 0, static_cast<char>(header_top), 0, 0, 0, 0,
                         0, 0, 0, static_cast<char>(payload_top)};
    return bytes;
  };
  for (const std::string& bytes :
       {std::string("HON2"), std::string("h"), prefix("HON1", 1, 0), prefix("HON1", 0, 1)}) {
    FrameDecoder decoder;
    const Status status = decoder.feed(as_bytes(bytes));
    ASSERT_FALSE(status.ok()) << bytes;
    EXPECT_TRUE(is_broken_frame(status.error()));
    EXPECT_FALSE(decoder.feed({}).ok()) << "a broken stream stays broken";
  }
  for (const std::string text : {"[1]", "7", "{\"a\":", "\xff"}) {
    std::string bytes = "HON1";
    bytes += std::string{static_cast<char>(text.size()), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0} + text;
    FrameDecoder decoder;
    ASSERT_TRUE(decoder.feed(as_bytes(bytes)).ok());
    auto frame = decoder.take();
    ASSERT_FALSE(frame.ok()) << text;
    EXPECT_TRUE(is_broken_frame(frame.error()));
  }
}

TEST(Frame, SecondFrameBehindAWholeOneIsChecked) {
  FrameDecoder decoder;
  ASSERT_TRUE(decoder.feed(as_bytes(encode_frame({{"a", 1}}) + "JUNK")).ok());
  ASSERT_TRUE(decoder.take().ok());
  EXPECT_FALSE(decoder.take().ok());
}

TEST(Frame, CarriesPayloadAndDescriptorsOverASocket) {
  Streams streams = socket_pair();
  const std::string large(5 << 20,
                          'z');  // more than a socket holds: sender and receiver must alternate
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  std::thread sender([&] {
    const int fd = write_end.get();
    EXPECT_TRUE(send_frame(streams.left.get(), {{"op", "x"}}, as_bytes(large), {&fd, 1}).ok());
    EXPECT_TRUE(send_frame(streams.left.get(), {{"op", "y"}}).ok());
    streams.left.reset();
  });
  auto first = receive_frame(streams.right.get(), {}, 10'000'000'000);
  ASSERT_TRUE(first.ok() && first->has_value());
  EXPECT_EQ((*first)->bytes, large);
  ASSERT_EQ((*first)->fds.size(), 1U);
  EXPECT_EQ(::fcntl((*first)->fds[0].get(), F_GETFD), FD_CLOEXEC);
  ASSERT_EQ(::write((*first)->fds[0].get(), "!", 1), 1);
  char got = 0;
  EXPECT_EQ(::read(read_end.get(), &got, 1), 1);
  EXPECT_EQ(got, '!');
  auto second = receive_frame(streams.right.get());
  ASSERT_TRUE(second.ok() && second->has_value());
  EXPECT_EQ((*second)->header["op"], "y");
  auto end = receive_frame(streams.right.get());
  sender.join();
  ASSERT_TRUE(end.ok());
  EXPECT_FALSE(end->has_value()) << "an orderly close is no frame";
}

TEST(Frame, WorksOverAPipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  UniqueFd read_end(ends[0]), write_end(ends[1]);
  ASSERT_TRUE(send_frame(write_end.get(), {{"a", 1}}, as_bytes("xyz")).ok());
  const int fd = read_end.get();
  EXPECT_FALSE(send_frame(write_end.get(), {{"a", 1}}, {}, {&fd, 1}).ok());
  auto frame = receive_frame(read_end.get());
  ASSERT_TRUE(frame.ok() && frame->has_value());
  EXPECT_EQ((*frame)->bytes, "xyz");
}

TEST(Frame, TimeOutIsToldApartFromABrokenFrame) {
  Streams streams = socket_pair();
  const std::int64_t start = monotonic_ns();
  auto nothing = receive_frame(streams.right.get(), {}, 20'000'000);
  ASSERT_FALSE(nothing.ok());
  EXPECT_TRUE(is_timeout(nothing.error()));
  EXPECT_FALSE(is_broken_frame(nothing.error()));
  EXPECT_GE(monotonic_ns() - start, 20'000'000);

  const std::string whole = encode_frame({{"a", 1}}, as_bytes("payload"));
  ASSERT_EQ(::send(streams.left.get(), whole.data(), whole.size() - 1, 0),
            static_cast<ssize_t>(whole.size()) - 1);
  auto half = receive_frame(streams.right.get(), {}, 20'000'000);
  ASSERT_FALSE(half.ok());
  EXPECT_TRUE(is_timeout(half.error()));
  streams.left.reset();
}

TEST(Frame, EndInsideAFrameIsBroken) {
  const std::string whole = encode_frame({{"a", 1}}, as_bytes("payload"));
  for (const std::size_t cut : {1UL, 15UL, 16UL, 20UL, whole.size() - 1}) {
    Streams streams = socket_pair();
    ASSERT_EQ(::send(streams.left.get(), whole.data(), cut, 0), static_cast<ssize_t>(cut));
    streams.left.reset();
    auto frame = receive_frame(streams.right.get());
    ASSERT_FALSE(frame.ok()) << cut;
    EXPECT_TRUE(is_broken_frame(frame.error())) << cut;
  }
}

TEST(Frame, TooManyDescriptorsAreBrokenAndClosed) {
  Streams streams = socket_pair();
  const std::vector<int> many(5, streams.left.get());
  ASSERT_TRUE(send_frame(streams.left.get(), {{"a", 1}}, {}, many).ok());
  auto frame = receive_frame(streams.right.get(), {.fds = 4});
  ASSERT_FALSE(frame.ok());
  EXPECT_TRUE(is_broken_frame(frame.error()));
}

TEST(Frame, SendingToAPeerThatDoesNotReadTimesOut) {
  Streams streams = socket_pair();
  const std::string large(16 << 20, 'z');
  const Status status = send_frame(streams.left.get(), {{"a", 1}}, as_bytes(large), {}, 20'000'000);
  ASSERT_FALSE(status.ok());
  EXPECT_TRUE(is_timeout(status.error()));
}

TEST(Frame, SendingToAClosedPeerIsAnErrorNotASignal) {
  Streams streams = socket_pair();
  streams.right.reset();
  EXPECT_FALSE(send_frame(streams.left.get(), {{"a", 1}}).ok());
}

TEST(Schema, NamesWhatIsWrong) {
  const Schema schema{
      "reply",
      {{"op", FieldType::string}, {"n", FieldType::integer}, {"x", FieldType::number, false}}};
  EXPECT_TRUE(check_schema({{"op", "a"}, {"n", 3}}, schema).ok());
  EXPECT_TRUE(check_schema({{"op", "a"}, {"n", 3}, {"x", "nan"}}, schema).ok());
  EXPECT_TRUE(check_schema({{"op", "a"}, {"n", 3}, {"x", 1}}, schema).ok());
  const auto message = [&](const Json& header) {
    const Status status = check_schema(header, schema);
    return status.ok() ? std::string("accepted") : status.error().message;
  };
  EXPECT_NE(message({{"op", "a"}}).find("'n' is missing"), std::string::npos);
  EXPECT_NE(message({{"op", "a"}, {"n", 1.5}}).find("'n' is of type number, expected integer"),
            std::string::npos);
  EXPECT_NE(message({{"op", "a"}, {"n", 1}, {"x", "big"}}).find("'x'"), std::string::npos);
  EXPECT_NE(message({{"op", "a"}, {"n", 1}, {"m", 1}}).find("unknown key 'm'"), std::string::npos);
  EXPECT_NE(message(Json::array()).find("not a JSON object"), std::string::npos);
}

}  // namespace
}  // namespace hone::wire

// Messages of a file descriptor: lines and frames, their limits, damage, and a reader that is not waited for.
#include "protocol/message_reader.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <random>

#include "protocol/message_frames.h"
#include "protocol/message_lines.h"

namespace rldb::protocol {

namespace {

// The pieces of a text as messages: bodies, and `!fault`.
std::vector<std::string> frames_of(std::string_view text, std::size_t piece = 1 << 20, std::size_t limit = 100) {
  const auto splitter = split_frames(limit);
  std::vector<Message> found;
  for (std::size_t at = 0; at < text.size(); at += piece) splitter->feed(text.substr(at, piece), found);
  splitter->finish(found);
  std::vector<std::string> out;
  for (const Message& m : found) out.push_back(m.fault ? std::string("!") + m.fault : m.text);
  return out;
}

using Texts = std::vector<std::string>;

}  // namespace

TEST_CASE("lines are read with a limit, and the end of the input is one") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  std::string text = "one\n" + std::string(100, 'x') + "\ntwo\nthree";
  REQUIRE(::write(ends[1], text.data(), text.size()) == ssize_t(text.size()));
  ::close(ends[1]);
  std::vector<std::string> seen;
  MessageReader lines(ends[0], split_lines(10), [&](const std::string& line) { seen.push_back(line); });
  CHECK(lines.next()->text == "one");
  CHECK(lines.next()->fault != nullptr);
  CHECK(lines.next()->text == "two");
  CHECK(lines.next()->text == "three");
  CHECK_FALSE(lines.next());
  CHECK(seen == Texts{"one", "two", "three"});
  ::close(ends[0]);
}

TEST_CASE("a reader ends while it waits for input, and while nobody takes its messages") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  {
    MessageReader waits(ends[0], split_frames(100), [](const std::string&) {});
  }
  std::string text;
  for (int i = 0; i < 500; ++i) text += frame_of("{}");
  REQUIRE(::write(ends[1], text.data(), text.size()) == ssize_t(text.size()));
  {
    MessageReader full(ends[0], split_frames(100), [](const std::string&) {});
    CHECK(full.next()->text == "{}");
  }
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST_CASE("frames, wherever the input is cut") {
  const std::string text = frame_of("{\"a\":1}") +
                           "content-length:2\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n{}" +
                           "Content-Length: 3\n\n\r\n\n" + frame_of("") + frame_of("last");
  for (std::size_t piece = 1; piece < text.size(); ++piece)
    CHECK(frames_of(text, piece) == Texts{"{\"a\":1}", "{}", "\r\n\n", "", "last"});
}

TEST_CASE("a damaged frame is one fault, and the next good one is read") {
  const std::string good = frame_of("good");
  const Texts no_number{"!`Content-Length` is not a number of bytes", "good"};
  CHECK(frames_of("Content-Length: x\r\n\r\n{}" + good) == no_number);
  CHECK(frames_of("Content-Length: -1\r\n\r\n" + good) == no_number);
  CHECK(frames_of("Content-Length: 99999999999999999999999\r\n\r\nabc" + good) == no_number);
  CHECK(frames_of("Content-Type: x\r\n\r\n{\"a\": 2}" + good) == Texts{"!a message has no `Content-Length`", "good"});
  CHECK(frames_of("no header\r\n{}\r\n\r\n" + good) == Texts{"!a header of a message has no colon", "good"});
  CHECK(frames_of(good + "Content-Length: 10\r\n\r\nabc") == Texts{"good", "!the input ended inside of a message"});
  CHECK(frames_of(good + "Content-Le") == Texts{"good", "!the input ended inside of a message"});
}

TEST_CASE("headers and bodies have limits") {
  const std::string good = frame_of("good");
  CHECK(frames_of(frame_of(std::string(101, 'x')) + good) == Texts{"!the message is too long", "good"});
  const std::string headers = "X: " + std::string(1'000'000, 'x') + "\r\n\r\n";
  CHECK(frames_of(headers + good, 1000) == Texts{"!the headers of a message are too long", "good"});
  std::string many;
  for (int i = 0; i < 1000; ++i) many += "X-Header: 1\r\n";
  CHECK(frames_of(many + "\r\n" + good) == Texts{"!the headers of a message are too long", "good"});
}

TEST_CASE("any bytes end in messages or faults, alike in any pieces") {
  std::mt19937 random(7);
  constexpr std::string_view kPieces[] = {"Content-Length: ", "3", "\r\n", "\n", "abc", ":",   "\r\n\r\n",
                                          "content-length:",  " ", "12",   "{}", "-",   "\xff"};
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (int i = 0; i < 12; ++i) text += kPieces[random() % std::size(kPieces)];
    const Texts whole = frames_of(text);
    CHECK(frames_of(text, 1) == whole);
    CHECK(frames_of(text, 1 + random() % 7) == whole);
  }
}

TEST_CASE("a message is written as it is read") {
  const Json message{{"jsonrpc", "2.0"}, {"method", "x"}, {"params", {{"text", "a\nb \xc3\xa9"}}}};
  CHECK(frames_of(to_frame(message)) == Texts{to_text(message)});
}

}  // namespace rldb::protocol

// Bytes to frames, and messages to bytes.
#include "protocol/message_frames.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <new>
#include <optional>
#include <utility>

namespace rldb::protocol {

namespace {

constexpr std::string_view kLength = "content-length:";

char lower_ascii(char c) { return c >= 'A' && c <= 'Z' ? char(c - 'A' + 'a') : c; }

std::string_view trim_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

std::optional<std::uint64_t> length_in(std::string_view text) {
  text = trim_blanks(text);
  constexpr std::size_t kMostDigits = 15;
  if (text.empty() || text.size() > kMostDigits) return std::nullopt;
  std::uint64_t value = 0;
  for (const char c : text) {
    if (c < '0' || c > '9') return std::nullopt;
    value = value * 10 + std::uint64_t(c - '0');
  }
  return value;
}

// Where the name of the length begins in a line; npos: not in it.
std::size_t find_length(std::string_view line) {
  const auto at = std::search(line.begin(), line.end(), kLength.begin(), kLength.end(),
                              [](char a, char b) { return lower_ascii(a) == b; });
  return at == line.end() ? std::string_view::npos : std::size_t(at - line.begin());
}

class FrameSplitter : public MessageSplitter {
 public:
  explicit FrameSplitter(std::size_t limit) : limit_(limit) {}

  void feed(std::string_view bytes, std::vector<Message>& out) override {
    while (!bytes.empty()) bytes.remove_prefix(in_body_ ? take_body(bytes, out) : take_header(bytes, out));
  }

  void finish(std::vector<Message>& out) override {
    if (in_body_ || length_ || !line_.empty()) fail("the input ended inside of a message", out);
  }

 private:
  std::size_t take_header(std::string_view bytes, std::vector<Message>& out) {
    const std::size_t end = std::min(bytes.find('\n'), bytes.size());
    header_bytes_ += end;
    if (header_bytes_ > kMaxHeaderBytes && !damaged_) fail("the headers of a message are too long", out);
    // Of damage only the end can matter: the next header may follow it without a line break.
    line_ += bytes.substr(0, end);
    if (damaged_ && line_.size() > kMaxHeaderBytes) line_.erase(0, line_.size() - kMaxHeaderBytes / 2);
    if (end == bytes.size()) return end;
    take_line(std::exchange(line_, {}), out);
    return end + 1;
  }

  void take_line(std::string_view line, std::vector<Message>& out) {
    line = trim_blanks(line);
    if (const std::size_t at = find_length(line); at != std::string_view::npos && (at == 0 || damaged_)) {
      length_ = length_in(line.substr(at + kLength.size()));
      if (!length_) return fail("`Content-Length` is not a number of bytes", out);
      damaged_ = false;
      header_bytes_ = line.size();
    } else if (line.empty()) {
      if (length_) return begin_body(out);
      fail("a message has no `Content-Length`", out);
    } else if (line.find(':') == std::string_view::npos) {
      fail("a header of a message has no colon", out);
    }
  }

  void begin_body(std::vector<Message>& out) {
    rest_ = *std::exchange(length_, std::nullopt);
    header_bytes_ = 0;
    in_body_ = true;
    skips_ = rest_ > limit_;
    if (skips_) out.push_back({{}, "the message is too long"});
    if (rest_ == 0) end_body(out);
  }

  std::size_t take_body(std::string_view bytes, std::vector<Message>& out) {
    const std::size_t n = std::size_t(std::min<std::uint64_t>(rest_, bytes.size()));
    try {
      if (!skips_) body_ += bytes.substr(0, n);
    } catch (const std::bad_alloc&) {  // of the program under debug: the message is dropped
      std::string().swap(body_);
      skips_ = true;
      out.push_back({{}, "out of memory"});
    }
    rest_ -= n;
    if (rest_ == 0) end_body(out);
    return n;
  }

  void end_body(std::vector<Message>& out) {
    in_body_ = false;
    if (!skips_) out.push_back({std::exchange(body_, {}), nullptr});
  }

  // One fault for everything up to the next good length.
  void fail(const char* fault, std::vector<Message>& out) {
    length_.reset();
    if (!std::exchange(damaged_, true)) out.push_back({{}, fault});
  }

  std::size_t limit_;
  std::string line_;
  std::size_t header_bytes_ = 0;
  std::optional<std::uint64_t> length_;
  bool damaged_ = false;
  bool in_body_ = false;
  bool skips_ = false;
  std::uint64_t rest_ = 0;
  std::string body_;
};

}  // namespace

std::unique_ptr<MessageSplitter> split_frames(std::size_t limit) { return std::make_unique<FrameSplitter>(limit); }

std::string to_frame(const Json& message) { return frame_of(to_text(message)); }

std::string frame_of(std::string_view body) { return fmt::format("Content-Length: {}\r\n\r\n{}", body.size(), body); }

}  // namespace rldb::protocol

// Bytes between this process and a guard process: fixed-width words in the machine's own order, since both are the same
// program on the same machine. The reader checks every length: a guard whose memory was overwritten may send anything.
// Room-private.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace rldb::runtime {

class WireWriter {
 public:
  void word(std::uint64_t v) { out_.append(reinterpret_cast<const char*>(&v), sizeof v); }
  void text(std::string_view s) {
    word(s.size());
    out_ += s;
  }
  const std::string& bytes() const { return out_; }

 private:
  std::string out_;
};

// After a failed read everything reads as zero and `good` stays false.
class WireReader {
 public:
  explicit WireReader(std::string_view bytes) : bytes_(bytes) {}
  std::uint64_t word() {
    std::uint64_t v = 0;
    if (!take(sizeof v)) return 0;
    std::memcpy(&v, bytes_.data() + at_ - sizeof v, sizeof v);
    return v;
  }
  std::string_view text() {
    const std::uint64_t n = word();
    return take(n) ? bytes_.substr(at_ - n, n) : std::string_view();
  }
  // A count of items of at least one word each.
  std::uint64_t count() {
    const std::uint64_t n = word();
    if (n > (bytes_.size() - at_) / 8) good_ = false;
    return good_ ? n : 0;
  }
  void fail() { good_ = false; }
  bool good() const { return good_; }
  bool done() const { return good_ && at_ == bytes_.size(); }

 private:
  bool take(std::uint64_t n) {
    good_ = good_ && n <= bytes_.size() - at_;
    if (good_) at_ += n;
    return good_;
  }
  std::string_view bytes_;
  std::size_t at_ = 0;
  bool good_ = true;
};

}  // namespace rldb::runtime

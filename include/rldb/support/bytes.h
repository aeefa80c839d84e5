// Little-endian bytes of files. ByteReader never reads past its end: after the first failure it stays failed, returns
// zeros, and `error()` tells where; callers check `ok()` at places where garbage would matter.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace rldb::support {

// A word of `size` bytes; the caller has checked that they are available.
inline std::uint64_t read_little(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t word = 0;
  for (std::size_t i = size; i-- > 0;) word = word << 8 | static_cast<unsigned char>(bytes[at + i]);
  return word;
}
inline void append_little(std::string& out, std::uint64_t word, std::size_t size) {
  for (std::size_t i = 0; i < size; ++i) out += static_cast<char>(word >> (8 * i) & 0xFF);
}

class ByteWriter {
 public:
  void u8(std::uint8_t v) { out_.push_back(char(v)); }
  void u16(std::uint16_t v) { word(v); }
  void u32(std::uint32_t v) { word(v); }
  void u64(std::uint64_t v) { word(v); }
  void i32(std::int32_t v) { word(std::uint32_t(v)); }
  void i64(std::int64_t v) { word(std::uint64_t(v)); }
  void f64(double v) {
    std::uint64_t bits;
    std::memcpy(&bits, &v, sizeof bits);
    word(bits);
  }
  void raw(std::string_view bytes) { out_.append(bytes); }
  void string(std::string_view text) {
    u64(text.size());
    raw(text);
  }
  const std::string& bytes() const { return out_; }
  std::string take() { return std::move(out_); }

 private:
  template <class T>
  void word(T v) {
    append_little(out_, v, sizeof(T));
  }
  std::string out_;
};

class ByteReader {
 public:
  explicit ByteReader(std::string_view bytes) : bytes_(bytes) {}

  std::uint8_t u8() { return word<std::uint8_t>(); }
  std::uint16_t u16() { return word<std::uint16_t>(); }
  std::uint32_t u32() { return word<std::uint32_t>(); }
  std::uint64_t u64() { return word<std::uint64_t>(); }
  std::int32_t i32() { return std::int32_t(u32()); }
  std::int64_t i64() { return std::int64_t(u64()); }
  double f64() {
    std::uint64_t bits = u64();
    double v;
    std::memcpy(&v, &bits, sizeof v);
    return v;
  }
  std::string_view raw(std::uint64_t n) {
    if (!have(n)) return {};
    std::string_view part = bytes_.substr(at_, n);
    at_ += std::size_t(n);
    return part;
  }
  std::string string() { return std::string(raw(u64())); }
  // A count of items that take at least `least` bytes each: fails when they cannot all fit.
  std::uint64_t count(std::uint64_t least, const char* what) {
    std::uint64_t n = u64();
    if (ok() && n > left() / least) fail(std::string("more ") + what + " than bytes left");
    return ok() ? n : 0;
  }

  bool ok() const { return error_.empty(); }
  void fail(std::string why) {
    if (ok()) error_ = "byte " + std::to_string(at_) + ": " + std::move(why);
  }
  const std::string& error() const { return error_; }
  std::size_t at() const { return at_; }
  std::size_t left() const { return bytes_.size() - at_; }

 private:
  bool have(std::uint64_t n) {
    if (!ok()) return false;
    if (n > left()) {
      fail("the file ends too early");
      return false;
    }
    return true;
  }
  template <class T>
  T word() {
    if (!have(sizeof(T))) return 0;
    const T v = T(read_little(bytes_, at_, sizeof(T)));
    at_ += sizeof(T);
    return v;
  }
  std::string_view bytes_;
  std::size_t at_ = 0;
  std::string error_;
};

}  // namespace rldb::support

// SHA-256, block by block, and the HMAC made of it.
#include "protocol/jupyter/hmac.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdint>

namespace rldb::protocol::jupyter {

namespace {

constexpr std::size_t kBlockBytes = 64;
constexpr std::size_t kLengthBytes = 8;

// The first 32 bits of the fractional parts of the cube roots of the first 64 primes.
constexpr std::array<std::uint32_t, 64> kRoundConstants = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

class Sha256 {
 public:
  void add(std::string_view bytes) {
    for (const char c : bytes) put(static_cast<std::uint8_t>(c));
  }
  // Big-endian bytes. Nothing may be added after it.
  std::string digest() {
    const std::uint64_t bits = std::uint64_t(count_) * 8;
    put(0x80);
    while (count_ % kBlockBytes != kBlockBytes - kLengthBytes) put(0);
    for (int shift = 56; shift >= 0; shift -= 8) put(std::uint8_t(bits >> shift));
    std::string out;
    for (const std::uint32_t word : state_)
      for (int shift = 24; shift >= 0; shift -= 8) out += char(word >> shift);
    return out;
  }

 private:
  void put(std::uint8_t byte) {
    block_[count_++ % kBlockBytes] = byte;
    if (count_ % kBlockBytes == 0) mix_block();
  }

  void mix_block() {
    std::array<std::uint32_t, 64> w{};
    for (std::size_t i = 0; i < 16; ++i)
      for (std::size_t j = 0; j < 4; ++j) w[i] = w[i] << 8 | block_[4 * i + j];
    for (std::size_t i = 16; i < w.size(); ++i) {
      const std::uint32_t s0 = std::rotr(w[i - 15], 7) ^ std::rotr(w[i - 15], 18) ^ w[i - 15] >> 3;
      const std::uint32_t s1 = std::rotr(w[i - 2], 17) ^ std::rotr(w[i - 2], 19) ^ w[i - 2] >> 10;
      w[i] = w[i - 16] + s0 + w[i - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (std::size_t i = 0; i < w.size(); ++i) {
      const std::uint32_t s1 = std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25);
      const std::uint32_t t1 = h + s1 + ((e & f) ^ (~e & g)) + kRoundConstants[i] + w[i];
      const std::uint32_t s0 = std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22);
      const std::uint32_t t2 = s0 + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + t1, d = c, c = b, b = a, a = t1 + t2;
    }
    const std::array<std::uint32_t, 8> mixed{a, b, c, d, e, f, g, h};
    for (std::size_t i = 0; i < state_.size(); ++i) state_[i] += mixed[i];
  }

  std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                         0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<std::uint8_t, kBlockBytes> block_{};
  std::size_t count_ = 0;
};

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes);
  return hash.digest();
}

}  // namespace

std::string hmac_sha256(std::string_view key, std::span<const std::string> parts) {
  std::string padded = key.size() > kBlockBytes ? sha256(key) : std::string(key);
  padded.resize(kBlockBytes, '\0');
  std::string inner_key = padded, outer_key = padded;
  for (char& c : inner_key) c = char(c ^ 0x36);
  for (char& c : outer_key) c = char(c ^ 0x5c);
  Sha256 inner, outer;
  inner.add(inner_key);
  for (const std::string& part : parts) inner.add(part);
  outer.add(outer_key);
  outer.add(inner.digest());
  std::string hex;
  for (const char c : outer.digest()) hex += fmt::format("{:02x}", static_cast<unsigned char>(c));
  return hex;
}

bool is_same_signature(std::string_view a, std::string_view b) {
  if (a.size() != b.size()) return false;
  unsigned difference = 0;
  for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
  return difference == 0;
}

}  // namespace rldb::protocol::jupyter

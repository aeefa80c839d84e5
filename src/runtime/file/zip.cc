// Our own reader of the central directory (stored and deflated members, zip64); zlib inflates into a buffer whose size
// was checked first.
#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <optional>

#include "rldb/runtime/zip_archive.h"
#include "rldb/support/cancel.h"
#include "runtime/file/bytes.h"
#include "runtime/file/take.h"
#include "runtime/file/zip_format.h"

namespace rldb::runtime {

namespace {

using support::RandomAccess;

bool has(std::string_view bytes, std::uint64_t at, std::uint64_t size) {
  return at <= bytes.size() && size <= bytes.size() - at;
}

struct Directory {
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
  std::uint64_t entries = 0;
};

// The end record is at the end, followed by a comment of at most 65535 bytes; the zip64 locator is before it.
constexpr std::size_t kEndSize = 22;
constexpr std::size_t kLocatorSize = 20;
constexpr std::size_t kLongestComment = 65535;

// `tail`: the end of the file.
std::optional<std::size_t> find_end_record(std::string_view tail) {
  if (tail.size() < kEndSize) return {};
  const std::size_t least = tail.size() > kEndSize + kLongestComment ? tail.size() - kEndSize - kLongestComment : 0;
  for (std::size_t at = tail.size() - kEndSize + 1; at-- > least;) {
    if (read_little(tail, at, 4) != kEndRecord) continue;
    if (at + kEndSize + read_little(tail, at + 20, 2) == tail.size()) return at;
  }
  return {};
}

Result<Directory> find_directory(const RandomAccess& bytes, std::string_view name, std::string_view kind) {
  std::string buffer;
  const std::uint64_t length = std::min<std::uint64_t>(bytes.size(), kEndSize + kLongestComment + kLocatorSize);
  RLDB_TRY(const std::string_view tail, take(bytes, bytes.size() - length, length, name, buffer));
  const auto end = find_end_record(tail);
  if (!end) return bad_file(name, fmt::format("not a {}, or cut short (no zip directory)", kind));
  Directory d;
  d.entries = read_little(tail, *end + 10, 2);
  d.size = read_little(tail, *end + 12, 4);
  d.offset = read_little(tail, *end + 16, 4);
  const bool in64 = d.entries == 0xFFFF || d.size == kIn64 || d.offset == kIn64;
  if (in64 && *end >= kLocatorSize && read_little(tail, *end - kLocatorSize, 4) == kEnd64Locator) {
    constexpr std::size_t kEnd64Size = 56;
    std::string record_bytes;
    const std::uint64_t at = read_little(tail, *end - 12, 8);
    if (!bytes.has(at, kEnd64Size)) return bad_file(name, "the zip64 directory is damaged");
    RLDB_TRY(const std::string_view record, take(bytes, at, kEnd64Size, name, record_bytes));
    if (read_little(record, 0, 4) != kEnd64Record) return bad_file(name, "the zip64 directory is damaged");
    d.entries = read_little(record, 32, 8);
    d.size = read_little(record, 40, 8);
    d.offset = read_little(record, 48, 8);
  }
  if (!bytes.has(d.offset, d.size)) return bad_file(name, "the zip directory lies outside the file");
  return d;
}

// The zip64 field: 8-byte numbers for the entry's fields that hold kIn64, in a fixed order.
bool read_zip64(std::string_view extra, ZipMember& m) {
  for (std::size_t at = 0; has(extra, at, 4);) {
    const std::uint64_t id = read_little(extra, at, 2);
    const std::uint64_t size = read_little(extra, at + 2, 2);
    at += 4;
    if (!has(extra, at, size)) return false;
    if (id == 1) {
      std::string_view field = extra.substr(at, size);
      for (std::uint64_t* number : {&m.size, &m.packed_size, &m.local_offset}) {
        if (*number != kIn64) continue;
        if (field.size() < 8) return false;
        *number = read_little(field, 0, 8);
        field.remove_prefix(8);
      }
    }
    at += size;
  }
  return true;
}

Result<std::vector<ZipMember>> read_directory(const RandomAccess& bytes, std::string_view name, std::string_view kind) {
  RLDB_TRY(const Directory d, find_directory(bytes, name, kind));
  std::string buffer;
  RLDB_TRY(const std::string_view table, take(bytes, d.offset, d.size, name, buffer));
  std::vector<ZipMember> members;
  std::size_t at = 0;
  for (std::uint64_t i = 0; i < d.entries; ++i) {
    if (!has(table, at, 46) || read_little(table, at, 4) != kCentralEntry) {
      return bad_file(name, fmt::format("entry {} of the zip directory is damaged", i));
    }
    ZipMember m;
    m.flags = read_little(table, at + 8, 2);
    m.method = read_little(table, at + 10, 2);
    m.crc = read_little(table, at + 16, 4);
    m.packed_size = read_little(table, at + 20, 4);
    m.size = read_little(table, at + 24, 4);
    const std::uint64_t name_size = read_little(table, at + 28, 2);
    const std::uint64_t extra_size = read_little(table, at + 30, 2);
    const std::uint64_t comment_size = read_little(table, at + 32, 2);
    m.local_offset = read_little(table, at + 42, 4);
    if (!has(table, at + 46, name_size + extra_size + comment_size)) {
      return bad_file(name, fmt::format("entry {} of the zip directory is damaged", i));
    }
    m.name = table.substr(at + 46, name_size);
    if (!read_zip64(table.substr(at + 46 + name_size, extra_size), m)) {
      return bad_file(name, fmt::format("the zip64 field of `{}` is damaged", m.name));
    }
    at += 46 + name_size + extra_size + comment_size;
    members.push_back(std::move(m));
  }
  return members;
}

Result<std::string> inflate_member(std::string_view packed, const ZipMember& m, std::string_view where) {
  // Deflate cannot do better than about 1032 to 1, so a size beyond that is a lie.
  if (m.size / 1040 > packed.size() + 64) {
    return bad_file(where, fmt::format("{} bytes cannot inflate to {}", packed.size(), m.size));
  }
  RLDB_TRY_VOID(check_memory(m.size, where));
  std::string out(m.size, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) return bad_file(where, "zlib cannot start");
  std::size_t read = 0;
  std::size_t written = 0;
  int status = Z_OK;
  while (status == Z_OK) {
    if (support::cancel_flag()) break;  // thrown below, when zlib's memory is freed
    constexpr std::size_t kMost = std::size_t(1) << 24;
    const std::size_t in = std::min(packed.size() - read, kMost);
    const std::size_t room = std::min(out.size() - written, kMost);
    // zlib's interface takes a non-const pointer but does not write through it.
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data() + read));
    stream.avail_in = static_cast<uInt>(in);
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + written);
    stream.avail_out = static_cast<uInt>(room);
    status = inflate(&stream, Z_NO_FLUSH);
    read += in - stream.avail_in;
    written += room - stream.avail_out;
    const bool stuck = in == stream.avail_in && room == stream.avail_out;
    if (status == Z_OK && stuck) status = Z_BUF_ERROR;
  }
  inflateEnd(&stream);
  support::poll();
  if (status != Z_STREAM_END || written != m.size) {
    return bad_file(where, "the compressed data is damaged");
  }
  return out;
}

}  // namespace

std::uint64_t zip_checksum(std::string_view bytes) {
  constexpr std::size_t kPiece = std::size_t(1) << 24;
  uLong crc = 0;
  for (std::size_t at = 0; at < bytes.size(); at += kPiece) {
    support::poll();
    const std::string_view piece = bytes.substr(at, kPiece);
    crc = crc32_z(crc, reinterpret_cast<const Bytef*>(piece.data()), piece.size());
  }
  return crc;
}

Result<ZipArchive> ZipArchive::open(RandomAccess bytes, std::string_view name, std::string_view kind) {
  std::string buffer;
  constexpr std::string_view kMagic = "PK";
  const std::size_t length = std::min<std::uint64_t>(bytes.size(), kMagic.size());
  RLDB_TRY(const std::string_view magic, take(bytes, 0, length, name, buffer));
  if (magic != kMagic) return bad_file(name, fmt::format("not a {} (the magic bytes are missing)", kind));
  RLDB_TRY(auto members, read_directory(bytes, name, kind));
  ZipArchive made(std::move(bytes), name);
  made.members_ = std::move(members);
  for (std::size_t i = 0; i < made.members_.size(); ++i) made.index_.try_emplace(made.members_[i].name, i);
  return made;
}

std::optional<std::size_t> ZipArchive::find(std::string_view name) const {
  const auto found = index_.find(std::string(name));
  return found == index_.end() ? std::nullopt : std::optional(found->second);
}

Result<std::string_view> ZipArchive::read(std::size_t index, std::string& buffer) const {
  const ZipMember& m = members_[index];
  const std::string where = fmt::format("{}:{}", name_, m.name);
  if ((m.flags & 1) != 0) return fail(ErrorKind::Unsupported, fmt::format("`{}` is encrypted", where));
  constexpr std::size_t kLocalSize = 30;
  if (!bytes_.has(m.local_offset, kLocalSize)) return bad_file(where, "its zip entry is damaged");
  RLDB_TRY(const std::string_view local, take(bytes_, m.local_offset, kLocalSize, where, buffer));
  if (read_little(local, 0, 4) != kLocalEntry) return bad_file(where, "its zip entry is damaged");
  const std::uint64_t skip = kLocalSize + read_little(local, 26, 2) + read_little(local, 28, 2);
  if (!bytes_.has(m.local_offset, skip) || !bytes_.has(m.local_offset + skip, m.packed_size)) {
    return bad_file(where, "its data lies outside the file");
  }
  RLDB_TRY(std::string_view data, take(bytes_, m.local_offset + skip, m.packed_size, where, buffer));
  if (m.method == Z_DEFLATED) {
    RLDB_TRY(std::string inflated, inflate_member(data, m, where));
    buffer = std::move(inflated);
    data = buffer;
  } else if (m.method != 0) {
    return fail(ErrorKind::Unsupported,
                fmt::format("`{}`: zip method {} (stored and deflated are read)", where, m.method));
  } else if (m.size != m.packed_size) {
    return bad_file(where, "a stored member with two sizes");
  }
  if (zip_checksum(data) != m.crc) return bad_file(where, "the checksum does not match");
  return data;
}

}  // namespace rldb::runtime

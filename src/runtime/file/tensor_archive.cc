// The part that both kinds of archives have in common, and the choice between them by the first bytes.
#include "rldb/runtime/tensor_archive.h"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/file/bytes.h"
#include "runtime/file/take.h"

namespace rldb::runtime {

std::optional<std::size_t> TensorArchive::find(std::string_view name) const {
  const auto found = std::find(names_.begin(), names_.end(), name);
  if (found == names_.end()) return std::nullopt;
  return static_cast<std::size_t>(found - names_.begin());
}

Result<support::Unit> check_memory(std::uint64_t bytes, std::string_view where) {
  const std::size_t used = memory_in_use();
  if (used <= memory_limit() && bytes <= memory_limit() - used) return support::Unit{};
  return fail(ErrorKind::OutOfMemory,
              fmt::format("`{}`: {} bytes are over the memory limit of {}", where, bytes, memory_limit()));
}

Result<std::string_view> take(const support::RandomAccess& bytes, std::uint64_t at, std::uint64_t size,
                              std::string_view where, std::string& buffer) {
  RLDB_TRY_VOID(check_memory(size, where));
  auto read = bytes.read(at, size, buffer);
  if (!read.ok()) return bad_file(where, read.error().reason);
  return std::move(read).value();
}

Result<support::RandomAccess> open_file(const std::string& path) {
  auto bytes = support::RandomAccess::open(path, memory_limit());
  if (bytes.ok()) return std::move(bytes).value();
  const support::FileError& error = bytes.error();
  if (error.too_large) {
    return fail(ErrorKind::OutOfMemory,
                fmt::format("`{}` has {} bytes; the memory limit is {}", path, error.size, memory_limit()));
  }
  return fail(ErrorKind::BadFile, fmt::format("cannot open `{}`: {}", path, error.reason));
}

Result<NamedTensors> read_all(const TensorArchive& archive) {
  NamedTensors tensors;
  for (std::size_t i = 0; i < archive.names().size(); ++i) {
    RLDB_TRY(Value value, archive.read(i));
    tensors.emplace_back(archive.names()[i], std::move(value));
  }
  return tensors;
}

namespace {

enum class FileKind : std::uint8_t { Npz, Safetensors, Other };

Result<FileKind> kind_of(const support::RandomAccess& bytes, const std::string& path) {
  constexpr std::uint64_t kEnough = 9;
  std::string buffer;
  RLDB_TRY(const std::string_view start, take(bytes, 0, std::min(bytes.size(), kEnough), path, buffer));
  if (start.starts_with("PK")) return FileKind::Npz;
  // safetensors has no magic but its own shape: a length, then a JSON object.
  return start.size() == kEnough && start.back() == '{' ? FileKind::Safetensors : FileKind::Other;
}

Result<std::unique_ptr<TensorArchive>> open_as(FileKind kind, support::RandomAccess bytes, const std::string& path) {
  return kind == FileKind::Npz ? open_npz(std::move(bytes), path) : open_safetensors(std::move(bytes), path);
}

// The member, or the only one when none is named.
Result<Value> pick(const TensorArchive& archive, std::string_view member, const std::string& path) {
  const std::vector<std::string>& tensors = archive.names();
  if (const auto index = archive.find(member)) return archive.read(*index);
  if (member.empty() && tensors.size() == 1) return archive.read(0);
  std::string names;
  constexpr std::size_t kShown = 10;
  for (std::size_t i = 0; i < std::min(tensors.size(), kShown); ++i)
    names += fmt::format("{}`{}`", i ? ", " : "", tensors[i]);
  if (tensors.size() > kShown) names += fmt::format(" and {} more", tensors.size() - kShown);
  if (member.empty()) {
    return fail(ErrorKind::BadFile, fmt::format("`{}` holds {} tensors; name one as in `@{}:NAME`: {}", path,
                                                tensors.size(), path, names.empty() ? "none" : names));
  }
  return fail(ErrorKind::BadFile,
              fmt::format("`{}` holds no `{}`; it holds {}", path, member, names.empty() ? "nothing" : names));
}

}  // namespace

Result<std::unique_ptr<TensorArchive>> open_archive(const std::string& path) {
  RLDB_TRY(support::RandomAccess bytes, open_file(path));
  if (!bytes.is_file()) return std::unique_ptr<TensorArchive>();
  RLDB_TRY(const FileKind kind, kind_of(bytes, path));
  if (kind == FileKind::Other) return std::unique_ptr<TensorArchive>();
  return open_as(kind, std::move(bytes), path);
}

Result<Value> load_tensor(std::string_view path_and_member) {
  std::string path(path_and_member);
  std::string member;
  // The member follows the extension's colon: a path may contain colons of its own.
  for (const std::string_view extension : {".npz:", ".safetensors:"}) {
    const std::size_t at = path.rfind(extension);
    if (at == std::string::npos) continue;
    member = path.substr(at + extension.size());
    path.resize(at + extension.size() - 1);
    break;
  }
  RLDB_TRY(support::RandomAccess bytes, open_file(path));
  RLDB_TRY(const FileKind kind, kind_of(bytes, path));
  if (kind != FileKind::Other) {
    RLDB_TRY(const auto archive, open_as(kind, std::move(bytes), path));
    return pick(*archive, member, path);
  }
  std::string buffer;
  RLDB_TRY(const std::string_view all, take(bytes, 0, bytes.size(), path, buffer));
  if (all.starts_with("\x93NUMPY")) return read_npy(all, path);
  return fail(ErrorKind::BadFile, fmt::format("`{}` is no .npy, .npz or .safetensors file", path));
}

}  // namespace rldb::runtime

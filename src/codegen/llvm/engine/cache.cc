#include "codegen/llvm/engine/cache.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "rldb/support/file.h"
#include "rldb/support/hash.h"

namespace rldb::codegen {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view kSuffix = ".kernel";

// Changes whenever the program is rebuilt; empty if the system does not tell.
std::string program_identity() {
  struct stat s {};
  if (::stat("/proc/self/exe", &s) != 0) return {};
  return fmt::format("{}-{}.{}", s.st_size, s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
}

struct File {
  fs::path path;
  fs::file_time_type used;
  std::uint64_t bytes;
};

}  // namespace

KernelCache::KernelCache(std::string folder, std::uint64_t limit)
    : folder_(std::move(folder)), program_(program_identity()), limit_(limit), since_trim_(limit) {
  if (program_.empty()) folder_.clear();
}

std::string KernelCache::full_key(std::string_view key) const { return fmt::format("{};program{}", key, program_); }

std::string KernelCache::path(std::string_view full_key) const {
  return fmt::format("{}/{:016x}{}", folder_, support::fnv1a(full_key), kSuffix);
}

std::optional<std::string> KernelCache::read(std::string_view full_key) const {
  if (!enabled()) return std::nullopt;
  const std::string name = path(full_key);
  auto bytes = support::read_own_file(name);
  if (!bytes.ok()) return std::nullopt;
  (void)::utimensat(AT_FDCWD, name.c_str(), nullptr, 0);  // used now: it is removed last
  return std::move(bytes).value();
}

bool KernelCache::has(std::string_view full_key) const { return enabled() && support::file_exists(path(full_key)); }

void KernelCache::write(std::string_view full_key, std::string_view blob) {
  if (!enabled()) return;
  // Each missing part is created for this user alone.
  for (std::size_t at = folder_.find('/', 1);; at = folder_.find('/', at + 1)) {
    (void)::mkdir(folder_.substr(0, at).c_str(), 0700);
    if (at == std::string::npos) break;
  }
  if (!support::write_file(path(full_key), blob, support::Durable::No).ok()) return;
  since_trim_ += blob.size();
  if (since_trim_ < limit_ / 16) return;
  since_trim_ = 0;
  trim();
}

// Other processes may remove and add files meanwhile: failures are ignored.
void KernelCache::trim() const {
  std::vector<File> files;
  std::uint64_t total = 0;
  std::error_code error;
  for (fs::directory_iterator it(folder_, error), end; !error && it != end; it.increment(error)) {
    if (it->path().extension() != kSuffix) continue;
    std::error_code gone;
    const File f{it->path(), it->last_write_time(gone), it->file_size(gone)};
    if (gone) continue;
    total += f.bytes;
    files.push_back(f);
  }
  if (total <= limit_) return;
  std::sort(files.begin(), files.end(), [](const File& a, const File& b) { return a.used < b.used; });
  for (const File& f : files) {
    if (total <= limit_ / 4 * 3) return;
    fs::remove(f.path, error);
    total -= f.bytes;
  }
}

}  // namespace rldb::codegen

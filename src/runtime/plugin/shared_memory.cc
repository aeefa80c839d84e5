// Memory that two processes share, and the tensors of a call in it.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "rldb/runtime/object_value.h"
#include "rldb/support/memory.h"
#include "runtime/plugin/guard_process.h"
#include "runtime/value/alignment.h"

namespace rldb::runtime {

namespace {

support::Failure<Error> no_memory(std::string_view what) {
  return fail(ErrorKind::OutOfMemory, fmt::format("no memory to share with a guard process: {}", what));
}

}  // namespace

Result<std::unique_ptr<SharedMemory>> SharedMemory::create() {
  const int fd = ::memfd_create("rldb-guard", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  if (fd < 0) return no_memory(std::strerror(errno));
  // A guard that has gone wrong cannot take mapped bytes away from this process.
  ::fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK);
  return std::unique_ptr<SharedMemory>(new SharedMemory(fd, ::getpid()));
}

SharedMemory::~SharedMemory() {
  unmap();
  ::close(fd_);
}

Result<std::byte*> SharedMemory::map(std::size_t bytes) {
  unmap();
  if (bytes == 0) return static_cast<std::byte*>(nullptr);
  struct stat info {};
  if (::fstat(fd_, &info) != 0) return no_memory(std::strerror(errno));
  const bool owned = owner_ == ::getpid();
  if (owned && !support::reserve_memory(bytes)) return no_memory("over the memory limit");
  const bool grows = std::size_t(info.st_size) < bytes;
  const bool grown = grows && owned && ::ftruncate(fd_, off_t(bytes)) == 0;
  void* data = MAP_FAILED;
  if (!grows || grown) data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd_, 0);
  if (data == MAP_FAILED) {
    if (owned) support::release_memory(bytes);
    return no_memory(std::strerror(errno));
  }
  data_ = static_cast<std::byte*>(data);
  size_ = bytes;
  return data_;
}

void SharedMemory::unmap() {
  if (!data_) return;
  ::munmap(data_, size_);
  if (owner_ == ::getpid()) {
    (void)::fallocate(fd_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, off_t(size_));
    support::release_memory(size_);
  }
  data_ = nullptr;
  size_ = 0;
}

SharedRanges::SharedRanges(PackedArgs args) {
  for (const Value& v : args) collect(v, 0);
  for (Range& r : ranges_) {
    r.at = bytes_;
    bytes_ += (r.end - r.begin + kAlignment - 1) / kAlignment * kAlignment;
  }
}

void SharedRanges::collect(const Value& v, int depth) {
  constexpr int kMaxDepth = 200;  // deeper ones are refused when they are written
  if (v.is(ValueKind::Tensor)) {
    const Tensor& t = v.as_tensor();
    add(t.storage(), t.byte_offset(), t.byte_offset() + t.byte_size());
  } else if (v.is(ValueKind::Storage)) {
    add(v.storage_ref(), 0, v.storage_ref()->size());
  } else if (v.is(ValueKind::Tuple) && depth < kMaxDepth) {
    for (const Value& field : v.as_tuple().fields) collect(field, depth + 1);
  } else if (const auto* map = object_in<MapValue>(v); map && depth < kMaxDepth) {
    for (const auto& [key, value] : map->items) {
      collect(key, depth + 1);
      collect(value, depth + 1);
    }
  }
}

void SharedRanges::add(Ref<Storage> storage, std::size_t begin, std::size_t end) {
  for (Range& r : ranges_) {
    if (r.storage.get() != storage.get()) continue;
    r.begin = std::min(r.begin, begin);
    r.end = std::max(r.end, end);
    return;
  }
  ranges_.push_back({std::move(storage), begin, end, 0});
}

std::size_t SharedRanges::index_of(const Storage* storage) const {
  std::size_t i = 0;
  while (i < ranges_.size() && ranges_[i].storage.get() != storage) ++i;
  return i;
}

void SharedRanges::copy_to(std::byte* shared) const {
  for (const Range& r : ranges_)
    if (r.end > r.begin) std::memcpy(shared + r.at, r.storage->data() + r.begin, r.end - r.begin);
}

void SharedRanges::copy_from(const std::byte* shared) const {
  for (const Range& r : ranges_) {
    std::byte* to = r.storage->data() + r.begin;
    const std::size_t bytes = r.end - r.begin;
    // Most arguments are inputs, which stay unchanged.
    if (bytes > 0 && std::memcmp(to, shared + r.at, bytes) != 0) std::memcpy(to, shared + r.at, bytes);
  }
}

}  // namespace rldb::runtime

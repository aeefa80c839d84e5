#include "attach/image.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "rldb/bytecode/library_program.h"
#include "rldb/support/cancel.h"
#include "rldb/support/hash.h"

namespace rldb::attach {

namespace {

constexpr std::size_t kBlock = std::size_t(1) << 16;
constexpr std::size_t kStep = 16;  // its alignment
constexpr std::uint64_t kMostProgram = std::uint64_t(1) << 30;
constexpr std::uint64_t kMostData = std::uint64_t(1) << 32;  // of one mapping: more has no library, or is damage

// Null: it is none, or `problem` says why it cannot be read.
std::shared_ptr<const bytecode::Executable> read_program(const Memory& memory, const RemoteLibrary& library,
                                                         std::string& problem) {
  std::string bytes;
  if (library.program_size <= kMostProgram) bytes.resize(library.program_size);
  if (bytes.empty() || !memory.read(library.program, bytes.data(), bytes.size())) {
    problem = "its program cannot be read";
    return nullptr;
  }
  if (support::fnv1a(bytes) != library.program_hash) {
    problem = "its program is not the one that was running: the file has changed";
    return nullptr;
  }
  auto loaded = bytecode::load_library_program(bytes);
  if (loaded.ok()) return std::make_shared<const bytecode::Executable>(std::move(loaded).value());
  problem = loaded.error().message;
  return nullptr;
}

void look_at(const Memory& memory, const Mapping& where, Address at, std::vector<Image>& images, std::string& problem) {
  RemoteLibrary library;
  RemoteWatched watched;
  if (!memory.get(at, library) || !memory.get(library.watched, watched)) return;
  std::string why;
  auto program = read_program(memory, library, why);
  if (program)
    images.push_back({at, library.watched, where.path, std::move(program)});
  else
    problem = fmt::format("`{}`: {}", where.path, why);
}

}  // namespace

const Mapping* mapping_at(const Mappings& mappings, Address at) {
  for (const Mapping& m : mappings)
    if (at >= m.begin && at < m.end) return &m;
  return nullptr;
}

std::vector<Image> find_images(const Memory& memory, const Mappings& mappings, std::string& problem) {
  std::vector<Image> images;
  std::vector<char> block(kBlock);
  for (const Mapping& m : mappings) {
    if (!m.writable || m.path.empty() || m.end < m.begin || m.end - m.begin > kMostData) continue;
    for (Address at = m.begin; m.end - at > 0; at += std::min<std::uint64_t>(kBlock, m.end - at)) {
      if (support::cancel_flag()) return images;
      const std::size_t size = std::min<std::uint64_t>(kBlock, m.end - at);
      if (!memory.read(at, block.data(), size)) continue;
      for (std::size_t i = 0; i + bytecode::kLibraryMark.size() <= size; i += kStep)
        if (std::memcmp(block.data() + i, bytecode::kLibraryMark.data(), bytecode::kLibraryMark.size()) == 0)
          look_at(memory, m, at + i, images, problem);
    }
  }
  return images;
}

}  // namespace rldb::attach

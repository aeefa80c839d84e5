// Reading core files: every offset and count in them is checked.
#include "attach/core.h"

#include <elf.h>
#include <fmt/format.h>
#include <sys/procfs.h>

#include <algorithm>
#include <csignal>
#include <cstring>
#include <map>
#include <optional>

#include "rldb/support/file.h"

namespace rldb::attach {

using vm::Outcome;
using vm::StopReason;

namespace {

constexpr std::size_t kMostFile = std::size_t(4) << 30;

template <class T>
bool read_at(std::string_view bytes, std::uint64_t at, T& out) {
  if (at > bytes.size() || sizeof(T) > bytes.size() - at) return false;
  std::memcpy(&out, bytes.data() + at, sizeof(T));
  return true;
}

std::string_view part(std::string_view bytes, std::uint64_t at, std::uint64_t size) {
  if (at > bytes.size()) return {};
  return bytes.substr(at, size);
}

struct Segment {
  Address begin = 0;
  std::string_view bytes;
};

class CoreMemory : public Memory {
 public:
  explicit CoreMemory(std::shared_ptr<const std::string> bytes) : bytes_(std::move(bytes)) {}

  bool read(Address at, void* to, std::size_t size) const override {
    for (std::size_t done = 0; done < size;) {
      const std::string_view found = at_address(at + done);
      if (found.empty()) return false;
      const std::size_t n = std::min(size - done, found.size());
      std::memcpy(static_cast<char*>(to) + done, found.data(), n);
      done += n;
    }
    return true;
  }

  std::shared_ptr<const std::string> bytes_;
  std::vector<Segment> segments;
  std::vector<Mapping> files;

 private:
  std::string_view at_address(Address at) const {
    for (const Segment& s : segments)
      if (at >= s.begin && at - s.begin < s.bytes.size()) return s.bytes.substr(at - s.begin);
    for (const Mapping& m : files)
      if (at >= m.begin && at < m.end) {
        const std::string_view found = part(contents(m.path), m.offset + (at - m.begin), m.end - at);
        if (!found.empty()) return found;
      }
    return {};
  }
  std::string_view contents(const std::string& path) const {
    const auto [it, added] = read_.emplace(path, std::string());
    if (!added) return it->second;
    auto bytes = support::read_regular_file(path, kMostFile);
    if (bytes.ok()) it->second = std::move(bytes).value();
    return it->second;
  }
  mutable std::map<std::string, std::string> read_;
};

// NT_FILE: count, page size, then begin, end and page for each, then their names.
std::vector<Mapping> read_files(std::string_view note) {
  std::vector<Mapping> files;
  std::uint64_t count = 0, page = 0;
  constexpr std::uint64_t kHead = 16, kRow = 24;
  if (!read_at(note, 0, count) || !read_at(note, 8, page) || count > note.size() / kRow) return files;
  std::string_view names = part(note, kHead + count * kRow, note.size());
  for (std::uint64_t i = 0; i < count; ++i) {
    Mapping m;
    std::uint64_t pages = 0;
    read_at(note, kHead + i * kRow, m.begin);
    read_at(note, kHead + i * kRow + 8, m.end);
    read_at(note, kHead + i * kRow + 16, pages);
    m.offset = pages * page;
    m.path = std::string(names.substr(0, names.find('\0')));
    names.remove_prefix(std::min(names.size(), m.path.size() + 1));
    if (m.begin < m.end && !m.path.empty()) files.push_back(std::move(m));
  }
  return files;
}

Address stack_pointer(const prstatus_t& status) {
#if defined(__x86_64__)
  constexpr std::size_t kRegister = 19;
#elif defined(__aarch64__)
  constexpr std::size_t kRegister = 31;
#else
#error "the stack pointer's place in NT_PRSTATUS is not known"
#endif
  return status.pr_reg[kRegister];
}

// Each note: sizes of name and contents, its type, then both, aligned to 4.
void read_notes(std::string_view notes, CoreFile& core, std::vector<Mapping>& files) {
  const auto aligned = [](std::uint64_t n) { return (n + 3) / 4 * 4; };
  Elf64_Nhdr head;
  while (read_at(notes, 0, head)) {
    const std::string_view contents = part(notes, sizeof head + aligned(head.n_namesz), head.n_descsz);
    if (head.n_type == NT_PRSTATUS) {
      prstatus_t status;
      if (read_at(contents, 0, status)) {
        if (core.threads.empty()) core.signal = status.pr_cursig;
        core.threads.push_back({status.pr_pid, stack_pointer(status), 0});
      }
    }
    if (head.n_type == NT_FILE) files = read_files(contents);
    const std::uint64_t size = sizeof head + aligned(head.n_namesz) + aligned(head.n_descsz);
    notes.remove_prefix(std::min<std::uint64_t>(notes.size(), size));
  }
}

}  // namespace

std::optional<CoreFile> read_core(std::shared_ptr<const std::string> bytes, std::string& problem) {
  const std::string_view file = *bytes;
  Elf64_Ehdr header;
  if (!read_at(file, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    problem = "it is not an ELF file";
    return std::nullopt;
  }
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_CORE || header.e_phentsize != sizeof(Elf64_Phdr)) {
    problem = "it is an ELF file of another kind";
    return std::nullopt;
  }
  CoreFile core;
  auto memory = std::make_unique<CoreMemory>(bytes);
  std::vector<Elf64_Phdr> loaded;
  for (std::uint64_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment;
    if (!read_at(file, header.e_phoff + i * sizeof segment, segment)) {
      problem = "its table of segments is cut short";
      return std::nullopt;
    }
    const std::string_view contents = part(file, segment.p_offset, segment.p_filesz);
    core.is_cut = core.is_cut || contents.size() < segment.p_filesz;
    if (segment.p_type == PT_NOTE) read_notes(contents, core, memory->files);
    if (segment.p_type != PT_LOAD) continue;
    if (!contents.empty()) memory->segments.push_back({segment.p_vaddr, contents});
    loaded.push_back(segment);
  }
  for (LiveThread& t : core.threads)
    for (const Elf64_Phdr& s : loaded)
      if (t.stack >= s.p_vaddr && t.stack - s.p_vaddr < s.p_memsz) t.stack_end = s.p_vaddr + s.p_memsz;
  if (core.threads.empty()) {
    problem = core.is_cut ? "it is cut short" : "it names no thread";
    return std::nullopt;
  }
  // A mapping of a file may be writable in part only: the segments know.
  for (const Mapping& f : memory->files)
    for (const Elf64_Phdr& s : loaded) {
      Mapping m = f;
      m.begin = std::max<Address>(f.begin, s.p_vaddr);
      m.end = std::min<Address>(f.end, s.p_vaddr + s.p_memsz);
      if (m.begin >= m.end) continue;
      m.offset += m.begin - f.begin;
      m.writable = (s.p_flags & PF_W) != 0;
      core.mappings.push_back(std::move(m));
    }
  for (const Mapping& f : memory->files)
    if (!support::file_exists(f.path) &&
        std::find(core.missing.begin(), core.missing.end(), f.path) == core.missing.end())
      core.missing.push_back(f.path);
  core.memory = std::move(memory);
  return core;
}

Core::Core(std::string path, CoreFile core, Image image, std::vector<std::string> others)
    : Foreign(std::move(core.memory), std::move(image), std::move(others)),
      path_(std::move(path)),
      signal_(core.signal) {
  recognise(core.threads);
  for (const LiveThread& t : core.threads)
    if (current_ == 0 && !stacks_.of(t.id, 0).frames.empty()) current_ = t.id;
}

Outcome Core::run(vm::MachineState state, const vm::StopSet*, std::uint64_t) {
  if (std::exchange(shown_, true)) return fail(state, "a core does not run");
  Outcome o = show(state, present(), StopReason::Interrupted);
  if (signal_ == 0 || !o.stopped()) return o;
  const char* name = ::sigabbrev_np(signal_);
  return fail(state, name ? fmt::format("the process was ended by SIG{}", name)
                          : fmt::format("the process was ended by signal {}", signal_));
}

}  // namespace rldb::attach

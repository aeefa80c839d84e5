// Core files that the test makes: read, and refused in every piece.
#include "attach/core.h"

#include <doctest/doctest.h>
#include <elf.h>
#include <sys/procfs.h>

#include <csignal>
#include <cstring>

namespace rldb::attach {

namespace {

template <class T>
void append(std::string& out, const T& what) {
  out.append(reinterpret_cast<const char*>(&what), sizeof what);
}

std::string note(std::uint32_t type, const std::string& contents) {
  std::string out;
  append(out, Elf64_Nhdr{5, std::uint32_t(contents.size()), type});
  out.append("CORE\0\0\0\0", 8);
  out += contents;
  out.resize((out.size() + 3) / 4 * 4);
  return out;
}

std::string notes() {
  prstatus_t status{};
  status.pr_pid = 77;
  status.pr_cursig = SIGABRT;
  std::string thread, files;
  append(thread, status);
  for (const std::uint64_t word :
       {std::uint64_t(1), std::uint64_t(4096), std::uint64_t(0x1000), std::uint64_t(0x3000), std::uint64_t(2)})
    append(files, word);
  files.append("/nowhere/lib.so\0", 16);
  return note(NT_PRSTATUS, thread) + note(NT_FILE, files);
}

std::string made_core() {
  const std::string about = notes();
  Elf64_Ehdr header{};
  std::memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_type = ET_CORE;
  header.e_phoff = sizeof header;
  header.e_phentsize = sizeof(Elf64_Phdr);
  header.e_phnum = 2;
  Elf64_Phdr note_part{}, load{};
  note_part.p_type = PT_NOTE;
  note_part.p_offset = sizeof header + 2 * sizeof(Elf64_Phdr);
  note_part.p_filesz = about.size();
  load.p_type = PT_LOAD;
  load.p_flags = PF_R | PF_W;
  load.p_vaddr = 0x2000;
  load.p_offset = note_part.p_offset + about.size();
  load.p_filesz = load.p_memsz = 16;
  std::string out;
  append(out, header);
  append(out, note_part);
  append(out, load);
  return out + about + "0123456789abcdef";
}

std::optional<CoreFile> read(std::string bytes, std::string* why = nullptr) {
  std::string problem;
  auto core = read_core(std::make_shared<const std::string>(std::move(bytes)), problem);
  if (why) *why = problem;
  CHECK(core.has_value() == problem.empty());
  return core;
}

}  // namespace

TEST_CASE("memory, mappings, threads and the signal of a core") {
  const auto core = read(made_core());
  REQUIRE(core);
  REQUIRE(core->threads.size() == 1);
  CHECK(core->threads[0].id == 77);
  CHECK(core->signal == SIGABRT);
  REQUIRE(core->mappings.size() == 1);
  CHECK(core->mappings[0].begin == 0x2000);
  CHECK(core->mappings[0].writable);
  CHECK(core->mappings[0].path == "/nowhere/lib.so");
  CHECK(core->missing == std::vector<std::string>{"/nowhere/lib.so"});
  char text[4];
  CHECK(core->memory->read(0x2004, text, 4));
  CHECK(std::string(text, 4) == "4567");
  CHECK_FALSE(core->memory->read(0x200e, text, 4));  // past the end
  CHECK_FALSE(core->memory->read(0x1000, text, 4));  // of a file that is not there
}

TEST_CASE("pieces of a core, and cores with one byte changed") {
  const std::string whole = made_core();
  for (std::size_t size = 0; size < whole.size(); ++size) (void)read(whole.substr(0, size));
  for (std::size_t i = 0; i < whole.size(); ++i)
    for (const char c : {'\0', '\xff'}) {
      std::string changed = whole;
      changed[i] = c;
      if (const auto core = read(changed)) {
        char byte;
        (void)core->memory->read(0x2000, &byte, 1);
      }
    }
  std::string why;
  CHECK_FALSE(read("no core", &why));
  CHECK(why == "it is not an ELF file");
}

}  // namespace rldb::attach

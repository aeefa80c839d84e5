// Shared libraries as bytes, with modules as TVM exports them: for tests and the fuzz target. There is no code in them.
#pragma once

#include <elf.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "rldb/support/bytes.h"

namespace rldb::testing {

template <class T>
std::string bytes_of(const T& record) {
  return {reinterpret_cast<const char*>(&record), sizeof record};
}

// A library that exports one symbol, with these data.
inline std::string library_image(const std::string& symbol, const std::string& data) {
  const std::string strings = std::string(1, '\0') + symbol + '\0';
  Elf64_Sym exported{};
  exported.st_name = 1;
  exported.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_OBJECT);
  exported.st_shndx = 3;
  exported.st_value = 0x1000;
  exported.st_size = data.size();
  const std::string symbols = std::string(sizeof(Elf64_Sym), '\0') + bytes_of(exported);

  std::string body;
  std::vector<Elf64_Shdr> sections(1);
  const auto section = [&](Elf64_Word type, Elf64_Word link, Elf64_Addr address, const std::string& bytes) {
    Elf64_Shdr s{};
    s.sh_type = type;
    s.sh_link = link;
    s.sh_addr = address;
    s.sh_offset = sizeof(Elf64_Ehdr) + body.size();
    s.sh_size = bytes.size();
    body += bytes;
    sections.push_back(s);
  };
  section(SHT_DYNSYM, 2, 0x200, symbols);
  section(SHT_STRTAB, 0, 0x400, strings);
  section(SHT_PROGBITS, 0, 0x1000, data);

  Elf64_Ehdr header{};
  for (int i = 0; i < SELFMAG; ++i) header.e_ident[i] = static_cast<unsigned char>(ELFMAG[i]);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_shoff = sizeof header + body.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = Elf64_Half(sections.size());
  std::string out = bytes_of(header) + body;
  for (const Elf64_Shdr& s : sections) out += bytes_of(s);
  return out;
}

// Kinds and bytes; "_lib" has none.
using Modules = std::vector<std::pair<std::string, std::string>>;

inline std::string with_length(const support::ByteWriter& w) {
  support::ByteWriter out;
  out.string(w.bytes());
  return out.bytes();
}

inline void write_tree(support::ByteWriter& w, std::size_t modules) {
  w.u64(modules + 1);  // each imports the next one
  for (std::size_t i = 0; i <= modules; ++i) w.u64(std::min(i, modules - 1));
  w.u64(modules - 1);
  for (std::size_t i = 1; i < modules; ++i) w.u64(i);
}

inline std::string exported_library(const Modules& modules) {
  support::ByteWriter w;
  write_tree(w, modules.size());
  for (const auto& [kind, bytes] : modules) {
    w.string(kind);
    if (kind != "_lib") w.string(bytes);
  }
  return library_image("__tvm_ffi__library_bin", with_length(w));
}

// As TVM exported them before tvm-ffi.
inline std::string old_library(const Modules& modules) {
  support::ByteWriter w;
  w.u64(modules.size() + 1);
  for (const auto& [kind, bytes] : modules) {
    w.string(kind);
    if (kind != "_lib") w.string(bytes);
  }
  w.string("_import_tree");
  write_tree(w, modules.size());
  return library_image("__tvm_dev_mblob", with_length(w));
}

}  // namespace rldb::testing

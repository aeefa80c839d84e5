// Sections and symbols of ELF files.
#include "runtime/plugin/elf_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "rldb/support/cancel.h"

namespace rldb::runtime {

namespace {

// Longer names are cut, so that many symbols over one endless string take no quadratic time.
constexpr std::size_t kMaxName = 4096;

// Copies a record out of the file (which has no alignment), or reports that it is not there.
template <class T>
bool read_at(std::string_view bytes, std::uint64_t at, T& out) {
  if (at > bytes.size() || sizeof(T) > bytes.size() - at) return false;
  std::memcpy(&out, bytes.data() + at, sizeof(T));
  return true;
}

std::string_view name_at(std::string_view strings, std::uint64_t at) {
  const std::string_view rest = strings.substr(at, kMaxName);
  return rest.substr(0, rest.find('\0'));
}

}  // namespace

support::Failure<Error> ElfFile::bad(std::string_view what) const {
  return fail(ErrorKind::BadFile, fmt::format("`{}`: {}", path_, what));
}

Result<ElfFile> ElfFile::open(std::string_view bytes, std::string_view path) {
  ElfFile file(bytes, path);
  Elf64_Ehdr& header = file.header_;
  if (!read_at(bytes, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0)
    return file.bad("not a shared library (no ELF header)");
  if (header.e_type == ET_CORE) return file.bad("the core of a process, which `:attach` opens");
  const int order = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != order ||
      header.e_shentsize != sizeof(Elf64_Shdr))
    return file.bad("a library for another kind of machine");
  if (header.e_type != ET_DYN) return file.bad("an ELF file, but not a shared library");
  return file;
}

bool ElfFile::section(std::uint64_t index, Elf64_Shdr& out) const {
  return index < header_.e_shnum && header_.e_shoff <= bytes_.size() &&
         read_at(bytes_, header_.e_shoff + index * sizeof(Elf64_Shdr), out);
}

std::string_view ElfFile::bytes_of(const Elf64_Shdr& section) const {
  if (section.sh_type == SHT_NOBITS || section.sh_offset > bytes_.size() ||
      section.sh_size > bytes_.size() - section.sh_offset)
    return {};
  return bytes_.substr(section.sh_offset, section.sh_size);
}

Result<support::Unit> ElfFile::each_symbol(const Visit& visit) const {
  for (std::uint64_t i = 0; i < header_.e_shnum; ++i) {
    Elf64_Shdr table;
    Elf64_Shdr string_section;
    if (!section(i, table)) return bad("the section table is damaged");
    if (table.sh_type != SHT_DYNSYM) continue;
    if (!section(table.sh_link, string_section)) return bad("the symbol table is damaged");
    const std::string_view symbols = bytes_of(table);
    const std::string_view strings = bytes_of(string_section);
    Elf64_Sym symbol;
    for (std::uint64_t at = 0; read_at(symbols, at, symbol); at += sizeof symbol) {
      support::poll();
      const int binding = ELF64_ST_BIND(symbol.st_info);
      if ((binding == STB_GLOBAL || binding == STB_WEAK) && symbol.st_name < strings.size())
        visit(symbol, name_at(strings, symbol.st_name));
    }
    return support::Unit{};  // a library has one such table
  }
  return support::Unit{};
}

Result<std::string_view> ElfFile::section_named(std::string_view name) const {
  Elf64_Shdr names, home;
  if (header_.e_shstrndx == SHN_UNDEF) return std::string_view();
  if (!section(header_.e_shstrndx, names)) return bad("the section table is damaged");
  const std::string_view strings = bytes_of(names);
  for (std::uint64_t i = 0; i < header_.e_shnum; ++i) {
    if (!section(i, home)) return bad("the section table is damaged");
    if (home.sh_name < strings.size() && name_at(strings, home.sh_name) == name) return bytes_of(home);
  }
  return std::string_view();
}

std::string_view ElfFile::data_of(const Elf64_Sym& symbol) const {
  Elf64_Shdr home;
  if (symbol.st_shndx >= SHN_LORESERVE || !section(symbol.st_shndx, home)) return {};
  const std::string_view bytes = bytes_of(home);
  if (symbol.st_value < home.sh_addr || symbol.st_value - home.sh_addr >= bytes.size()) return {};
  const std::string_view rest = bytes.substr(symbol.st_value - home.sh_addr);
  return symbol.st_size == 0 ? rest : rest.substr(0, symbol.st_size);
}

}  // namespace rldb::runtime

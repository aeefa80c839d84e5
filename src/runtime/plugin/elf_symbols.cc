// The exported functions of a shared library, read from the file's dynamic symbol table. Every offset is checked.
#include <elf.h>
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "rldb/runtime/plugin.h"

namespace rldb::runtime {

namespace {

constexpr std::string_view kPrefix = "__tvm_ffi_";

// Copies a record out of the file (which has no alignment), or reports that it is not there.
template <class T>
bool read_at(std::string_view bytes, std::uint64_t at, T& out) {
  if (at > bytes.size() || sizeof(T) > bytes.size() - at) return false;
  std::memcpy(&out, bytes.data() + at, sizeof(T));
  return true;
}

std::string_view section_bytes(std::string_view elf, const Elf64_Shdr& section) {
  if (section.sh_offset > elf.size() || section.sh_size > elf.size() - section.sh_offset) return {};
  return elf.substr(section.sh_offset, section.sh_size);
}

bool read_section(std::string_view elf, const Elf64_Ehdr& header, std::uint64_t index, Elf64_Shdr& out) {
  return index < header.e_shnum && header.e_shoff <= elf.size() &&
         read_at(elf, header.e_shoff + index * sizeof(Elf64_Shdr), out);
}

// The name of an exported function of ours, or empty.
std::string plugin_name(const Elf64_Sym& symbol, std::string_view strings) {
  const int binding = ELF64_ST_BIND(symbol.st_info);
  const bool exported = symbol.st_shndx != SHN_UNDEF && (binding == STB_GLOBAL || binding == STB_WEAK);
  if (!exported || ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || symbol.st_name >= strings.size()) {
    return {};
  }
  std::string_view name = strings.substr(symbol.st_name);
  name = name.substr(0, name.find('\0'));
  return name.starts_with(kPrefix) ? std::string(name.substr(kPrefix.size())) : std::string();
}

}  // namespace

Result<std::vector<std::string>> list_plugin_functions(std::string_view elf, std::string_view path) {
  const auto bad = [&](std::string_view what) { return fail(ErrorKind::BadFile, fmt::format("`{}`: {}", path, what)); };
  Elf64_Ehdr header;
  if (!read_at(elf, 0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0) {
    return bad("not a shared library (no ELF header)");
  }
  const int order = std::endian::native == std::endian::little ? ELFDATA2LSB : ELFDATA2MSB;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != order ||
      header.e_shentsize != sizeof(Elf64_Shdr)) {
    return bad("a library for another kind of machine");
  }
  if (header.e_type != ET_DYN) return bad("an ELF file, but not a shared library");

  std::vector<std::string> names;
  for (std::uint64_t i = 0; i < header.e_shnum; ++i) {
    Elf64_Shdr table;
    Elf64_Shdr string_section;
    if (!read_section(elf, header, i, table)) return bad("the section table is damaged");
    if (table.sh_type != SHT_DYNSYM) continue;
    if (!read_section(elf, header, table.sh_link, string_section)) {
      return bad("the symbol table is damaged");
    }
    const std::string_view symbols = section_bytes(elf, table);
    const std::string_view strings = section_bytes(elf, string_section);
    Elf64_Sym symbol;
    for (std::uint64_t at = 0; read_at(symbols, at, symbol); at += sizeof symbol) {
      std::string name = plugin_name(symbol, strings);
      if (!name.empty()) names.push_back(std::move(name));
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace rldb::runtime

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
// Names after the prefix that are not functions for programs.
constexpr std::string_view kMetadata = "_metadata_", kDoc = "_doc_", kLibrary = "_library_";
constexpr std::string_view kImported = "TVMFFI";

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

void sort_names(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

// Sorts a symbol into its list, or ignores it.
void note_symbol(const Elf64_Sym& symbol, std::string_view strings, PluginSymbols& out) {
  const int binding = ELF64_ST_BIND(symbol.st_info);
  if ((binding != STB_GLOBAL && binding != STB_WEAK) || symbol.st_name >= strings.size()) return;
  std::string_view name = strings.substr(symbol.st_name);
  name = name.substr(0, name.find('\0'));
  if (symbol.st_shndx == SHN_UNDEF) {
    if (name.starts_with(kImported)) out.imports.emplace_back(name);
    return;
  }
  if (ELF64_ST_TYPE(symbol.st_info) != STT_FUNC || !name.starts_with(kPrefix)) return;
  name.remove_prefix(kPrefix.size());
  if (name.starts_with(kMetadata))
    out.signatures.emplace_back(name.substr(kMetadata.size()));
  else if (name.starts_with(kDoc))
    out.docs.emplace_back(name.substr(kDoc.size()));
  else if (!name.empty() && !name.starts_with(kLibrary))
    out.functions.emplace_back(name);
}

}  // namespace

bool PluginSymbols::registers() const {
  return std::any_of(imports.begin(), imports.end(),
                     [](std::string_view name) { return name.starts_with("TVMFFIFunctionSetGlobal"); });
}

bool PluginSymbols::uses_objects() const {
  // Plain data need these: errors by text, and the interrupt.
  return std::any_of(imports.begin(), imports.end(), [](std::string_view name) {
    return !name.starts_with("TVMFFIErrorSetRaisedFromCStr") && name != "TVMFFIEnvCheckSignals";
  });
}

Result<PluginSymbols> read_plugin_symbols(std::string_view elf, std::string_view path) {
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

  PluginSymbols out;
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
    for (std::uint64_t at = 0; read_at(symbols, at, symbol); at += sizeof symbol) note_symbol(symbol, strings, out);
  }
  for (auto* names : {&out.functions, &out.signatures, &out.docs, &out.imports}) sort_names(*names);
  return out;
}

Result<std::vector<std::string>> list_plugin_functions(std::string_view elf, std::string_view path) {
  RLDB_TRY(PluginSymbols symbols, read_plugin_symbols(elf, path));
  return std::move(symbols.functions);
}

}  // namespace rldb::runtime

// The exported functions of a shared library, read from the file's dynamic symbol table.
#include <algorithm>

#include "rldb/runtime/library_data.h"
#include "rldb/runtime/plugin.h"
#include "runtime/plugin/elf_file.h"

namespace rldb::runtime {

namespace {

constexpr std::string_view kPrefix = "__tvm_ffi_";
// Names after the prefix that are not functions for programs.
constexpr std::string_view kMetadata = "_metadata_", kDoc = "_doc_", kLibrary = "_library_";
constexpr std::string_view kImported = "TVMFFI";

void sort_names(std::vector<std::string>& names) {
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
}

// Sorts a symbol into its list, or ignores it.
void note_symbol(const Elf64_Sym& symbol, std::string_view name, PluginSymbols& out) {
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
  return std::any_of(imports.begin(), imports.end(), [](std::string_view name) {
    return name.starts_with("TVMFFIFunctionSetGlobal") || name == "TVMFFIEnvModRegisterSystemLibSymbol";
  });
}

bool PluginSymbols::uses_objects() const {
  // Plain data need these: errors by text, and the interrupt.
  return std::any_of(imports.begin(), imports.end(), [](std::string_view name) {
    return !name.starts_with("TVMFFIErrorSetRaisedFromCStr") && name != "TVMFFIEnvCheckSignals" &&
           name != "TVMFFIGetVersion";
  });
}

Result<PluginSymbols> read_plugin_symbols(std::string_view elf, std::string_view path) {
  RLDB_TRY(const ElfFile file, ElfFile::open(elf, path));
  PluginSymbols out;
  RLDB_TRY_VOID(
      file.each_symbol([&](const Elf64_Sym& symbol, std::string_view name) { note_symbol(symbol, name, out); }));
  for (auto* names : {&out.functions, &out.signatures, &out.docs, &out.imports}) sort_names(*names);
  return out;
}

Result<std::vector<std::string>> list_plugin_functions(std::string_view elf, std::string_view path) {
  RLDB_TRY(PluginSymbols symbols, read_plugin_symbols(elf, path));
  return std::move(symbols.functions);
}

bool is_library_file(std::string_view first_bytes) { return first_bytes.starts_with(ELFMAG); }

Result<std::string_view> library_section(std::string_view elf, std::string_view path, std::string_view name) {
  RLDB_TRY(const ElfFile file, ElfFile::open(elf, path));
  return file.section_named(name);
}

Result<std::string_view> library_data(std::string_view elf, std::string_view path, std::string_view name) {
  RLDB_TRY(const ElfFile file, ElfFile::open(elf, path));
  std::string_view found;
  RLDB_TRY_VOID(file.each_symbol([&](const Elf64_Sym& symbol, std::string_view symbol_name) {
    if (found.empty() && symbol_name == name && symbol.st_shndx != SHN_UNDEF) found = file.data_of(symbol);
  }));
  return found;
}

}  // namespace rldb::runtime

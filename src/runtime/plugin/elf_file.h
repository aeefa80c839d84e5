// ELF files of shared libraries: their dynamic symbols and what lies at them. Every offset is checked, and no code of
// the file runs. Room-private.
#pragma once

#include <elf.h>

#include <functional>
#include <string_view>

#include "rldb/runtime/error.h"
#include "rldb/support/result.h"

namespace rldb::runtime {

class ElfFile {
 public:
  // Refers to `bytes`. `path`: for messages.
  static Result<ElfFile> open(std::string_view bytes, std::string_view path);
  using Visit = std::function<void(const Elf64_Sym& symbol, std::string_view name)>;
  // Each dynamic symbol of global or weak binding, imported ones too.
  Result<support::Unit> each_symbol(const Visit& visit) const;
  // The contents of the section of that name; empty: there is none.
  Result<std::string_view> section_named(std::string_view name) const;
  // The data from a symbol's address to its end, or to that of its section if it has no size; empty: not in the file.
  std::string_view data_of(const Elf64_Sym& symbol) const;

 private:
  ElfFile(std::string_view bytes, std::string_view path) : bytes_(bytes), path_(path) {}
  support::Failure<Error> bad(std::string_view what) const;
  bool section(std::uint64_t index, Elf64_Shdr& out) const;
  std::string_view bytes_of(const Elf64_Shdr& section) const;

  std::string_view bytes_;
  std::string_view path_;
  Elf64_Ehdr header_{};
};

}  // namespace rldb::runtime

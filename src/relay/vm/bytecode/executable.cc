#include "rldb/relay/vm/executable.h"

#include <charconv>

namespace rldb::relay_bytecode {

std::span<const Word> Executable::words_of(Pc pc) const {
  const std::size_t i = std::size_t(pc);
  const std::size_t end = i + 1 < offsets.size() ? offsets[i + 1] : words.size();
  return std::span(words).subspan(offsets[i], end - offsets[i]);
}

FunctionIndex Executable::find_function(std::string_view name) const {
  for (std::size_t i = 0; i < functions.size(); ++i)
    if (functions[i].name == name) return FunctionIndex(i);
  return -1;
}

void Executable::add(std::span<const Word> instruction) {
  offsets.push_back(words.size());
  words.insert(words.end(), instruction.begin(), instruction.end());
}

std::optional<Layout> layout_of(std::string_view version) {
  // major.minor.rest: the Relax VM's own version has two parts.
  int major = -1, minor = -1;
  const char* const end = version.data() + version.size();
  const auto first = std::from_chars(version.data(), end, major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return std::nullopt;
  const auto second = std::from_chars(first.ptr + 1, end, minor);
  if (second.ec != std::errc() || second.ptr == end || *second.ptr != '.' || major != 0) return std::nullopt;
  if (minor < 8 || minor > 19) return std::nullopt;
  return minor == 8 ? Layout::A : minor < 14 ? Layout::B : Layout::C;
}

}  // namespace rldb::relay_bytecode

// The generated arguments of a call, in a few lines.
#include "rldb/session/generated.h"

#include <fmt/format.h>

#include <algorithm>

namespace rldb::session {

std::vector<std::string> generated_lines(std::span<const Argument> arguments) {
  constexpr std::size_t kAll = 12, kFirst = 8;  // up to so many are all named, of more the first
  std::vector<const Argument*> generated;
  for (const Argument& a : arguments)
    if (a.generated) generated.push_back(&a);
  const std::size_t named = generated.size() <= kAll ? generated.size() : kFirst;
  std::vector<std::string> lines;
  for (std::size_t i = 0; i < named; ++i)
    lines.push_back(fmt::format("generated {} = {}", generated[i]->parameter, runtime::describe(generated[i]->value)));
  if (named < generated.size())
    lines.push_back(fmt::format("generated {} more, {} to {}", generated.size() - named, generated[named]->parameter,
                                generated.back()->parameter));
  return lines;
}

}  // namespace rldb::session

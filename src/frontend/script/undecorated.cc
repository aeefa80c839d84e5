#include "frontend/script/undecorated.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "rldb/frontend/words.h"
#include "rldb/source/diagnostic_script_function.h"
#include "rldb/support/text.h"

namespace rldb::frontend::script {

namespace {

constexpr std::string_view kModuleDecorator = "I.ir_module";

std::string_view text_of(std::string_view text, source::Span s) { return text.substr(s.begin, s.end - s.begin); }

bool is_name_or_dot(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.';
}

// The last decorator, which decides, as `@T.prim_func`; nullopt: there is none.
std::optional<source::Span> last_decorator(std::string_view text, std::uint32_t begin, source::Span name) {
  std::optional<source::Span> found;
  for (std::uint32_t line = begin; line < name.begin;) {
    const std::size_t first = text.find_first_not_of(" \t", line);
    if (first < name.begin && text[first] == '@') {
      const std::size_t from = text.find_first_not_of(" \t", first + 1);
      std::size_t to = from;
      while (to < name.begin && is_name_or_dot(text[to])) ++to;
      if (to > from) found = {name.file, static_cast<std::uint32_t>(first), static_cast<std::uint32_t>(to)};
    }
    line = static_cast<std::uint32_t>(std::min(text.find('\n', line), text.size() - 1) + 1);
  }
  return found;
}

std::string_view nearest_decorator(std::string_view written, bool of_class) {
  std::vector<std::string_view> candidates;
  for (const std::string_view space : {"I.", "R.", "T."})
    for (const Word& w : words_beginning(space))
      if (w.kind == WordKind::Decorator && (w.name == kModuleDecorator) == of_class)
        candidates.push_back(find_word(w.name)->name);
  return source::nearest(written.substr(std::min(written.find_first_not_of("@ \t"), written.size())), candidates);
}

std::string meant(std::string_view near, std::string_view otherwise) {
  return near.empty() ? std::string(otherwise) : fmt::format("did you mean `@{}`?", near);
}

}  // namespace

Undecorated undecorated_function(std::string_view text, std::uint32_t begin, source::Span name, std::string_view hint) {
  const auto decorator = last_decorator(text, begin, name);
  if (!decorator)
    return {name, source::message(diag::UndecoratedFunction, text_of(text, name)).with_hint(std::string(hint))};
  const std::string_view written = text_of(text, *decorator);
  return {*decorator, source::message(diag::UnknownDecorator, written, text_of(text, name))
                          .with_hint(meant(nearest_decorator(written, false), hint))};
}

std::optional<Undecorated> undecorated_module(std::string_view text, std::uint32_t begin, source::Span name,
                                              std::string_view body) {
  if (body.find('@') == std::string_view::npos) return std::nullopt;
  constexpr std::string_view kHint = "put `@I.ir_module` above it";
  const auto decorator = last_decorator(text, begin, name);
  const std::string_view near = decorator ? nearest_decorator(text_of(text, *decorator), true) : std::string_view();
  if (near.empty())
    return Undecorated{name,
                       source::message(diag::UndecoratedModule, text_of(text, name)).with_hint(std::string(kHint))};
  return Undecorated{*decorator,
                     source::message(diag::UnknownModuleDecorator, text_of(text, *decorator), text_of(text, name))
                         .with_hint(meant(near, kHint))};
}

std::optional<Undecorated> misspelt_function(std::string_view text, std::uint32_t begin, source::Span name) {
  const auto decorator = last_decorator(text, begin, name);
  if (!decorator || nearest_decorator(text_of(text, *decorator), false).empty()) return std::nullopt;
  return undecorated_function(text, begin, name);
}

}  // namespace rldb::frontend::script

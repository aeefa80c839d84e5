// Leaves out errors that follow from another one: from damage, or from a name that is missing once and for all.
#include "frontend/echo.h"

#include <algorithm>
#include <string>
#include <unordered_set>
#include <utility>

#include "rldb/source/diagnostic_script_function.h"
#include "rldb/source/diagnostic_script_name.h"
#include "rldb/source/diagnostic_script_type.h"
#include "rldb/source/diagnostic_syntax.h"

namespace rldb::frontend {

namespace {

using source::DiagId;

// Kinds whose repetition in one function has the same cause.
bool has_one_cause(DiagId id) {
  return id == diag::UnknownName || id == diag::DataflowVarOutside || id == diag::BranchVarOutside ||
         id == diag::NoMember || id == diag::DimNotInt64 || id == diag::SymbolNotBound || id == diag::StringInBody;
}

// Reports of cst/damage.cc about something that cannot be read.
bool is_damage(DiagId id) {
  return id == diag::SyntaxError || id == diag::NeverClosed || id == diag::NeverOpened ||
         id == diag::UnterminatedString || id == diag::KeywordAsName;
}

std::size_t line_of(std::string_view text, const source::Span& span) {
  const std::size_t at = text.substr(0, span.begin).rfind('\n');
  return at == std::string_view::npos ? 0 : at + 1;
}

// Where the outermost function that holds an offset begins; 0: none does.
std::uint32_t function_at(const FunctionRanges& functions, std::uint32_t offset) {
  const auto after = std::upper_bound(functions.begin(), functions.end(), offset,
                                      [](std::uint32_t o, const auto& range) { return o < range.first; });
  return after == functions.begin() || std::prev(after)->second < offset ? 0 : std::prev(after)->first;
}

// `def f(x: R.Tensor((2, 3)` with a bracket missing: whether the header has a parameter of that name.
bool is_parameter_in(std::string_view line, std::string_view word) {
  line = line.substr(0, line.find('\n'));
  if (!line.starts_with("def ")) return false;
  for (std::size_t at = line.find(word); at != std::string_view::npos; at = line.find(word, at + 1)) {
    const std::string_view rest = line.substr(at + word.size());
    if (rest.starts_with(":") && (line[at - 1] == ' ' || line[at - 1] == '(')) return true;
  }
  return false;
}

bool begins_with_name(std::string_view text, std::size_t at, std::string_view word) {
  if (at >= text.size() || !text.substr(at).starts_with(word)) return false;
  const std::string_view rest = text.substr(at + word.size());
  return rest.empty() || rest[0] == ' ' || rest[0] == ':' || rest[0] == '=';
}

// Whether a damaged line of the same function begins with that name, or is a header. Undamaged, it would have bound it.
bool was_to_be_bound(const source::Span& name, const std::unordered_set<std::size_t>& damaged,
                     const FunctionRanges& functions, std::string_view text) {
  const std::string_view word = text.substr(name.begin, name.end - name.begin);
  const std::uint32_t function = function_at(functions, name.begin);
  return std::any_of(damaged.begin(), damaged.end(), [&](std::size_t line) {
    if (line > name.begin || function_at(functions, static_cast<std::uint32_t>(line)) != function) return false;
    const std::size_t first = text.find_first_not_of(" \t", line);
    if (first == std::string_view::npos) return false;
    if (is_parameter_in(text.substr(first), word)) return true;
    // A line that is not complete may have taken in the next one.
    const std::size_t next = text.find('\n', first);
    return begins_with_name(text, first, word) ||
           (next != std::string_view::npos && begins_with_name(text, text.find_first_not_of(" \t", next + 1), word));
  });
}

// The line above is a decorator, which was absorbed by damage before it.
bool has_decorator_above(std::string_view text, std::size_t at) {
  const std::size_t line = text.substr(0, at).rfind('\n');
  if (line == std::string_view::npos) return false;
  const std::size_t above = text.substr(0, line).rfind('\n');
  const std::string_view decorator = text.substr(above == std::string_view::npos ? 0 : above + 1, line - above - 1);
  const std::size_t first = decorator.find_first_not_of(" \t");
  return first != std::string_view::npos && decorator[first] == '@';
}

}  // namespace

bool is_syntax(DiagId id) {
  return is_damage(id) || id == diag::WrongCloser || id == diag::MissingColon || id == diag::MissingBody ||
         id == diag::UnexpectedIndent || id == diag::MixedIndent || id == diag::AssignedCondition ||
         id == diag::NestedTooDeepText;
}

FunctionRanges functions_of(const cst::Tree& tree) {
  FunctionRanges out;
  for (const cst::NodeRow& row : tree.rows) {
    if (row.kind != cst::Kind::RelaxFunction && row.kind != cst::Kind::PrimFunc) continue;
    if (out.empty() || row.begin >= out.back().second) out.emplace_back(row.begin, row.end);
  }
  return out;
}

void add_without_echoes(std::vector<source::Diagnostic> from, const FunctionRanges& functions, std::string_view text,
                        source::Diagnostics& to) {
  std::stable_sort(from.begin(), from.end(), [](const source::Diagnostic& a, const source::Diagnostic& b) {
    return a.span.begin < b.span.begin;
  });
  std::unordered_set<std::string> said;
  std::unordered_set<std::size_t> damaged;
  std::unordered_set<std::uint32_t> damaged_functions;
  for (const source::Diagnostic& d : from) {
    if (is_damage(d.id)) damaged.insert(line_of(text, d.span));
    if (is_damage(d.id) || d.id == diag::MissingBody || d.id == diag::UnexpectedIndent)
      damaged_functions.insert(function_at(functions, d.span.begin));
  }
  source::Span last;  // of the last error
  for (source::Diagnostic& d : from) {
    if (d.severity == source::Severity::Error && d.span && d.span == std::exchange(last, d.span)) continue;
    if (!is_damage(d.id) && damaged.count(line_of(text, d.span)) > 0) continue;
    // The missing name may be in the damage.
    if (d.id == diag::NoReturn && damaged_functions.count(function_at(functions, d.span.begin)) > 0) continue;
    if (d.id == diag::UndecoratedFunction && !damaged.empty() && has_decorator_above(text, d.span.begin)) continue;
    if (d.id == diag::UnknownName && was_to_be_bound(d.span, damaged, functions, text)) continue;
    if (has_one_cause(d.id) &&
        !said.insert(std::to_string(function_at(functions, d.span.begin)) + ":" + d.message).second)
      continue;
    to.add(std::move(d));
  }
}

}  // namespace rldb::frontend

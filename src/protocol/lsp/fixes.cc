// Edits by the kind of the diagnostic and the words of its hint.
#include "protocol/lsp/fixes.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "rldb/source/diagnostic_script_call.h"
#include "rldb/source/diagnostic_script_name.h"
#include "rldb/source/diagnostic_script_relax.h"
#include "rldb/source/diagnostic_script_type.h"
#include "rldb/source/diagnostic_syntax.h"
#include "rldb/source/diagnostic_verify.h"

namespace rldb::protocol::lsp {

using frontend::TextRange;

namespace {

constexpr std::string_view kMeant = "did you mean ";

bool is_name_char(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || (c & 0x80) != 0; }

// The parts between backticks.
std::vector<std::string_view> quoted_parts(std::string_view text) {
  std::vector<std::string_view> out;
  while (true) {
    const std::size_t begin = text.find('`');
    const std::size_t end = begin == std::string_view::npos ? begin : text.find('`', begin + 1);
    if (end == std::string_view::npos) return out;
    out.push_back(text.substr(begin + 1, end - begin - 1));
    text.remove_prefix(end + 1);
  }
}

// The word that a hint proposes: `X` or "X" after its question.
std::string proposed(std::string_view hint) {
  const std::size_t at = hint.find(kMeant);
  if (at == std::string_view::npos) return {};
  hint.remove_prefix(at + kMeant.size());
  const std::size_t begin = hint.find_first_of("`\"");
  if (begin == std::string_view::npos) return {};
  const std::size_t end = hint.find(hint[begin], begin + 1);
  return end == std::string_view::npos ? std::string() : std::string(hint.substr(begin + 1, end - begin - 1));
}

// `word` as a whole word within the range.
std::optional<TextRange> find_word_in(std::string_view text, TextRange range, std::string_view word) {
  if (word.empty()) return std::nullopt;
  for (std::size_t at = text.find(word, range.begin); at != std::string_view::npos && at + word.size() <= range.end;
       at = text.find(word, at + 1)) {
    const bool left = at == 0 || !is_name_char(text[at - 1]) || !is_name_char(word.front());
    const std::size_t end = at + word.size();
    const bool right = end >= text.size() || !is_name_char(text[end]) || !is_name_char(word.back());
    if (left && right) return TextRange{static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(end)};
  }
  return std::nullopt;
}

struct FixMaker {
  TextFile& file;
  const source::Diagnostic& d;
  std::string_view text;
  TextRange at;
  std::vector<Fix> out;

  FixMaker(TextFile& f, const source::Diagnostic& diagnostic)
      : file(f), d(diagnostic), text(f.text()), at{diagnostic.span.begin, diagnostic.span.end} {}

  std::string_view there() const { return text.substr(at.begin, at.end - at.begin); }
  std::uint32_t line_begin(std::uint32_t offset) const {
    const std::size_t line = text.substr(0, offset).rfind('\n');
    return line == std::string_view::npos ? 0 : static_cast<std::uint32_t>(line + 1);
  }
  std::uint32_t line_end(std::uint32_t offset) const {
    return static_cast<std::uint32_t>(std::min(text.find('\n', offset), text.size()));
  }
  std::string indent_of(std::uint32_t line) const {
    std::size_t end = line;
    while (end < text.size() && (text[end] == ' ' || text[end] == '\t')) ++end;
    return std::string(text.substr(line, end - line));
  }
  void offer(std::string title, std::vector<FixEdit> edits) { out.push_back({std::move(title), std::move(edits)}); }

  // The misspelt word is in the message, and somewhere in the range.
  void replace_by_meant() {
    const std::string word = proposed(d.hint);
    if (word.empty()) return;
    std::vector<std::string_view> candidates = quoted_parts(d.message);
    for (std::size_t begin = d.message.find('"'); begin != std::string::npos; begin = d.message.find('"', begin + 1)) {
      const std::size_t end = d.message.find('"', begin + 1);
      if (end == std::string::npos) break;
      candidates.push_back(std::string_view(d.message).substr(begin + 1, end - begin - 1));
      begin = end;
    }
    std::reverse(candidates.begin(), candidates.end());
    for (std::string_view c : candidates) {
      // `R.ad` where the text says `relax.ad`: only the last parts are compared.
      std::string meant = word;
      auto place = find_word_in(text, at, c);
      if (!place && c.find('.') != std::string_view::npos) {
        c = c.substr(c.find('.') + 1);
        if (meant.starts_with("R.") || meant.starts_with("T.") || meant.starts_with("I.")) meant = meant.substr(2);
        place = find_word_in(text, at, c);
      } else if (place && c.find('.') == std::string_view::npos && meant.find('.') != std::string::npos) {
        const bool after_dot = place->begin > 0 && text[place->begin - 1] == '.';
        if (after_dot && meant.size() > 2 && meant[1] == '.') meant = meant.substr(2);
      }
      if (!place || c == meant) continue;
      offer(fmt::format("Replace by `{}`", meant), {{*place, meant}});
      return;
    }
  }

  void put_above() {
    if (!d.hint.starts_with("put `")) return;
    const std::uint32_t line = line_begin(at.begin);
    for (const std::string_view part : quoted_parts(d.hint))
      if (part.starts_with('@'))
        offer(fmt::format("Put `{}` above it", part), {{{line, line}, indent_of(line) + std::string(part) + "\n"}});
  }

  // The first statement of the function around the place.
  std::optional<std::uint32_t> body_line() const {
    const frontend::TextIndex& index = file.index();
    const std::uint32_t function = index.function_at(at.begin);
    if (function == frontend::kNoName) return std::nullopt;
    int depth = 0;
    for (std::size_t i = index.definitions()[function].at.end; i < text.size(); ++i) {
      if (text[i] == '(' || text[i] == '[') ++depth;
      if (text[i] == ')' || text[i] == ']') --depth;
      if (text[i] == ':' && depth == 0) {
        const std::uint32_t end = line_end(static_cast<std::uint32_t>(i));
        return end < text.size() ? std::optional(end + 1) : std::nullopt;
      }
    }
    return std::nullopt;
  }

  void declare_symbol(std::string_view name, bool quoted) {
    const auto line = body_line();
    if (!line || name.empty()) return;
    std::vector<FixEdit> edits{{{*line, *line}, fmt::format("{}{} = T.int64()\n", indent_of(*line), name)}};
    if (quoted) edits.push_back({at, std::string(name)});
    offer(fmt::format("Declare `{} = T.int64()`", name), std::move(edits));
  }

  void by_kind() {
    if (d.id == diag::MissingColon) {
      std::uint32_t end = line_end(at.begin);
      while (end > 0 && std::isspace(static_cast<unsigned char>(text[end - 1]))) --end;
      offer("Add `:`", {{{end, end}, ":"}});
    } else if (d.id == diag::AssignedCondition) {
      for (std::uint32_t i = at.begin; i < line_end(at.begin); ++i)
        if (text[i] == '=') return offer("Write `==`", {{{i, i + 1}, "=="}});
    } else if (d.id == diag::DTypeAsShape) {
      for (const std::string_view part : quoted_parts(d.hint))
        offer(fmt::format("Write `{}`", part), {{at, std::string(part)}});
    } else if (d.id == diag::StringInBody) {
      std::string_view name = there();
      while (!name.empty() && (name.front() == '"' || name.front() == '\'')) name.remove_prefix(1);
      while (!name.empty() && (name.back() == '"' || name.back() == '\'')) name.remove_suffix(1);
      if (std::all_of(name.begin(), name.end(), is_name_char)) declare_symbol(name, true);
    } else if (d.id == diag::ImplicitDimension) {
      declare_symbol(there(), false);
    } else if (d.id == diag::AnnotationMismatch) {
      fix_annotation();
    } else if (d.id == diag::ValueNotUsed) {
      offer("Bind it to a name", {{{at.begin, at.begin}, "lv = "}});
    } else if (d.id == diag::NdimContradictsShape) {
      drop_keyword("ndim");
    } else if (d.id == diag::DataflowVarOutside || d.id == diag::VerifyDataflowEscape) {
      add_output();
    } else if (d.id == diag::VerifyImpureInPure) {
      mark_impure();
    }
  }

  // `x` is annotated `A` but its value has type `B`
  void fix_annotation() {
    const std::vector<std::string_view> parts = quoted_parts(d.message);
    const std::uint32_t line = line_begin(at.begin);
    if (parts.size() < 3) return;
    const auto name = find_word_in(text, {line, line_end(at.begin)}, parts[0]);
    if (!name) return;
    std::uint32_t begin = name->end, end = begin;
    while (begin < text.size() && text[begin] == ' ') ++begin;
    if (begin >= text.size() || text[begin] != ':') return;
    int depth = 0;
    for (end = begin; end < text.size(); ++end) {
      if (text[end] == '(' || text[end] == '[') ++depth;
      if (text[end] == ')' || text[end] == ']') --depth;
      if (depth == 0 && text[end] == '=') break;
      if (depth == 0 && text[end] == '\n') return;
    }
    while (end > begin && text[end - 1] == ' ') --end;
    offer(fmt::format("Annotate it `{}`", parts[2]), {{{begin, end}, fmt::format(": {}", parts[2])}});
    offer("Drop the annotation", {{{name->end, end}, ""}});
  }

  void drop_keyword(std::string_view keyword) {
    const std::uint32_t end = line_end(at.begin), line = line_begin(at.begin);
    const auto word = find_word_in(text, {line, end}, keyword);
    if (!word) return;
    std::uint32_t to = word->end;
    while (to < end && text[to] != ',' && text[to] != ')') ++to;
    std::uint32_t from = word->begin;
    while (from > line && (text[from - 1] == ' ' || text[from - 1] == ',')) --from;
    offer(fmt::format("Drop `{}`", keyword), {{{from, to}, ""}});
  }

  // To the R.output before the place.
  void add_output() {
    const std::vector<std::string_view> names = quoted_parts(d.message);
    const std::size_t output = text.substr(0, at.begin).rfind(".output(");
    if (names.empty() || output == std::string_view::npos) return;
    const std::size_t close = text.find(')', output);
    if (close == std::string_view::npos) return;
    const auto end = static_cast<std::uint32_t>(close);
    const bool empty = text[close - 1] == '(';
    offer(fmt::format("Add `{}` to `R.output`", names[0]),
          {{{end, end}, empty ? std::string(names[0]) : fmt::format(", {}", names[0])}});
  }

  void mark_impure() {
    const std::size_t decorator = text.substr(0, at.begin).rfind("@R.function");
    if (decorator == std::string_view::npos) return;
    const auto end = static_cast<std::uint32_t>(decorator + std::string_view("@R.function").size());
    if (text.substr(end, 2) == "()")
      offer("Mark the function impure", {{{end, end + 2}, "(pure=False)"}});
    else if (text.substr(end, 1) == "(")
      offer("Mark the function impure", {{{end + 1, end + 1}, "pure=False, "}});
    else
      offer("Mark the function impure", {{{end, end}, "(pure=False)"}});
  }
};

}  // namespace

std::vector<Fix> fixes_of(TextFile& file, const source::Diagnostic& diagnostic) {
  if (!(diagnostic.span.file == file.file())) return {};
  FixMaker maker(file, diagnostic);
  maker.replace_by_meant();
  maker.put_above();
  maker.by_kind();
  return std::move(maker.out);
}

std::string with_edits(std::string_view text, const std::vector<FixEdit>& edits) {
  std::string out;
  std::size_t at = 0;
  for (const FixEdit& e : edits) {
    out.append(text.substr(at, e.at.begin - at)).append(e.text);
    at = e.at.end;
  }
  return out.append(text.substr(at));
}

}  // namespace rldb::protocol::lsp

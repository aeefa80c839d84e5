// Entries of a session and their outputs as parts of a page.
#include "rldb/ui/prompt/session_page.h"

#include <fmt/format.h>

#include <algorithm>

#include "rldb/support/cancel.h"
#include "rldb/support/text.h"
#include "rldb/ui/render/page.h"

namespace rldb::ui {

namespace {

constexpr std::string_view kArrow = "=&gt;";  // marks the current line on a page

std::string without_spans(std::string_view html) {
  std::string text;
  for (bool tag = false; const char c : html) {
    if (c == '<') tag = true;
    if (!tag) text += c;
    if (c == '>') tag = false;
  }
  return text;
}

std::string source_html(const std::string& text) {
  std::vector<std::string> lines = script_lines(text);
  for (std::string& line : lines)
    if (without_spans(line).starts_with(kArrow)) line = "<span class=\"now\">" + line + "</span>";
  return block_of(lines, "stop");
}

std::string diff_html(const OutputPiece& piece) {
  const std::string table = diff_table(piece.hunks, piece.before_name, piece.after_name);
  constexpr std::size_t kShort = 60;
  std::size_t lines = 0;
  for (const DiffHunk& hunk : piece.hunks) lines += hunk.lines.size();
  return folded(fmt::format("{} vs {} {}", html_text(piece.before_name), html_text(piece.after_name),
                            diff_count_html(count_diff(piece.hunks))),
                table, lines <= kShort);
}

class SessionPage {
 public:
  std::string body(const SessionRecord& record, std::string_view program, std::string_view made) {
    std::size_t shown = 0, failed = 0;
    std::string entries;
    for (const RecordedEntry& e : record.entries()) {
      if (!e.ended) continue;
      support::poll();
      ++shown;
      failed += e.failed;
      entries += entry(e, shown);
    }
    const std::string of_program = program.empty() ? "no program" : "program <code>" + html_text(program) + "</code>";
    std::string out =
        fmt::format("<h1>rldb session</h1>\n<p class=\"facts\">{}, {}", of_program, support::counted(shown, "entry"));
    if (failed > 0) out += fmt::format(", <span class=\"bad\">{} failed</span>", failed);
    out += fmt::format("<br/>{}</p>\n", html_text(made)) + entries;
    if (record.full())
      out += "<p class=\"note\">The session continued; later entries exceed the size limit of the record.</p>\n";
    return out;
  }

 private:
  std::string entry(const RecordedEntry& e, std::size_t number) {
    std::string out = fmt::format("<section class=\"entry{}\" id=\"e{}\">\n", e.failed ? " failed" : "", number);
    const std::vector<std::string> lines = e.text.starts_with(':') ? plain_lines(e.text) : script_lines(e.text);
    out += "<pre class=\"in\"><span class=\"prompt\">" + html_text(e.prompt) + "</span>" + lines[0] + "</pre>\n";
    if (lines.size() > 1) out += block_of({lines.begin() + 1, lines.end()}, "more");
    for (const OutputPiece& piece : e.pieces) out += piece_html(piece, ++pieces_);
    return out + "</section>\n";
  }

  std::size_t pieces_ = 0;
};

}  // namespace

std::string piece_html(const OutputPiece& piece, std::size_t number) {
  switch (piece.kind) {
    case OutputKind::Text:
      return block_of(plain_lines(without_colors(piece.text)), "out");
    case OutputKind::Error:
      return block_of(plain_lines(without_colors(piece.text)), "err");
    case OutputKind::Script:
      return block_of(script_lines(without_colors(piece.text)), "out");
    case OutputKind::Source:
      return source_html(without_colors(piece.text));
    case OutputKind::Diff:
      return diff_html(piece);
    case OutputKind::Picture:
      return figure(piece.text, number);
    case OutputKind::Value:
      return piece.text;
  }
  return {};
}

std::size_t ended_entries(const SessionRecord& record) {
  return std::size_t(
      std::count_if(record.entries().begin(), record.entries().end(), [](const RecordedEntry& e) { return e.ended; }));
}

std::string session_page(const SessionRecord& record, std::string_view program, std::string_view made) {
  return page(program.empty() ? "rldb session" : fmt::format("rldb session: {}", program),
              SessionPage().body(record, program, made));
}

}  // namespace rldb::ui

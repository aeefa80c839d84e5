// A diff as a table: one row per pair of lines.
#include <fmt/format.h>

#include "rldb/support/cancel.h"
#include "rldb/ui/render/page.h"
#include "ui/render/diff_rows.h"

namespace rldb::ui {

namespace {

std::string marked(const DiffSide& side) {
  const std::string_view text = side.line->text;
  std::string out;
  std::size_t at = 0;
  for (const ByteRange& r : side.changed) {
    out += html_text(text.substr(at, r.begin - at));
    out += "<mark>" + html_text(text.substr(r.begin, r.end - r.begin)) + "</mark>";
    at = r.end;
  }
  return out + html_text(text.substr(at));
}

std::string cells(const DiffSide& side, bool is_left) {
  const char* where = is_left ? "" : " right";
  if (!side.line) return fmt::format("<td class=\"no none{0}\"></td><td class=\"none{0}\"></td>", where);
  const DiffLine& line = *side.line;
  const char* kind = line.mark == '-' ? "del" : line.mark == '+' ? "add" : "both";
  return fmt::format("<td class=\"no{}\">{}</td><td class=\"{}{}\">{}</td>", where,
                     (is_left ? line.before : line.after) + 1, kind, where, marked(side));
}

}  // namespace

std::string diff_count_html(const DiffCount& count) {
  return fmt::format("<span class=\"added\">+{}</span> <span class=\"removed\">-{}</span>", count.added, count.removed);
}

std::string diff_table(const std::vector<DiffHunk>& hunks, std::string_view before_name, std::string_view after_name,
                       std::size_t most_rows) {
  if (hunks.empty()) return "<p class=\"note\">no difference</p>\n";
  std::string out = fmt::format(
      "<table class=\"diff\"><colgroup><col class=\"no\"/><col/><col class=\"no\"/><col/></colgroup>\n"
      "<thead><tr><th colspan=\"2\">{}</th><th colspan=\"2\">{}</th></tr></thead>\n<tbody>\n",
      html_text(before_name), html_text(after_name));
  std::size_t shown = 0, left = 0;
  for (const DiffHunk& hunk : hunks) {
    if (shown >= most_rows) {
      left += hunk.lines.size();
      continue;
    }
    support::poll();
    out += fmt::format("<tr><td class=\"hunk\" colspan=\"4\">{}</td></tr>\n", hunk.head());
    for (const DiffRow& row : diff_rows(hunk)) {
      if (shown++ >= most_rows) {
        ++left;
        continue;
      }
      const bool same = row.left.line && row.left.line == row.right.line;
      out += fmt::format("<tr{}>{}{}</tr>\n", same ? " class=\"same\"" : "", cells(row.left, true),
                         cells(row.right, false));
    }
  }
  out += "</tbody></table>\n";
  if (left > 0) out += fmt::format("<p class=\"note\">{} more lines are not shown here.</p>\n", left);
  return out;
}

}  // namespace rldb::ui

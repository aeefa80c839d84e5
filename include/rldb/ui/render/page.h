// Pages: self-contained HTML: no scripts, no files, light and dark, readable when printed. Everything that comes from a
// program's text goes through `html_text`. Users: `:html`, `rldb opt --html`.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "rldb/ui/render/text_diff.h"

namespace rldb::ui {

// Text as HTML. Line breaks and tabs stay; other control characters become their pictures (U+2400 and on), bytes that
// are not UTF-8 the replacement character.
std::string html_text(std::string_view text);
// Removes the escape sequences that colour a terminal.
std::string without_colors(std::string_view text);

// The whole document around `body`, which is HTML. `title` is plain text.
std::string page(std::string_view title, const std::string& body);

// `body` as a part of somebody else's document, with its style: the output of a cell of a notebook.
std::string page_fragment(const std::string& body);

// `Made by rldb 0.1.0 on 2026-01-31 12:00.`
std::string made_by();

// TVMScript, highlighted, as HTML line by line.
std::vector<std::string> script_lines(std::string_view text);
std::vector<std::string> plain_lines(std::string_view text);

// Lines as one `<pre>`; if there are more than `most`, the rest is folded away after the first ones.
std::string block_of(const std::vector<std::string>& lines, std::string_view css_class, std::size_t most = 40);
// Folded: `summary` and `body` are HTML.
std::string folded(const std::string& summary, const std::string& body, bool open = false);

// Both sides with line numbers, changed words marked. Up to a maximum number of rows; the rest are counted.
std::string diff_table(const std::vector<DiffHunk>& hunks, std::string_view before_name, std::string_view after_name,
                       std::size_t most_rows = 2000);
std::string diff_count_html(const DiffCount& count);

// An SVG file as part of a page. `number` keeps its ids distinct from those of other pictures.
std::string figure(std::string_view svg, std::size_t number);

}  // namespace rldb::ui

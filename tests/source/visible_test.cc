// Foreign text on a terminal: no diagnostic lets it be obeyed.
#include "rldb/source/visible.h"

#include <doctest/doctest.h>
#include <fmt/args.h>

#include <string>

#include "rldb/source/diagnostic.h"

using namespace rldb::source;

namespace {

// Sets a title, clears the screen, moves, rings, deletes; the same in C1 and in bare bytes; turns the direction.
const std::string kHostile =
    "a\x1b]0;PWNED\x07\x1b[31mRED\x1b[2J\x1b[8mhidden\rback\b\x7f\xc2\x9b[2J\xc2\x90q\xc2\x9c\x9b["
    "2J\xe2\x80\xae\xe2\x81\xa6z";

bool harmless(std::string_view text) {
  for (std::size_t i = 0; i < text.size(); ++i) {
    const auto c = static_cast<unsigned char>(text[i]);
    if ((c < 0x20 && c != '\n') || c == 0x7F) return false;
    if (c == 0xC2 && i + 1 < text.size() && static_cast<unsigned char>(text[i + 1]) < 0xA0) return false;
  }
  return text.find("\xe2\x80\xae") == std::string_view::npos && text.find("\xe2\x81\xa6") == std::string_view::npos &&
         text.find("\xc2\x9b") == std::string_view::npos;
}

}  // namespace

TEST_CASE("what a terminal would obey is shown as an escape") {
  CHECK(visible("plain text\n\tand a line") == "plain text\n\tand a line");
  CHECK(visible("gr\xc3\xbc\xc3\x9f\x65 \xe4\xb8\xad") == "gr\xc3\xbc\xc3\x9f\x65 \xe4\xb8\xad");
  CHECK(visible("\x1b[2J") == "\\x1b[2J");
  CHECK(visible("\xc2\x9b"
                "2J \x9b"
                "2J \x7f") == "\\u009b2J \\x9b2J \\u007f");
  CHECK(visible("\xe2\x80\xae") == "\\u202e");
  CHECK(visible("a\nb\tc", {.line_breaks = false}) == "a\\x0ab\\x09c");
  CHECK(visible("a\r\nb\rc") == "a\r\nb\\x0dc");
  CHECK(visible("\x1b[1;31mred\x1b[0m\x1b[8mgone\x1b[2J", {.colours = true}) ==
        "\x1b[1;31mred\x1b[0m\\x1b[8mgone\\x1b[2J");
  CHECK(visible("\x1b[1;31m") == "\\x1b[1;31m");
  CHECK(harmless(visible(kHostile)));
}

TEST_CASE("no argument of a diagnostic reaches the terminal as it is") {
  SourceManager sources;
  const FileId file = sources.add("evil" + kHostile + ".py", "x = 1  # " + kHostile + "\n");
  for (const DiagRow* row : all_diagnostics()) {
    CAPTURE(row->name);
    fmt::dynamic_format_arg_store<fmt::format_context> args;
    for (std::size_t i = 0; i <= row->text.size(); ++i) args.push_back(kHostile);
    Message m;
    m.id = *row;
    m.text = format_text(*row, args);
    CHECK((row->text.find('{') == std::string_view::npos || m.text.find("PWNED") != std::string::npos));
    m.hint = kHostile;
    m.notes.push_back({Span{file, 0, 5}, kHostile});
    const Diagnostic d = at(Span{file, 0, 12}, std::move(m));
    CHECK(harmless(render(d, sources)));
    RenderOptions colour;
    colour.color = true;
    std::string text = render(d, sources, colour);
    for (const std::string_view ours : {"\x1b[0m", "\x1b[1m", "\x1b[1;31m", "\x1b[1;33m", "\x1b[1;36m", "\x1b[1;32m"})
      for (auto i = text.find(ours); i != std::string::npos; i = text.find(ours)) text.erase(i, ours.size());
    CHECK(harmless(text));
  }
}

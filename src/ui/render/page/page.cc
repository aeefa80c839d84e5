// The building blocks of pages: escaped text, highlighted lines, folded blocks, pictures.
#include "rldb/ui/render/page.h"

#include <fmt/format.h>
#include <utf8proc.h>

#include <array>
#include <ctime>

#include "rldb/frontend/parse.h"
#include "rldb/ui/render/version.h"
#include "rldb/ui/terminal/characters.h"
#include "ui/render/page/style.h"

namespace rldb::ui {

namespace {

constexpr utf8proc_int32_t kControlPictures = 0x2400, kDeletePicture = 0x2421, kReplacement = 0xFFFD;

void put(std::string& out, utf8proc_int32_t character) {
  std::array<utf8proc_uint8_t, 4> bytes{};
  const auto n = utf8proc_encode_char(character, bytes.data());
  out.append(reinterpret_cast<const char*>(bytes.data()), std::size_t(n));
}

void put_text(std::string& out, utf8proc_int32_t character) {
  switch (character) {
    case '&':
      out += "&amp;";
      return;
    case '<':
      out += "&lt;";
      return;
    case '>':
      out += "&gt;";
      return;
    case '"':
      out += "&quot;";
      return;
    case '\'':
      out += "&#39;";
      return;
    case '\n':
    case '\t':
      out += char(character);
      return;
    case 0x7F:
      return put(out, kDeletePicture);
  }
  const bool c1 = character >= 0x80 && character < 0xA0;
  put(out, c1 ? kReplacement : character < 0x20 ? kControlPictures + character : character);
}

// Classes of the style sheet for the grammar's highlight captures, by prefix.
struct Paint {
  std::string_view capture;
  char css_class;
};
constexpr Paint kPaints[] = {{"comment", 'c'}, {"string", 's'}, {"number", 'n'},   {"constant", 'n'},
                             {"keyword", 'k'}, {"type", 't'},   {"function", 'f'}, {"attribute", 'f'}};

char class_of(std::string_view capture) {
  for (const Paint& p : kPaints)
    if (capture.starts_with(p.capture)) return p.css_class;
  return '\0';
}

// Appends text of one colour to the last line; each line has its own spans.
void put_span(std::vector<std::string>& lines, std::string_view text, char css_class) {
  while (true) {
    const auto end = text.find('\n');
    const std::string_view part = text.substr(0, end);
    if (!part.empty())
      lines.back() +=
          css_class ? fmt::format("<span class=\"{}\">{}</span>", css_class, html_text(part)) : html_text(part);
    if (end == std::string_view::npos) return;
    lines.emplace_back();
    text.remove_prefix(end + 1);
  }
}

std::string join(const std::vector<std::string>& lines, std::size_t begin, std::size_t end) {
  std::string text;
  for (std::size_t i = begin; i < end; ++i) text += lines[i] + (i + 1 < end ? "\n" : "");
  return text;
}

}  // namespace

std::string html_text(std::string_view text) {
  std::string out;
  out.reserve(text.size() + text.size() / 8);
  while (!text.empty()) {
    std::int32_t character = 0;
    const std::size_t length = decode(text, character);
    put_text(out, length == 1 && character >= 0x80 ? kReplacement : character);
    text.remove_prefix(length);
  }
  return out;
}

std::string without_colors(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    if (text.substr(i).starts_with("\033[")) {
      end = i + 2;
      while (end < text.size() && (text[end] == ';' || (text[end] >= '0' && text[end] <= '9'))) ++end;
    }
    if (end > i && end < text.size() && text[end] == 'm')
      i = end + 1;
    else
      out += text[i++];
  }
  return out;
}

std::string page(std::string_view title, const std::string& body) {
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\"/>\n"
      "<title>{}</title>\n<style>{}</style>\n</head>\n<body>\n{}</body>\n</html>\n",
      html_text(title), page_style(), body);
}

std::string page_fragment(const std::string& body) {
  constexpr std::string_view kClass = "rldb-output";
  return fmt::format("<style>{}</style><div class=\"{}\">{}</div>", part_style(kClass), kClass, body);
}

std::string made_by() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  ::localtime_r(&now, &local);
  std::array<char, 64> text{};
  const std::size_t n = std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M", &local);
  return fmt::format("Made by rldb {} on {}.", kVersion, std::string_view(text.data(), n));
}

std::vector<std::string> script_lines(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  std::vector<std::string> lines(1);
  std::size_t at = 0;
  for (const frontend::Highlight& h : frontend::highlight(text)) {
    const char css_class = class_of(h.capture);
    if (!css_class) continue;
    put_span(lines, text.substr(at, h.begin - at), '\0');
    put_span(lines, text.substr(h.begin, h.end - h.begin), css_class);
    at = h.end;
  }
  put_span(lines, text.substr(at), '\0');
  return lines;
}

std::vector<std::string> plain_lines(std::string_view text) {
  if (text.ends_with('\n')) text.remove_suffix(1);
  std::vector<std::string> lines(1);
  put_span(lines, text, '\0');
  return lines;
}

std::string folded(const std::string& summary, const std::string& body, bool open) {
  return fmt::format("<details{}><summary>{}</summary>\n{}</details>\n", open ? " open=\"open\"" : "", summary, body);
}

std::string block_of(const std::vector<std::string>& lines, std::string_view css_class, std::size_t most) {
  // A few extra lines are shown too: folding them away would save nothing.
  const std::size_t shown = lines.size() <= most + most / 4 ? lines.size() : most;
  const auto pre = [&](std::size_t begin, std::size_t end) {
    return fmt::format("<pre class=\"{}\">{}</pre>\n", css_class, join(lines, begin, end));
  };
  if (shown == lines.size()) return pre(0, shown);
  return pre(0, shown) + folded(fmt::format("{} more lines", lines.size() - shown), pre(shown, lines.size()));
}

std::string figure(std::string_view svg, std::size_t number) {
  std::string text(svg);
  const auto replace_all = [&](std::string_view from, const std::string& to) {
    for (std::size_t at = 0; (at = text.find(from, at)) != std::string::npos; at += to.size())
      text.replace(at, from.size(), to);
  };
  constexpr std::string_view kSpace = " xmlns=\"http://www.w3.org/2000/svg\"";
  if (const auto at = text.find(kSpace); at != std::string::npos) text.erase(at, kSpace.size());
  replace_all("id=\"head\"", fmt::format("id=\"head{}\"", number));
  replace_all("url(#head)", fmt::format("url(#head{})", number));
  return "<figure>\n" + text + "</figure>\n";
}

}  // namespace rldb::ui

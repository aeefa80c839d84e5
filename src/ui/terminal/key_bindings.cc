// KeyBindings: the default keys of each mode, key names to bytes and back.
#include "rldb/ui/terminal/key_bindings.h"

#include <fmt/format.h>

#include "rldb/support/text.h"

namespace rldb::ui {

const std::vector<KeyFunctionRow>& key_functions() {
  static const std::vector<KeyFunctionRow> rows{
#define RLDB_KEY_FUNCTION(id, name, emacs, vi_insert, vi_command, flags, doc) \
  {KeyFunction::id, name, {emacs, vi_insert, vi_command}, flags, doc},
#include "rldb/ui/terminal/key_function.def"
  };
  return rows;
}

const KeyFunctionRow* row_of(KeyFunction function) {
  constexpr std::size_t kFirst = std::size_t(KeyFunction::DoNothing) + 1;
  const auto i = std::size_t(function);
  return i < kFirst ? nullptr : &key_functions()[i - kFirst];
}

namespace {

std::vector<std::string_view> words(std::string_view text) {
  std::vector<std::string_view> out;
  while (!(text = support::trim(text)).empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    out.push_back(word);
    text.remove_prefix(word.size());
  }
  return out;
}

char control(char c) { return c == '?' ? '\x7F' : char(c & 0x1F); }

int digit(char c, int base) {
  const int value = c >= '0' && c <= '9'   ? c - '0'
                    : c >= 'a' && c <= 'f' ? c - 'a' + 10
                    : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                           : 99;
  return value < base ? value : -1;
}

// `\x41`, `\101`: the byte, and the spelling after it.
char numbered(std::string_view& rest, int base, std::size_t most) {
  int value = 0;
  for (std::size_t i = 0; i < most && !rest.empty() && digit(rest[0], base) >= 0; ++i) {
    value = value * base + digit(rest[0], base);
    rest.remove_prefix(1);
  }
  return char(value);
}

// Reads the part after the backslash.
char escaped(std::string_view& rest) {
  constexpr std::string_view kNames = "abdefnrtv", kBytes = "\a\b\x7F\033\f\n\r\t\v";
  const char c = rest[0];
  if (digit(c, 8) >= 0) return numbered(rest, 8, 3);
  rest.remove_prefix(1);
  if (c == 'x' && !rest.empty() && digit(rest[0], 16) >= 0) return numbered(rest, 16, 2);
  const auto named = kNames.find(c);
  return named == std::string_view::npos ? c : kBytes[named];
}

}  // namespace

std::string read_keys(std::string_view rest) {
  std::string keys;
  while (!rest.empty()) {
    bool with_control = false;
    while (rest.starts_with("\\C-") || rest.starts_with("\\M-")) {
      if (rest[1] == 'C')
        with_control = true;
      else
        keys += '\033';
      rest.remove_prefix(3);
    }
    if (rest.empty()) break;
    char c = rest[0];
    rest.remove_prefix(1);
    if (c == '\\' && !rest.empty()) c = escaped(rest);
    keys += with_control ? control(c) : c;
  }
  return keys;
}

KeyBindings::KeyBindings() {
  for (const KeyFunctionRow& row : key_functions())
    for (std::size_t mode = 0; mode < 3; ++mode)
      for (const std::string_view keys : words(row.keys[mode]))
        bind(KeyMode(mode), read_keys(keys), {row.function, {}});
}

KeyBindings::Match KeyBindings::find(KeyMode mode, const std::string& keys) const {
  const auto& map = maps_[std::size_t(mode)];
  auto at = map.lower_bound(keys);
  Match match;
  if (at != map.end() && at->first == keys) {
    match.exact = &at->second;
    ++at;
  }
  match.longer = at != map.end() && at->first.starts_with(keys);
  return match;
}

void KeyBindings::bind(KeyMode mode, std::string keys, Binding binding) {
  if (!keys.empty()) maps_[std::size_t(mode)][std::move(keys)] = std::move(binding);
}

namespace {

// \C-x\C-e as C-x C-e, \e[A as its name on a keyboard.
std::string shown_keys(std::string_view spelling) {
  constexpr std::pair<std::string_view, std::string_view> kNames[] = {
      {"\\e[A", "Up"},          {"\\e[B", "Down"},       {"\\e[C", "Right"},          {"\\e[D", "Left"},
      {"\\e[H", "Home"},        {"\\e[F", "End"},        {"\\e[5~", "PageUp"},        {"\\e[6~", "PageDown"},
      {"\\e[3~", "Delete"},     {"\\e[2~", "Insert"},    {"\\e[1;5C", "C-Right"},     {"\\e[1;5D", "C-Left"},
      {"\\e[1;3C", "M-Right"},  {"\\e[1;3D", "M-Left"},  {"\\e[1;5H", "C-Home"},      {"\\e[1;5F", "C-End"},
      {"\\e[3;5~", "C-Delete"}, {"\\C-m", "Enter"},      {"\\e\\C-m", "M-Enter"},     {"\\C-i", "Tab"},
      {"\\e\\C-i", "M-Tab"},    {"\\C-?", "Backspace"},  {"\\e\\C-?", "M-Backspace"}, {"\\x20", "Space"},
      {"\\e", "Esc"},           {"\\e\\x20", "M-Space"},
  };
  for (const auto& [keys, name] : kNames)
    if (keys == spelling) return std::string(name);
  if (spelling.starts_with("\\e[") || spelling.starts_with("\\eO") || spelling.starts_with("\\e\\e")) return {};
  std::string out;
  while (!spelling.empty()) {
    if (!out.empty() && !out.ends_with('-')) out += ' ';
    if (spelling.starts_with("\\e")) {
      out += "M-";
      spelling.remove_prefix(2);
    } else if (spelling.starts_with("\\C-")) {
      out += "C-";
      spelling.remove_prefix(3);
    } else {
      out += spelling[0];
      spelling.remove_prefix(1);
    }
  }
  return out;
}

std::string key_cell(std::string_view keys) {
  std::string cell;
  for (const std::string& key : key_names(keys)) cell += (cell.empty() ? "`" : ", `") + key + "`";
  return cell;
}

}  // namespace

std::vector<std::string> key_names(std::string_view keys) {
  std::vector<std::string> names;
  for (const std::string_view key : words(keys))
    if (std::string name = shown_keys(key); !name.empty()) names.push_back(std::move(name));
  return names;
}

std::string keys_markdown() {
  std::string text =
      "# Keys\n\nMade from `include/rldb/ui/terminal/key_function.def` by `scripts/gen_docs`; a test checks that it is "
      "current. "
      "`C-` is Control, `M-` is Alt or Esc before the key. The vi keys are those after `set editing-mode vi` in the "
      "inputrc.\n\n| function | emacs | vi, inserting | vi, commands | does |\n|---|---|---|---|---|\n";
  for (const KeyFunctionRow& row : key_functions())
    text += fmt::format("| `{}` | {} | {} | {} | {} |\n", row.name, key_cell(row.keys[0]), key_cell(row.keys[1]),
                        key_cell(row.keys[2]), row.doc);
  text +=
      "\nIn single-key mode of the screen (`include/rldb/ui/terminal/single_key.def`) letters at an empty entry are "
      "entries:\n\n"
      "| letter | entry | does |\n|---|---|---|\n";
#define RLDB_SINGLE_KEY(key, entry, doc) \
  text += fmt::format("| `{}` | {} | {} |\n", key, *(entry) ? "`" entry "`" : "", doc);
#include "rldb/ui/terminal/single_key.def"
  return text;
}

}  // namespace rldb::ui

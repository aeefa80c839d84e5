// A parser for inputrc files: conditions, variables, key sequences, macros, includes.
#include "ui/terminal/inputrc.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstdlib>
#include <vector>

#include "rldb/support/file.h"
#include "rldb/support/text.h"

namespace rldb::ui {

namespace {

using support::trim;

constexpr int kDeepestInclude = 8, kMostIncluded = 64;

bool same_word(std::string_view a, std::string_view b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](char x, char y) {
    return std::tolower(static_cast<unsigned char>(x)) == std::tolower(static_cast<unsigned char>(y));
  });
}

bool is_on(std::string_view value) { return value.empty() || value == "1" || same_word(value, "on"); }

// `Control-u`, `Meta-Rubout`, `C-x`, `TAB`: a key by its name.
std::string named_key(std::string_view name) {
  constexpr std::pair<std::string_view, char> kNames[] = {
      {"DEL", '\x7F'}, {"RUBOUT", '\x7F'}, {"ESC", '\033'}, {"LFD", '\n'},  {"NEWLINE", '\n'},
      {"RET", '\r'},   {"RETURN", '\r'},   {"SPC", ' '},    {"SPACE", ' '}, {"TAB", '\t'},
  };
  std::string spelling;
  while (true) {
    const auto dash = name.find('-');
    if (dash == std::string_view::npos || dash == 0 || dash + 1 >= name.size()) break;
    const std::string_view modifier = name.substr(0, dash);
    if (same_word(modifier, "control") || same_word(modifier, "c"))
      spelling += "\\C-";
    else if (same_word(modifier, "meta") || same_word(modifier, "m"))
      spelling += "\\M-";
    else
      break;
    name.remove_prefix(dash + 1);
  }
  for (const auto& [known, byte] : kNames)
    if (same_word(name, known)) return read_keys(spelling + (byte == '\x7F' ? "\\d" : std::string(1, byte)));
  return name.size() == 1 ? read_keys(spelling + std::string(name)) : std::string();
}

class Reader {
 public:
  Reader(std::string_view term, const ReadFile& read, KeyBindings& keys) : term_(term), read_(read), keys_(keys) {}

  void text(std::string_view text, int depth) {
    const std::size_t outside = skipped_.size();
    while (!text.empty()) {
      const auto end = text.find('\n');
      line(trim(text.substr(0, end)), depth);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    }
    skipped_.resize(outside, false);
  }

 private:
  void line(std::string_view line, int depth) {
    if (line.empty() || line.front() == '#') return;
    if (line.front() == '$') return directive(line.substr(1), depth);
    if (std::find(skipped_.begin(), skipped_.end(), true) != skipped_.end()) return;
    if (line.starts_with("set") && line.size() > 3 && support::is_blank(line[3])) return set(trim(line.substr(4)));
    binding(line);
  }

  void directive(std::string_view line, int depth) {
    const auto end = line.find_first_of(" \t");
    const std::string_view word = line.substr(0, end);
    const std::string_view rest = end == std::string_view::npos ? std::string_view() : trim(line.substr(end));
    if (word == "if") {
      skipped_.push_back(!holds(rest));
    } else if (word == "else" && !skipped_.empty()) {
      skipped_.back() = !skipped_.back();
    } else if (word == "endif" && !skipped_.empty()) {
      skipped_.pop_back();
    } else if (word == "include" && depth < kDeepestInclude && included_ < kMostIncluded) {
      ++included_;
      if (std::find(skipped_.begin(), skipped_.end(), true) != skipped_.end()) return;
      std::string path(rest);
      const std::string home = support::home_folder();
      if (path.starts_with("~/") && !home.empty()) path.replace(0, 1, home);
      if (const auto more = read_(path)) text(*more, depth + 1);
    }
  }

  // Tests of versions and variables are meant for readline: false here.
  bool holds(std::string_view test) const {
    if (test.starts_with("mode=")) return test.substr(5) == (keys_.vi ? "vi" : "emacs");
    if (test.starts_with("term=")) return test.substr(5) == term_ || test.substr(5) == term_.substr(0, term_.find('-'));
    return same_word(test, "rldb");
  }

  void set(std::string_view line) {
    const auto end = line.find_first_of(" \t");
    const std::string_view name = line.substr(0, end);
    std::string_view value = end == std::string_view::npos ? std::string_view() : trim(line.substr(end));
    value = value.substr(0, value.find_first_of(" \t"));
    if (same_word(name, "editing-mode")) {
      keys_.vi = same_word(value, "vi");
      map_ = keys_.vi ? KeyMode::ViInsert : KeyMode::Emacs;
    } else if (same_word(name, "keymap")) {
      set_map(value);
    } else if (same_word(name, "bell-style")) {
      keys_.bell = same_word(value, "none")      ? BellStyle::None
                   : same_word(value, "visible") ? BellStyle::Visible
                                                 : BellStyle::Audible;
    } else if (same_word(name, "prefer-visible-bell") || same_word(name, "meta-flag")) {
      return;
    } else if (same_word(name, "enable-bracketed-paste")) {
      keys_.bracketed_paste = is_on(value);
    } else if (same_word(name, "show-all-if-ambiguous")) {
      keys_.list_at_once = is_on(value);
    } else if (same_word(name, "keyseq-timeout")) {
      constexpr int kLongest = 10'000;
      int ms = 0;
      if (std::from_chars(value.data(), value.data() + value.size(), ms).ec == std::errc())
        keys_.key_timeout_ms = std::clamp(ms, 1, kLongest);
    }
  }

  void set_map(std::string_view name) {
    prefix_.clear();
    if (name == "vi-insert") map_ = KeyMode::ViInsert;
    if (name == "vi" || name == "vi-command" || name == "vi-move") map_ = KeyMode::ViCommand;
    if (name.starts_with("emacs")) map_ = KeyMode::Emacs;
    if (name == "emacs-meta") prefix_ = "\033";
    if (name == "emacs-ctlx") prefix_ = "\x18";
  }

  // "keys": function, "keys": "macro", Name: function.
  void binding(std::string_view line) {
    std::string keys;
    std::string_view rest;
    if (line.front() == '"') {
      const std::size_t end = closing_quote(line);
      if (end == std::string_view::npos) return;
      keys = read_keys(line.substr(1, end - 1));
      rest = trim(line.substr(end + 1));
    } else {
      const auto colon = line.find(':', 1);
      if (colon == std::string_view::npos) return;
      keys = named_key(trim(line.substr(0, colon)));
      rest = line.substr(colon);
    }
    if (keys.empty() || !rest.starts_with(':')) return;
    rest = trim(rest.substr(1));
    if (const auto bound = target(rest)) keys_.bind(map_, prefix_ + keys, *bound);
  }

  static std::size_t closing_quote(std::string_view text) {
    for (std::size_t i = 1; i < text.size(); ++i) {
      if (text[i] == '\\')
        ++i;
      else if (text[i] == text[0])
        return i;
    }
    return std::string_view::npos;
  }

  static std::optional<KeyBindings::Binding> target(std::string_view text) {
    if (text.starts_with('"') || text.starts_with('\'')) {
      const std::size_t end = closing_quote(text);
      if (end == std::string_view::npos) return std::nullopt;
      return KeyBindings::Binding{KeyFunction::DoNothing, read_keys(text.substr(1, end - 1))};
    }
    const std::string_view name = text.substr(0, text.find_first_of(" \t#"));
    if (same_word(name, "self-insert")) return KeyBindings::Binding{KeyFunction::SelfInsert, {}};
    if (same_word(name, "do-lowercase-version") || name.empty()) return std::nullopt;
    // Other readline names for functions that we have.
    constexpr std::pair<std::string_view, std::string_view> kSynonyms[] = {
        {"menu-complete", "complete"},
        {"menu-complete-backward", "complete"},
        {"insert-completions", "complete"},
        {"kill-line-backward", "unix-line-discard"},
        {"unix-filename-rubout", "unix-word-rubout"},
        {"insert-last-argument", "yank-last-arg"},
        {"previous-screen-line", "up-line-or-history"},
        {"next-screen-line", "down-line-or-history"},
        {"vi-undo", "undo"},
        {"vi-edit-and-execute-command", "edit-and-execute-command"},
        {"non-incremental-reverse-search-history", "reverse-search-history"},
        {"non-incremental-forward-search-history", "forward-search-history"},
        {"history-substring-search-backward", "history-search-backward"},
        {"history-substring-search-forward", "history-search-forward"},
    };
    std::string_view wanted = name;
    for (const auto& [synonym, ours] : kSynonyms)
      if (same_word(name, synonym)) wanted = ours;
    for (const KeyFunctionRow& row : key_functions())
      if (same_word(row.name, wanted)) return KeyBindings::Binding{row.function, {}};
    return std::nullopt;
  }

  std::string_view term_;
  const ReadFile& read_;
  KeyBindings& keys_;
  KeyMode map_ = KeyMode::Emacs;
  std::string prefix_;
  std::vector<bool> skipped_;
  int included_ = 0;
};

}  // namespace

void read_inputrc(std::string_view text, std::string_view term, const ReadFile& read, KeyBindings& keys) {
  Reader(term, read, keys).text(text, 0);
}

KeyBindings user_key_bindings() {
  const ReadFile read = [](const std::string& path) -> std::optional<std::string> {
    constexpr std::size_t kMost = std::size_t(1) << 20;
    auto text = support::read_regular_file(path, kMost);
    if (!text.ok()) return std::nullopt;
    return std::move(*text);
  };
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value ? value : "");
  };
  KeyBindings keys;
  std::optional<std::string> text;
  if (const std::string named = variable("INPUTRC"); !named.empty())
    text = read(named);
  else if (!(text = read(variable("HOME") + "/.inputrc")))
    text = read("/etc/inputrc");
  if (text) read_inputrc(*text, variable("TERM"), read, keys);
  return keys;
}

}  // namespace rldb::ui

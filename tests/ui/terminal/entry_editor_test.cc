#include "ui/terminal/entry_editor.h"

#include <doctest/doctest.h>

#include <fstream>
#include <set>
#include <sstream>

#include "ui/terminal/inputrc.h"

using namespace rldb::ui;

namespace {

// Types into an editor. `|` in its output is the cursor.
struct Typist {
  explicit Typist(std::vector<std::string> entries = {}) : history(std::move(entries)), editor(hooks, history, keys) {
    hooks.wants_more = [](std::string_view text, bool last_empty) {
      return text.ends_with(":") || (text.find(':') != std::string_view::npos && !last_empty);
    };
    hooks.indent = [](std::string_view text) { return text.find(':') != std::string_view::npos ? 4 : 0; };
    hooks.complete = [](std::string_view text, std::size_t cursor, std::size_t& start) {
      start = text.substr(0, cursor).rfind(' ') + 1;
      Candidates found;
      for (const char* name : {"R.add", "R.addmm", "R.tanh"})
        if (std::string_view(name).starts_with(text.substr(start, cursor - start))) found.emplace_back(name);
      return found;
    };
    editor.begin("> ");
  }
  std::string type(std::string_view typed) {
    for (const char c : typed) editor.byte(c);
    return shown();
  }
  // A key in an inputrc's spelling, and nothing after it for a while.
  std::string key(std::string_view spelling) {
    type(read_keys(spelling));
    editor.no_more_bytes();
    return shown();
  }
  std::string shown() const {
    const EntryView view = editor.view();
    return std::string(view.text.substr(0, view.point)) + "|" + std::string(view.text.substr(view.point));
  }
  // Enter: returns the accepted text and begins a new entry.
  std::string enter() {
    type("\r");
    if (editor.request() != EntryEditor::Request::Accept) return "no entry";
    const std::string text = editor.text();
    history.add(text);
    editor.begin("> ");
    return text;
  }
  void inputrc(std::string_view text) {
    read_inputrc(
        text, "xterm-256color", [](const std::string&) { return std::optional<std::string>(); }, keys);
  }
  LineEditorHooks hooks;
  EntryHistory history;
  KeyBindings keys;
  EntryEditor editor;
};

}  // namespace

TEST_CASE("keys act on the line of an entry, not on all of it") {
  Typist t;
  t.type("one:\rtwo");
  CHECK(t.shown() == "one:\n    two|");
  CHECK(t.key("\\C-a") == "one:\n|    two");
  CHECK(t.key("\\C-k") == "one:\n|");
  CHECK(t.key("\\C-y") == "one:\n    two|");
  CHECK(t.key("\\e[A") == "one:|\n    two");
  CHECK(t.key("\\C-u") == "|\n    two");
  CHECK(t.key("\\C-e\\C-k") == "|    two");
  CHECK(t.key("\\C-_") == "|\n    two");
  CHECK(t.key("\\e[1;5F") == "\n    two|");
}

TEST_CASE("words, characters with marks, transposing, cases") {
  Typist t;
  t.type("R.add(x, ab\xC3\xA9)");
  CHECK(t.key("\\eb") == "R.add(x, |ab\xC3\xA9)");
  CHECK(t.key("\\C-f\\C-f\\C-f\\C-h") == "R.add(x, ab|)");
  CHECK(t.key("\\C-w") == "R.add(x, |)");
  CHECK(t.key("\\e[1;5D\\e[1;5D") == "R.|add(x, )");
  CHECK(t.key("\\eu") == "R.ADD|(x, )");
  CHECK(t.key("\\C-t") == "R.AD(D|x, )");
  CHECK(t.key("\\C-a\\ed\\C-k") == "|");
  CHECK(t.key("\\C-y") == "R.AD(Dx, )|");  // consecutive cuts are one text
}

TEST_CASE("the ring of cuts, undo step by step, counts") {
  Typist t;
  t.type("one");
  t.key("\\C-u");
  t.type("two");
  t.key("\\C-u");
  CHECK(t.key("\\C-y") == "two|");
  CHECK(t.key("\\ey") == "one|");
  CHECK(t.key("\\C-_") == "two|");
  t.key("\\C-u");
  t.type("first second");
  CHECK(t.key("\\C-_") == "first |");
  CHECK(t.key("\\C-_\\C-_") == "|");
  CHECK(t.type(read_keys("\\e1\\e2") + "x") == "xxxxxxxxxxxx|");
}

TEST_CASE("Up takes the entry that begins like this one; a block is one item") {
  Typist t({"x = 1", "def:\n    y", "x = 2", "z"});
  t.type("x");
  CHECK(t.key("\\e[A") == "x = 2|");
  CHECK(t.key("\\e[A") == "x = 1|");
  t.key("\\e[A");
  CHECK(t.editor.take_bell());
  CHECK(t.key("\\e[B") == "x = 2|");
  CHECK(t.key("\\e[B") == "x|");
  t.key("\\C-u\\C-p\\C-p");
  CHECK(t.key("\\C-p") == "def:\n    y|");
  CHECK(t.key("\\e[A") == "def:|\n    y");
  CHECK(t.key("\\e[A") == "x = 1|");
  CHECK(t.key("\\e[B") == "def:\n    y|");
  CHECK(t.enter() == "def:\n    y");  // unchanged: its empty line is not required again
  CHECK(t.key("\\C-p") == "def:\n    y|");
  CHECK(t.history.entries().size() == 4);
}

TEST_CASE("an older entry that was changed stays so until one is accepted") {
  Typist t({"old"});
  t.key("\\C-p");
  t.type("er");
  t.key("\\C-n");
  CHECK(t.key("\\C-p") == "older|");
  t.key("\\C-n");
  t.type("new");
  CHECK(t.enter() == "new");
  CHECK(t.key("\\C-p\\C-p") == "old|");
}

TEST_CASE("search while typing; M-. ; Esc and a letter") {
  Typist t({"load one.py", "print(x)", "load two.py"});
  CHECK(t.type("\x12one") == "load |one.py");
  CHECK(t.key("\\C-e") == "load one.py|");
  t.type("\x12zzz");
  CHECK(t.editor.view().prompt.starts_with("(failed"));
  CHECK(t.key("\\C-g") == "load one.py|");
  t.key("\\C-u");
  CHECK(t.key("\\e.") == "two.py|");
  CHECK(t.key("\\e.") == "print(x)|");
}

TEST_CASE("Enter goes on where more is wanted, M-Enter always; Tab completes, indents, lists") {
  Typist t;
  CHECK(t.key("\\e\\C-m") == "\n|");
  t.key("\\C-h");
  t.type("f:");
  CHECK(t.key("\\C-m") == "f:\n    |");
  CHECK(t.key("\\C-i") == "f:\n        |");
  CHECK(t.key("\\C-h") == "f:\n    |");
  CHECK(t.type("R.t\t") == "f:\n    R.tanh |");
  t.type("R.a\t");
  CHECK(t.shown() == "f:\n    R.tanh R.add|");
  CHECK(!t.editor.view().candidates);
  t.type("\t");
  REQUIRE(t.editor.view().candidates);
  CHECK(t.editor.view().candidates->size() == 2);
  t.type("m");
  CHECK(!t.editor.view().candidates);
}

TEST_CASE("the menu: Tab, S-Tab and arrows go through it, Enter takes one, ^G none, other keys go on from it") {
  Typist t;
  t.type("x R.a\t");
  CHECK(t.shown() == "x R.add|");
  t.type("\t");
  CHECK(!t.editor.view().selected);
  CHECK(t.type("\t") == "x R.add|");
  CHECK(t.editor.view().selected == 0);
  CHECK(t.key("\\e[B") == "x R.addmm|");
  CHECK(t.key("\\e[B") == "x R.add|");
  CHECK(t.key("\\e[Z") == "x R.addmm|");
  CHECK(t.key("\\e[A") == "x R.add|");
  CHECK(t.type("\t\r") == "x R.addmm |");
  CHECK(!t.editor.view().candidates);
  CHECK(t.key("\\C-_") == "x R.addmm|");
  CHECK(t.key("\\C-_") == "x R.add|");
  CHECK(t.key("\\e[Z") == "x R.addmm|");
  CHECK(t.key("\\C-g") == "x R.add|");
  CHECK(!t.editor.view().candidates);
  t.type("\t\t\t");
  CHECK(t.type("(") == "x R.addmm(|");
  CHECK(!t.editor.view().candidates);
  t.key("\\C-u");
  CHECK(t.key("\\e?") == "|");
  CHECK(t.editor.view().candidates->size() == 3);
  CHECK(t.enter().empty());
}

TEST_CASE("a paste is text: not indented again, nothing of it runs") {
  Typist t;
  t.type("\033[200~f:\r    a\r\r    b\r\033[201~");
  CHECK(t.shown() == "f:\n    a\n\n    b\n|");
  CHECK(t.enter() == "f:\n    a\n\n    b\n");
  CHECK(t.type("\033[200~x\r\n\033[201~") == "x|");
  CHECK(t.key("\\C-_") == "|");
}

TEST_CASE("unknown keys, broken UTF-8 and ends of keys leave the entry in order") {
  Typist t;
  CHECK(t.type("a\033[99;5~b\033[<0;1;1Mc\033OPd") == "abcd|");
  CHECK(t.type("\xE2\x82"
               "e") ==
        "abcd\xE2\x82"
        "e|");
  CHECK(t.type("\033[") ==
        "abcd\xE2\x82"
        "e|");
  t.editor.no_more_bytes();
  CHECK(t.type("A") ==
        "abcd\xE2\x82"
        "eA|");
}

TEST_CASE("^D deletes, ends an empty entry; Delete never ends one") {
  Typist t;
  t.key("\\e[3~");
  CHECK(t.editor.request() == EntryEditor::Request::None);
  t.type("ab");
  t.key("\\C-a");
  CHECK(t.key("\\C-d") == "|b");
  t.key("\\C-d\\C-d");
  CHECK(t.editor.request() == EntryEditor::Request::End);
}

TEST_CASE("vi: modes, motions, operators") {
  Typist t;
  t.inputrc("set editing-mode vi\n");
  t.type("x = R.add(y, z)");
  CHECK(t.key("\\e") == "x = R.add(y, z|)");
  CHECK(t.key("0") == "|x = R.add(y, z)");
  CHECK(t.type("wwww") == "x = R.|add(y, z)");
  CHECK(t.type("cw") == "x = R.|(y, z)");
  t.type("sub");
  CHECK(t.key("\\e") == "x = R.su|b(y, z)");
  CHECK(t.type("f(") == "x = R.sub|(y, z)");
  CHECK(t.type("d%") == "x = R.su|b");
  CHECK(t.type("u") == "x = R.sub|(y, z)");
  CHECK(t.type("D") == "x = R.su|b");
  CHECK(t.type("0d2w") == "|R.sub");
  CHECK(t.type("rQ") == "|Q.sub");
  CHECK(t.type("~") == "q|.sub");
  CHECK(t.type("dd") == "|");
  CHECK(t.type("ione") == "one|");
  CHECK(t.key("\\e") == "on|e");
  CHECK(t.type("oabc") == "one\nabc|");
  t.key("\\e");
  CHECK(t.type("kdd") == "|abc");
  CHECK(t.type("p") == "abc\n|one");
  CHECK(t.type("dd") == "|abc");
  CHECK(t.type("P") == "|one\nabc");
}

TEST_CASE("an inputrc binds keys, makes macros, sets what is known and skips the rest") {
  Typist t({"x = 1"});
  t.inputrc(
      "# a comment\n"
      "set bell-style none\nset completion-map-case on\n"
      "$if mode=vi\n\"\\C-g\": \"vi!\"\n$else\n\"\\C-g\": \"emacs\"\n$endif\n"
      "$if Bash\n\"\\C-b\": \"bash\"\n$endif\n$if rldb\nControl-b: beginning-of-line\n$endif\n"
      "$if term=xterm\nMeta-q: \"T\"\n$endif\n"
      "\"\\C-xq\": \"twice \\C-xr\"\n\"\\C-xr\": \"again\"\n\"\\C-xs\": \"\\C-xs\"\n"
      "\"\\C-t\": no-such-function\n\"unfinished\n: :\n");
  CHECK(t.keys.bell == BellStyle::None);
  CHECK(t.key("\\C-g") == "emacs|");
  CHECK(t.key("\\C-b") == "|emacs");
  CHECK(t.key("\\eq") == "T|emacs");
  CHECK(t.key("\\C-k\\C-xq") == "Ttwice again|");
  t.key("\\C-xs");  // calls itself
  CHECK(t.shown() == "Ttwice again|");
  CHECK(t.key("\\C-t") == "Ttwice agani|");
}

TEST_CASE("every key of the table is bound to its function, and no key twice") {
  const KeyBindings keys;
  for (std::size_t mode = 0; mode < 3; ++mode) {
    std::set<std::string> seen;
    for (const KeyFunctionRow& row : key_functions()) {
      std::istringstream words{std::string(row.keys[mode])};
      for (std::string key; words >> key;) {
        CHECK_MESSAGE(seen.insert(read_keys(key)).second, key);
        const auto match = keys.find(KeyMode(mode), read_keys(key));
        REQUIRE(match.exact);
        CHECK(match.exact->function == row.function);
      }
    }
  }
}

TEST_CASE("editor: the rest of the newest entry with that beginning is suggested, and taken over at the end") {
  Typist t({"R.add(x, y)", "R.add(x, z)", "other"});
  CHECK(t.editor.view().suggested.empty());
  t.type("R.a");
  CHECK(t.editor.view().suggested.empty());  // suggestions were not requested
  t.hooks.suggests = [] { return true; };
  CHECK(t.editor.view().suggested == "dd(x, z)");
  CHECK(t.key("\\e[D") == "R.|a");
  CHECK(t.editor.view().suggested.empty());
  CHECK(t.key("\\C-e") == "R.a|");
  CHECK(t.key("\\ef") == "R.add|");
  CHECK(t.editor.view().suggested == "(x, z)");
  CHECK(t.key("\\e[C") == "R.add(x, z)|");
  CHECK(t.editor.view().suggested.empty());
  CHECK(t.key("\\C-_") == "R.add|");
  CHECK(t.enter() == "R.add");  // a suggestion is not entered
}

TEST_CASE("editor: of a suggestion of several lines the first is shown") {
  Typist t({"def f():\n    return x"});
  t.hooks.suggests = [] { return true; };
  t.type("def");
  CHECK(t.editor.view().suggested == " f():");
  CHECK(t.key("\\C-e") == "def f():\n    return x|");
}

TEST_CASE("editor: letters at an empty entry are entries in single-key mode") {
  Typist t;
  t.hooks.single_key = [](char c) -> std::optional<std::string_view> {
    if (c == 'n') return "next";
    if (c == 'q') return "";
    return std::nullopt;
  };
  t.type("n");
  CHECK(t.editor.request() == EntryEditor::Request::Accept);
  CHECK(t.editor.text() == "next");
  CHECK(!t.editor.typed());
  t.editor.begin("> ");
  CHECK(t.type("q") == "|");
  CHECK(t.type("print n") == "print n|");
  CHECK(t.editor.typed());
}

TEST_CASE("editor: keys that the screen takes do nothing to the entry") {
  Typist t({"older"});
  std::string taken;
  t.hooks.screen_key = [&](KeyFunction function, std::string_view keys) {
    if (function != KeyFunction::Up) return false;
    taken += keys;
    return true;
  };
  CHECK(t.type("ab\033[A") == "ab|");
  CHECK(taken == "\033[A");
  CHECK(t.key("\\C-p") == "older|");
}

TEST_CASE("docs/keys.md is current: scripts/gen_docs") {
  std::ifstream in(RLDB_SOURCE_DIR "/docs/keys.md");
  std::stringstream text;
  text << in.rdbuf();
  CHECK(text.str() == keys_markdown());
}

TEST_CASE("a paste that the terminal does not mark brings its own indentation") {
  const auto burst = [](Typist& t, std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) t.editor.byte(text[i], i + 1 < text.size());
    return t.shown();
  };
  Typist t;
  CHECK(burst(t, "def f():\r    a\r        b\r    c") == "def f():\n    a\n        b\n    c|");
  // Keys one at a time: typed text comes after the indentation.
  Typist u;
  CHECK(u.type("def f():\r  a") == "def f():\n      a|");
  // A script of keys that leaves the indentation to the editor.
  Typist v;
  CHECK(burst(v, "def f():\ra\rb") == "def f():\n    a\n    b|");
}

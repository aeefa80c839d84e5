// The screen of screen mode, as cells: without a terminal. The texts are in tests/ui/prompt/screens.
#include "rldb/ui/terminal/screen.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <random>

#include "golden/golden.h"
#include "pty/screen_model.h"
#include "rldb/ui/prompt/state.h"
#include "rldb/ui/terminal/redisplay.h"
#include "rldb/ui/terminal/styled_text.h"
#include "ui/prompt/debug_panes.h"

using namespace rldb::ui;

namespace {

Frame entry_of(std::string_view text, int width) {
  Entry entry{"(rldb) ", "1", text, text.size(), nullptr, nullptr};
  return lay_out(entry, width);
}

std::string line_of(const Row& row) {
  std::string line;
  for (const Cell& cell : row.cells) line += cell.text;
  while (line.ends_with(' ')) line.pop_back();
  return line;
}

std::string text_of(const Frame& frame) {
  std::string text;
  for (const Row& row : frame.rows) text += line_of(row) + "\n";
  return text;
}

void check_size(const Frame& frame, int width, int height) {
  REQUIRE(int(frame.rows.size()) == height);
  for (const Row& row : frame.rows) {
    int columns = 0;
    for (const Cell& cell : row.cells) columns += cell.columns;
    CHECK(columns == row.columns);
    CHECK(columns <= width);
  }
  CHECK(frame.cursor.row >= 0);
  CHECK(frame.cursor.row < height);
  CHECK(frame.cursor.column >= 0);
  CHECK(frame.cursor.column < width);
}

// A pane of numbered lines, without a debugger.
void fill(Screen& screen, PaneKind kind, std::size_t count, std::optional<std::size_t> current) {
  Pane& pane = screen.pane(kind);
  pane = {};
  pane.title = "a title";
  pane.id = "text";
  pane.count = count;
  pane.current = current;
  pane.line = [](std::size_t i) { return PaneLine{fmt::format("line {}", i)}; };
}

bool holds(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

constexpr std::string_view kPageUp = "\033[5~", kDown = "\033[B";

// A stopped program, its output and its screen.
struct Stopped {
  Stopped() : repl(line, console), screen(false), panes(repl, screen) {
    screen.on = true;
    repl.screen = &screen;
  }
  void run(const std::string& entry) {
    REQUIRE(repl.execute(entry) == Status::Good);
    screen.output().append("(rldb) " + entry + "\n" + console.take());
  }
  std::string seen(int width, int height) {
    panes.fill();
    const Frame frame = screen.compose(entry_of("", width), width, height);
    check_size(frame, width, height);
    return text_of(frame);
  }
  CommandLine line;
  CapturedConsole console;
  Repl repl;
  Screen screen;
  DebugPanes panes;
};

void check_golden(const std::string& name, const std::string& text) {
  const std::filesystem::path path = RLDB_SOURCE_DIR "/tests/ui/prompt/screens/" + name + ".txt";
  rldb::golden::expect_file(path, rldb::golden::read(path), text);
}

constexpr std::pair<int, int> kSizes[] = {{60, 20}, {80, 24}, {140, 50}};

}  // namespace

TEST_CASE("screen: a program stopped in main, in a kernel, at an instruction, at three sizes") {
  Stopped s;
  s.run(":load " RLDB_SOURCE_DIR "/docs/examples/mlp.py");
  s.run("break main:lv1");
  s.run(":run main");
  for (const auto& [width, height] : kSizes) {
    const std::string text = s.seen(width, height);
    CHECK(holds(text, "b=>   20"));
    CHECK(holds(text, "lv0 = Tensor"));
    CHECK(holds(text, "n = 4  slot 0"));
  }
  s.run("step");
  CHECK(holds(s.seen(140, 50), "  lv1 = Tensor"));
  s.run("stept 3");
  for (const auto& [width, height] : kSizes) {
    const std::string text = s.seen(width, height);
    CHECK(holds(text, "code: kernel relu"));
    CHECK(holds(text, "=>"));
  }
  s.run("stept");
  REQUIRE(s.screen.set_layout("split"));
  s.run("stepi");
  for (const auto& [width, height] : kSizes) CHECK(holds(s.seen(width, height), "instructions: main"));
  s.run("continue");
  CHECK(holds(s.seen(80, 24), "no program is being run"));
}

TEST_CASE("tests/ui/prompt/screens: a program stopped at three places, at three sizes") {
  Stopped s;
  s.run(
      ":load <<END\n@I.ir_module\nclass M:\n    @R.function\n    def main(x: R.Tensor((\"n\", 2), \"float32\")) -> "
      "R.Tensor((\"n\", 2), \"float32\"):\n        n = T.int64()\n        with R.dataflow():\n            a = R.add(x, "
      "x)\n            b = R.multiply(a, x)\n            R.output(b)\n        return b\nEND");
  s.run("break main:b");
  s.run(":run main 2x2xf32=1,2,3,4");
  for (const auto& [width, height] : kSizes)
    check_golden(fmt::format("main_{}x{}", width, height), s.seen(width, height));
  s.run("stept 4");
  for (const auto& [width, height] : kSizes)
    check_golden(fmt::format("kernel_{}x{}", width, height), s.seen(width, height));
  s.run("continue");
  s.run(":run main 2x2xf32=1,2,3,4");
  s.run("stepi 2");
  REQUIRE(s.screen.set_layout("split"));
  for (const auto& [width, height] : kSizes)
    check_golden(fmt::format("split_{}x{}", width, height), s.seen(width, height));
}

TEST_CASE("screen: every size has its rows, and the cursor on it") {
  Screen screen(false);
  screen.on = true;
  for (const PaneKind kind : {PaneKind::Code, PaneKind::Instructions, PaneKind::Values, PaneKind::Heap})
    fill(screen, kind, 100, 50);
  screen.panes_changed();
  for (int i = 0; i < 30; ++i) screen.output().append(fmt::format("written {} 漢漢漢漢漢漢漢漢漢漢\n", i));
  for (const char* layout : {"src", "asm", "split"}) {
    REQUIRE(screen.set_layout(layout));
    for (int width : {1, 2, 3, 10, 60, 69, 70, 109, 110, 200})
      for (int height = 1; height < 60; ++height) {
        check_size(screen.compose(entry_of("R.add(x, 漢)", width), width, height), width, height);
        check_size(screen.working("work ... 3 s", width, height), width, height);
      }
  }
}

TEST_CASE("screen: a size that changes while an entry is executed") {
  Screen screen(false);
  screen.on = true;
  fill(screen, PaneKind::Code, 1000, 500);
  fill(screen, PaneKind::Values, 3, std::nullopt);
  screen.panes_changed();
  (void)screen.compose(entry_of("", 80), 80, 24);
  screen.keep_lines();
  screen.output().append("written before\n");
  for (const auto& [width, height] : {std::pair(60, 20), std::pair(140, 50), std::pair(80, 24), std::pair(10, 5)}) {
    const Frame frame = screen.working("work ... 3 s", width, height);
    check_size(frame, width, height);
    const std::string text = text_of(frame);
    CHECK(holds(text, "work ... 3"));
    if (height < 20) continue;
    CHECK(holds(text, "line 500\n") == (width < 110));  // beside the values on a wide one
    CHECK(holds(text, "line 500"));
    CHECK(holds(text, "line 2"));
    CHECK(holds(text, "written before"));
  }
}

TEST_CASE("screen: every kind of place in a kernel has its mark") {
  Stopped s;
  s.run(
      ":load <<END\nimport tvm\nfrom tvm.script import ir as I, tirx as T, relax as R\n\n@I.ir_module\nclass M:\n"
      "    @T.prim_func\n    def twice(a: T.handle, b: T.handle):\n"
      "        A = T.match_buffer(a, (4,))\n        B = T.match_buffer(b, (4,))\n"
      "        for i in range(4):\n            with T.sblock(\"double\"):\n"
      "                vi = T.axis.spatial(4, i)\n                B[vi] = A[vi] * T.float32(2)\n\n"
      "    @R.function\n    def main(x: R.Tensor((4,), \"float32\")) -> R.Tensor((4,), \"float32\"):\n"
      "        cls = M\n        lv = R.call_tir(cls.twice, (x,), out_ty=R.Tensor((4,), \"float32\"))\n"
      "        return lv\nEND");
  const auto seen_with = [&](const std::string& place) {
    s.run(":run");  // to the end
    s.run("break " + place);
    s.run(":run");
    const std::string text = s.seen(140, 60);
    s.run("kill");
    s.run("delete");
    return text;
  };
  CHECK(holds(seen_with("twice:i"), "b     10"));
  CHECK(holds(seen_with("twice:double"), "b     11"));
  CHECK(holds(seen_with("twice:vi"), "b     11"));
  CHECK(holds(seen_with("twice:B"), "b=>   13"));
  CHECK(holds(seen_with("twice:13"), "b=>   13"));
  s.run("break twice:B");
  s.run("start");
  CHECK(holds(s.seen(140, 60), "b     13"));  // in the text of the program too
}

TEST_CASE("screen: a pane follows its line, and leaves it when it is scrolled") {
  Screen screen(false);
  screen.on = true;
  fill(screen, PaneKind::Code, 100, 50);
  screen.panes_changed();
  const auto seen = [&] { return text_of(screen.compose(entry_of("", 80), 80, 24)); };
  CHECK(holds(seen(), "line 50\n"));
  screen.set_focus(PaneKind::Code);
  CHECK(holds(seen(), "== code: a title"));
  for (int i = 0; i < 20; ++i) CHECK(screen.take(KeyFunction::HistorySearchBackward, kPageUp));
  CHECK(holds(seen(), "line 0\n"));
  CHECK(screen.take(KeyFunction::Down, kDown));
  CHECK(!holds(seen(), "line 0\n"));
  fill(screen, PaneKind::Code, 100, 51);
  screen.panes_changed();
  CHECK(holds(seen(), "line 51\n"));
  // ^P, ^F and the arrows belong to the entry while the focus is on the command line.
  CHECK(!screen.take(KeyFunction::PreviousHistory, "\x10"));
  CHECK(!screen.take(KeyFunction::ForwardChar, "\x06"));
  screen.set_focus(PaneKind::Command);
  CHECK(!screen.take(KeyFunction::Up, "\033[A"));
}

TEST_CASE("screen: output is scrolled back, and comes back with the next key") {
  Screen screen(false);
  screen.on = true;
  for (int i = 0; i < 100; ++i) screen.output().append(fmt::format("written {}\n", i));
  const auto seen = [&] { return text_of(screen.compose(entry_of("typed", 80), 80, 24)); };
  CHECK(holds(seen(), "written 99\n(rldb) typed"));
  for (int i = 0; i < 50; ++i) CHECK(screen.take(KeyFunction::HistorySearchBackward, kPageUp));
  CHECK(holds(seen(), "scrolled back"));
  CHECK(holds(seen(), "written 0\n"));
  CHECK(!screen.take(KeyFunction::SelfInsert, "x"));
  CHECK(holds(seen(), "(rldb) typed"));
}

TEST_CASE("screen: panes are hidden, resized, and left out where there is no room") {
  Screen screen(false);
  screen.on = true;
  const auto seen = [&](int width, int height) { return text_of(screen.compose(entry_of("", width), width, height)); };
  CHECK(holds(seen(80, 24), "heap"));
  screen.show(PaneKind::Heap, false);
  CHECK(!holds(seen(80, 24), "heap"));
  CHECK(screen.take(KeyFunction::DeleteOtherWindows,
                    "\x18"
                    "1"));
  CHECK(!holds(seen(80, 24), "values"));
  REQUIRE(screen.set_layout("src"));
  CHECK(!holds(seen(60, 8), "heap"));
  CHECK(holds(seen(60, 8), "code"));
  const auto rows_of = [&](PaneKind kind) {
    const auto boxes = arrange(Arrangement{}, 80, 40);
    for (const PaneBox& b : boxes)
      if (b.kind == kind) return b.height;
    return 0;
  };
  CHECK(rows_of(PaneKind::Code) > rows_of(PaneKind::Values));
  (void)seen(80, 40);
  screen.set_height(PaneKind::Values, 3, false);
  Arrangement wanted;
  wanted.heights[std::size_t(PaneKind::Values)] = 3;
  for (const PaneBox& b : arrange(wanted, 80, 40))
    if (b.kind == PaneKind::Values) CHECK(b.height == 4);
  wanted.heights[std::size_t(PaneKind::Command)] = 1000;
  int rows = 0;
  for (const PaneBox& b : arrange(wanted, 60, 40)) rows += b.height;
  CHECK(rows == 40);
}

TEST_CASE("screen: single-key mode") {
  Screen screen(false);
  CHECK(!screen.take_single('n'));
  CHECK(screen.take(KeyFunction::NextKeymap, "\x18s"));
  CHECK(screen.on);
  CHECK(screen.take_single('n') == "next");
  CHECK(screen.take_single('S') == "reverse-step");
  CHECK(!screen.take_single(':'));
  CHECK(screen.take_single('q') == "");
  CHECK(!screen.take_single('n'));
}

TEST_CASE("screen: every single key gives a command") {
  for (const SingleKey& row : single_keys()) {
    if (row.entry.empty()) continue;
    CHECK_MESSAGE(find_command_named(row.entry.substr(0, row.entry.find(' '))), row.entry);
  }
}

TEST_CASE("screen: what is written keeps its colours and moves nothing") {
  std::string_view style;
  const auto cells = styled_cells("a\033[1;34mb\033[0mc\033[2Jd\te", style);
  REQUIRE(cells.size() == 9);
  CHECK(cells[1].style == "1;34");
  CHECK(cells[2].style.empty());
  CHECK(cells[3].text == "d");
  Scrollback output;
  output.append("\033[31mred\nstill\033[0m\n12%\r34%\r\nlast");
  const auto rows = output.tail(80, 10, false);
  REQUIRE(rows.size() == 4);
  CHECK(rows[1].cells[0].style == "31");
  CHECK(line_of(rows[2]) == "34%");
  CHECK(output.tail(2, 2, false).size() == 2);
  for (int i = 0; i < 20'000; ++i) output.append("many\n");
  CHECK(output.tail(80, 100'000, false).size() <= Scrollback::kMostLines);
  output.append(std::string(std::size_t(1) << 20, 'x'));
  CHECK(output.tail(1000, 20, false).size() == 20);
}

TEST_CASE("screen: sentences are broken between words, other lines where the pane ends") {
  Scrollback output;
  output.append("error: the value of `x` differs\n", true);
  output.append("  12 | a line of source is cut\n", true);
  output.append("[1.0, 2.0, 3.0, 4.0]\n");
  std::vector<std::string> lines;
  for (const Row& row : output.tail(18, 20, false)) lines.push_back(line_of(row));
  CHECK(lines == std::vector<std::string>{"error: the value", "  of `x` differs", "  12 | a line of s", "ource is cut",
                                          "[1.0, 2.0, 3.0, 4.", "0]"});
}

TEST_CASE("screen: redrawn by differences, what stands on the terminal is what was composed") {
  std::mt19937 random(11);
  Screen screen(true);
  screen.on = true;
  Redisplay display;
  constexpr int kWidth = 90, kHeight = 20;
  rldb::pty::ScreenModel terminal(kWidth, kHeight);
  for (int i = 0; i < 400; ++i) {
    fill(screen, PaneKind::Code, 40, random() % 40);
    fill(screen, PaneKind::Values, random() % 9, std::nullopt);
    screen.panes_changed();
    if (random() % 3 == 0) screen.output().append(fmt::format("\033[1mwritten\033[0m {} 漢\n", random() % 100));
    const KeyFunction keys[] = {KeyFunction::OtherWindow, KeyFunction::ChangeWindows, KeyFunction::EnlargeWindow,
                                KeyFunction::ShrinkWindow, KeyFunction::DeleteOtherWindows};
    if (random() % 2 == 0) screen.take(keys[random() % std::size(keys)], "\x18");
    if (random() % 2 == 0) screen.take(KeyFunction::HistorySearchBackward, kPageUp);
    Frame frame = screen.compose(entry_of(std::string(random() % 120, 'e'), kWidth), kWidth, kHeight);
    check_size(frame, kWidth, kHeight);
    std::string wanted = text_of(frame);
    while (wanted.ends_with("\n\n")) wanted.pop_back();
    const ScreenPosition cursor = frame.cursor;
    terminal.write(display.draw(std::move(frame), kWidth, kHeight, true));
    CHECK(terminal.text() == wanted);
    CHECK(terminal.row() == cursor.row);
    CHECK(terminal.column() == cursor.column);
    CHECK(terminal.unknown() == 0);
  }
}

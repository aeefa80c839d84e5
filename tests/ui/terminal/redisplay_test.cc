#include "rldb/ui/terminal/redisplay.h"

#include <doctest/doctest.h>

#include <random>

#include "pty/screen_model.h"
#include "rldb/ui/terminal/characters.h"

using namespace rldb::ui;
using rldb::pty::ScreenModel;

namespace {

Frame frame(std::string_view text, std::size_t point, int width) {
  return lay_out({"rldb> ", "1", text, point, nullptr, nullptr}, width);
}

}  // namespace

TEST_CASE("characters: marks belong to what they follow, controls are shown, wide ones take two columns") {
  const std::string text = "e\xCC\x81漢\x01\xFFz";
  CHECK(next_character(text, 0) == 3);
  CHECK(previous_character(text, 3) == 0);
  CHECK(previous_character(text, 6) == 3);
  CHECK(shown_character("漢").columns == 2);
  CHECK(shown_character("\x01").text == "^A");
  CHECK(shown_character("\xFF").text == "\xEF\xBF\xBD");
  CHECK(shown_character("\xC2\x9B").text == "\xEF\xBF\xBD");      // a control character of UTF-8
  CHECK(shown_character("\xE2\x80\xAE").text == "\xEF\xBF\xBD");  // reverses the direction of writing
  CHECK(columns_of(text) == 1 + 2 + 2 + 1 + 1);
}

TEST_CASE("characters: forwards and backwards meet in any bytes") {
  std::mt19937 random(7);
  const std::string_view pieces[] = {
      "a", "é", "e\xCC\x81", "漢", "😀", "\xFF", "\xC3", "\xE2\x82", "👨‍👩‍👧", "🇩🇪", " ", "\n", "\xCC\x81"};
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    for (unsigned n = random() % 8; n > 0; --n) text += pieces[random() % std::size(pieces)];
    std::vector<std::size_t> forwards{0}, backwards{text.size()};
    while (forwards.back() < text.size()) forwards.push_back(next_character(text, forwards.back()));
    while (backwards.back() > 0) backwards.push_back(previous_character(text, backwards.back()));
    CHECK(std::vector<std::size_t>(backwards.rbegin(), backwards.rend()) == forwards);
  }
}

TEST_CASE("layout: wrapped lines, continuation prompts, the cursor after a full row") {
  const Frame wrapped = frame("abcdefgh", 8, 10);
  REQUIRE(wrapped.rows.size() == 2);
  CHECK(wrapped.rows[0].wraps);
  CHECK(wrapped.cursor == ScreenPosition{1, 4});
  const Frame full = frame("abcd", 4, 10);
  CHECK(full.rows.size() == 2);
  CHECK(full.cursor == ScreenPosition{1, 0});
  const Frame lines = frame("a\nb", 3, 40);
  REQUIRE(lines.rows.size() == 2);
  CHECK(lines.rows[1].columns == 6);
  CHECK(lines.cursor == ScreenPosition{1, 6});
  const Frame wide = frame("abc漢", 3, 10);  // the last column cannot hold it
  CHECK(!wide.rows[0].wraps);
  CHECK(wide.cursor == ScreenPosition{1, 0});
}

TEST_CASE("a key in a long entry writes only what changed") {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "    lv" + std::to_string(i) + " = R.add(x, x)\n";
  Redisplay display;
  display.draw(frame(text, text.size(), 80), 80, 24, true);
  text += "y";
  CHECK(display.draw(frame(text, text.size(), 80), 80, 24, true) == "y");
  CHECK(display.draw(frame(text, text.size() - 1, 80), 80, 24, true) == "\b");
}

TEST_CASE("after any edits the screen shows what drawing anew shows") {
  std::mt19937 random(11);
  const auto below = [&](std::size_t n) { return std::size_t(random() % n); };
  const std::string_view pieces[] = {"a", "bc", "\n", "漢", "\t", "long words here", "\x01", "    ", "x = R.add(y, z)"};
  for (int round = 0; round < 300; ++round) {
    const int width = 3 + int(below(40)), height = 2 + int(below(10));
    ScreenModel screen(width, height);
    screen.write("before\r\n");
    Redisplay display;
    std::string text;
    std::vector<LineBelow> list;
    for (int step = 0; step < 30; ++step) {
      const std::size_t at = next_character(text, below(text.size() + 1)) % (text.size() + 1);
      const std::size_t point = at == 0 ? 0 : previous_character(text, at);
      if (below(3) == 0)
        text.erase(point, below(20));
      else
        text.insert(point, pieces[below(std::size(pieces))]);
      if (below(5) == 0) list = {{"one"}, {"two", "7", "  about it", "2"}};
      if (below(5) == 0) list.clear();
      std::size_t cursor = below(text.size() + 1);
      cursor = cursor == text.size() ? cursor : previous_character(text, cursor + 1);
      const Entry entry{"rldb> ", "1", text, cursor, nullptr, list.empty() ? nullptr : &list};
      const Frame wanted = lay_out(entry, width);
      screen.write(display.draw(wanted, width, height, below(2) == 0));

      ScreenModel fresh(width, height);
      fresh.write("before\r\n");
      Redisplay anew;
      fresh.write(anew.draw(wanted, width, height, false));
      CHECK(screen.unknown() == 0);
      if (int(wanted.rows.size()) <= height) {
        CHECK(screen.column() == fresh.column());
        // Rows that a higher entry pushed off the screen stay above.
        const std::string now = screen.text(), then = fresh.text().substr(fresh.text().find('\n') + 1);
        CHECK_MESSAGE(now.ends_with(then), now, "--- wanted\n", then);
      }
    }
    const Frame last = lay_out({"rldb> ", "1", text, text.size(), nullptr, nullptr}, width);
    screen.write(display.finish(last, width, height, true));
    ScreenModel whole(width, 1000);
    whole.write(Redisplay().draw(last, width, 1000, false));
    CHECK_MESSAGE(screen.text().ends_with(whole.text()), screen.text(), "--- wanted\n", whole.text());
    CHECK(screen.column() == 0);
  }
}

TEST_CASE("a terminal that has wrapped the rows anew, several times, is drawn on where the entry begins") {
  std::mt19937 random(5);
  const auto below = [&](int n) { return int(random() % unsigned(n)); };
  const std::vector<std::string> hints{"R.add(x1, x2)  x1 + x2, and more of it that takes some room",
                                       "type so far: R.Tensor((1, 1), dtype=\"float32\")"};
  for (int round = 0; round < 300; ++round) {
    std::string text;
    for (int i = below(12); i >= 0; --i) text += below(4) == 0 ? "\n    z = " : "R.add(x, ";
    constexpr int kHeight = 60;  // room for all of it
    const std::size_t point = std::size_t(below(int(text.size()) + 1));
    const auto laid_out = [&](int width) {
      std::vector<LineBelow> cut;
      for (const std::string& hint : hints) cut.push_back({hint.substr(0, std::size_t(width - 1))});
      return lay_out({"rldb> ", "1", text, point, nullptr, &cut}, width);
    };
    int width = 20 + below(100);
    ScreenModel screen(width, kHeight);
    screen.write("before\r\n");
    Redisplay display;
    screen.write(display.draw(laid_out(width), width, kHeight, true));
    std::string widths = std::to_string(width);
    for (int i = below(4); i >= 0; --i) {
      screen.resize(width = 20 + below(100));
      widths += " " + std::to_string(width);
    }
    CAPTURE(widths);
    CAPTURE(point);
    screen.write(display.redraw(laid_out(width), width, kHeight, true));

    ScreenModel fresh(width, kHeight);
    fresh.write("before\r\n");
    fresh.write(Redisplay().draw(laid_out(width), width, kHeight, false));
    CHECK(screen.text() == fresh.text());
    CHECK(screen.column() == fresh.column());
    CHECK(screen.row() == fresh.row());
  }
}

TEST_CASE("completions are listed with a line about each, a page of those that do not fit") {
  const Candidates names{
      {"add", "the sum"}, {"argmax", ""}, {"broadcast_to", "to a shape"}, {"concat", ""}, {"matmul", "A B"}};
  const auto lines = [&](std::optional<std::size_t> selected, int width, int rows) {
    std::vector<std::string> text;
    for (const LineBelow& line : menu_lines(names, selected, width, rows))
      text.push_back((line.style == "7" ? "*" : "") + line.head + line.rest);
    return text;
  };
  using Lines = std::vector<std::string>;
  CHECK(lines({}, 80, 10) ==
        Lines{"add           the sum", "argmax", "broadcast_to  to a shape", "concat", "matmul        A B"});
  CHECK(lines(3, 16, 10) == Lines{"add       the ..", "argmax", "broadcast_to  to", "*concat", "matmul    A B"});
  CHECK(lines({}, 80, 3) == Lines{"add     the sum", "argmax", "1 to 2 of 5"});
  CHECK(lines(4, 80, 3) == Lines{"*matmul  A B", "5 to 5 of 5"});
  CHECK(lines(1, 8, 1) == Lines{"*argmax"});
}

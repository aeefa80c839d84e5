// Edits of a program's text through its session.
#include <doctest/doctest.h>

#include <random>

#include "rldb/ir/equal.h"
#include "rldb/ir/printer.h"
#include "rldb/session/session.h"

using namespace rldb;
using session::Session;

namespace {

struct NoOutput : runtime::Output {
  void write(std::string_view) override {}
};

constexpr std::string_view kText = R"(@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def twice(A: T.Buffer((T.int64(4),), "float32"), B: T.Buffer((T.int64(4),), "float32")):
        for i in range(T.int64(4)):
            with T.sblock("twice"):
                vi = T.axis.remap("S", [i])
                B[vi] = A[vi] * T.float32(2)

    @R.function
    def helper(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        a = R.add(x, x)
        b = R.multiply(a, a)
        return b

    @R.function
    def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
        cls = Module
        lv = cls.helper(x)
        lv1 = R.call_tir(cls.twice, (lv,), out_ty=R.Tensor((4,), "float32"))
        lv2 = R.subtract(lv1, x)
        return lv2
)";

struct Edited {
  NoOutput output;
  Session session{options(), &output};
  source::Diagnostics diagnostics;

  Edited() { REQUIRE(session.load_text("test.py", std::string(kText), diagnostics)); }
  static session::Options options() {
    session::Options o;
    o.keep_document = true;
    return o;
  }
};

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string out(text);
  const auto at = out.find(from);
  REQUIRE(at != std::string::npos);
  return out.replace(at, from.size(), to);
}

std::string rendered(const source::Diagnostics& found, const Session& session) {
  std::string text;
  for (const source::Diagnostic& d : found.all()) text += source::render(d, session.sources());
  return text;
}

// Lines and words that an edit puts in.
std::string change_at_random(std::string_view text, std::mt19937& random) {
  static constexpr std::string_view kPieces[] = {
      "R.add(x, x)", "x",  "(",       ")",        "lv",    "\n", "        y = R.add(x, x)\n",
      ", ",          "\"", "float16", "return x", "# c\n", ""};
  const auto below = [&](std::size_t n) { return n == 0 ? 0 : random() % n; };
  std::string out(text);
  if (below(3) == 0) {  // a line is removed, or doubled
    const std::size_t at = out.find('\n', below(out.size()));
    if (at == std::string::npos) return out;
    const std::size_t end = std::min(out.find('\n', at + 1), out.size());
    const std::string line = out.substr(at, end - at);
    return below(2) == 0 ? out.erase(at, line.size()) : out.insert(at, line);
  }
  const std::size_t at = below(out.size());
  return out.replace(at, below(8), kPieces[below(std::size(kPieces))]);
}

}  // namespace

TEST_CASE("an edit of a statement reads that statement, and keeps the other functions") {
  Edited e;
  const ir::Expr* helper = e.session.module()->find("helper");
  session::TextChange change;
  REQUIRE(e.session.edit_text(replaced(kText, "R.subtract(lv1, x)", "R.add(lv1, x)"), e.diagnostics, &change));
  CHECK(!change.whole);
  CHECK(change.statements == 1);
  CHECK(change.changed == std::vector<std::string>{"main"});
  CHECK(e.session.module()->find("helper") == helper);
  CHECK(e.session.program()->version_count() == 1);
}

TEST_CASE("without the option an edit is a text of its own, and places of the program before it stay") {
  Edited e;
  const ir::Module* before = e.session.module();
  const source::Span place = e.session.context().span_of(before->find("main"));
  session::TextChange change;
  e.session.options().keep_document = false;
  REQUIRE(e.session.edit_text("# one\n# two\n" + std::string(kText), e.diagnostics, &change));
  CHECK(!e.session.options().keep_document);
  CHECK(change.whole);
  CHECK(change.changed.empty());
  CHECK(change.moved_line(3) == 5);
  CHECK(e.session.sources().get(place.file).text() == kText);
  CHECK(e.session.context().span_of(before->find("main")).begin == place.begin);
  CHECK(e.session.context().span_of(e.session.module()->find("main")).file != place.file);
  e.session.options().keep_document = true;
  session::TextChange next;
  const std::string again = "# one\n# two\n" + replaced(kText, "R.subtract(lv1, x)", "R.add(lv1, x)");
  REQUIRE(e.session.edit_text(again, e.diagnostics, &next));
  CHECK(!next.whole);
}

TEST_CASE("a text with errors changes nothing, and its diagnostics show it") {
  Edited e;
  const ir::Module* before = e.session.module();
  const source::Span place = e.session.context().span_of(before->find("main"));
  const std::string bad = replaced(replaced(kText, "R.multiply(a, a)", "R.multiply(a, q)"), "a = R.add(x, x)\n", "");
  source::Diagnostics found;
  CHECK(!e.session.edit_text(bad, found));
  CHECK(found.has_errors());
  CHECK(rendered(found, e.session).find("b = R.multiply(a, q)") != std::string::npos);
  CHECK(e.session.module() == before);
  const source::Span now = e.session.context().span_of(before->find("main"));
  CHECK(now.begin == place.begin);
  CHECK(now.end == place.end);
  CHECK(e.session.sources().get(place.file).text() == kText);
}

TEST_CASE("the passes that were applied are applied again, and bookmarks are set again") {
  Edited e;
  REQUIRE(e.session.run_passes("LegalizeOps,ToNonDataflow", e.diagnostics));
  REQUIRE(e.session.program()->go_to(1));
  e.session.program()->add_bookmark("legal");
  REQUIRE(e.session.program()->go_to(2));
  session::TextChange change;
  REQUIRE(e.session.edit_text(replaced(kText, "R.multiply(a, a)", "R.add(a, a)"), e.diagnostics, &change));
  CHECK(change.passes == std::vector<std::string>{"LegalizeOps", "ToNonDataflow"});
  CHECK(e.session.program()->position() == 2);
  REQUIRE(e.session.program()->bookmarks().size() == 1);
  CHECK(e.session.program()->bookmarks()[0].second == 1);
}

TEST_CASE("a session that is restored has the text before the edit, with all places") {
  Edited e;
  Session::Snapshot before = e.session.snapshot();
  const ir::Module* module = e.session.module();
  const source::Span place = e.session.context().span_of(module->find("main"));
  REQUIRE(e.session.edit_text(replaced(kText, "        b = R.multiply(a, a)\n        return b", "        return a"),
                              e.diagnostics));
  CHECK(e.session.context().span_of(module->find("main")).begin < place.begin);
  e.session.restore(std::move(before));
  CHECK(e.session.module() == module);
  CHECK(e.session.context().span_of(module->find("main")).begin == place.begin);
  CHECK(e.session.sources().get(place.file).text() == kText);
  // And the next edit is one of that text.
  session::TextChange change;
  REQUIRE(e.session.edit_text(replaced(kText, "R.subtract", "R.add"), e.diagnostics, &change));
  CHECK(change.changed == std::vector<std::string>{"main"});
}

TEST_CASE("lines of the old text are followed") {
  Edited e;
  session::TextChange change;
  REQUIRE(
      e.session.edit_text(replaced(kText, "        a = R.add(x, x)\n", "        # twice\n\n        a = R.add(x, x)\n"),
                          e.diagnostics, &change));
  CHECK(change.moved_line(10) == 10);
  CHECK(change.moved_line(12) == 14);
  CHECK(change.moved_line(20) == 22);
  REQUIRE(e.session.edit_text(std::string(kText), e.diagnostics, &change));
  CHECK(change.moved_line(14) == 12);
  CHECK(change.moved_line(22) == 20);
  CHECK(change.changed.empty());
}

// The session keeps the last text without errors.
TEST_CASE("edits at random give the program and the diagnostics of a fresh reading") {
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    Edited e;
    std::mt19937 random(seed);
    std::string text(kText);
    for (int i = 0; i < 25; ++i) {
      const std::string next = change_at_random(text, random);
      source::Diagnostics found, expected;
      const bool ok = e.session.edit_text(next, found);
      NoOutput output;
      Session fresh({}, &output);
      const bool fresh_ok = fresh.load_text("test.py", next, expected);
      CAPTURE(seed);
      CAPTURE(next);
      REQUIRE(ok == fresh_ok);
      REQUIRE(rendered(found, e.session) == rendered(expected, fresh));
      if (!ok) continue;
      text = next;
      const auto difference = ir::first_difference(e.session.module(), fresh.module());
      REQUIRE(!difference);
      REQUIRE(ir::print(e.session.module()) == ir::print(fresh.module()));
    }
  }
}

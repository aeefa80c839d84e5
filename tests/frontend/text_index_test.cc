// The names of a text: a name that is replaced everywhere by one that is new leaves the module as it is.
#include "rldb/frontend/text_index.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "frontend/document_check.h"
#include "frontend/vandal.h"
#include "golden/golden.h"

namespace rldb::frontend {
namespace {

std::string renamed(const std::string& text, const std::vector<NameMark>& uses, std::string_view name) {
  std::string out;
  std::size_t at = 0;
  for (const NameMark& m : uses) {
    out.append(text, at, m.at.begin - at).append(name);
    at = m.at.end;
  }
  return out.append(text, at);
}

// Names whose spelling is a part of the module.
bool is_data(NameKind kind) {
  return is_function(kind) || kind == NameKind::Module || kind == NameKind::Block || kind == NameKind::Constant;
}

// The first name of a text whose renaming changes the program; empty: none. Names of one kind in one function are tried
// up to `most` times.
std::string wrong_name(const std::string& text, std::size_t most) {
  const testing::Reading before{std::string(text)};
  if (!before.result.ok || !before.result.module) return {};
  const TextIndex index = TextIndex::of(text);
  const bool has_macros = text.find("macro") != std::string::npos || text.find(".inline") != std::string::npos;
  const ir::EqualOptions options{.map_free_vars = true};
  std::map<std::pair<std::uint32_t, NameKind>, std::size_t> tried;
  for (std::uint32_t i = 0; i < index.definitions().size(); ++i) {
    const NameDefinition& d = index.definitions()[i];
    if (d.joined != i || is_data(d.kind) || !index.is_script(d.at.begin) || d.owner == kNoName) continue;
    if (has_macros) continue;  // their parameters are named by calls, and what they capture by their users
    if (tried[{d.owner, d.kind}]++ >= most) continue;
    const testing::Reading after{renamed(text, index.uses_of(i), "zz_new")};
    if (!after.result.ok || !after.result.module ||
        !ir::structural_equal(before.result.module, after.result.module, options))
      return std::string(to_string(d.kind)) + " " + d.name + " at " + std::to_string(d.at.begin) +
             (after.diagnostics.all().empty() ? std::string() : ": " + after.diagnostics.all()[0].message);
  }
  return {};
}

}  // namespace

TEST_CASE("renaming any name keeps the program: the module of the tests of edits") {
  CHECK(wrong_name(std::string(testing::kModule), 1000) == "");
}

TEST_CASE("renaming any name keeps the program: the corpus") {
  std::size_t files = 0;
  for (const char* folder : {"/docs/examples", "/tests/conformance/corpus"})
    for (const auto& entry : std::filesystem::recursive_directory_iterator(std::string(RLDB_SOURCE_DIR) + folder)) {
      if (entry.path().extension() != ".py" || entry.file_size() > 20'000) continue;
      ++files;
      INFO(entry.path().string());
      CHECK(wrong_name(golden::read(entry.path()), 2) == "");
    }
  CHECK(files > 50);
}

TEST_CASE("the index of an edited document is that of its text") {
  source::SourceManager sources;
  Document document(sources, "test.py", std::string(testing::kModule));
  for (const auto& [from, to] : {std::pair<std::string_view, std::string_view>{"first = cls", "second = cls"},
                                 {"(lv, lv1)", "(lv, lv1"},
                                 {"(lv, lv1\n", "(lv, lv1)\n"},
                                 {"R.add(first", "R.add(second"}}) {
    const std::size_t at = document.text().find(from);
    REQUIRE(at != std::string_view::npos);
    REQUIRE(document.edit(static_cast<std::uint32_t>(at), static_cast<std::uint32_t>(at + from.size()), to));
    const TextIndex edited = document.index(), fresh = TextIndex::of(document.text());
    REQUIRE(edited.marks().size() == fresh.marks().size());
    for (std::size_t i = 0; i < edited.marks().size(); ++i) {
      CHECK(edited.marks()[i].at == fresh.marks()[i].at);
      CHECK(edited.marks()[i].name == fresh.marks()[i].name);
      CHECK(edited.marks()[i].kind == fresh.marks()[i].kind);
    }
  }
}

namespace {

// The first thing in which two indices differ; empty: none.
std::string index_difference(const TextIndex& a, const TextIndex& b, std::size_t size) {
  if (a.definitions().size() != b.definitions().size()) return "definitions";
  for (std::size_t i = 0; i < a.definitions().size(); ++i) {
    const NameDefinition &x = a.definitions()[i], &y = b.definitions()[i];
    const bool same = x.kind == y.kind && x.name == y.name && x.at == y.at && x.whole == y.whole &&
                      x.visible == y.visible && x.owner == y.owner && x.joined == y.joined;
    if (!same) return "definition of " + x.name;
  }
  if (a.marks().size() != b.marks().size()) return "marks";
  for (std::size_t i = 0; i < a.marks().size(); ++i) {
    const NameMark &x = a.marks()[i], &y = b.marks()[i];
    if (!(x.at == y.at) || x.kind != y.kind || x.name != y.name) return "mark at " + std::to_string(x.at.begin);
  }
  if (a.regions() != b.regions()) return "regions";
  if (a.folds() != b.folds()) return "folds";
  for (std::uint32_t at = 0; at < size; at += 7)
    if (a.enclosing(at) != b.enclosing(at)) return "nodes around " + std::to_string(at);
  return {};
}

}  // namespace

TEST_CASE("an index that follows the edits of a statement is that of the text") {
  constexpr std::string_view kPieces[] = {
      "x",  "lv",      "R.add(x, lv)", "(lv, 2)",          ".shape", "cls.helper(x)",
      "# ", "float32", "axis=1",       "R.Tensor((4, 4))", "\"n\"",  "m",
      " = "};
  std::size_t followed = 0;
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    testing::Vandal vandal(seed, kPieces);
    std::string text(testing::kModule);
    TextIndex index = TextIndex::of(text);
    for (int i = 0; i < 150; ++i) {
      const testing::Vandal::Change c = vandal.change(text);
      const std::string before = text;
      text.replace(c.begin, c.end - c.begin, c.text);
      const TextEdit edit{c.begin, c.end, static_cast<std::uint32_t>(c.begin + c.text.size())};
      if (!index.follow(edit, text)) {
        text = before;
        index = TextIndex::of(text);
        continue;
      }
      ++followed;
      CAPTURE(seed);
      CAPTURE(before);
      CAPTURE(text);
      REQUIRE(index_difference(index, TextIndex::of(text), text.size()) == "");
      if (vandal.below(3) == 0) continue;
      text = before;
      const TextEdit back{edit.begin, edit.new_end, edit.old_end};
      if (!index.follow(back, text)) index = TextIndex::of(text);
      REQUIRE(index_difference(index, TextIndex::of(text), text.size()) == "");
    }
  }
  CHECK(followed > 100);
}

}  // namespace rldb::frontend

// The names of a text: a name that is replaced everywhere by one that is new leaves the module as it is.
#include "rldb/frontend/text_index.h"

#include <doctest/doctest.h>

#include <filesystem>

#include "frontend/document_check.h"
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

}  // namespace rldb::frontend

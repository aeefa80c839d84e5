// Edits at random, from texts of several kinds: the result is that of a fresh parse of the text.
#include <doctest/doctest.h>

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "frontend/document_check.h"
#include "frontend/edit_texts.h"
#include "frontend/vandal.h"

namespace rldb::frontend {
namespace {

using testing::difference;
using testing::EditText;
using testing::kEditPieces;
using testing::kEditTexts;
using testing::kLone;
using testing::kModule;
using testing::kNested;
using testing::Vandal;

// The number of edits of a run that were parsed in part.
template <class Editor = Vandal>
std::size_t vandalise(std::string_view start, std::uint32_t seed, int edits) {
  source::SourceManager sources;
  Document document(sources, "test.py", std::string(start));
  Editor vandal(seed, kEditPieces);
  std::size_t in_part = 0;
  for (int i = 0; i < edits; ++i) {
    if (document.text().empty()) document.replace_all(std::string(start));
    const std::string before(document.text());
    const Vandal::Change c = vandal.change(document.text());
    if (!document.edit(c.begin, c.end, c.text)) continue;
    in_part += document.last_read().whole ? 0 : 1;
    const auto check = [&](const char* what) {
      const std::string found = difference(document, sources);
      if (found.empty()) return true;
      FAIL_CHECK("seed " << seed << ", edit " << i << " (" << std::string(what) << "): bytes " << c.begin << " to "
                         << c.end << " by `" << c.text << "`\n"
                         << found << "\nbefore:\n"
                         << before);
      return false;
    };
    if (!check("done")) return in_part;
    // Mostly repaired at once, so that damage does not pile up.
    if (vandal.below(4) == 0 && i % 40 != 39) continue;
    if (i % 40 == 39) {
      document.replace_all(std::string(start));
      continue;
    }
    const auto end = static_cast<std::uint32_t>(c.begin + c.text.size());
    if (!document.edit(c.begin, end, std::string_view(before).substr(c.begin, c.end - c.begin))) continue;
    in_part += document.last_read().whole ? 0 : 1;
    if (!check("undone")) return in_part;
  }
  return in_part;
}

// Whole functions that come and go, and headers that cut them in two.
class Builder : public Vandal {
 public:
  using Vandal::Vandal;

  Change change(std::string_view text) {
    if (below(4) == 0) return Vandal::change(text);
    const std::uint32_t at = line_begin(text);
    if (below(3) > 0) return {at, at, std::string(kPieces[below(std::size(kPieces))])};
    // From a decorator to the next one.
    const std::size_t begin = text.find("    @", at);
    if (begin == std::string_view::npos) return {at, at, ""};
    const std::size_t end = std::min(text.find("    @", begin + 1), text.size());
    return {static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(end), ""};
  }

 private:
  static constexpr std::string_view kPieces[] = {
      "    @R.function(private=True)\n    def loose(x: R.Tensor((\"n\", 4), \"float32\")):\n        y = "
      "R.exp(x)\n        return y\n\n",
      "    @R.function\n    def more(x: R.Tensor((4, 4), \"float32\")) -> R.Tensor((4, 4), \"float32\"):\n        cls "
      "= "
      "Module\n        y = cls.loose(x)\n        return y\n",
      "    @R.function\n    def calls(x: R.Tensor((4, 4), \"float32\")):\n        cls = Module\n        y = "
      "cls.more(x)\n        return y\n",
      "    @T.prim_func(private=True, s_tir=True)\n    def kernel(A: T.Buffer((T.int64(4),), \"float32\")):\n        "
      "for i in range(T.int64(4)):\n            A[i] = T.float32(1)\n",
      "    @R.function\n    def main(x: R.Tensor((4, 4), \"float32\")):\n",
      "    @R.function\n    def cut(x: R.Tensor((4, 4), \"float32\")):\n",
      "    def plain(x):\n",
      "    def loose(x)\n",
      "    @R.function\n",
      "def at_file(x):\n",
      "class Plain:\n",
      "class Plain\n",
      "@I.ir_module\nclass Second:\n",
      "@R.function\n",
      "    # a line\n",
      "    x =\n",
      "\n",
  };
  std::uint32_t line_begin(std::string_view text) {
    const std::size_t line = text.rfind('\n', below(text.size()));
    return line == std::string_view::npos ? 0 : static_cast<std::uint32_t>(line + 1);
  }
};

std::vector<std::string> texts_in(const std::string& folder) {
  constexpr std::uintmax_t kMostBytes = 8 << 10;
  std::vector<std::filesystem::path> paths;
  for (const auto& file : std::filesystem::recursive_directory_iterator(folder))
    if (file.path().extension() == ".py" && file.file_size() <= kMostBytes) paths.push_back(file.path());
  std::sort(paths.begin(), paths.end());
  std::vector<std::string> texts;
  for (const std::filesystem::path& path : paths) {
    std::stringstream text;
    text << std::ifstream(path).rdbuf();
    texts.push_back(text.str());
  }
  return texts;
}

TEST_CASE("thousands of random edits read like fresh texts") {
  std::size_t in_part = 0;
  for (std::uint32_t seed = 1; seed <= 12; ++seed) in_part += vandalise(kModule, seed, 200);
  CHECK(in_part > 500);  // the fast paths were tried, not avoided
  in_part = 0;
  for (std::uint32_t seed = 1; seed <= 6; ++seed) in_part += vandalise(kNested, seed, 200);
  CHECK(in_part > 300);
  in_part = 0;
  for (std::uint32_t seed = 1; seed <= 6; ++seed) in_part += vandalise(kLone, seed, 200);
  CHECK(in_part > 200);
  in_part = 0;
  for (std::uint32_t seed = 1; seed <= 8; ++seed) in_part += vandalise<Builder>(kModule, seed, 200);
  CHECK(in_part > 300);
}

TEST_CASE("random edits of texts of other kinds") {
  for (const EditText& start : kEditTexts) {
    CAPTURE(start.name);
    source::SourceManager sources;
    CHECK_FALSE(Document(sources, "test.py", std::string(start.text)).diagnostics().has_errors());
    for (std::uint32_t seed = 1; seed <= 2; ++seed) (void)vandalise(start.text, seed, 80);
    (void)vandalise<Builder>(start.text, 1, 80);
  }
}

// RLDB_EDIT_SEEDS=500-800 tries more of them, which takes minutes; RLDB_EDIT_FOLDER: from the modules of a folder, each
// with one of the seeds.
TEST_CASE("random edits by the seeds that the environment asks for") {
  const char *const wanted = std::getenv("RLDB_EDIT_SEEDS"), *const folder = std::getenv("RLDB_EDIT_FOLDER");
  unsigned from = 0, to = 0;
  if (!wanted || std::sscanf(wanted, "%u-%u", &from, &to) != 2 || to < from) return;
  if (folder && *folder) {
    std::uint32_t seed = from;
    for (const std::string& text : texts_in(folder)) {
      (void)vandalise(text, seed, 80);
      (void)vandalise<Builder>(text, seed, 80);
      seed = seed == to ? from : seed + 1;
    }
    return;
  }
  for (std::uint32_t seed = from; seed <= to; ++seed) {
    (void)vandalise(kModule, seed, 200);
    (void)vandalise(kNested, seed, 200);
    (void)vandalise<Builder>(kModule, seed, 200);
    (void)vandalise(kLone, seed, 200);
    for (const EditText& start : kEditTexts) {
      (void)vandalise(start.text, seed, 100);
      (void)vandalise<Builder>(start.text, seed, 100);
    }
  }
}

}  // namespace
}  // namespace rldb::frontend

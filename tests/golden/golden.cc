#include "golden/golden.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>

#include "rldb/support/line_diff.h"
#include "rldb/support/text.h"

namespace rldb::golden {

namespace fs = std::filesystem;
using support::trim;

namespace {

// scripts/test sets these two.
constexpr const char* kBless = "RLDB_BLESS";
constexpr const char* kPattern = "RLDB_TEST_FILES";

constexpr std::size_t kMostLines = 100;

std::vector<std::string_view> lines_of(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

// `# WORD argument`; false for every other line.
bool take_directive(std::string_view line, Part& part) {
  if (!line.starts_with("# ")) return false;
  line.remove_prefix(2);
  std::size_t end = 0;
  while (end < line.size() && line[end] >= 'A' && line[end] <= 'Z') ++end;
  if (end < 2 || (end < line.size() && line[end] != ' ')) return false;
  part = {std::string(line.substr(0, end)), std::string(trim(line.substr(end))), {}};
  return true;
}

}  // namespace

bool blessing() { return std::getenv(kBless) != nullptr; }

bool selective() { return std::getenv(kPattern) != nullptr; }

std::vector<fs::path> files_of(std::string_view folder, std::string_view extension) {
  const char* pattern = std::getenv(kPattern);
  const fs::path root = RLDB_SOURCE_DIR;
  std::vector<fs::path> files;
  for (const auto& entry : fs::recursive_directory_iterator(root / "tests" / folder)) {
    if (!entry.is_regular_file() || !entry.path().string().ends_with(extension)) continue;
    if (pattern && fs::relative(entry.path(), root).string().find(pattern) == std::string::npos) continue;
    files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  if (!pattern) REQUIRE_MESSAGE(!files.empty(), "no file in tests/", folder);
  return files;
}

std::string read(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string difference(std::string_view wanted, std::string_view made) {
  std::string out;
  std::size_t lines = 0;
  for (const support::DiffHunk& hunk : support::diff_hunks(wanted, made)) {
    out += hunk.head() + "\n";
    for (const support::DiffLine& line : hunk.lines) {
      if (++lines > kMostLines) return out + "... and more\n";
      out += line.mark + line.text + "\n";
    }
  }
  return out.empty() && wanted != made ? "one of them does not end with a line\n" : out;
}

void expect_file(const fs::path& path, const std::string& wanted, const std::string& made) {
  if (wanted == made) return;
  const std::string name = fs::relative(path, RLDB_SOURCE_DIR).string();
  if (!blessing()) {
    FAIL_CHECK(name << " (`scripts/test --bless " << name << "` writes it):\n" << difference(wanted, made));
    return;
  }
  std::ofstream out(path, std::ios::binary);
  out << made;
  REQUIRE_MESSAGE(out.flush().good(), "cannot write ", name);
}

void check_files(std::string_view folder, const std::function<std::string(const std::string& text)>& rewritten) {
  for (const fs::path& path : files_of(folder)) {
    const std::string name = fs::relative(path, RLDB_SOURCE_DIR).string();
    CAPTURE(name);
    const std::string text = read(path);
    expect_file(path, text, rewritten(text));
  }
}

const Part* Case::find(std::string_view directive) const {
  for (const Part& part : parts)
    if (part.directive == directive) return &part;
  return nullptr;
}

std::string Case::argument(std::string_view directive) const {
  const Part* part = find(directive);
  return part ? part->argument : std::string();
}

void Case::set(std::string_view directive, std::string argument, std::string text) {
  for (Part& part : parts)
    if (part.directive == directive) {
      part = {std::string(directive), std::move(argument), std::move(text)};
      return;
    }
  parts.push_back({std::string(directive), std::move(argument), std::move(text)});
}

void Case::remove(std::string_view directive) {
  std::erase_if(parts, [&](const Part& part) { return part.directive == directive; });
}

std::vector<Case> read_cases(std::string_view text) {
  std::vector<Case> cases;
  std::string* into = nullptr;
  Part part;
  for (const std::string_view line : lines_of(text)) {
    if (take_directive(line, part)) {
      if (part.directive == "CASE") {
        cases.push_back({part.argument, {}, {}});
        into = &cases.back().comment;
        continue;
      }
      REQUIRE_MESSAGE(!cases.empty(), "a file begins with # CASE");
      cases.back().parts.push_back(part);
      into = &cases.back().parts.back().text;
      continue;
    }
    REQUIRE_MESSAGE(into, "a file begins with # CASE");
    *into += std::string(line) + "\n";
  }
  for (Case& c : cases) {
    c.comment = trim(c.comment);
    for (Part& each : c.parts) each.text = trim(each.text);
  }
  return cases;
}

std::string write_cases(const std::vector<Case>& cases) {
  std::string out;
  for (const Case& c : cases) {
    out += fmt::format("{}# CASE {}\n", out.empty() ? "" : "\n", c.name);
    if (!c.comment.empty()) out += c.comment + "\n";
    for (const Part& part : c.parts) {
      out += fmt::format("# {}{}{}\n", part.directive, part.argument.empty() ? "" : " ", part.argument);
      if (!part.text.empty()) out += part.text + "\n";
    }
  }
  return out;
}

void check_cases(std::string_view folder, const std::function<void(Case&)>& run) {
  check_files(folder, [&](const std::string& text) {
    std::vector<Case> cases = read_cases(text);
    for (Case& c : cases) {
      CAPTURE(c.name);
      run(c);
    }
    return write_cases(cases);
  });
}

std::vector<std::string> cells_of(std::string_view line, char separator) {
  std::vector<std::string> cells;
  for (std::size_t at = 0;;) {
    const std::size_t end = std::min(line.find(separator, at), line.size());
    cells.emplace_back(trim(line.substr(at, end - at)));
    if (end == line.size()) return cells;
    at = end + 1;
  }
}

void check_tables(std::string_view folder, std::size_t inputs,
                  const std::function<std::string(const std::vector<std::string>& cells)>& result) {
  check_files(folder, [&](const std::string& text) {
    std::string out;
    for (const std::string_view line : lines_of(text)) {
      std::vector<std::string> cells = cells_of(line);
      if (line.starts_with('#') || cells.size() < inputs) {
        out += std::string(line) + "\n";
        continue;
      }
      CAPTURE(line);
      cells.resize(inputs);
      const std::string made = result(cells);
      for (const std::string& cell : cells) out += cell + " | ";
      out += made + "\n";
    }
    return out;
  });
}

}  // namespace rldb::golden

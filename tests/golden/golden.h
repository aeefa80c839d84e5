// Tests by files, for every room: a folder below tests/ holds texts with their results, and one function makes of a
// file's text what the text should be. The runner compares the two and shows the lines that differ; with
// `scripts/test --bless PATTERN` it writes the file.
//
// Two forms of text have readers here.
//
// Cases, for programs: a directive is a line `# WORD`, a word of capitals, followed by its argument. `# CASE name`
// begins a case; each further directive begins a part, the lines up to the next one.
//
//   # CASE what the case is about
//   # RUN LegalizeOps
//   <module>
//   # GIVES
//   <module>
//
// Tables, for expressions: a line is a case, its cells are separated by `|`, the last one is the result. `#` begins a
// comment.
#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace rldb::golden {

// The results are to be written instead of compared.
bool blessing();
// A pattern selects files: what is true of all files together cannot be checked.
bool selective();

// The files below tests/FOLDER whose names end in `extension`, in order. With a pattern given to `scripts/test`, those
// whose path has it.
std::vector<std::filesystem::path> files_of(std::string_view folder, std::string_view extension = ".txt");

std::string read(const std::filesystem::path& path);

// Compares what a file should be with what it is, or writes it.
void expect_file(const std::filesystem::path& path, const std::string& wanted, const std::string& made);

// `expect_file` for each file of `files_of`; fails if there is none (and no pattern was given).
void check_files(std::string_view folder, const std::function<std::string(const std::string& text)>& rewritten);

// The lines that differ and three lines around them, at most a hundred; empty if the texts are equal.
std::string difference(std::string_view wanted, std::string_view made);

struct Part {
  std::string directive;  // GIVES
  std::string argument;
  std::string text;  // trimmed
};
struct Case {
  std::string name;
  std::string comment;  // the lines between the name and the first directive
  std::vector<Part> parts;

  const Part* find(std::string_view directive) const;
  // Null text if there is none.
  std::string argument(std::string_view directive) const;
  // Sets the part, or appends it.
  void set(std::string_view directive, std::string argument, std::string text);
  // Removes the parts of that name.
  void remove(std::string_view directive);
};
std::vector<Case> read_cases(std::string_view text);
std::string write_cases(const std::vector<Case>& cases);

// `check_files` for files of cases: `run` sets the results of a case.
void check_cases(std::string_view folder, const std::function<void(Case&)>& run);

// The cells of a line, trimmed.
std::vector<std::string> cells_of(std::string_view line, char separator = '|');

// `check_files` for tables: `result` gives the last cell of a line from its first `inputs` cells.
void check_tables(std::string_view folder, std::size_t inputs,
                  const std::function<std::string(const std::vector<std::string>& cells)>& result);

}  // namespace rldb::golden

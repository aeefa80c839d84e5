// A golden text: a program, and below it the complete output of `rldb check`.
//
//   # RUN: check [--format=json] [--color] [--width=N] [--text=escaped]     (optional, the first line)
//   <the program>
//   #| case.py:3:9: error: ...
//
// The program is everything above the first `#| ` line, header included, so that the lines count as in the file and the
// file can be given to `rldb check` unchanged. With --text=escaped, `\r`, `\t`, `\n`, `\\` and `\xNN` in the program
// represent those bytes, and a `\` at the end of a line joins it with the next. In the expectation a control byte or a
// byte that is not UTF-8 is written as `\xNN`. Readers: golden_test.cc, coverage_test.cc. The texts are in
// tests/diagnostics/<topic>/.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "rldb/source/diagnostic.h"

namespace rldb::diagnostics_test {

struct Golden {
  std::filesystem::path path;
  std::string name;      // below tests/diagnostics
  std::string program;   // the bytes that are checked
  std::string text;      // of the file up to the expectation
  std::string whole;     // the file
  std::string expected;  // without the marks
  bool json = false;
  bool color = false;
  std::size_t width = 0;
};

std::vector<std::filesystem::path> golden_files();
Golden read_golden(const std::filesystem::path& path);
// The diagnostics of the program, in the form that the file expects; `kinds` receives their kinds.
std::string check(const Golden& golden, std::vector<source::DiagId>& kinds);
// The text of the file with this expectation.
std::string with_expectation(const Golden& golden, const std::string& found);

}  // namespace rldb::diagnostics_test

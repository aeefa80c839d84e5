// rldb_conformance DIR [--only=TEXT] [--expected-failures=FILE] [--write-expected=FILE] [--seconds=N] [--failures]
// [--check-accesses]
//
// Prints a table (test file, cases, passes) and the reason for each failure. With a list of expected failures only
// differences from it count: a new failure fails the run, and so does a listed case that passes (remove it from the
// list). A name after `? ` has no defined outcome (the program reads its input out of bounds): either will do.
#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <thread>

#include "conformance/conformance.h"

namespace {

using namespace rldb::conformance;

struct Flags {
  std::string root;
  std::string only;
  std::string expected;
  std::string write_expected;
  double seconds = 20;
  bool failures = false;
};

bool take(const std::string& arg, const char* name, std::string& value) {
  const std::string head = std::string(name) + "=";
  if (arg.compare(0, head.size(), head) != 0) return false;
  value = arg.substr(head.size());
  return true;
}

Flags read_flags(int argc, char** argv) {
  Flags f;
  for (int i = 1; i < argc; ++i) {
    const std::string arg = argv[i];
    std::string seconds;
    if (arg == "--failures")
      f.failures = true;
    else if (arg == "--check-accesses")
      check_accesses = true;
    else if (take(arg, "--seconds", seconds))
      f.seconds = std::atof(seconds.c_str());
    else if (!take(arg, "--only", f.only) && !take(arg, "--expected-failures", f.expected) &&
             !take(arg, "--write-expected", f.write_expected))
      f.root = arg;
  }
  return f;
}

// `name<TAB>reason` on each line; # comments.
std::map<std::string, std::string> read_expected(const std::string& path) {
  std::map<std::string, std::string> rows;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    if (line.empty() || line[0] == '#') continue;
    const auto tab = line.find('\t');
    rows[line.substr(0, tab)] = tab == std::string::npos ? "" : line.substr(tab + 1);
  }
  return rows;
}

struct Row {
  std::size_t cases = 0, passed = 0;
};

std::string part_of(const Case& c) { return c.name.substr(0, c.name.find('/')); }

}  // namespace

int main(int argc, char** argv) {
  const Flags flags = read_flags(argc, argv);
  if (flags.root.empty()) {
    std::fprintf(stderr,
                 "usage: rldb_conformance DIR [--only=TEXT] [--expected-failures=FILE] [--seconds=N] [--failures] "
                 "[--check-accesses]\n");
    return 2;
  }
  std::vector<Case> cases;
  for (Case& c : list_cases(flags.root))
    if (flags.only.empty() || c.name.find(flags.only) != std::string::npos) cases.push_back(std::move(c));
  if (cases.empty()) {
    std::fprintf(stderr, "no cases below %s\n", flags.root.c_str());
    return 2;
  }
  const int workers = std::max(1, int(std::thread::hardware_concurrency()));
  const std::vector<Outcome> outcomes = run_cases(cases, workers, flags.seconds);

  std::map<std::string, std::map<std::string, Row>> table;
  std::map<std::string, Row> totals;
  std::size_t passed = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    for (Row* row : {&table[part_of(cases[i])][cases[i].group], &totals[part_of(cases[i])]}) {
      ++row->cases;
      row->passed += outcomes[i].passed;
    }
    passed += outcomes[i].passed;
  }
  for (const auto& [part, groups] : table) {
    for (const auto& [group, row] : groups)
      fmt::print("{:<8} {:<72} {:>5} / {:<5}\n", part, group, row.passed, row.cases);
    const Row& t = totals[part];
    fmt::print("{:<8} {:<72} {:>5} / {:<5} {:5.1f} %\n", part, "all", t.passed, t.cases,
               100.0 * double(t.passed) / double(t.cases));
  }
  if (flags.failures || flags.expected.empty())
    for (std::size_t i = 0; i < cases.size(); ++i)
      if (!outcomes[i].passed) fmt::print("FAIL {}\t{}\n", cases[i].name, outcomes[i].reason);
  if (!flags.write_expected.empty()) {
    std::ofstream out(flags.write_expected);
    out << "# Cases of the corpus that do not pass yet: name, tab, reason. This list only shrinks.\n";
    for (std::size_t i = 0; i < cases.size(); ++i)
      if (!outcomes[i].passed) out << cases[i].name << '\t' << outcomes[i].reason << '\n';
  }
  if (flags.expected.empty()) {
    fmt::print("{} of {} cases pass\n", passed, cases.size());
    return passed == cases.size() ? 0 : 1;
  }
  const auto expected = read_expected(flags.expected);
  std::size_t good = 0, bad = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const bool listed = expected.contains(cases[i].name);
    if (outcomes[i].passed != listed || expected.contains("? " + cases[i].name)) {
      ++good;
    } else {
      ++bad;
      if (listed)
        fmt::print("PASSES NOW, take it off the list: {}\n", cases[i].name);
      else
        fmt::print("NEW FAILURE {}: {}\n", cases[i].name, outcomes[i].reason);
    }
  }
  fmt::print("{} passed, {} failed\n", good, bad);
  return bad == 0 ? 0 : 1;
}

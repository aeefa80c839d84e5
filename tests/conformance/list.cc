// Finds the cases of a corpus.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>

#include "conformance/conformance.h"
#include "rldb/support/folder.h"

namespace rldb::conformance {

namespace fs = std::filesystem;

namespace {

// relax-test_x__test_f__M -> relax-test_x
std::string group_of(const std::string& name) { return name.substr(0, name.find("__")); }

std::vector<std::string> split_tabs(const std::string& line) {
  std::vector<std::string> cells;
  std::stringstream in(line);
  for (std::string cell; std::getline(in, cell, '\t');) cells.push_back(cell);
  return cells;
}

void add_texts(const fs::path& folder, Kind kind, const std::string& prefix, std::vector<Case>& cases) {
  for (const fs::path& p : support::sorted_entries(folder)) {
    if (p.extension() != ".py") continue;
    Case c;
    c.kind = kind;
    c.name = prefix + "/" + p.stem().string();
    c.group = group_of(p.stem().string());
    c.path = p.string();
    cases.push_back(std::move(c));
  }
}

void add_pairs(const fs::path& folder, std::vector<Case>& cases) {
  for (const fs::path& p : support::sorted_entries(folder)) {
    std::ifstream in(p / "pass.txt");
    Case c;
    c.kind = Kind::Pairs;
    c.name = "pairs/" + p.filename().string();
    c.path = p.string();
    std::getline(in, c.pass);
    c.group = c.pass.substr(0, c.pass.find('('));
    if (!c.pass.empty()) cases.push_back(std::move(c));
  }
}

bool has_metadata(const std::string& path) {
  std::ifstream in(path);
  std::stringstream text;
  text << in.rdbuf();
  return text.str().find("metadata[") != std::string::npos;
}

// Modules written by TVM's own printer.
void add_modules(const fs::path& folder, const std::string& prefix, std::vector<Case>& cases) {
  for (const fs::path& p : support::sorted_entries(folder)) {
    if (p.extension() != ".py") continue;
    Case c;
    c.kind = Kind::Parse;
    c.name = prefix + "/" + p.stem().string();
    c.group = prefix;
    c.path = p.string();
    cases.push_back(c);
    c.kind = Kind::Print;
    c.name = "print/" + c.name;
    if (has_metadata(c.path)) c.group += ", metadata";
    cases.push_back(std::move(c));
  }
}

// Each text that is a round trip is also one in the older spellings.
void add_spellings(std::vector<Case>& cases) {
  const std::size_t listed = cases.size();
  for (std::size_t k = 0; k < listed; ++k) {
    if (cases[k].kind != Kind::Parse) continue;
    for (const char* syntax : {"sinfo", "rfc"}) {
      Case c = cases[k];
      c.kind = Kind::Spelling;
      c.name = std::string(syntax) + "/" + c.name;
      c.syntax = syntax;
      cases.push_back(std::move(c));
    }
  }
}

// The engines on every module that TVM's tests ran or passed on. `parse` has the same programs.
void add_agreements(std::vector<Case>& cases) {
  const std::size_t listed = cases.size();
  for (std::size_t k = 0; k < listed; ++k) {
    const std::string& name = cases[k].name;
    if (cases[k].kind != Kind::Parse || name.starts_with("parse/")) continue;
    Case c = cases[k];
    c.kind = Kind::Agree;
    c.name = "agree/" + name;
    c.group = "agree " + name.substr(0, name.find('/'));
    c.patience = 3;  // a whole lowering, each pass compared
    cases.push_back(std::move(c));
  }
}

void add_trace(const fs::path& folder, std::vector<Case>& cases) {
  add_modules(folder / "mod", "trace/mod", cases);
  int number = 0;
  for (const auto& row : table_rows(folder / "index.tsv")) {
    ++number;
    if (row.size() < 6) continue;
    Case c;
    c.kind = Kind::Trace;
    c.name = "trace/" + std::to_string(number) + ":" + row[1];
    c.group = row[1];
    // `?`: the recorder could not see the arguments, as for a pass created without any.
    c.pass = row[1] + "(" + (row[2] == "?" ? std::string() : row[2]) + ")";
    c.path = (folder / "mod" / (row[3] + ".py")).string();
    c.after = (folder / "mod" / (row[4] + ".py")).string();
    c.outcome = row[5];
    cases.push_back(std::move(c));
  }
}

void add_runs(const fs::path& folder, std::vector<Case>& cases) {
  add_modules(folder / "mod", "runs/mod", cases);
  // A test may run several times: the second is `test #2`.
  std::map<std::string, int> seen;
  for (const auto& row : table_rows(folder / "index.tsv")) {
    if (row.size() < 4) continue;
    const int times = ++seen[row[0]];
    const std::string run = times == 1 ? row[0] : row[0] + " #" + std::to_string(times);
    const std::string test = row[0].substr(0, row[0].find("::"));
    for (const char* engine : {"jit", "eval"}) {
      Case c;
      c.kind = Kind::Runs;
      c.name = "runs/" + run + " " + engine;
      c.group = test.substr(test.rfind('/') + 1) + " " + engine;
      c.path = (folder / "mod" / (row[1] + ".py")).string();
      c.function = row[2];
      c.values = (folder / "io" / row[3]).string();
      c.engine = engine;
      cases.push_back(std::move(c));
    }
  }
}

}  // namespace

std::vector<std::vector<std::string>> table_rows(const std::string& path, std::vector<std::string>* heading) {
  std::vector<std::vector<std::string>> out;
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  if (heading) *heading = split_tabs(line);
  while (std::getline(in, line)) out.push_back(split_tabs(line));
  return out;
}

std::vector<Case> list_cases(const std::string& root) {
  std::vector<Case> cases;
  const auto part = [&](const char* name) {
    const fs::path base = fs::path(root).lexically_normal();
    const fs::path last = base.has_filename() ? base.filename() : base.parent_path().filename();
    return last == name ? base : base / name;
  };
  add_texts(part("parse"), Kind::Parse, "parse", cases);
  add_texts(part("raises"), Kind::Raises, "raises", cases);
  add_pairs(part("pairs"), cases);
  add_trace(part("trace"), cases);
  add_runs(part("runs"), cases);
  add_spellings(cases);
  add_agreements(cases);
  add_relay(part("relay").string(), cases);
  add_onnx(root, cases);
  return cases;
}

}  // namespace rldb::conformance

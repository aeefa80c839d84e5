// The cases of the folder `relay`: see its README for the meaning of its tables.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "conformance/conformance.h"

namespace rldb::conformance {

namespace {

Case of_file(const std::string& folder, const std::string& file, Kind kind, const std::string& part) {
  Case c;
  c.kind = kind;
  c.name = "relay/" + part + "/" + file.substr(0, file.rfind('.'));
  c.group = part;
  c.path = folder + "/" + file;
  return c;
}

std::string cell(const std::vector<std::string>& row, std::size_t i) { return i < row.size() ? row[i] : std::string(); }

// By file, the module that its test loads first.
std::map<std::string, std::string> initial_modules(const std::string& folder) {
  std::map<std::string, std::string> found;
  for (const auto& row : table_rows(folder + "/index.tsv")) {
    const bool on_prelude = cell(row, 0).starts_with("ok/nat_rly") || cell(row, 0).starts_with("ok/gradient_rly");
    found[cell(row, 0)] = on_prelude ? "prelude" : cell(row, 10);
  }
  return found;
}

void add_texts(const std::string& folder, std::vector<Case>& cases) {
  for (const auto& row : table_rows(folder + "/index.tsv")) {
    const std::string file = cell(row, 0), expect = cell(row, 6);
    if (expect == "parses") cases.push_back(of_file(folder, file, Kind::RelayText, "text"));
    if (expect == "prints") cases.push_back(of_file(folder, file, Kind::RelayPrints, "prints"));
    // A text rejected only because the test passes no table of metadata has no verdict without that.
    if (expect.starts_with("raises") && cell(row, 9).empty()) {
      cases.push_back(of_file(folder, file, Kind::RelayVerdict, "raises"));
      cases.back().outcome = "raise";
    }
  }
}

// Programs of the machine: each text parses, has types and is a round trip; it gives its values on the Relay VM, and
// translated to Relax.
void add_programs(const std::string& folder, std::vector<Case>& cases) {
  std::vector<std::string> files;
  std::error_code ignored;
  for (const auto& entry : std::filesystem::directory_iterator(folder + "/vm", ignored))
    if (entry.path().extension() == ".relay") files.push_back(entry.path().filename().string());
  std::sort(files.begin(), files.end());
  for (const std::string& file : files) {
    cases.push_back(of_file(folder, "vm/" + file, Kind::RelayText, "programs"));
    std::ifstream in(cases.back().path.substr(0, cases.back().path.rfind('.')) + ".json");
    const std::string about((std::istreambuf_iterator<char>(in)), {});
    if (about.find("\"prelude\": true") != std::string::npos) cases.back().initial = "prelude";
    const Case text = cases.back();
    for (const char* engine : {"jit", "eval"}) {
      Case run = text;
      run.kind = Kind::RelayTranslated;
      run.name = "relay/translated/" + file.substr(0, file.rfind('.')) + " " + engine;
      run.group = "relay translated " + std::string(engine);
      run.engine = engine;
      run.values = text.path.substr(0, text.path.rfind('.')) + ".json";
      cases.push_back(run);
    }
    for (const char* engine : {"jit", "eval"}) {
      cases.push_back(of_file(folder, "vm/" + file, Kind::RelayProgram, "machine"));
      cases.back().name += std::string(" ") + engine;
      cases.back().engine = engine;
    }
  }
}

void add_counts(const std::string& folder, std::vector<Case>& cases) {
  std::vector<std::string> heading;
  for (const auto& row : table_rows(folder + "/counts.tsv", &heading)) {
    cases.push_back(of_file(folder, cell(row, 0), Kind::RelayCounts, "counts"));
    cases.back().counts = row;
    cases.back().counted_as = heading;
  }
}

}  // namespace

void add_relay(const std::string& folder, std::vector<Case>& cases) {
  add_texts(folder, cases);
  add_counts(folder, cases);
  const auto initial = initial_modules(folder);
  for (Case& c : cases)
    if (const auto found = initial.find(c.path.size() > folder.size() ? c.path.substr(folder.size() + 1) : "");
        found != initial.end())
      c.initial = found->second;
  add_programs(folder, cases);
  for (const auto& row : table_rows(folder + "/own/index.tsv")) {
    cases.push_back(of_file(folder, "own/" + cell(row, 0), Kind::RelayVerdict, "verdict"));
    cases.back().outcome = cell(row, 2);
  }
  for (const auto& row : table_rows(folder + "/vm_exec/index.tsv")) {
    cases.push_back(of_file(folder, "vm_exec/" + cell(row, 0), Kind::RelayExecutable, "executables"));
    cases.back().outcome = cell(row, 1);
  }
  for (const auto& row : table_rows(folder + "/equal.tsv")) {
    cases.push_back(of_file(folder, cell(row, 0), Kind::RelayEqual, "equal"));
    cases.back().after = folder + "/" + cell(row, 1);
    cases.back().outcome = cell(row, 2);
  }
}

}  // namespace rldb::conformance

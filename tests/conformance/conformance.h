// Conformance: runs a corpus of real modules (parse, raises, pairs, trace, runs, relay) and reports what passes.
//
// Every text of parse, trace/mod and runs/mod is a round trip too, in its original spelling and in the older ones; a
// text written by TVM's own printer (trace/mod, runs/mod) must come back byte for byte.
//
// Cases are listed, then run by worker processes (a crash or a hang costs one case, not the run), then counted by test
// file. A case's name is stable: the expected-failures list refers to it.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace rldb::conformance {

enum class Kind {
  Parse,     // parses, verifies, prints, parses again: the same module and the same bytes
  Raises,    // TVM rejects the text, and so do we
  Pairs,     // a pass takes one module to another
  Trace,     // the same, as recorded while TVM's tests ran
  Runs,      // an execution gives the recorded values
  Print,     // the printed text is TVM's, except for the comment header
  Agree,     // the engines, and the evaluator on lowered code, give the same values; passes if nothing can run
  Spelling,  // the round trip of Parse in an older spelling, or the printer reports what that cannot express
  // In the folder `relay`:
  RelayText,        // parses, prints, parses again: the same graph and the same bytes
  RelayPrints,      // the printed text is the text itself
  RelayCounts,      // the graph has as many nodes of each kind as in the table
  RelayVerdict,     // rejected, or accepted: `outcome`
  RelayEqual,       // two texts mean the same graph, or do not: `outcome`
  RelayTranslated,  // a program translated to Relax gives the expected values on `engine`
  RelayProgram,     // gives the expected values on the Relay VM, kernels on `engine`
  RelayExecutable,  // loads, lists, writes and runs as in the index: `outcome`
  // In a folder of ONNX tests:
  Onnx,  // a model gives the expected outputs on `engine`
};

// --check-accesses: compiled kernels check each access once more (session::Options::check_accesses).
inline bool check_accesses = false;

struct Case {
  Kind kind{};
  std::string name;     // "parse/relax-test_x__f__M", "runs/12:test_y jit"
  std::string group;    // test file: a row of the table
  std::string path;     // of the module (or the pair's folder)
  std::string pass;     // pairs, trace: the pass with its arguments, as in Python
  std::string after;    // trace: path of the expected module
  std::string outcome;  // trace: "ok" or an error
  std::string function;
  std::string values;               // runs: path of the .npz
  std::string engine;               // runs: jit or eval
  double patience = 1;              // times the limit of a case: for whole models
  std::string syntax;               // spelling: sinfo or rfc
  std::string initial;              // relay: what the text's test loads first
  std::vector<std::string> counts;  // relay counts: the row of the table; counted_as: its heading
  std::vector<std::string> counted_as;
};

struct Outcome {
  bool passed = false;
  std::string reason;  // first diagnostic or difference, one line
};

// All cases of a corpus folder (or of one of its parts, if `root` is such a part). Sorted by name.
std::vector<Case> list_cases(const std::string& root);
Outcome run_case(const Case& c);
// Those of the folder `relay` (relay_list.cc, relay_run.cc, relay_translate.cc).
void add_relay(const std::string& folder, std::vector<Case>& cases);
Outcome run_relay(const Case& c);
Outcome run_relay_translated(const Case& c);
Outcome run_relay_executable(const Case& c);
Outcome run_relay_program(const Case& c);
// Those of a folder of ONNX tests (onnx.cc).
void add_onnx(const std::string& root, std::vector<Case>& cases);
Outcome run_onnx(const Case& c);
Outcome failed(std::string reason);
// The rows of a table of tab-separated cells, below its heading.
std::vector<std::vector<std::string>> table_rows(const std::string& path, std::vector<std::string>* heading = nullptr);
// In worker processes; results in the order of `cases`. A worker that dies or hangs for `seconds` fails its case.
std::vector<Outcome> run_cases(const std::vector<Case>& cases, int workers, double seconds);

}  // namespace rldb::conformance

// The smallest ONNX model with the same symptom.
//
// Candidates are models with fewer nodes, whose inputs are what the first run gave; each is translated and asked as
// `reduce` asks modules, in child processes. The first in their order that shows the symptom is where the next ones
// start from. The names of the nodes stay. Users: `rldb reduce --onnx`.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "rldb/onnx/smaller.h"
#include "rldb/repro/expected.h"
#include "rldb/repro/oracle.h"
#include "rldb/repro/reduce.h"

namespace rldb::repro {

struct OnnxQuestion {
  Question question;                    // of the module that a model becomes
  std::string command;                  // is given the model's file instead; exit code 0: it has the fault
  std::optional<ExpectedSet> expected;  // values of another framework, in place of the program before its passes
  std::string first;                    // the first of these that differs
};

struct OnnxReduceOptions {
  unsigned jobs = 1;
  double candidate_seconds = 10;
  double seconds = 0;  // in all; 0: no limit
  // The job whose other ranks try candidates too; each of them is in `answer_onnx_rank_0`. Null: there is none.
  support::Ranks* ranks = nullptr;
  // Called after each candidate; `move` is empty for one that was not accepted.
  std::function<void(const onnx::ModelSize& size, std::size_t tried, const std::string& move)> progress;
};

struct OnnxReduction {
  using Values = std::vector<std::pair<std::string, runtime::Value>>;  // by the names of the model, in its order
  onnx::ModelRef model;  // null: there is no symptom to keep, `why` says it
  std::string why;
  Symptom symptom;
  onnx::ModelSize before, after;
  std::size_t tried = 0, accepted = 0;
  bool complete = false;
  ReductionFacts::Refused refused;
  Values inputs;   // that the symptom needs; none: any will do
  Values outputs;  // for these inputs: before the first pass, or the expected ones
};

// The session's program is `model`; it stays.
OnnxReduction reduce_onnx(session::Session& session, const onnx::Translation& model, const OnnxQuestion& question,
                          const OnnxReduceOptions& options);
// On a rank other than 0, with the question that rank 0 has: answers it for each model that comes, until the end.
void answer_onnx_rank_0(session::Session& session, const OnnxQuestion& question, support::Ranks& ranks,
                        double candidate_seconds);
std::string minimality(const OnnxReduction& r);

}  // namespace rldb::repro

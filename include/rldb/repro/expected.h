// A program that was an ONNX model, beside the values that another framework computed: of its outputs, or of any node.
//
// The folder is a test of ONNX (input_0.pb, output_0.pb, ...), a folder of such tests (test_data_set_0, ...), an .npz
// whose members are named as the model's values, or a folder with a file NAME.npy for each value or node. Names in
// files may have `_` where the model has another character. Users: `rldb compare --expected`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rldb/onnx/model.h"
#include "rldb/repro/tensor_difference.h"
#include "rldb/session/session.h"

namespace rldb::repro {

struct ExpectedSet {
  std::string name;                                            // of the folder or file
  std::vector<std::pair<std::string, runtime::Value>> inputs;  // by the names of the model
  std::vector<std::pair<std::string, runtime::Value>> values;  // outputs of nodes
  std::vector<std::string> unknown;                            // names that the model does not have
};

struct ExpectedDifference {
  std::string node, op, value;  // the label of the node, `Conv`, the name of its output
  std::string variable;         // of the module; empty: none has it
  std::size_t index = 0;        // of the node
  TensorDifference difference;  // the expected value is the first side
  // An absolute tolerance under which this value agrees, if its differences are of the size of rounding: small beside
  // the largest number of the tensor.
  std::optional<double> enough;
};

struct ExpectedComparison {
  enum class Verdict { Agree, Differs, CannotTell } verdict = Verdict::CannotTell;
  std::string why;  // why it cannot tell
  std::string set;
  std::size_t compared = 0, differ = 0;     // values
  std::vector<std::string> without_value;   // expected values that no binding has: the translation computed them
  std::vector<std::string> unknown;         // names that the model does not have
  std::vector<std::string> made_up;         // inputs without a value
  std::vector<std::string> constants;       // inputs that the translation took as constants
  std::optional<ExpectedDifference> first;  // in the order of the nodes
};

// The test sets of a folder; the path itself if it has none.
std::vector<std::string> expected_places(const std::string& path);
// None: the place has no values, or cannot be read, which is diagnosed.
std::optional<ExpectedSet> read_expected(const onnx::Translation& model, const std::string& place,
                                         source::Diagnostics& out);
// The inputs only, which need no translation. None: diagnosed.
std::optional<onnx::Tensors> expected_inputs(const onnx::Model& model, const std::string& place,
                                             source::Diagnostics& out);
// Those that are not given are those of ONNX's tests: rtol 1e-3, atol 1e-7.
Tolerances expected_tolerances(Tolerances given);
ExpectedComparison compare_expected(session::Session& session, const onnx::Translation& model, const ExpectedSet& set,
                                    Tolerances tolerances);
// Several lines, without the last line break.
std::string to_string(const ExpectedComparison& c);
std::string to_json(const std::vector<ExpectedComparison>& all);

}  // namespace rldb::repro

// Smaller models, made of one: the changes that `rldb reduce --onnx` tries.
//
// A change may make a model that is not valid, or another program altogether: whoever asks translates it and looks.
// Names of nodes and values stay as they are. Weights are beside the graph and shared by all models made of one, so
// that a candidate costs what its graph does; `model_file` puts them back. Users: repro.
#pragma once

#include <functional>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "rldb/onnx/model.h"

namespace rldb::onnx {

// A value that an input or a node gives: its type by the translation, and what it was in a run.
struct SeenValue {
  runtime::DType dtype;
  std::vector<std::string> dims;  // numbers, and names of symbols
  std::optional<runtime::Value> value;
};
struct Seen {
  std::unordered_map<std::string, SeenValue> values;  // tensors of known rank only
  std::optional<std::set<std::string>> results;       // the only values that may become outputs of the model
};
// `of_run`: inputs and outputs of nodes, by name.
std::unordered_map<std::string, SeenValue> seen_values(const Translation& translation, const Tensors& of_run);

// In the order in which sizes are compared.
struct ModelSize {
  std::size_t nodes = 0;      // of subgraphs and functions too
  std::size_t constants = 0;  // elements of initialisers
  std::size_t symbols = 0;    // symbolic dims of inputs
  std::size_t elements = 0;   // of the inputs' dims, summed
  std::size_t outputs = 0, inputs = 0, operands = 0, attributes = 0;
  auto operator<=>(const ModelSize&) const = default;
};
ModelSize size_of(const Model& model);
std::string to_string(const ModelSize& size);  // `3 nodes, 12 constants`
// Equal models have equal ones. Of large weights the shape counts only: a change cuts them, and does no more.
std::size_t hash_of(const Model& model);

// The form that the changes work on: weights apart, bound inputs as initialisers, each dim of an input with a name or
// a number, no recorded types of inner values. Null: a weight cannot be read, which is diagnosed, or the model is a
// program of PyTorch.
ModelRef to_reduce(const ModelRef& model, const Tensors& bound, source::Diagnostics& out);

struct SmallerModel {
  ModelRef model;  // null: the change does not apply
  Tensors inputs;  // values of inputs that changed with it
};
struct ModelChange {
  std::string move;  // for the progress line
  std::function<SmallerModel()> make;
};
using ModelChanges = std::vector<ModelChange>;

// The value is the only output; the nodes that it does not need are gone.
ModelRef ending_at(const ModelRef& model, const Seen& seen, const std::string& value);
// Without nodes and initialisers that nobody reads.
ModelChanges without_unread(const ModelRef& model, const Seen& seen);
// One of several outputs, or one fewer.
ModelChanges fewer_outputs(const ModelRef& model, const Seen& seen);
// The results of an earlier node are the outputs, those in the middle first.
ModelChanges earlier_outputs(const ModelRef& model, const Seen& seen);
// Runs of `length` nodes are replaced by their values: inputs of the model, or initialisers where they are small
// numbers that other nodes take as shapes and axes.
ModelChanges values_for_nodes(const ModelRef& model, const Seen& seen, std::size_t length);
// A node is replaced by one of its operands of the same type; in subgraphs and functions by any.
ModelChanges operands_for_nodes(const ModelRef& model, const Seen& seen);
// One branch of a choice, the body of a function in place of its call.
ModelChanges inlined_bodies(const ModelRef& model, const Seen& seen);
// A node that holds a tensor becomes an initialiser, a tensor of floats an input.
ModelChanges fewer_constants(const ModelRef& model, const Seen& seen);
// An attribute, or an optional operand, is left out.
ModelChanges fewer_attributes(const ModelRef& model, const Seen& seen);
// A symbolic dim is the number that it was in the run.
ModelChanges fewer_symbols(const ModelRef& model, const Seen& seen);
// A number among the dims is made small everywhere; the values are cut. Also where attributes and constants have it.
ModelChanges smaller_dims(const ModelRef& model, const Seen& seen);

// The same with the types of its outputs, as a file has to have them.
ModelRef with_output_types(const ModelRef& model, const Seen& seen);
// The bytes of the file, with all weights. A message: protobuf's limit of 2 GB.
ir::Result<std::string> model_file(const Model& model);
// A tensor as a file of its own, which `read_tensor` reads.
ir::Result<std::string> tensor_file(const std::string& name, const runtime::Value& tensor);

}  // namespace rldb::onnx

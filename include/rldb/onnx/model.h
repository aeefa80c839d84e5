// ONNX models: reading, listing, and translation to Relax.
//
// A model is read once and never changes. Its listing is a text with a line for each node: translated nodes have the
// places of their lines, so that diagnostics, `origin`, `why` and `list` show the node that a binding comes from.
// Whatever a file contains, reading it is an error or a model; sizes are checked before memory is allocated for them.
// Users: session, ui.
#pragma once

#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "rldb/ir/context.h"
#include "rldb/source/buffer.h"
#include "rldb/source/diagnostic.h"
#include "rldb/support/entry_function.h"

namespace onnx {
class NodeProto;
}

namespace rldb::onnx {

class Model;
using ModelRef = std::shared_ptr<const Model>;
using Tensors = std::map<std::string, runtime::Value, std::less<>>;

// By its name, or by its first bytes.
bool is_model(std::string_view path, std::string_view bytes);

// `path`: the folder of the file is where its external data is read. Null: diagnosed.
ModelRef read_model(std::string_view path, std::string_view bytes, source::Diagnostics& out);

// A line for each input, initialiser, node and output; nodes of subgraphs are indented below the node that has them.
std::string listing(const Model& model);

// A node that is not translated, although others of its operator may be: by its attributes, operands or types.
struct NodeRefusal {
  const ::onnx::NodeProto* node = nullptr;  // of the model
  std::string why;
};

// One kind of node of a model, of its subgraphs and functions.
struct OperatorUse {
  std::string domain, name;
  std::int64_t version = 0;  // of the operator, at most that of the model's opset
  std::size_t nodes = 0, refused_nodes = 0;
  std::string first_node;    // a name, or the index
  std::string refused_node;  // the first one
  std::string refused;       // why it is not translated; empty: it is
};
// Sorted by domain and name. `refusals`: what a translation found (Options::refusals).
std::vector<OperatorUse> operators_of(const Model& model, std::span<const NodeRefusal> refusals = {});
// The same as lines of a table.
std::string operator_table(const Model& model, std::span<const NodeRefusal> refusals = {});

struct Options {
  bool params_as_inputs = false;  // initialisers become parameters of the function, after the inputs
  Tensors bound;                  // inputs whose values are known: they become constants
  // Gets the name of an operand whose value would have to be known: the first one, at which the translation ends.
  std::string* asked = nullptr;
  std::vector<NodeRefusal>* refusals = nullptr;  // gets the nodes that are not translated
};

// A node of the model's graph, or of a graph inside.
struct Node {
  std::string label;  // its name, or `#index`; of an inner one after that of the node around: `/loop/Loop > #2`
  std::string op;     // `Conv`, `com.microsoft.Gelu`
  std::size_t index = 0;
  source::Span place;  // its line in the listing
  std::vector<std::string> outputs;
  // The numbers (ir::Node::id) of what it became, first and last, each time: a body may be unrolled, a function called
  // twice.
  std::vector<std::pair<std::uint32_t, std::uint32_t>> made = {};
};

// The function that a model becomes.
inline constexpr std::string_view kEntry = support::kEntryFunction;

// A module, and where the values of the model are in it.
struct Translation {
  ModelRef model;
  const ir::Module* module = nullptr;
  std::vector<Node> nodes;
  // Variables by the name of the output. One that the translation computed itself has none.
  std::unordered_map<std::string, const ir::Var*> values;
  std::vector<std::string> inputs;  // the parameters' names in the model, without initialisers
  Tensors known;                    // outputs that are numbers without a run
  Tensors weights;                  // of parameters that are initialisers: what a run takes that is given no others
  std::unordered_set<std::string> read;  // of those: what the translation has read, and a run cannot give otherwise
  // Dims of the inputs, as the model names them; `x_0`: the first one of `x` has no name.
  std::unordered_map<const ir::Var*, std::string> symbols;

  const Node* find(std::string_view label) const;  // an inner one too; null: there is no such node
  const ir::Function* function() const;            // kEntry
  // The node whose line in the listing it is, in subgraphs and functions too. Null: there is none.
  const Node* find(const source::Span& place) const;

  source::FileId file;                                     // the listing
  std::vector<Node> inner;                                 // of subgraphs and functions, without outputs
  std::unordered_map<std::uint32_t, std::size_t> node_at;  // by the beginning of the place: nodes, then inner
};

// The function `main`. `file`: the listing. Null after errors: all operators that are not translated are reported, and
// all nodes that are not for other reasons, but for those that read what such a node gives.
std::shared_ptr<const Translation> to_relax(ir::Context& ctx, const ModelRef& model, source::FileId file,
                                            const Options& options, source::Diagnostics& out);

// `options.bound`, and of the offered values those of inputs that the translation asks for: axes, shapes, paddings.
Tensors deciding_inputs(const ModelRef& model, Options options, const Tensors& offered);

// A file with one tensor, as the tests of ONNX have them. The message says why it is none.
ir::Result<runtime::Value> read_tensor(std::string_view bytes);

// The inputs of the model's graph without initialisers, and its outputs, in order.
std::vector<std::string> input_names(const Model& model);
std::vector<std::string> output_names(const Model& model);
// The inputs, also those that have an initialiser: `Options::bound` may have these.
std::vector<std::string> bindable_names(const Model& model);

}  // namespace rldb::onnx

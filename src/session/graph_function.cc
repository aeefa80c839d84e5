// The graph of an external module, run node by node: each kernel is the operator in its text.
#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "rldb/bytecode/builtin/absent.h"
#include "rldb/ir/operator_text.h"
#include "rldb/session/external.h"
#include "rldb/support/text.h"

namespace rldb::session {

using passes::ExternalGraph;
using passes::GraphDim;
using passes::GraphEntry;
using passes::GraphKernel;
using passes::GraphTensor;
using runtime::ErrorKind;
using runtime::PackedArgs;
using runtime::Result;
using runtime::Value;
using runtime::ValueKind;

namespace {

constexpr std::size_t kNeverRead = std::size_t(-1);

// Dims that are neither numbers nor names of the graph accept anything: the result is compared in the end.
class SignatureMaker {
 public:
  explicit SignatureMaker(const ExternalGraph& graph) : graph_(graph) {
    signature_.name = graph.symbol;
    signature_.variables = graph.dims;
  }

  void add(const GraphTensor& t, std::string name) {
    runtime::KernelParam p;
    p.name = std::move(name);
    p.dtype = t.dtype;
    for (const GraphDim& d : t.shape) p.shape.push_back(dim(d));
    signature_.params.push_back(std::move(p));
  }

  void add_dim(std::size_t dim) {
    runtime::KernelParam p;
    p.name = graph_.dims[dim];
    p.is_tensor = false;
    p.dtype = runtime::DType::Int(64);
    p.variable = int(dim);
    signature_.params.push_back(std::move(p));
  }

  runtime::KernelSignature take() {
    signature_.variable_dtypes.assign(signature_.variables.size(), runtime::DType::Int(64));
    return std::move(signature_);
  }

 private:
  runtime::DimExpr dim(const GraphDim& d) {
    using Code = runtime::DimOp::Code;
    if (const auto* known = std::get_if<std::int64_t>(&d)) return {{{Code::Const, *known}}, fmt::format("{}", *known)};
    const std::string& text = std::get<std::string>(d);
    const auto named = std::find(graph_.dims.begin(), graph_.dims.end(), text);
    std::size_t variable = std::size_t(named - graph_.dims.begin());
    if (named == graph_.dims.end()) {
      variable = signature_.variables.size();
      signature_.variables.push_back(text);
    }
    return {{{Code::Var, std::int64_t(variable)}}, text};
  }

  const ExternalGraph& graph_;
  runtime::KernelSignature signature_;
};

bool has_dim(const GraphTensor& t, const std::string& name) {
  return std::any_of(t.shape.begin(), t.shape.end(), [&](const GraphDim& d) {
    const auto* text = std::get_if<std::string>(&d);
    return text && *text == name;
  });
}

// The dims that only shapes have.
std::vector<std::size_t> dims_of_shapes(const ExternalGraph& graph) {
  std::vector<std::size_t> found;
  for (std::size_t d = 0; d < graph.dims.size(); ++d)
    if (std::none_of(graph.inputs.begin(), graph.inputs.end(),
                     [&](const GraphTensor& t) { return !t.is_shape && has_dim(t, graph.dims[d]); }))
      found.push_back(d);
  return found;
}

// Matches a shape against the expected one. Names that are not known yet get their values here.
Result<support::Unit> match_shape(const ExternalGraph& graph, const GraphTensor& wanted, const Value& given,
                                  std::vector<std::int64_t>& dims, std::vector<bool>& known) {
  const auto differs = [&] {
    return runtime::fail(ErrorKind::ShapeMismatch, fmt::format("`{}`: argument `{}` is {}, which does not fit",
                                                               graph.symbol, wanted.name, runtime::describe(given)));
  };
  if (!given.is(ValueKind::Shape) || given.as_shape().size() != wanted.shape.size()) return differs();
  for (std::size_t i = 0; i < wanted.shape.size(); ++i) {
    const std::int64_t value = given.as_shape()[i];
    const auto* literal = std::get_if<std::int64_t>(&wanted.shape[i]);
    if (literal && *literal != value) return differs();
    if (literal) continue;
    const auto named = std::find(graph.dims.begin(), graph.dims.end(), std::get<std::string>(wanted.shape[i]));
    if (named == graph.dims.end()) continue;
    const auto dim = std::size_t(named - graph.dims.begin());
    if (known[dim] && dims[dim] != value) return differs();
    known[dim] = true;
    dims[dim] = value;
  }
  return support::Unit{};
}

// Replaces the symbolic variables of a call by numbers.
std::string with_dims(std::string text, const std::vector<std::int64_t>& dims, std::size_t count) {
  for (std::size_t i = count; i-- > 0;) {
    const std::string name = passes::dim_name(i), number = fmt::format("{}", dims[i]);
    for (std::size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + number.size()))
      text.replace(at, name.size(), number);
  }
  return text;
}

}  // namespace

Result<GraphFunction> GraphFunction::make(ExternalGraph graph, const runtime::PackedRegistry& functions) {
  for (const std::string& dim : graph.dims)
    if (std::none_of(graph.inputs.begin(), graph.inputs.end(), [&](const GraphTensor& t) { return has_dim(t, dim); }))
      return runtime::fail(ErrorKind::BadFile, fmt::format("no input has the dimension `{}`", dim));
  const runtime::PackedInfo* call_operator = functions.find(builtin::CallOperator);
  if (!call_operator)
    return runtime::fail(ErrorKind::UnknownFunction,
                         fmt::format("there is nothing to run operators ({})", builtin::CallOperator));
  GraphFunction made;
  SignatureMaker inputs(graph), all(graph);
  for (const GraphTensor& t : graph.inputs) {
    if (t.is_shape) continue;
    inputs.add(t, t.name);
    all.add(t, t.name);
  }
  for (std::size_t i = 0; i < graph.outputs.size(); ++i) all.add(graph.outputs[i], fmt::format("out{}", i));
  for (const std::size_t d : dims_of_shapes(graph)) {
    inputs.add_dim(d);
    all.add_dim(d);
  }
  made.inputs_ = inputs.take();
  made.all_ = all.take();
  made.last_use_.assign(graph.inputs.size() + graph.kernels.size(), kNeverRead);
  for (std::size_t k = 0; k < graph.kernels.size(); ++k)
    for (const GraphEntry& e : graph.kernels[k].inputs) made.last_use_[e.node] = k;
  for (const GraphEntry& e : graph.heads) made.last_use_[e.node] = kNeverRead;
  made.call_operator_ = call_operator->function;
  made.graph_ = std::move(graph);
  return made;
}

Result<std::vector<std::int64_t>> GraphFunction::bind(PackedArgs args, bool all) const {
  const std::size_t count = graph_.inputs.size() + (all ? graph_.outputs.size() : 0);
  if (args.size() != count)
    return runtime::fail(ErrorKind::ArgumentCount,
                         fmt::format("`{}` takes {}, {} given", graph_.symbol,
                                     support::counted(std::size_t(count), "argument"), args.size()));
  std::vector<std::int64_t> dims(graph_.dims.size());
  std::vector<bool> known(dims.size());
  std::vector<Value> values;
  for (std::size_t i = 0; i < args.size(); ++i) {
    if (i >= graph_.inputs.size() || !graph_.inputs[i].is_shape) {
      values.push_back(args[i]);
      continue;
    }
    RLDB_TRY_VOID(match_shape(graph_, graph_.inputs[i], args[i], dims, known));
  }
  for (const std::size_t d : dims_of_shapes(graph_)) values.push_back(Value::of_int(dims[d]));
  const std::vector<std::int64_t> given = dims;
  RLDB_TRY_VOID(runtime::bind_arguments(all ? all_ : inputs_, values, dims));
  for (std::size_t d = 0; d < given.size(); ++d)
    if (known[d] && given[d] != dims[d])
      return runtime::fail(ErrorKind::ShapeMismatch, fmt::format("`{}`: a shape says that `{}` is {}, but it is {}",
                                                                 graph_.symbol, graph_.dims[d], given[d], dims[d]));
  return dims;
}

Result<std::vector<Value>> GraphFunction::run_kernel(std::size_t node, const NodeValues& values,
                                                     const std::vector<std::int64_t>& dims) const {
  const GraphKernel& kernel = graph_.kernels[node - graph_.inputs.size()];
  std::vector<Value> args{Value::of_string(with_dims(kernel.call, dims, graph_.dims.size()))};
  for (const GraphEntry& e : kernel.inputs) args.push_back(values[e.node][e.output]);
  auto result = call_operator_->native(args);
  if (!result.ok()) {
    runtime::Error error = std::move(result).error();
    error.notes.push_back(fmt::format("in node {} (`{}`) of external function `{}`", node, kernel.call, graph_.symbol));
    return support::Failure(std::move(error));
  }
  std::vector<Value> outputs{*result};
  if (result->is(ValueKind::Tuple)) outputs = result->as_tuple().fields;
  const bool tensors =
      std::all_of(outputs.begin(), outputs.end(), [](const Value& v) { return v.is(ValueKind::Tensor); });
  if (outputs.size() == kernel.outputs && tensors) return outputs;
  return runtime::fail(
      ErrorKind::TypeMismatch,
      fmt::format("node {} (`{}`) of external function `{}` gives {}, not {}", node, kernel.call, graph_.symbol,
                  runtime::describe(*result), support::counted(kernel.outputs, "tensor")));
}

Result<GraphFunction::NodeValues> GraphFunction::run(PackedArgs inputs, const std::vector<std::int64_t>& dims,
                                                     bool keep) const {
  NodeValues values;
  for (const Value& v : inputs) values.push_back({v});
  for (std::size_t k = 0; k < graph_.kernels.size(); ++k) {
    RLDB_TRY(std::vector<Value> outputs, run_kernel(values.size(), values, dims));
    values.push_back(std::move(outputs));
    if (keep) continue;
    for (const GraphEntry& e : graph_.kernels[k].inputs)
      if (last_use_[e.node] == k)
        for (Value& v : values[e.node]) v = Value();
  }
  return values;
}

Result<GraphFunction::NodeValues> GraphFunction::all_values(PackedArgs args) const {
  const PackedArgs inputs = args.subspan(0, std::min(args.size(), graph_.inputs.size()));
  RLDB_TRY(const std::vector<std::int64_t> dims, bind(inputs, false));
  return run(inputs, dims, true);
}

Result<Value> GraphFunction::call(PackedArgs args) const {
  RLDB_TRY(const std::vector<std::int64_t> dims, bind(args, true));
  RLDB_TRY(const NodeValues values, run(args.subspan(0, graph_.inputs.size()), dims, false));
  for (std::size_t i = 0; i < graph_.heads.size(); ++i) {
    const GraphEntry& head = graph_.heads[i];
    const Value& given = values[head.node][head.output];
    const Value& wanted = args[graph_.inputs.size() + i];
    if (!given.is(ValueKind::Tensor))
      return runtime::fail(ErrorKind::TypeMismatch, fmt::format("result {} of external function `{}` is {}", i,
                                                                graph_.symbol, runtime::describe(given)));
    const runtime::Tensor &from = given.as_tensor(), &to = wanted.as_tensor();
    if (from.dtype() != to.dtype() || from.shape() != to.shape())
      return runtime::fail(ErrorKind::ShapeMismatch,
                           fmt::format("external function `{}` computes {} for result {}, which has memory for {}",
                                       graph_.symbol, runtime::describe(given), i, runtime::describe(wanted)));
    std::memmove(args[graph_.inputs.size() + i].as_tensor().data(), from.peek(), from.byte_size());
  }
  return Value::null();
}

}  // namespace rldb::session

// The graph of an external module, to and from the data stored in a module.
#include "rldb/passes/external_module.h"

#include <fmt/format.h>

#include <limits>
#include <optional>

#include "rldb/passes/codegen.h"
#include "rldb/support/cancel.h"

namespace rldb::passes {

using namespace ir;
using support::Failure;

namespace {

constexpr std::string_view kDims = "dims", kNodes = "nodes", kHeads = "heads", kOutputs = "outputs", kOp = "op",
                           kInput = "input", kKernel = "kernel", kName = "name", kComposite = "composite",
                           kInputs = "inputs", kCall = "call", kNumOutputs = "num_outputs", kDtype = "dtype",
                           kShape = "shape", kShapeDtype = "shape";

// ---- writing ----

class GraphWriter {
 public:
  explicit GraphWriter(Context& ctx) : ctx_(ctx) {}

  const Attr* graph(const ExternalGraph& g) {
    std::vector<const Attr*> dims, nodes, outputs;
    for (const std::string& d : g.dims) dims.push_back(text(d));
    for (const GraphTensor& t : g.inputs) nodes.push_back(input(t));
    for (const GraphKernel& k : g.kernels) nodes.push_back(kernel(k));
    for (const GraphTensor& t : g.outputs) outputs.push_back(ctx_.attr_dict(tensor(t)));
    return ctx_.attr_dict(std::vector<NamedAttr>{
        ctx_.named(external::kKind, text(codegen_name::Json)), ctx_.named(external::kSymbol, text(g.symbol)),
        ctx_.named(kDims, ctx_.attr_list(dims)), ctx_.named(kNodes, ctx_.attr_list(nodes)),
        ctx_.named(kHeads, entries(g.heads)), ctx_.named(kOutputs, ctx_.attr_list(outputs))});
  }

 private:
  const Attr* text(std::string_view s) { return ctx_.attr(s); }

  const Attr* input(const GraphTensor& t) {
    std::vector<NamedAttr> fields{ctx_.named(kOp, text(kInput)), ctx_.named(kName, text(t.name))};
    for (const NamedAttr& f : tensor(t)) fields.push_back(f);
    return ctx_.attr_dict(fields);
  }

  std::vector<NamedAttr> tensor(const GraphTensor& t) {
    std::vector<const Attr*> shape;
    for (const GraphDim& d : t.shape) {
      const auto* known = std::get_if<std::int64_t>(&d);
      shape.push_back(known ? ctx_.attr(*known) : text(std::get<std::string>(d)));
    }
    return {ctx_.named(kDtype, t.is_shape ? text(kShapeDtype) : text(runtime::to_string(t.dtype))),
            ctx_.named(kShape, ctx_.attr_list(shape))};
  }

  const Attr* kernel(const GraphKernel& k) {
    std::vector<NamedAttr> fields{ctx_.named(kOp, text(kKernel)), ctx_.named(kName, text(k.name))};
    if (!k.composite.empty()) fields.push_back(ctx_.named(kComposite, text(k.composite)));
    fields.push_back(ctx_.named(kInputs, entries(k.inputs)));
    fields.push_back(ctx_.named(kCall, text(k.call)));
    fields.push_back(ctx_.named(kNumOutputs, ctx_.attr(std::int64_t(k.outputs))));
    return ctx_.attr_dict(fields);
  }

  const Attr* entries(const std::vector<GraphEntry>& list) {
    std::vector<const Attr*> items;
    for (const GraphEntry& e : list)
      items.push_back(ctx_.attr_ints(std::vector<std::int64_t>{std::int64_t(e.node), std::int64_t(e.output), 0}));
    return ctx_.attr_list(items);
  }

  Context& ctx_;
};

// ---- reading ----

const Attr* find(const Attr* dict, std::string_view key) {
  return dict && dict->is(AttrKind::Dict) ? find_attr(dict->fields, key) : nullptr;
}

std::optional<std::int64_t> integer(const Attr* a) {
  if (!a) return std::nullopt;
  if (a->is(AttrKind::Int)) return a->integer;
  const auto* literal = a->is(AttrKind::Expr) ? as<IntImm>(a->node) : nullptr;
  return literal ? std::optional(literal->value) : std::nullopt;
}

std::string_view string(const Attr* a) { return a && a->is(AttrKind::String) ? a->string : std::string_view(); }

template <class T>
using Read = support::Result<T, std::string>;

class GraphReader {
 public:
  explicit GraphReader(const Attr* module) : module_(module) {}

  Read<ExternalGraph> read() {
    graph_.symbol = string(find(module_, external::kSymbol));
    if (graph_.symbol.empty()) return wrong("it has no symbol");
    RLDB_TRY(const Attr* dims, list(module_, kDims));
    for (const Attr* d : dims->items) graph_.dims.emplace_back(string(d));
    RLDB_TRY(const Attr* nodes, list(module_, kNodes));
    for (const Attr* n : nodes->items) {
      support::poll();
      RLDB_TRY_VOID(node(n));
    }
    RLDB_TRY(const Attr* outputs, list(module_, kOutputs));
    for (const Attr* o : outputs->items) {
      RLDB_TRY(graph_.outputs.emplace_back(), tensor(o, "an output"));
      if (graph_.outputs.back().is_shape) return wrong("an output is not a tensor");
    }
    RLDB_TRY(graph_.heads, entries(module_, kHeads, "the results"));
    if (graph_.heads.size() != graph_.outputs.size())
      return wrong(fmt::format("it has {} results and {} outputs", graph_.heads.size(), graph_.outputs.size()));
    return std::move(graph_);
  }

 private:
  static Failure<std::string> wrong(std::string why) { return Failure(std::move(why)); }

  Read<const Attr*> list(const Attr* dict, std::string_view key) const {
    const Attr* a = find(dict, key);
    if (!a || !a->is(AttrKind::List)) return wrong(fmt::format("`{}` is not a list", key));
    return a;
  }

  Read<support::Unit> node(const Attr* n) {
    const std::string_view op = string(find(n, kOp));
    const std::string where = fmt::format("node {}", graph_.inputs.size() + graph_.kernels.size());
    if (op == kInput) {
      if (!graph_.kernels.empty()) return wrong(where + " is an input after kernels");
      RLDB_TRY(GraphTensor t, tensor(n, where));
      t.name = string(find(n, kName));
      graph_.inputs.push_back(std::move(t));
      return support::Unit{};
    }
    if (op != kKernel) return wrong(where + " is neither an input nor a kernel");
    GraphKernel k;
    k.name = string(find(n, kName));
    k.composite = string(find(n, kComposite));
    k.call = string(find(n, kCall));
    if (k.call.empty()) return wrong(where + " has no call");
    RLDB_TRY(k.inputs, entries(n, kInputs, where));
    const auto outputs = integer(find(n, kNumOutputs));
    if (!outputs || *outputs < 1 || *outputs > std::numeric_limits<std::int32_t>::max())
      return wrong(fmt::format("`{}` of {} is not a count", kNumOutputs, where));
    k.outputs = std::size_t(*outputs);
    graph_.kernels.push_back(std::move(k));
    return support::Unit{};
  }

  Read<GraphTensor> tensor(const Attr* dict, const std::string& where) const {
    GraphTensor t;
    t.is_shape = string(find(dict, kDtype)) == kShapeDtype;
    const auto dtype = runtime::parse_dtype(string(find(dict, kDtype)));
    if (!dtype && !t.is_shape) return wrong("the dtype of " + where + " is unknown");
    if (dtype) t.dtype = *dtype;
    RLDB_TRY(const Attr* shape, list(dict, kShape));
    for (const Attr* d : shape->items) {
      const auto known = integer(d);
      if (!known && string(d).empty())
        return wrong("the shape of " + where + " has a dimension that is neither a number nor a name");
      if (known) {
        t.shape.emplace_back(*known);
      } else {
        t.shape.emplace_back(std::string(string(d)));
      }
    }
    return t;
  }

  // References to outputs of earlier nodes.
  Read<std::vector<GraphEntry>> entries(const Attr* dict, std::string_view key, const std::string& where) const {
    RLDB_TRY(const Attr* items, list(dict, key));
    std::vector<GraphEntry> out;
    for (const Attr* item : items->items) {
      const bool pair = item->is(AttrKind::List) && item->items.size() >= 2;
      const auto node = pair ? integer(item->items[0]) : std::nullopt;
      const auto output = pair ? integer(item->items[1]) : std::nullopt;
      if (!node || !output || !has(*node, *output))
        return wrong(fmt::format("{} of {} refer to an output that does not exist", key, where));
      out.push_back({std::size_t(*node), std::size_t(*output)});
    }
    return out;
  }

  bool has(std::int64_t node, std::int64_t output) const {
    if (node < 0 || output < 0) return false;
    const std::size_t n = std::size_t(node);
    if (n < graph_.inputs.size()) return output == 0;
    return n - graph_.inputs.size() < graph_.kernels.size() &&
           std::size_t(output) < graph_.kernels[n - graph_.inputs.size()].outputs;
  }

  const Attr* module_;
  ExternalGraph graph_;
};

}  // namespace

std::string dim_name(std::size_t i) { return fmt::format("dim_{}_", i); }

const Attr* write_graph(Context& ctx, const ExternalGraph& graph) { return GraphWriter(ctx).graph(graph); }

support::Result<ExternalGraph, std::string> read_graph(const Attr* module) { return GraphReader(module).read(); }

std::string_view string_of(const Attr* dict, std::string_view key) { return string(find(dict, key)); }

std::vector<const Attr*> external_modules(const Module* module) {
  const Attr* list = find_attr(module->attrs, external::kModules);
  if (!list || !list->is(AttrKind::List)) return {};
  return {list->items.begin(), list->items.end()};
}

const Module* attach_external(Context& ctx, const Module* module, const std::vector<const Attr*>& added) {
  if (added.empty()) return module;
  std::vector<const Attr*> all = external_modules(module);
  all.insert(all.end(), added.begin(), added.end());
  ModuleBuilder builder(ctx, *module);
  builder.set_attrs(ctx.with_attr(module->attrs, external::kModules, ctx.attr_list(all)));
  return builder.build();
}

}  // namespace rldb::passes

// Graphs as bindings, in the order of their nodes. Functions of the model are expanded where they are called; subgraphs
// see the values around them.
#include "onnx/translator.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "onnx/pt2/alias.h"
#include "onnx/pt2/symbol.h"
#include "onnx/tensor.h"
#include "rldb/ir/attr_name/relax.h"
#include "rldb/ir/attr_name/symbol.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/type_relation.h"
#include "rldb/ir/walk.h"
#include "rldb/source/diagnostic_onnx.h"
#include "rldb/support/cancel.h"
#include "rldb/support/text.h"

namespace rldb::onnx {

const Value* Scope::find(const std::string& name) const {
  for (const Scope* s = this; s; s = s->outer)
    if (const auto found = s->values.find(name); found != s->values.end()) return &found->second;
  return nullptr;
}

namespace {

// As TVM's importer writes it: letters, digits and underscores, not beginning with a digit.
std::string valid_name(const std::string& name, std::string_view prefix) {
  std::string made = name.substr(0, 100);
  for (char& c : made)
    if (!std::isalnum(static_cast<unsigned char>(c))) c = '_';
  if (made.empty() || std::isdigit(static_cast<unsigned char>(made[0]))) made.insert(0, prefix);
  return made;
}

// Before the key of a dim that the model does not name.
constexpr char kNameless = '\1';

// Nodes that functions of the model and unrolled loops may become: calls in calls multiply.
constexpr std::size_t kMostExpanded = 300'000;

// Nodes that are reported as not translated: a larger number says no more.
constexpr std::size_t kMostFailed = 100;

bool has_branches(const pb::GraphProto& graph) {
  for (const auto& node : graph.node())
    for (const auto& a : node.attribute())
      if (a.has_g()) return true;
  return false;
}

}  // namespace

namespace {

std::unordered_map<std::string, const pb::TypeProto*> recorded_types(const pb::GraphProto& graph) {
  std::unordered_map<std::string, const pb::TypeProto*> types;
  for (const auto& info : graph.value_info()) types[info.name()] = &info.type();
  return types;
}

// The weights that lie in the model's memory keep it.
class HeldModel final : public runtime::Object {
 public:
  explicit HeldModel(ModelRef model) : model_(std::move(model)) {}

 private:
  ModelRef model_;
};

}  // namespace

Translator::Translator(ir::Context& ctx, const ModelRef& held, source::FileId file, const Options& options,
                       source::Diagnostics& out)
    : ctx_(ctx),
      model_(*held),
      owner_(new HeldModel(held)),
      file_(file),
      options_(options),
      out_(out),
      listing_(list_model(model_)),
      builder_(ctx),
      blocks_(ctx),
      kernels_(ctx, builder_) {
  if (model_.is_exported()) recorded_ = recorded_types(model_.proto.graph());
}

// ---- the model ----

bool Translator::check_operators() {
  bool good = true;
  for (const OperatorUse& use : operators_of(model_)) {
    if (use.refused.empty()) continue;
    good = false;
    out_.add({},
             source::message(diag::OnnxNotTranslated, use.first_node, use.name, use.domain, use.version, use.refused));
  }
  const std::int64_t version = model_.opset({});
  if (version > kNewestOpset)
    out_.add({}, source::message(diag::OnnxNewerOpset, version, domain_name({}), kNewestOpset, kNewestOpset));
  return good;
}

namespace {

std::string operator_name(const pb::NodeProto& n) {
  return (is_default_domain(n.domain()) ? std::string() : n.domain() + ".") + n.op_type();
}

}  // namespace

std::vector<std::pair<std::uint32_t, std::uint32_t>> Translator::expansions_of(const pb::NodeProto& n) const {
  const auto found = expansions_.find(&n);
  return found == expansions_.end() ? std::vector<std::pair<std::uint32_t, std::uint32_t>>() : found->second;
}

// The nodes of graphs inside the nodes, after the label of what is around.
template <class Nodes>
void Translator::record_inner(const Nodes& all, const std::string& around, Translation& made) const {
  int index = 0;
  for (const auto& n : all) {
    const std::string label = node_label(n, index);
    if (!around.empty())
      made.inner.push_back(
          {around + " > " + label, operator_name(n), std::size_t(index), span_of(n), {}, expansions_of(n)});
    ++index;
    for (const auto& a : n.attribute()) {
      const std::string inside = around.empty() ? label : around + " > " + label;
      if (a.has_g()) record_inner(a.g().node(), inside, made);
      for (const auto& g : a.graphs()) record_inner(g.node(), inside, made);
    }
  }
}

void Translator::record_value(const std::string& name, const Value& value, Translation& made) const {
  if (const auto* v = ir::as<ir::Var>(value.expr)) made.values[name] = v;
  if (const auto* c = ir::as<ir::Constant>(value.expr)) made.known[name] = *c->value;
  if (value.expr || !value.known || !is_literal(*value.known)) return;
  if (auto number = literal_value(*value.known); number.ok()) made.known[name] = std::move(number).value();
}

// Where the values of the graph's nodes are, and the nodes by their places.
void Translator::record(const Scope& scope, Translation& made) const {
  const pb::GraphProto& graph = model_.proto.graph();
  std::size_t index = 0;
  for (const auto& n : graph.node()) {
    made.nodes.push_back({node_label(n, int(index)),
                          operator_name(n),
                          index,
                          span_of(n),
                          {n.output().begin(), n.output().end()},
                          expansions_of(n)});
    ++index;
    for (const std::string& name : n.output()) {
      const auto before = before_change_.find(name);
      const Value* value = before == before_change_.end() ? scope.find(name) : &before->second;
      if (value) record_value(name, *value, made);
    }
  }
  record_inner(graph.node(), {}, made);
  for (const auto& f : model_.proto.functions()) record_inner(f.node(), domain_name(f.domain()) + "." + f.name(), made);
  for (std::size_t i = 0; i < made.nodes.size(); ++i) made.node_at[made.nodes[i].place.begin] = i;
  for (std::size_t i = 0; i < made.inner.size(); ++i) made.node_at[made.inner[i].place.begin] = made.nodes.size() + i;
  made.file = file_;
  std::unordered_set<std::string> weights;
  for (const auto& t : graph.initializer()) weights.insert(t.name());
  for (const auto& input : graph.input())
    if (!weights.contains(input.name()) && !options_.bound.contains(input.name())) made.inputs.push_back(input.name());
  for (const auto& [name, var] : dims_) made.symbols[var] = name.starts_with(kNameless) ? name.substr(1) : name;
}

const ir::Module* Translator::run(Translation& made) {
  const bool known = check_operators();
  if (!known && options_.asked) return nullptr;
  const pb::GraphProto& graph = model_.proto.graph();
  placed_ = ctx_.node_count();
  for (const auto& input : graph.input())
    for (const auto& d : input.type().tensor_type().shape().dim())
      if (d.has_dim_param()) symbols_.insert(d.dim_param());
  Scope scope;
  const bool has_inputs = add_inputs(scope);
  if (!has_inputs && options_.asked) return nullptr;
  // Branches are not part of dataflow blocks.
  bool branches = has_branches(graph);
  for (const auto& f : model_.proto.functions())
    for (const auto& n : f.node())
      for (const auto& a : n.attribute()) branches = branches || a.has_g();
  blocks_.begin_scope();
  if (!branches) blocks_.begin_dataflow();
  if (!nodes(graph.node(), scope, {}) || !known || !has_inputs) return nullptr;
  if (!model_.is_exported() && !agrees_with_declared(scope)) return nullptr;
  Exprs results;
  for (const auto& o : graph.output()) {
    const Expr* v = output(o.name(), scope, "the model");
    if (!v) return nullptr;
    results.push_back(v);
  }
  const Expr* result = results.size() == 1 ? results[0] : ctx_.tuple(results);
  if (!branches) {
    result = blocks_.emit_output(result);
    blocks_.end_dataflow();
  } else {
    result = blocks_.emit(result, "gv");
  }
  const ir::SeqExpr* body = blocks_.end_scope(result);
  std::vector<ir::NamedAttr> attrs = symbol_bounds();
  attrs.push_back(ctx_.named(attr_name::GlobalSymbol, ctx_.attr(kEntry)));
  attrs.push_back(ctx_.named(attr_name::NumInput, ctx_.attr(std::int64_t(inputs_))));
  // Dims that are known at run time only are no part of the function's type.
  std::vector<const ir::Var*> symbols;
  for (const ir::Var* p : params_) ir::collect_vars(p->type, symbols);
  const ir::Type* type = ir::erase(ctx_, result->type, [&](const ir::Var* v) {
    return std::find(symbols.begin(), symbols.end(), v) != symbols.end();
  });
  builder_.set(kEntry, ctx_.function(params_, body, type, true, attrs));
  place(nullptr);
  record(scope, made);
  made.weights = std::move(weights_);
  for (const ir::Var* p : params_)
    if (read_.contains(p)) made.read.emplace(p->name);
  return builder_.build();
}

const ir::Type* Translator::type_of(const pb::ValueInfoProto& input) {
  if (!input.has_type() || !input.type().has_tensor_type()) {
    out_.add({}, source::message(diag::OnnxTypeUnknown, input.name(), "it is not a tensor"));
    return nullptr;
  }
  const auto& t = input.type().tensor_type();
  const auto dtype = dtype_of(t.elem_type());
  if (!dtype) {
    out_.add({}, source::message(diag::OnnxTypeUnknown, input.name(), dtype_name(t.elem_type())));
    return nullptr;
  }
  if (!t.has_shape()) return ctx_.tensor_ndim(ir::kUnknownNdim, *dtype);
  Dims dims;
  for (const auto& d : t.shape().dim()) {
    // -1 is written for a dim that is not known.
    if (d.has_dim_value() && d.dim_value() < -1) {
      out_.add({}, source::message(diag::OnnxTypeUnknown, input.name(), fmt::format("a dim is {}", d.dim_value())));
      return nullptr;
    }
    if (d.has_dim_value() && d.dim_value() >= 0) {
      dims.push_back(ctx_.i64(d.dim_value()));
      continue;
    }
    const bool named = d.has_dim_param() && !d.dim_param().empty();
    if (named && model_.is_exported() && symbol_of_text(d.dim_param()).empty()) {
      // `2*s0` is that expression if another input has a dim `s0`; otherwise it is a symbol of its own.
      const Expr* made = size_of_text(ctx_, d.dim_param(), [&](const std::string& symbol) -> const Expr* {
        if (!symbols_.contains(symbol)) return nullptr;
        const ir::Var*& var = dims_[symbol];
        if (!var) var = ctx_.var(blocks_.unique_name(valid_name(symbol, "d")), ctx_.int64());
        return var;
      });
      if (made) {
        dims.push_back(made);
        continue;
      }
    }
    const std::string name = named ? d.dim_param() : fmt::format("{}_{}", input.name(), dims.size());
    const ir::Var*& var = dims_[named ? d.dim_param() : kNameless + name];
    if (!var) var = ctx_.var(blocks_.unique_name(valid_name(name, "d")), ctx_.int64());
    dims.push_back(var);
  }
  return ctx_.tensor(dims, *dtype);
}

bool Translator::bind_input(const pb::ValueInfoProto& input, const runtime::Value& value, Scope& scope) {
  if (!value.is(runtime::ValueKind::Tensor)) {
    out_.add({}, source::message(diag::OnnxBadBinding, input.name(), "it is not a tensor"));
    return false;
  }
  const Expr* constant = ctx_.constant(value);
  const auto dtype = dtype_of(input.type().tensor_type().elem_type());
  if (dtype && *dtype != value.as_tensor().dtype()) {
    out_.add({},
             source::message(diag::OnnxBadBinding, input.name(),
                             fmt::format("it is of {}, and the input of {}",
                                         runtime::to_string(value.as_tensor().dtype()), runtime::to_string(*dtype))));
    return false;
  }
  scope.values[input.name()] = {constant, nullptr};
  return true;
}

bool Translator::add_input(const pb::ValueInfoProto& input, Scope& scope) {
  if (scope.values.contains(input.name())) return true;  // it has an initialiser
  if (const auto bound = options_.bound.find(input.name()); bound != options_.bound.end())
    return bind_input(input, bound->second, scope);
  const ir::Type* type = type_of(input);
  if (!type) return false;
  params_.push_back(ctx_.var(blocks_.unique_name(valid_name(input.name(), "input_")), type));
  scope.values[input.name()] = {params_.back(), nullptr};
  return true;
}

bool Translator::add_initialisers(const pb::GraphProto& graph, Scope& scope, bool as_params) {
  if (graph.sparse_initializer_size() > 0) {
    out_.add({}, source::message(diag::OnnxBadTensor, graph.sparse_initializer(0).values().name(), "it is sparse"));
    return false;
  }
  // An initialiser of an input is its default.
  std::unordered_set<std::string> overridden;
  if (!scope.outer)
    for (const auto& input : graph.input())
      if (options_.bound.contains(input.name())) overridden.insert(input.name());
  for (const auto& t : graph.initializer()) {
    support::poll();
    if (overridden.contains(t.name())) continue;
    const auto read = model_.weights.find(t.name());
    auto value = read != model_.weights.end() ? ir::Result<runtime::Value>(read->second)
                                              : tensor_value(t, model_.folder, owner_);
    if (!value.ok()) {
      out_.add({}, std::move(value).error());
      return false;
    }
    const Expr* made = ctx_.constant(*value);
    scope.values[t.name()] = {made, nullptr};
    if (!as_params) continue;
    params_.push_back(ctx_.var(blocks_.unique_name(valid_name(t.name(), "w_")), made->type));
    scope.values[t.name()] = {params_.back(), nullptr, made};
    weights_.emplace(params_.back()->name, *value);
  }
  return true;
}

bool Translator::add_inputs(Scope& scope) {
  const pb::GraphProto& graph = model_.proto.graph();
  bool good = options_.params_as_inputs || add_initialisers(graph, scope, false);
  std::unordered_set<std::string> weights;
  for (const auto& t : graph.initializer()) weights.insert(t.name());
  for (const auto& input : graph.input()) {
    if (weights.contains(input.name()) && !options_.bound.contains(input.name())) continue;
    if (add_input(input, scope)) continue;
    good = false;
    lost_.insert(input.name());
  }
  inputs_ = params_.size();
  if (options_.params_as_inputs && !add_initialisers(graph, scope, true)) good = false;
  for (const auto& t : graph.initializer())
    if (!good && !scope.values.contains(t.name())) lost_.insert(t.name());
  place(nullptr);
  return good;
}

// The types that the model declares, beside those of the values: an exporter may have a shape wrong, a dtype that is
// wrong is damage.
bool Translator::agrees_with_declared(const Scope& scope) {
  const pb::GraphProto& graph = model_.proto.graph();
  bool good = true;
  const auto check = [&](const pb::ValueInfoProto& info, bool is_output) {
    const Value* v = scope.find(info.name());
    if (!v || !info.type().has_tensor_type()) return;
    const auto* t = v->expr ? ir::as<ir::TensorType>(v->expr->type) : nullptr;
    const auto declared = dtype_of(info.type().tensor_type().elem_type());
    const DType made = t ? t->dtype : v->known ? v->known->dtype : DType::Void();
    if (declared && made != DType::Void() && made != *declared) {
      out_.add(span_of_output(info.name()), source::message(diag::OnnxTypeLies, info.name(),
                                                            runtime::to_string(*declared), runtime::to_string(made)));
      good = false;
    }
    if (!is_output || !info.type().tensor_type().has_shape()) return;
    // Of a known value: the tensor that it becomes.
    if (!v->expr && v->known) {
      Dims dims;
      for (const std::int64_t n : v->known->rank == 0 ? Ints() : shape_of(*v->known)) dims.push_back(ctx_.i64(n));
      t = ctx_.tensor(dims, made);
    }
    if (!t || !t->has_shape) return;
    const auto& shape = info.type().tensor_type().shape();
    bool same = shape.dim_size() == t->ndim;
    for (int i = 0; same && i < t->ndim; ++i) {
      const auto n = int_of(t->shape[std::size_t(i)]);
      const auto& d = shape.dim(i);
      same = !n || !d.has_dim_value() || d.dim_value() < 0 || d.dim_value() == *n;
    }
    if (same) return;
    std::vector<std::string> dims;
    for (const auto& d : shape.dim())
      dims.push_back(d.has_dim_value() && d.dim_value() >= 0 ? std::to_string(d.dim_value())
                     : d.has_dim_param()                     ? d.dim_param()
                                                             : "?");
    out_.add(span_of_output(info.name()),
             source::message(diag::OnnxShapeLies, info.name(), fmt::format("({})", fmt::join(dims, ", ")),
                             ir::print_type(t)));
  };
  for (const auto& info : graph.value_info()) check(info, false);
  for (const auto& info : graph.output()) check(info, true);
  return good;
}

const Expr* Translator::output(const std::string& name, const Scope& scope, std::string_view of) {
  const Value* v = scope.find(name);
  if (v) {
    NodeContext c({ctx_, blocks_, kernels_}, pb::NodeProto::default_instance());
    auto made = c.tensor_of_value(*v);
    if (made.ok()) return *made;
  }
  if (left_out_.contains(name))
    fail_left_out(name);
  else
    out_.add({}, source::message(diag::OnnxNoOutput, name, of));
  return nullptr;
}

// ---- nodes ----

template <class Nodes>
bool Translator::nodes(const Nodes& all, Scope& scope, const Frame& frame) {
  const bool is_whole = !frame.function && !scope.outer;  // the model's graph
  bool good = true;
  int index = 0;
  for (const auto& n : all) {
    support::poll();
    if (is_whole) met_lost_ = false;
    const std::uint32_t first = ctx_.node_count() + 1;
    if (!node(n, index++, scope, frame)) {
      if (!is_whole || !goes_on_after_failure()) return false;
      good = false;
      lose(n, scope);
      continue;
    }
    place(&n);
    expansions_[&n].emplace_back(first, ctx_.node_count());
  }
  return good;
}

bool Translator::goes_on_after_failure() {
  return met_lost_ || (!options_.asked && expanded_ <= kMostExpanded && ++failed_ < kMostFailed);
}

// Marks what the node would have given, or changed in place.
void Translator::lose(const pb::NodeProto& n, Scope& scope) {
  lost_.insert(n.output().begin(), n.output().end());
  lost_.erase(std::string());
  if (!model_.is_exported() || !changes_in_place(n) || n.input_size() == 0) return;
  scope.values.erase(n.input(0));
  lost_.insert(n.input(0));
}

bool Translator::check_node(const pb::NodeProto& n, int index, const Scope& scope, const Frame& frame) {
  if ((frame.function || scope.outer) && ++expanded_ > kMostExpanded) {
    out_.add(span_of(n), source::message(diag::OnnxTooManyNodes, kMostExpanded));
    return false;
  }
  if (model_.is_exported()) return true;  // a tensor that is changed in place keeps its name
  if (const std::string name = doubled_name(n.attribute()); !name.empty())
    return fail(n, index, refuse(fmt::format("its attribute `{}` is given twice", name)).error);
  std::unordered_set<std::string_view> own;
  for (const std::string& name : n.output()) {
    if (name.empty() || (!scope.values.contains(name) && own.insert(name).second)) continue;
    out_.add(span_of(n), source::message(diag::OnnxGivenTwice, node_label(n, index), name));
    return false;
  }
  return true;
}

bool Translator::node(const pb::NodeProto& n, int index, Scope& scope, const Frame& frame) {
  if (!check_node(n, index, scope, frame)) return false;
  NodeContext c({ctx_, blocks_, kernels_}, n);
  for (const std::string& name : n.input()) {
    const Value* v = name.empty() ? nullptr : scope.find(name);
    if (!v && left_out_.contains(name)) return fail_left_out(name);
    if (!v && lost_.contains(name)) {
      met_lost_ = true;
      return false;
    }
    if (!v && !name.empty()) {
      out_.add(span_of(n), source::message(diag::OnnxUnknownValue, node_label(n, index), name));
      return false;
    }
    c.inputs.push_back(v ? *v : Value());
  }
  if (const auto* f = model_.function(n.domain(), n.op_type())) return call(n, *f, c.inputs, scope, frame);
  const OperatorRow* row = operator_row(n.domain(), n.op_type());
  if (!refusal(model_, n, opset(n.domain(), frame)).empty()) {  // reported with all others of its operator
    met_lost_ = true;
    return false;
  }
  c.opset = std::min(opset(n.domain(), frame), kNewestOpset);
  c.target = row->target;
  c.folder = model_.folder;
  if (const auto given = model_.arguments.find(&n); given != model_.arguments.end()) c.arguments = &given->second;
  if (const auto type = n.output_size() > 0 ? recorded_.find(n.output(0)) : recorded_.end(); type != recorded_.end())
    c.recorded = dtype_of(type->second->tensor_type().elem_type());
  c.outer = frame.function ? &frame.attributes : nullptr;
  c.read = &read_;
  c.run_graph = [&](const pb::GraphProto& g, const Values& inputs) {
    place(&n);  // what was made so far is of this node, not of the first one inside
    return run_graph(g, inputs, scope, frame);
  };
  const std::size_t errors = out_.error_count();
  const Made made = row->body(c);
  if (!c.wrong_attribute.empty())
    return fail(n, index, refuse(fmt::format("its attribute `{}` is of another kind", c.wrong_attribute)).error);
  if (!made.ok()) return out_.error_count() > errors || met_lost_ ? false : fail(n, index, made.error());
  if (!take_results(n, index, c, *made, scope)) return false;
  if (!model_.is_exported()) return true;
  take_change(n, scope);
  return agrees_with_record(n, index, scope);
}

// Bounds of the symbols, as TVM's importer writes them.
std::vector<ir::NamedAttr> Translator::symbol_bounds() {
  std::vector<ir::NamedAttr> least, most, made;
  for (const SymbolRange& r : model_.ranges) {
    const auto dim = dims_.find(r.name);
    if (dim == dims_.end()) continue;
    if (r.least) least.push_back(ctx_.named(dim->second->name, ctx_.attr(*r.least)));
    if (r.most) most.push_back(ctx_.named(dim->second->name, ctx_.attr(*r.most)));
  }
  if (!least.empty()) made.push_back(ctx_.named(attr_name::TirVarLowerBound, ctx_.attr_dict(least)));
  if (!most.empty()) made.push_back(ctx_.named(attr_name::TirVarUpperBound, ctx_.attr_dict(most)));
  return made;
}

// A tensor that a node changes in place is the node's result from here on.
void Translator::take_change(const pb::NodeProto& n, Scope& scope) {
  if (!changes_in_place(n) || n.output_size() == 0 || !scope.find(n.output(0))) return;
  Value& changed = scope.values[n.input(0)];
  const auto& results = model_.proto.graph().output();
  const bool is_result =
      std::any_of(results.begin(), results.end(), [&](const auto& r) { return r.name() == n.input(0); });
  if (!is_result) before_change_.emplace(n.input(0), changed);
  changed = *scope.find(n.output(0));
}

// A program of PyTorch says what each value is: a translation that gives something else is wrong.
bool Translator::agrees_with_record(const pb::NodeProto& n, int index, const Scope& scope) {
  for (const std::string& name : n.output()) {
    const auto found = recorded_.find(name);
    const Value* v = scope.find(name);
    const auto* t = v && v->expr ? ir::as<ir::TensorType>(v->expr->type) : nullptr;
    if (found == recorded_.end() || !t) continue;
    const auto& wanted = found->second->tensor_type();
    bool same = dtype_of(wanted.elem_type()) == t->dtype && t->ndim == wanted.shape().dim_size();
    for (int i = 0; same && t->has_shape && i < t->ndim; ++i) {
      const auto n_here = int_of(t->shape[std::size_t(i)]);
      const auto& d = wanted.shape().dim(i);
      same = !n_here || !d.has_dim_value() || d.dim_value() == *n_here;
    }
    if (!same)
      return fail(
          n, index,
          refuse(fmt::format("its result `{}` is recorded with another type than that of its translation", name))
              .error);
  }
  return true;
}

bool Translator::take_results(const pb::NodeProto& n, int index, NodeContext& c, const Expr* made, Scope& scope) {
  Values values;
  if (!made && c.result) {
    values.push_back({nullptr, c.result});
  } else if (!made) {
    values = c.results;
  } else if (const auto* tuple = ir::as<ir::Tuple>(made)) {
    for (const Expr* item : tuple->items) values.push_back({item, nullptr});
  } else if (ir::as<ir::TupleType>(made->type)) {
    const auto fields = c.fields_of(c.bind(made));
    if (!fields.ok()) return fail(n, index, fields.error());
    for (const Expr* item : *fields) values.push_back({item, nullptr});
  } else {
    values.push_back({ir::is_leaf(made) ? made : blocks_.emit(made), nullptr});
  }
  for (int i = 0; i < n.output_size(); ++i)
    if (!n.output(i).empty() && std::size_t(i) < values.size())
      scope.values[n.output(i)] = values[std::size_t(i)];
    else if (!n.output(i).empty())
      left_out_[n.output(i)] = {&n, index};
  return true;
}

// False.
bool Translator::fail_left_out(const std::string& name) {
  const auto& [n, index] = left_out_.at(name);
  const auto at = std::find(n->output().begin(), n->output().end(), name) - n->output().begin();
  return fail(*n, index, refuse(fmt::format("its output {} (`{}`) is not translated, and is used", at, name)).error);
}

bool Translator::call(const pb::NodeProto& n, const pb::FunctionProto& f, const Values& inputs, Scope& scope,
                      const Frame& frame) {
  if (frame.depth >= kMaxNesting) {
    out_.add(span_of(n), source::message(diag::OnnxTooDeep, kMaxNesting));
    return false;
  }
  Frame inner{&f, {}, frame.depth + 1};
  for (const auto& a : f.attribute_proto()) inner.attributes[a.name()] = &a;
  NodeContext c({ctx_, blocks_, kernels_}, n);
  c.outer = frame.function ? &frame.attributes : nullptr;
  for (const auto& a : n.attribute())
    if (const auto* value = c.attr(a.name())) inner.attributes[a.name()] = value;
  Scope values;
  for (int i = 0; i < f.input_size(); ++i)
    if (std::size_t(i) < inputs.size() && (inputs[std::size_t(i)].expr || inputs[std::size_t(i)].known))
      values.values[f.input(i)] = inputs[std::size_t(i)];
    else
      values.values[f.input(i)] = {};
  if (!nodes(f.node(), values, inner)) return false;
  for (int i = 0; i < f.output_size() && i < n.output_size(); ++i)
    if (const Value* v = values.find(f.output(i))) scope.values[n.output(i)] = *v;
  return true;
}

ir::Result<Values> Translator::run_graph(const pb::GraphProto& graph, const Values& inputs, const Scope& around,
                                         const Frame& frame) {
  Scope scope;
  scope.outer = &around;
  if (!add_initialisers(graph, scope, false)) return refuse("its graph has errors");
  if (std::size_t(graph.input_size()) != inputs.size())
    return refuse(fmt::format("its graph has {}, {} given", support::counted(std::size_t(graph.input_size()), "input"),
                              inputs.size()));
  for (int i = 0; i < graph.input_size(); ++i) scope.values[graph.input(i).name()] = inputs[std::size_t(i)];
  // Names of a branch may be names of the graph around it too.
  auto types = model_.is_exported() ? recorded_types(graph) : recorded_;
  std::swap(types, recorded_);
  const bool translated = nodes(graph.node(), scope, frame);
  std::swap(types, recorded_);
  if (!translated) return refuse("its graph has errors");
  Values made;
  for (const auto& o : graph.output()) {
    const Value* v = scope.find(o.name());
    if (!v && left_out_.contains(o.name())) {
      fail_left_out(o.name());
      return refuse("its graph has errors");
    }
    if (!v && lost_.contains(o.name())) {
      met_lost_ = true;
      return refuse("its graph has errors");
    }
    if (!v) {
      out_.add({}, source::message(diag::OnnxNoOutput, o.name(), "a graph inside of it"));
      return refuse("its graph has errors");
    }
    made.push_back(*v);
  }
  return made;
}

std::int64_t Translator::opset(const std::string& domain, const Frame& frame) const {
  if (frame.function)
    for (const auto& import : frame.function->opset_import())
      if (domain_name(import.domain()) == domain_name(domain)) return import.version();
  return model_.opset(domain);
}

// ---- places ----

// Of the node of the model's graph that gives it.
source::Span Translator::span_of_output(const std::string& name) const {
  for (const auto& n : model_.proto.graph().node())
    if (std::find(n.output().begin(), n.output().end(), name) != n.output().end()) return span_of(n);
  return {};
}

source::Span Translator::span_of(const pb::NodeProto& n) const {
  const auto found = listing_.places.find(&n);
  if (found == listing_.places.end()) return {};
  return {file_, found->second.first, found->second.second};
}

void Translator::place(const pb::NodeProto* n) {
  if (n) {
    const source::Span span = span_of(*n);
    for (std::uint32_t id = placed_ + 1; id <= ctx_.node_count(); ++id) ctx_.spans().set(id, span);
  }
  placed_ = ctx_.node_count();
}

bool Translator::fail(const pb::NodeProto& n, int index, const source::Message& m) {
  const std::string label = node_label(n, index);
  if (options_.refusals)
    options_.refusals->push_back(
        {&n,
         m.id == diag::OnnxNotKnown
             ? fmt::format("its operand {} (`{}`) must be known when the model is translated", m.argument, m.attribute)
             : m.text});
  if (m.id == diag::OnnxNotKnown) {
    if (options_.asked) *options_.asked = m.attribute;
    out_.add(span_of(n), source::message(diag::OnnxNotKnown, label, n.op_type(), m.argument, m.attribute));
  } else {
    out_.add(span_of(n), source::message(diag::OnnxNodeFailed, label, n.op_type(), m.text).with_hint(m.hint));
  }
  return false;
}

std::shared_ptr<const Translation> to_relax(ir::Context& ctx, const ModelRef& model, source::FileId file,
                                            const Options& options, source::Diagnostics& out) {
  auto made = std::make_shared<Translation>();
  made->model = model;
  made->module = Translator(ctx, model, file, options, out).run(*made);
  return made->module ? made : nullptr;
}

const ir::Function* Translation::function() const { return ir::as<ir::Function>(module->find(kEntry)); }

const Node* Translation::find(const source::Span& place) const {
  const auto found = place && place.file == file ? node_at.find(place.begin) : node_at.end();
  if (found == node_at.end()) return nullptr;
  return found->second < nodes.size() ? &nodes[found->second] : &inner[found->second - nodes.size()];
}

const Node* Translation::find(std::string_view label) const {
  for (const std::vector<Node>* all : {&nodes, &inner})
    for (const Node& n : *all)
      if (n.label == label) return &n;
  return nullptr;
}

}  // namespace rldb::onnx

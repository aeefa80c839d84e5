// Primitive functions through Relax: specialised for the dims of a call, translated, built, called.
#include "session/relay/kernel_maker.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstring>

#include "rldb/frontend/relay.h"
#include "rldb/relay/ir/printer.h"
#include "rldb/relay/ops/infer.h"
#include "rldb/relay/to_relax.h"
#include "rldb/support/entry_function.h"
#include "session/relay/kernel_texts.h"

namespace rldb::session {

using relay::Dim;
using relay::DimKind;
using relay::TensorType;
using relay::TupleType;
using runtime::ErrorKind;
using runtime::ValueKind;

namespace {

runtime::Error first_error(const source::Diagnostics& found, ErrorKind kind) {
  return {kind, found.first_error("no kernel can be made"), {}};
}

// Gives shapes to consecutive tensors, in nested tuples.
const relay::Type* with_shapes(relay::Context& ctx, const relay::Type* t,
                               const std::vector<std::vector<std::int64_t>>& shapes, std::size_t& next,
                               std::string& wrong) {
  if (const auto* tuple = relay::as<TupleType>(t)) {
    std::vector<const relay::Type*> fields;
    for (const relay::Type* f : tuple->fields) fields.push_back(with_shapes(ctx, f, shapes, next, wrong));
    return ctx.tuple_type(fields);
  }
  const auto* tensor = relay::as<TensorType>(t);
  if (!tensor || next >= shapes.size()) {
    wrong = "another number of operands";
    return t;
  }
  const std::vector<std::int64_t>& shape = shapes[next++];
  std::vector<Dim> dims;
  for (std::size_t i = 0; i < shape.size(); ++i) dims.push_back({DimKind::Known, false, shape[i], nullptr});
  bool fits = shape.size() == tensor->shape.size();
  for (std::size_t i = 0; i < dims.size() && fits; ++i)
    fits = tensor->shape[i].kind != DimKind::Known || tensor->shape[i].value == shape[i];
  if (!fits)
    wrong = fmt::format("operand {} has the shape ({}), and its type is `{}`", next - 1, fmt::join(shape, ", "),
                        relay::print_type(t));
  return ctx.tensor(dims, tensor->dtype);
}

void leaves(const relay::Type* t, std::vector<const TensorType*>& out) {
  if (const auto* tensor = relay::as<TensorType>(t)) out.push_back(tensor);
  if (const auto* tuple = relay::as<TupleType>(t))
    for (const relay::Type* f : tuple->fields) leaves(f, out);
}

void leaves(const Value& v, std::vector<Value>& out) {
  if (!v.is(ValueKind::Tuple)) return out.push_back(v);
  for (const Value& f : v.as_tuple().fields) leaves(f, out);
}

// The value of a parameter of type `t`, from consecutive tensors.
Value nested(const relay::Type* t, PackedArgs flat, std::size_t& next) {
  const auto* tuple = relay::as<TupleType>(t);
  if (!tuple) return flat[next++];
  std::vector<Value> fields;
  for (const relay::Type* f : tuple->fields) fields.push_back(nested(f, flat, next));
  return Value::of_tuple(std::move(fields));
}

Result<support::Unit> copy_into(const Value& from, const Value& to) {
  if (!from.is(ValueKind::Tensor) || !to.is(ValueKind::Tensor))
    return runtime::fail(ErrorKind::TypeMismatch, "a primitive gives tensors only");
  const runtime::Tensor &a = from.as_tensor(), &b = to.as_tensor();
  if (a.dtype() != b.dtype() || a.shape() != b.shape())
    return runtime::fail(ErrorKind::ShapeMismatch, fmt::format("the result is a {}, and {} was allocated for it",
                                                               runtime::describe(from), runtime::describe(to)));
  if (a.byte_size() > 0) std::memmove(b.data(), a.peek(), a.byte_size());
  return support::Unit{};
}

Result<support::Unit> store_dims(const std::vector<std::int64_t>& dims, const Value& to) {
  const runtime::Tensor& t = to.as_tensor();
  if (t.dtype() != runtime::DType::Int(64) || t.element_count() != std::int64_t(dims.size()))
    return runtime::fail(ErrorKind::ShapeMismatch, "a result of another rank than its type");
  for (std::size_t i = 0; i < dims.size(); ++i) runtime::store_int(t.data() + 8 * i, t.dtype(), dims[i]);
  return support::Unit{};
}

std::vector<std::vector<std::int64_t>> shapes_of(PackedArgs tensors) {
  std::vector<std::vector<std::int64_t>> out;
  for (const Value& v : tensors) out.push_back(v.as_tensor().shape());
  return out;
}

// Reads tensors that hold dims. A file decides their contents.
Result<std::vector<std::vector<std::int64_t>>> read_shapes(PackedArgs tensors) {
  std::vector<std::vector<std::int64_t>> out;
  for (const Value& v : tensors) {
    const runtime::Tensor& t = v.as_tensor();
    if (t.dtype() != runtime::DType::Int(64) || t.ndim() > 1)
      return runtime::fail(ErrorKind::TypeMismatch, fmt::format("a {} is not a shape", runtime::describe(v)));
    std::vector<std::int64_t>& dims = out.emplace_back();
    for (std::int64_t i = 0; i < t.element_count(); ++i)
      dims.push_back(runtime::load_as_int(t.peek() + std::size_t(i) * 8, t.dtype()));
    if (std::any_of(dims.begin(), dims.end(), [](std::int64_t d) { return d < 0; }))
      return runtime::fail(ErrorKind::ShapeMismatch, "a shape with a negative dim");
  }
  return out;
}

// A program of several kernels has its memory on the host. Its copies are no traffic of the run.
Result<Value> host_value(const Value& v) {
  const runtime::Tensor& t = v.as_tensor();
  if (t.device().is_host()) return v;
  RLDB_TRY(auto made, runtime::Tensor::empty(t.shape(), t.dtype()));
  if (t.byte_size() > 0) std::memcpy(made->data(), t.peek(), t.byte_size());
  return Value(made);
}

runtime::Kernel* kernel_alone(const Build& build, std::string_view name) {
  const std::string_view kernel = only_kernel(build.legal, name);
  return kernel.empty() ? nullptr : build.program->environment().kernels->find(kernel);
}

}  // namespace

// The function for operands of these dims; the type of its result is inferred from them.
Result<KernelMaker::Specialised*> KernelMaker::specialise(const relay::Function* f, const Shapes& shapes) {
  const auto [found, first] = specialised_.try_emplace(Key{f, shapes});
  if (!first && found->second.function) return &found->second;
  std::vector<const relay::Var*> params;
  std::size_t next = 0;
  std::string wrong;
  for (const relay::Var* p : f->params) {
    params.push_back(ctx_.var(p->name, with_shapes(ctx_, p->annotation, shapes, next, wrong)));
  }
  if (!wrong.empty() || next != shapes.size())
    return runtime::fail(ErrorKind::ShapeMismatch, wrong.empty() ? "another number of operands" : wrong);
  const relay::Expr* body = relay::body_with(ctx_, f, params);
  const relay::Function* made = ctx_.function({}, params, nullptr, body, f->attrs);
  relay::Typing typing;
  source::Diagnostics diagnostics;
  const relay::Module* m = ctx_.module({}, {{ctx_.global(support::kEntryFunction), made}});
  if (!relay::infer_types(ctx_, m, typing, diagnostics))
    return support::Failure(first_error(diagnostics, ErrorKind::ShapeMismatch));
  found->second.result = typing.of(body);
  found->second.function = ctx_.function({}, params, found->second.result, body, f->attrs);
  return &found->second;
}

Result<support::Unit> KernelMaker::compile(Specialised& s) {
  if (s.build) return support::Unit{};
  source::Diagnostics diagnostics;
  const std::string name = fmt::format("primitive{}", count_++);
  const ir::Module* module = one_kernel(session_.context(), ctx_, *s.function, name, diagnostics);
  if (module) session_.set_module(module);
  auto build = module ? session_.build(diagnostics) : nullptr;
  if (!build) return support::Failure(first_error(diagnostics, ErrorKind::Unsupported));
  s.callable = build->program->find_function(name);
  s.kernel = kernel_alone(*build, name);
  s.build = std::move(build);
  return support::Unit{};
}

// The JIT knows kernels by name, and other primitives may have kernels of the same: it is asked at once.
void KernelMaker::note_states(Specialised& s) const {
  if (!s.states.empty()) return;
  for (const Session::KernelState& k : session_.kernel_states())
    if (s.build->lowered->find(k.name)) s.states.push_back(k);
}

std::vector<Session::KernelState> KernelMaker::states() const {
  std::map<std::string, int> variants;
  for (const auto& [key, s] : specialised_)
    if (const auto known = names_.find(key.first); known != names_.end() && !s.states.empty())
      ++variants[known->second];
  std::vector<Session::KernelState> out;
  for (const auto& [key, s] : specialised_) {
    const auto known = names_.find(key.first);
    if (known == names_.end()) continue;
    std::string label = known->second;
    if (variants[label] > 1)
      for (const std::vector<std::int64_t>& shape : key.second) label += fmt::format(" ({})", fmt::join(shape, ", "));
    for (Session::KernelState state : s.states) {
      state.name = s.kernel ? label : fmt::format("{}: {}", label, state.name);
      out.push_back(std::move(state));
    }
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  return out;
}

Result<Value> KernelMaker::evaluate(const relay::Function* f) {
  RLDB_TRY(Specialised * s, specialise(f, {}));
  RLDB_TRY_VOID(compile(*s));
  return evaluate(*s, {});
}

Result<KernelMaker::Specialised*> KernelMaker::compiled(const relay::Function* f, PackedArgs inputs, Last& last) {
  const auto same = [](const Value& v, const std::vector<std::int64_t>& shape) {
    return v.as_tensor().shape() == shape;
  };
  if (last.specialised && std::equal(inputs.begin(), inputs.end(), last.shapes.begin(), last.shapes.end(), same))
    return last.specialised;
  Shapes shapes = shapes_of(inputs);
  RLDB_TRY(Specialised * s, specialise(f, shapes));
  RLDB_TRY_VOID(compile(*s));
  last = {std::move(shapes), s};
  return s;
}

Result<Value> KernelMaker::evaluate(const Specialised& s, PackedArgs inputs) {
  std::vector<Value> here, args;
  for (const Value& v : inputs) {
    RLDB_TRY(Value read, host_value(v));
    here.push_back(std::move(read));
  }
  std::size_t next = 0;
  for (const relay::Var* p : s.function->params) args.push_back(nested(p->annotation, here, next));
  return s.build->program->invoke(s.callable, args);
}

Result<support::Unit> KernelMaker::compute(const relay::Function* f, PackedArgs inputs, PackedArgs outputs,
                                           Last& last) {
  RLDB_TRY(Specialised * s, compiled(f, inputs, last));
  if (s->kernel) {
    std::vector<Value> args(inputs.begin(), inputs.end());
    args.insert(args.end(), outputs.begin(), outputs.end());
    RLDB_TRY_VOID(runtime::call_kernel(*s->kernel, args));
    note_states(*s);
    return support::Unit{};
  }
  RLDB_TRY(Value result, evaluate(*s, inputs));
  note_states(*s);
  std::vector<Value> values;
  leaves(result, values);
  if (values.size() != outputs.size())
    return runtime::fail(ErrorKind::TypeMismatch,
                         fmt::format("{} results for {} outputs", values.size(), outputs.size()));
  for (std::size_t i = 0; i < values.size(); ++i) RLDB_TRY_VOID(copy_into(values[i], outputs[i]));
  return support::Unit{};
}

Result<support::Unit> KernelMaker::shape(const relay::Function* f, PackedArgs shapes, PackedArgs outputs) {
  RLDB_TRY(const Shapes dims, read_shapes(shapes));
  RLDB_TRY(Specialised * s, specialise(f, dims));
  std::vector<const TensorType*> types;
  leaves(s->result, types);
  if (types.size() != outputs.size()) return runtime::fail(ErrorKind::TypeMismatch, "another number of results");
  for (std::size_t i = 0; i < types.size(); ++i) {
    std::vector<std::int64_t> known;
    for (const Dim& d : types[i]->shape) {
      if (d.kind != DimKind::Known)
        return runtime::fail(ErrorKind::Unsupported,
                             fmt::format("the dims of the result, `{}`, do not follow from the operands'",
                                         relay::print_type(s->result)));
      known.push_back(d.value);
    }
    RLDB_TRY_VOID(store_dims(known, outputs[i]));
  }
  return support::Unit{};
}

Result<support::Unit> KernelMaker::shape_from_data(const relay::Function* f, PackedArgs inputs, PackedArgs outputs,
                                                   Last& last) {
  RLDB_TRY(Specialised * s, compiled(f, inputs, last));
  RLDB_TRY(Value result, evaluate(*s, inputs));
  std::vector<Value> values;
  leaves(result, values);
  if (values.size() != outputs.size()) return runtime::fail(ErrorKind::TypeMismatch, "another number of results");
  for (std::size_t i = 0; i < values.size(); ++i) RLDB_TRY_VOID(store_dims(values[i].as_tensor().shape(), outputs[i]));
  return support::Unit{};
}

Primitive KernelMaker::primitive(const relay::Kernel& kernel) {
  const auto self = weak_from_this();
  const relay::Function* f = kernel.function;
  if (kernel.kind == relay::KernelKind::Compute) names_[f] = kernel.name;
  const auto with_maker = [self](auto run) -> Primitive {
    return [self, run](PackedArgs in, PackedArgs out) { return run(*self.lock(), in, out); };
  };
  const auto last = std::make_shared<Last>();
  switch (kernel.kind) {
    case relay::KernelKind::Compute:
      return with_maker(
          [f, last](KernelMaker& m, PackedArgs in, PackedArgs out) { return m.compute(f, in, out, *last); });
    case relay::KernelKind::Shape:
      return with_maker([f](KernelMaker& m, PackedArgs in, PackedArgs out) { return m.shape(f, in, out); });
    case relay::KernelKind::ShapeFromData:
      return with_maker(
          [f, last](KernelMaker& m, PackedArgs in, PackedArgs out) { return m.shape_from_data(f, in, out, *last); });
    case relay::KernelKind::Copy:
      return [](PackedArgs in, PackedArgs out) -> Result<support::Unit> {
        if (in.size() == 1 && out.size() == 1) return copy_into(in[0], out[0]);
        return runtime::fail(ErrorKind::ArgumentCount, "one tensor is copied to one");
      };
  }
  return {};
}

// ---- primitives of files ----

const relay::Function* KernelMaker::read_function(const std::string& text) {
  source::Diagnostics found;
  const source::FileId file = session_.sources().add("primitive.relay", text);
  const auto parsed = frontend::parse_relay(ctx_, session_.sources(), file, found);
  const auto* f = parsed.module ? relay::as<relay::Function>(parsed.module->body) : nullptr;
  if (!f) return nullptr;
  for (const relay::Var* p : f->params) {
    std::vector<const TensorType*> tensors;
    leaves(p->annotation, tensors);
    if (tensors.empty()) return nullptr;
  }
  return f;
}

// ---- primitives known only by name ----

std::optional<KernelMaker::NamedChain> KernelMaker::read_name(std::string_view name) const {
  NamedChain chain;
  const auto strip = [&](std::string_view prefix) {
    if (!name.starts_with(prefix)) return false;
    name.remove_prefix(prefix.size());
    return true;
  };
  strip("vm_mod_");
  chain.is_shape = strip("shape_func_");
  if (!chain.is_shape) strip("fused_");
  static const std::map<std::string, const relay::OpInfo*, std::less<>> known = [] {
    std::map<std::string, const relay::OpInfo*, std::less<>> out;
    for (const std::string_view op : relay::op_names()) {
      std::string key(op);
      std::replace(key.begin(), key.end(), '.', '_');
      out.emplace(key, relay::find_op(op));
    }
    return out;
  }();
  while (!name.empty()) {
    // The longest operator name that is a prefix; a number at the end makes names unique.
    std::size_t end = name.size();
    auto found = known.find(name);
    while (found == known.end() && (end = name.rfind('_', end - 1)) != std::string_view::npos && end > 0)
      found = known.find(name.substr(0, end));
    if (found == known.end()) {
      const bool number = name.find_first_not_of("0123456789") == std::string_view::npos;
      if (number && !chain.operators.empty()) break;
      return std::nullopt;
    }
    chain.operators.push_back(found->second);
    name.remove_prefix(std::min(end + 1, name.size()));
  }
  if (chain.operators.empty()) return std::nullopt;
  return chain;
}

// Each operator takes the previous result as its first operand.
Result<const relay::Function*> KernelMaker::chain_function(const NamedChain& chain,
                                                           const std::vector<runtime::DType>& dtypes,
                                                           const Shapes& shapes) {
  std::vector<const relay::Var*> params;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    std::vector<Dim> dims;
    for (const std::int64_t d : shapes[i]) dims.push_back({DimKind::Known, false, d, nullptr});
    params.push_back(ctx_.var(ctx_.str(fmt::format("p{}", i)), ctx_.tensor(dims, dtypes[i])));
  }
  const relay::Expr* result = nullptr;
  std::size_t next = 0;
  for (const relay::OpInfo* o : chain.operators) {
    std::vector<const relay::Expr*> args;
    if (result) args.push_back(result);
    while (int(args.size()) < o->operands && next < params.size()) args.push_back(params[next++]);
    if (!relay::info(o->attributes).fields.empty())
      return runtime::fail(ErrorKind::UnknownFunction,
                           fmt::format("`{}` takes attributes, which the name of a primitive does not tell", o->name));
    result = ctx_.call(ctx_.op(o), args);
  }
  if (next != params.size())
    return runtime::fail(ErrorKind::ArgumentCount,
                         fmt::format("{} operands, and the operators take {}", params.size(), next));
  return ctx_.function({}, params, nullptr, result, {});
}

Primitive KernelMaker::primitive_by_name(std::string_view name) {
  const auto chain = read_name(name);
  if (!chain) return {};
  return [self = weak_from_this(), chain = *chain, name = std::string(name)](PackedArgs in,
                                                                             PackedArgs out) -> Result<support::Unit> {
    KernelMaker& m = *self.lock();
    Shapes shapes = shapes_of(in);
    if (chain.is_shape) {
      RLDB_TRY(shapes, read_shapes(in));
    }
    std::vector<runtime::DType> dtypes;
    for (const Value& v : in) dtypes.push_back(chain.is_shape ? runtime::DType::Float(32) : v.as_tensor().dtype());
    const relay::Function*& f =
        m.by_name_[{name + fmt::format("{}", dtypes.empty() ? "" : to_string(dtypes[0])), shapes}];
    if (!f) {
      RLDB_TRY(f, m.chain_function(chain, dtypes, shapes));
      if (!chain.is_shape) m.names_[f] = name;
    }
    Last last;
    return chain.is_shape ? m.shape(f, in, out) : m.compute(f, in, out, last);
  };
}

}  // namespace rldb::session

// Arguments of a run: texts in `--input` form, names of session values, and values generated from a seed.
#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cmath>
#include <cstring>
#include <limits>
#include <unordered_map>

#include "rldb/eval/eval.h"
#include "rldb/expression/language.h"
#include "rldb/ir/attr_name/relax.h"
#include "rldb/ir/op/call_packed.h"
#include "rldb/ir/op/call_tir_variant.h"
#include "rldb/ir/scalar.h"
#include "rldb/ir/walk.h"
#include "rldb/onnx/model.h"
#include "rldb/passes/pass_id.h"
#include "rldb/runtime/copy.h"
#include "rldb/runtime/guarded.h"
#include "rldb/runtime/tensor_archive.h"
#include "rldb/runtime/tensor_file.h"
#include "rldb/session/typed_value.h"
#include "rldb/source/diagnostic_input.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/source/diagnostic_onnx.h"
#include "rldb/source/diagnostic_program.h"
#include "rldb/support/text.h"
#include "session/engines.h"
#include "session/inputs/made_up.h"
#include "session/inputs/objects.h"
#include "session/program/executable_devices.h"

namespace rldb::session {

using runtime::Value;
using runtime::ValueKind;

namespace {

// The largest sizes for which the function is planned, by the names of its symbolic variables.
using Bounds = std::unordered_map<std::string, std::int64_t>;

// The value of a symbolic variable, and where it comes from.
struct Dim {
  std::int64_t value = 0;
  std::string bound_by;
};
using Dims = std::unordered_map<const ir::Var*, Dim>;

const ir::Type* made_as(const Parameter& p) { return p.cast ? p.cast : p.type; }

std::optional<std::int64_t> dim_value(const ir::Expr* e, const Dims& dims) {
  eval::ScalarEnv env;
  env.var = [&](const ir::Var* v) -> std::optional<Value> {
    auto it = dims.find(v);
    if (it == dims.end()) return std::nullopt;
    return Value::of_int(it->second.value);
  };
  auto value = eval::eval_scalar(e, env);
  if (!value.ok() || !value->is(ValueKind::Int)) return std::nullopt;
  return value->as_int();
}

class Binder {
 public:
  Binder(const Options& options, std::vector<Parameter> params, Bounds bounds)
      : options_(options), params_(std::move(params)), bounds_(std::move(bounds)) {}

  const std::vector<Parameter>& params() const { return params_; }

  // `n=5`: of the parameters' symbolic variables with this name. A value that has another extent there is a mismatch.
  void give_dim(std::string_view text, std::int64_t value) {
    std::vector<const ir::Var*> vars;
    for (const Parameter& p : params_)
      if (p.type) ir::collect_vars(made_as(p), vars);
    for (const ir::Var* v : vars)
      if (v->name == text.substr(0, text.find('='))) dims_[v] = {value, std::string(text)};
  }

  // Checks a given value against its parameter and learns symbolic dims from it. Empty: agrees.
  std::optional<source::Message> learn(const Parameter& p, const Value& v) { return learn(p, p.type, v); }

  // Generates a value for a parameter that was not given; `objects` makes those that no type tells.
  std::optional<source::Message> generate(std::size_t index, const MadeUp& range, ObjectInputs& objects, Value& out) {
    const Parameter& p = params_[index];
    objects_ = &objects;
    index_ = index;
    // A scalar that a shape mentions gets its value from that shape.
    if (const auto it = p.var ? dims_.find(p.var) : dims_.end(); it != dims_.end()) {
      out = Value::of_int(it->second.value);
      return std::nullopt;
    }
    return generate(p, made_as(p), index, range, out);
  }

  std::unordered_map<const ir::Var*, std::int64_t> dims() const {
    std::unordered_map<const ir::Var*, std::int64_t> out;
    for (const auto& [var, dim] : dims_) out.emplace(var, dim.value);
    return out;
  }

  // Symbolic variables that no given value determines: --dim, else the default, limited by their bound.
  void settle() {
    std::vector<const ir::Var*> vars;
    for (const Parameter& p : params_)
      if (p.type) ir::collect_vars(made_as(p), vars);
    for (const ir::Var* v : vars) {
      if (dims_.contains(v)) continue;
      const std::string name(v->name);
      if (const auto given = options_.dims.find(name); given != options_.dims.end()) {
        dims_[v] = {given->second, "--dim"};
      } else {
        const auto bound = bounds_.find(name);
        const std::int64_t most = bound == bounds_.end() ? options_.default_dim : bound->second;
        dims_[v] = {std::min(options_.default_dim, most), "the default"};
      }
    }
  }

 private:
  std::optional<source::Message> learn(const Parameter& p, const ir::Type* type, const Value& v) {
    if (const auto* t = ir::as<ir::TensorType>(type)) return learn_tensor(p, t, v);
    if (const auto* t = ir::as<ir::ShapeType>(type)) return learn_shape(p, t, v);
    if (const auto* t = ir::as<ir::TupleType>(type)) {
      if (!v.is(ValueKind::Tuple) || v.as_tuple().fields.size() != t->fields.size()) return mismatch(p, type, v);
      for (std::size_t i = 0; i < t->fields.size(); ++i)
        if (auto bad = learn(p, t->fields[i], v.as_tuple().fields[i])) return bad;
      return std::nullopt;
    }
    if (const auto* t = ir::as<ir::PrimType>(type)) {
      const bool fits = t->dtype.is_float() ? v.is(ValueKind::Float) || v.is(ValueKind::Int)
                                            : v.is(ValueKind::Int) || v.is(ValueKind::Bool);
      if (!fits) return mismatch(p, type, v);
      if (p.var && p.type == type && !t->dtype.is_float() && !dims_.contains(p.var))
        dims_[p.var] = {v.as_int(), fmt::format("parameter `{}`", p.name)};
      return std::nullopt;
    }
    return std::nullopt;  // Any, functions: the machine checks
  }

  std::optional<source::Message> learn_tensor(const Parameter& p, const ir::TensorType* t, const Value& v) {
    if (!v.is(ValueKind::Tensor)) return mismatch(p, t, v);
    const runtime::Tensor& tensor = v.as_tensor();
    if (!t->dtype.is_void() && t->dtype != tensor.dtype()) return mismatch(p, t, v);
    if (t->ndim != ir::kUnknownNdim && t->ndim != tensor.ndim()) return mismatch(p, t, v);
    if (!t->has_shape) return std::nullopt;
    return learn_dims(p, t->shape, tensor.shape());
  }

  std::optional<source::Message> learn_shape(const Parameter& p, const ir::ShapeType* t, const Value& v) {
    if (!v.is(ValueKind::Shape)) return mismatch(p, t, v);
    if (t->ndim != ir::kUnknownNdim && t->ndim != int(v.as_shape().size())) return mismatch(p, t, v);
    if (!t->has_values) return std::nullopt;
    return learn_dims(p, t->values, v.as_shape());
  }

  std::optional<source::Message> learn_dims(const Parameter& p, ir::Span<const ir::Expr*> wanted,
                                            const std::vector<std::int64_t>& got) {
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (const auto* v = ir::as<ir::Var>(wanted[i]); v && !dims_.contains(v)) {
        dims_[v] = {got[i], fmt::format("parameter `{}`, dimension {}", p.name, i)};
        continue;
      }
      const auto known = dim_value(wanted[i], dims_);
      if (!known || *known == got[i]) continue;
      std::vector<const ir::Var*> vars;
      ir::collect_vars(wanted[i], vars);
      if (vars.empty()) return source::message(diag::ExtentMismatch, p.name, i, *known, got[i]);
      const std::string by = dims_[vars[0]].bound_by;
      return source::message(diag::DimMismatch, p.name, i, ir::print_expr(wanted[i]), *known, by, got[i]);
    }
    return std::nullopt;
  }

  std::optional<source::Message> generate(const Parameter& p, const ir::Type* type, std::uint64_t salt,
                                          const MadeUp& range, Value& out) {
    if (const auto* t = ir::as<ir::TensorType>(type); t && t->ndim != ir::kUnknownNdim) {
      // Anything the type leaves open: each dim is the default, elements are float32. The note on the value reports it.
      std::vector<std::int64_t> shape;
      if (t->has_shape) {
        if (!concrete(t->shape, shape)) return cannot(p, type);
      } else {
        shape.assign(std::size_t(t->ndim), options_.default_dim);
      }
      const runtime::DType dtype = t->dtype.is_void() ? runtime::DType::Float(32) : t->dtype;
      auto made = runtime::random_tensor(std::move(shape), dtype, options_.seed * 1000003 + salt);
      if (!made.ok()) return source::message(diag::BadInput, p.name, made.error().message);
      out = std::move(made).value();
      restrict(out.as_tensor(), range.range, options_.seed * 1000003 + salt);
      return std::nullopt;
    }
    if (const auto* t = ir::as<ir::ShapeType>(type); t && t->has_values) {
      std::vector<std::int64_t> dims;
      if (!concrete(t->values, dims)) return cannot(p, type);
      out = Value::of_shape(std::move(dims));
      return std::nullopt;
    }
    if (const auto* t = ir::as<ir::TupleType>(type)) {
      std::vector<Value> fields(t->fields.size());
      for (std::size_t i = 0; i < fields.size(); ++i)
        if (auto bad = generate(p, t->fields[i], salt * 31 + i + 1,
                                i < range.fields.size() ? range.fields[i] : MadeUp{}, fields[i]))
          return bad;
      out = Value::of_tuple(std::move(fields));
      return std::nullopt;
    }
    if (const auto* t = ir::as<ir::PrimType>(type); t && !t->dtype.is_handle()) {
      out = t->dtype.is_float()  ? Value::of_float(1.0)
            : t->dtype.is_bool() ? Value::of_bool(true)
                                 : Value::of_int(std::clamp<std::int64_t>(1, range.range.low, range.range.high));
      return std::nullopt;
    }
    std::optional<Value> made;
    if (const auto* t = ir::as<ir::FuncType>(type)) made = objects_->function_of(t, salt);
    if (ir::as<ir::AnyType>(type)) made = objects_->object_for(index_);
    if (!made) return cannot(p, type);
    out = std::move(*made);
    return std::nullopt;
  }

  // Random floats are from -1 to 1. Those of which roots and logarithms are taken are from 0.5 to 1. The weights of
  // long sums are so small that results are as large as what is weighed, as a model's initial weights are: in a model
  // of fifty layers numbers would grow beyond what floats represent.
  static void restrict_floats(runtime::Tensor& t, const Leaf& range) {
    constexpr std::int64_t kLong = 64;
    if (!range.positive && range.terms < kLong) return;
    const double scale = range.terms < kLong ? 1 : std::sqrt(3 / double(range.terms));
    const auto restricted = [&](double v) { return range.positive ? 0.5 + std::fabs(v) / 2 : v * scale; };
    const std::int64_t n = t.element_count();
    std::byte* at = t.data();
    // A model has tens of millions of weights of this type.
    if (t.dtype() == runtime::DType::Float(32)) {
      for (std::int64_t i = 0; i < n; ++i, at += sizeof(float)) {
        float v = 0;
        std::memcpy(&v, at, sizeof v);
        v = static_cast<float>(restricted(v));
        std::memcpy(at, &v, sizeof v);
      }
      return;
    }
    for (std::int64_t i = 0; i < n; ++i, at += t.dtype().bytes())
      runtime::store_double(at, t.dtype(), restricted(runtime::load_as_double(at, t.dtype())));
  }

  // Any bits, as in weights of four bits that are packed into words.
  static void fill_bits(runtime::Tensor& t, std::uint64_t seed) {
    for (std::int64_t i = 0; i < t.element_count(); ++i)
      runtime::store_int(t.data() + std::size_t(i) * t.dtype().bytes(), t.dtype(), std::int64_t(scattered(seed, i)));
  }

  // Random integers are 0 to 9; those used as indices stay in range. In a wide range every other number is anywhere in
  // it, the first of these its last; the rest are small, so that some are equal.
  static void restrict(runtime::Tensor& t, const Leaf& range, std::uint64_t seed) {
    const Leaf any;
    if (t.dtype().is_float()) return restrict_floats(t, range);
    if (!t.dtype().is_int() && !t.dtype().is_uint()) return;
    if (range.packed && !range.vague && range.reach == 0 && t.dtype().is_uint()) return fill_bits(t, seed);
    if (range.low == any.low && range.high == any.high) return;
    const int bits = t.dtype().bits - (t.dtype().is_int() ? 1 : 0);
    const std::int64_t most = bits < 63 ? (std::int64_t(1) << bits) - 1 : std::numeric_limits<std::int64_t>::max();
    const std::int64_t high = std::min(range.high, most);
    const bool is_wide = high > any.high;
    for (std::int64_t i = 0; i < t.element_count(); ++i) {
      std::byte* at = t.data() + std::size_t(i) * t.dtype().bytes();
      std::int64_t v = runtime::load_as_int(at, t.dtype());
      if (is_wide && i % 2 == 1) v = i == 1 ? high - range.low : std::int64_t(scattered(seed, i) >> 1);
      runtime::store_int(at, t.dtype(), range.low + v % (high - range.low + 1));
    }
  }

  // A 64-bit number that says nothing of its neighbours (the finaliser of SplitMix64).
  static std::uint64_t scattered(std::uint64_t seed, std::int64_t i) {
    std::uint64_t x = seed * 0x9E3779B97F4A7C15U + std::uint64_t(i) * 0xD1B54A32D192ED03U;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9U;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBU;
    return x ^ (x >> 31);
  }

  bool concrete(ir::Span<const ir::Expr*> dims, std::vector<std::int64_t>& out) const {
    for (const ir::Expr* d : dims) {
      const auto value = dim_value(d, dims_);
      if (!value) return false;
      out.push_back(*value);
    }
    return true;
  }

  static source::Message mismatch(const Parameter& p, const ir::Type* type, const Value& v) {
    return source::message(diag::InputMismatch, p.name, ir::print_type(type), runtime::describe(v));
  }
  static source::Message cannot(const Parameter& p, const ir::Type* type) {
    const std::string text = type ? ir::print_type(type) : "a value of unknown type";
    return source::message(diag::CannotGenerate, p.name, text)
        .with_hint(fmt::format("give it with `--input={}=...`", p.name));
  }

  const Options& options_;
  std::vector<Parameter> params_;
  Bounds bounds_;
  Dims dims_;
  ObjectInputs* objects_ = nullptr;
  std::size_t index_ = 0;  // of the parameter in progress
};

Bounds upper_bounds(const Session& session, std::string_view function) {
  Bounds out;
  const ir::Expr* found = session.module() ? session.module()->find(function) : nullptr;
  const auto* f = ir::as<ir::Function>(found);
  const ir::Attr* upper = f ? ir::find_attr(f->attrs, attr_name::TirVarUpperBound) : nullptr;
  if (!upper || !upper->is(ir::AttrKind::Dict)) return out;
  for (const ir::NamedAttr& field : upper->fields)
    if (field.value->is(ir::AttrKind::Int) && field.value->integer > 0)
      out.emplace(std::string(field.name), field.value->integer);
  return out;
}

std::string join_names(const std::vector<Parameter>& params) {
  std::string text;
  for (const Parameter& p : params) text += (text.empty() ? "" : ", ") + p.name;
  return text;
}

}  // namespace

// None: diagnosed.
static std::optional<std::vector<Parameter>> parameters_of(const Session& session, std::string_view function,
                                                           Diagnostics& out) {
  if (!session.program()) {
    out.add({}, source::message(diag::NoProgram));
    return std::nullopt;
  }
  std::string not_runnable;
  auto params = session.program()->parameters(function, not_runnable);
  if (params) return params;
  if (!not_runnable.empty()) {
    out.add({}, source::message(diag::NotRunnable, function, not_runnable));
    return std::nullopt;
  }
  const std::vector<std::string> names = session.function_names();
  const std::vector<std::string_view> views(names.begin(), names.end());
  source::Message m = source::message(diag::NoFunctionToRun, function);
  const std::string_view near = source::nearest(function, views);
  if (!near.empty())
    m.hint = fmt::format("did you mean `{}`?", near);
  else if (!names.empty())
    m.hint = fmt::format("functions: {}", fmt::join(names, ", "));
  out.add({}, std::move(m));
  return std::nullopt;
}

// The functions that `function` reaches, operators as kernels; null when that fails, which the build reports.
const ir::Module* Session::legalised(std::string_view function) {
  if (!module()) return nullptr;
  const std::string_view roots[] = {function};
  Diagnostics ignored;
  passes::PassEnv env{*ctx_, ignored};
  auto done = passes::run_pipeline(env, ir::reachable_from(*ctx_, module(), roots),
                                   passes::pipeline_of(passes::PassId::LegalizeOps));
  return done.ok() ? done.value() : nullptr;
}

// `n=...` with a symbolic variable of the parameters that is not a parameter itself.
static bool names_dim(std::string_view text, const std::vector<Parameter>& ps) {
  const std::string_view name = text.substr(0, text.find('='));
  if (name.size() == text.size()) return false;
  std::vector<const ir::Var*> dims;
  for (const Parameter& p : ps) {
    if (p.name == name) return false;
    if (p.type) ir::collect_vars(p.type, dims);
  }
  return std::any_of(dims.begin(), dims.end(), [&](const ir::Var* v) { return v->name == name; });
}

// False: diagnosed.
static bool take_dim(std::string_view text, Binder& binder, Diagnostics& out) {
  const std::string_view name = text.substr(0, text.find('='));
  const std::string_view digits = text.substr(name.size() + 1);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  if (error != std::errc() || end != digits.data() + digits.size() || value < 0) {
    out.add({}, source::message(diag::BadInput, text,
                                fmt::format("`{}` is a symbolic dimension: its value is an integer from 0 on", name))
                    .with_hint(fmt::format("`{}=4`", name)));
    return false;
  }
  binder.give_dim(text, value);
  return true;
}

// For `NAME=...` that no literal begins with: the supposed parameter name. Empty: the text has another form.
static std::string_view unknown_name(std::string_view text) {
  const std::string_view name = text.substr(0, std::min(text.find('='), text.size()));
  const bool word = std::all_of(name.begin(), name.end(), expression::is_name_byte);
  if (name.size() == text.size() || name.empty() || !word || std::isdigit(static_cast<unsigned char>(name[0])))
    return {};
  const bool is_dtype = runtime::parse_value_literal(fmt::format("{}=0", name)).ok();  // `f32=1.5`
  return is_dtype ? std::string_view() : name;
}

// Files have no bfloat16 or float8: such arrays are stored as integers of the same width.
static void reread_narrow_floats(const ir::Type* type, Value& value) {
  const auto* t = ir::as<ir::TensorType>(type);
  if (!t || !value.is(ValueKind::Tensor)) return;
  const runtime::DType got = value.as_tensor().dtype();
  const bool stands_in = t->dtype.is_float() && got.is_uint() && got.bits == t->dtype.bits;
  if (!stands_in || t->dtype.code == runtime::TypeCode::Float) return;
  auto reread = runtime::reinterpret_as(value, t->dtype);
  if (reread.ok()) value = std::move(reread).value();
}

// The archive of `@FILE` with a member named as a parameter; null for anything else, errors included.
static std::unique_ptr<runtime::TensorArchive> archive_for(std::string_view text,
                                                           const std::vector<Parameter>& params) {
  if (!text.starts_with('@')) return nullptr;
  auto archive = runtime::open_archive(std::string(text.substr(1)));
  if (!archive.ok() || !*archive) return nullptr;
  const bool names_one = std::any_of(params.begin(), params.end(),
                                     [&](const Parameter& p) { return (*archive)->find(p.name).has_value(); });
  return names_one ? std::move(*archive) : nullptr;
}

// Gives every parameter the member of its name. A member that names none is reported: it may be a typing error.
static bool take_members(std::string_view text, const runtime::TensorArchive& archive,
                         const std::vector<Parameter>& params, std::vector<bool>& given,
                         std::vector<Argument>& arguments, Diagnostics& out) {
  std::size_t taken = 0;
  for (std::size_t i = 0; i < params.size(); ++i) {
    const auto member = archive.find(params[i].name);
    if (!member) continue;
    if (given[i]) {
      out.add({}, source::message(diag::InputTwice, params[i].name));
      return false;
    }
    auto value = archive.read(*member);
    if (!value.ok()) {
      out.add({}, source::message(diag::BadInput, text, value.error().message));
      return false;
    }
    given[i] = true;
    arguments[i].value = std::move(value).value();
    reread_narrow_floats(params[i].type, arguments[i].value);
    ++taken;
  }
  std::vector<std::string> unused;
  for (const std::string& name : archive.names())
    if (std::none_of(params.begin(), params.end(), [&](const Parameter& p) { return p.name == name; }))
      unused.push_back(name);
  if (unused.empty()) return true;
  constexpr std::size_t kShown = 5;
  const std::string more = unused.size() > kShown ? fmt::format(" and {} more", unused.size() - kShown) : "";
  unused.resize(std::min(unused.size(), kShown));
  out.add({}, source::message(diag::MembersUnused, text.substr(1), support::counted(taken, "parameter"),
                              fmt::join(unused, ", "), more));
  return true;
}

// The result of a function of the module, with generated arguments.
std::optional<Value> Session::made_by(const std::string& function) {
  Diagnostics ignored;
  const auto made = arguments(function, {}, ignored);
  const ir::Module* legal = made ? legalised(function) : nullptr;
  if (!legal) return std::nullopt;
  std::vector<Value> values;
  for (const Argument& a : *made) values.push_back(a.value);
  RunResult result = run_evaluator(legal, function, values, ignored);
  return result.ok ? std::optional(std::move(result.value)) : std::nullopt;
}

support::Result<std::vector<Value>, Session::Misplaced> Session::placed(const ir::Module* module,
                                                                        std::string_view function,
                                                                        std::vector<Value> values) const {
  runtime::DeviceList devices = devices_of(module);
  // Of an executable: what its notes say.
  Diagnostics ignored;
  const bool noted = !module && program_ && program_->kind() == ProgramKind::RelaxExecutable;
  const std::shared_ptr<const Build> view = noted ? program_->viewable(ignored) : nullptr;
  if (view && devices.empty()) devices = noted_devices(*view->executable);
  const auto* f = module ? ir::as<ir::Function>(module->find(function)) : nullptr;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto* t = f && i < f->params.size() ? ir::as<ir::TensorType>(f->params[i]->type) : nullptr;
    const ir::VDevice* own = t && !devices.empty() ? t->vdevice : nullptr;
    runtime::Device device = own ? runtime::Device{runtime::device_type_of(own->target_kind), own->device_id}
                                 : runtime::device_at(devices, 0);
    if (view) device = noted_device(*view->executable, function, i).value_or(device);
    auto there = runtime::on_device(values[i], device);
    if (!there.ok()) return support::Failure(Misplaced{i, there.error().message});
    values[i] = *std::move(there);
  }
  return values;
}

static bool place_arguments(Session& session, std::string_view function, std::vector<Argument>& arguments,
                            Diagnostics& out) {
  const ir::Module* module = session.module();
  if (module) module = with_hints_realized(session.context(), module, session.options().verify_each, out);
  if (session.module() && !module) return false;
  std::vector<Value> values;
  for (const Argument& a : arguments) values.push_back(a.value);
  auto placed = session.placed(module, function, std::move(values));
  if (!placed.ok()) {
    out.add({}, source::message(diag::BadInput, arguments[placed.error().index].parameter, placed.error().why));
    return false;
  }
  for (std::size_t i = 0; i < arguments.size(); ++i) arguments[i].value = (*placed)[i];
  return true;
}

static bool fits(const ir::Type* type, const runtime::Tensor& tensor) {
  const auto* t = ir::as<ir::TensorType>(type);
  if (!t || !t->has_shape || t->dtype != tensor.dtype() || t->shape.size() != tensor.shape().size()) return false;
  for (std::size_t i = 0; i < t->shape.size(); ++i)
    if (!ir::is_const(t->shape[i], tensor.shape()[i])) return false;
  return true;
}

// Initialisers of a model that are parameters: the values of those that are not given. One that the translation has
// read cannot be given as another.
static bool take_initialisers(const onnx::Translation& model, const std::vector<Parameter>& params,
                              std::vector<bool>& given, std::vector<Argument>& arguments, Diagnostics& out) {
  for (std::size_t i = 0; i < params.size(); ++i) {
    const auto weight = model.weights.find(params[i].name);
    if (weight == model.weights.end() || !fits(params[i].type, weight->second.as_tensor())) continue;
    if (given[i]) {
      const Value& value = arguments[i].value;
      if (!model.read.contains(params[i].name) || runtime::compare(value, weight->second, {0, 0}).empty()) continue;
      out.add({}, source::message(diag::OnnxReadInitialiser, params[i].name));
      return false;
    }
    // A copy: a run may write to its arguments, and so may `:set`.
    auto copy = runtime::copy_of(weight->second);
    if (!copy.ok()) {
      out.add({}, source::message(diag::BadInput, params[i].name, copy.error().message));
      return false;
    }
    arguments[i].value = std::move(copy).value();
    arguments[i].of_model = true;
    given[i] = true;
  }
  return true;
}

// May a run of the function write to its arguments? A kernel that is run by itself has results among them, which are
// wanted.
static bool may_overwrite(const Session& session, std::string_view function) {
  if (!session.module()) return session.program()->kind() == ProgramKind::RelaxExecutable;
  const ir::Context& ctx = session.context();
  if (ir::isa<ir::PrimFunc>(session.module()->find(function))) return false;
  bool found = false;
  for (const ir::ModuleEntry& e : session.module()->entries) {
    const auto* f = ir::as<ir::Function>(e.function);
    if (!f || found) continue;
    ir::walk(f->body, [&](const ir::Node* n) {
      const auto* call = ir::as<ir::Call>(n);
      const auto* op = call ? ir::as<ir::Op>(call->callee) : nullptr;
      found = found || (op && (op->name == op::CallTirInplace || op->name == op::CallInplacePacked)) ||
              (call && ctx.typer() && !ctx.typer()->is_pure(*call));
      return !found;
    });
  }
  return found;
}

// Values of the session that the run may write to: it has copies, so that neither another run nor an entry changes the
// memory of a run that is stopped.
static bool copy_shared(std::vector<Argument>& arguments, const std::vector<bool>& shared, Diagnostics& out) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    if (!shared[i]) continue;
    auto copy = runtime::copy_of(arguments[i].value);
    if (!copy.ok()) {
      out.add({}, source::message(diag::BadInput, arguments[i].parameter, copy.error().message));
      return false;
    }
    arguments[i].value = std::move(copy).value();
  }
  return true;
}

// Of an input, in a message.
static constexpr std::size_t kShownText = 200;

std::optional<std::vector<Argument>> Session::arguments(std::string_view function, std::span<const std::string> texts,
                                                        Diagnostics& out) {
  runtime::set_guarded_storage(options_.engine == Engine::Jit && !options_.check_bounds);
  runtime::reset_device_traffic();
  auto params = parameters_of(*this, function, out);
  if (!params) return std::nullopt;
  Binder binder(options_, *std::move(params), upper_bounds(*this, function));
  const std::vector<Parameter>& ps = binder.params();
  std::vector<Argument> arguments(ps.size());
  std::vector<bool> given(ps.size(), false), shared(ps.size(), false);
  for (std::size_t i = 0; i < ps.size(); ++i) arguments[i].parameter = ps[i].name;

  const FindValue find = [this](std::string_view name) { return find_value(name); };
  std::size_t position = 0;
  for (const std::string& text : texts) {
    if (const auto archive = archive_for(text, ps)) {
      if (!take_members(text, *archive, ps, given, arguments, out)) return std::nullopt;
      continue;
    }
    if (names_dim(text, ps)) {
      if (!take_dim(text, binder, out)) return std::nullopt;
      continue;
    }
    std::string_view form = text;
    std::size_t index = ps.size();
    if (const auto eq = text.find('='); eq != std::string::npos) {
      const auto named =
          std::find_if(ps.begin(), ps.end(), [&](const Parameter& p) { return p.name == text.substr(0, eq); });
      if (named != ps.end()) {
        index = std::size_t(named - ps.begin());
        form.remove_prefix(eq + 1);
      }
    }
    if (index == ps.size()) {
      while (position < ps.size() && given[position]) ++position;
      index = position;
    }
    if (index == ps.size()) {
      out.add({}, source::message(diag::TooManyInputs, function, support::counted(ps.size(), "argument"), texts.size())
                      .with_hint("parameters: " + join_names(ps)));
      return std::nullopt;
    }
    if (given[index]) {
      out.add({}, source::message(diag::InputTwice, ps[index].name));
      return std::nullopt;
    }
    given[index] = true;
    shared[index] = find_value(form) != nullptr;
    auto typed = typed_value(form, ps[index].type, find);
    if (!typed.ok()) {
      // A parameter's own name has been removed.
      if (const std::string_view name = form == text ? unknown_name(text) : ""; !name.empty())
        out.add({}, source::message(diag::NoSuchThing, fmt::format("parameter of `{}`", function), name)
                        .with_hint("parameters: " + join_names(ps)));
      else
        out.add({}, source::message(diag::BadInput, support::one_line(text, kShownText), typed.error().message));
      return std::nullopt;
    }
    arguments[index].value = std::move(typed).value();
    reread_narrow_floats(ps[index].type, arguments[index].value);
  }
  // `:input x ...` values apply to parameters with their names.
  for (std::size_t i = 0; i < ps.size(); ++i) {
    if (given[i]) continue;
    if (!find_value(ps[i].name)) continue;
    auto typed = typed_value(ps[i].name, ps[i].type, find);
    if (!typed.ok()) {
      out.add({}, source::message(diag::BadInput, ps[i].name, typed.error().message));
      return std::nullopt;
    }
    arguments[i].value = std::move(typed).value();
    given[i] = shared[i] = true;
  }
  if (std::find(shared.begin(), shared.end(), true) != shared.end() && may_overwrite(*this, function))
    if (!copy_shared(arguments, shared, out)) return std::nullopt;
  if (const onnx::Translation* model = function == onnx::kEntry ? program_->initialisers() : nullptr)
    if (!take_initialisers(*model, ps, given, arguments, out)) return std::nullopt;
  for (std::size_t i = 0; i < ps.size(); ++i) {
    if (!given[i]) continue;
    auto taken = program_->as_argument(std::move(arguments[i].value), ps[i]);
    if (!taken.ok()) {
      out.add({}, source::message(diag::BadInput, ps[i].name, taken.error().message));
      return std::nullopt;
    }
    arguments[i].value = std::move(taken).value();
  }
  for (std::size_t i = 0; i < ps.size(); ++i) {
    if (!given[i] || !ps[i].type) continue;
    if (auto bad = binder.learn(ps[i], arguments[i].value)) {
      out.add({}, std::move(*bad));
      return std::nullopt;
    }
  }
  binder.settle();
  std::vector<MadeUp> ranges;
  if (std::find(given.begin(), given.end(), false) != given.end())
    if (const ir::Module* legal = legalised(function)) ranges = made_up_ranges(legal, function, binder.dims());
  ObjectInputs objects(module(), function, binder.dims(), given, registry_, options_.seed,
                       [this](const std::string& maker) { return made_by(maker); });
  for (std::size_t i = 0; i < ps.size(); ++i) {
    if (given[i]) continue;
    if (auto bad = binder.generate(i, i < ranges.size() ? ranges[i] : MadeUp{}, objects, arguments[i].value)) {
      out.add({}, std::move(*bad));
      return std::nullopt;
    }
    arguments[i].generated = true;
  }
  if (!place_arguments(*this, function, arguments, out)) return std::nullopt;
  return arguments;
}

}  // namespace rldb::session

#include "ops/infer/inference_table.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "rldb/frontend/parse.h"
#include "rldb/ir/block_builder.h"
#include "rldb/ir/module.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/verifier.h"
#include "rldb/ir/walk.h"
#include "rldb/ops/legalize.h"
#include "rldb/ops/op_info.h"
#include "rldb/support/check.h"

namespace rldb::ops::testing {
namespace {

constexpr std::string_view kArrow = "-> ";
constexpr std::string_view kError = "!! ";

std::string trim(std::string_view s) {
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.front()))) s.remove_prefix(1);
  while (!s.empty() && std::isspace(static_cast<unsigned char>(s.back()))) s.remove_suffix(1);
  return std::string(s);
}

// At commas outside brackets.
std::vector<std::string> split_list(std::string_view s) {
  std::vector<std::string> out;
  int depth = 0;
  std::size_t start = 0;
  for (std::size_t i = 0; i <= s.size(); ++i) {
    if (i == s.size() || (s[i] == ',' && depth == 0)) {
      if (std::string item = trim(s.substr(start, i - start)); !item.empty()) out.push_back(item);
      start = i + 1;
      continue;
    }
    if (s[i] == '[' || s[i] == '(' || s[i] == '<') ++depth;
    if (s[i] == ']' || s[i] == ')' || s[i] == '>') --depth;
  }
  return out;
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kDtypes{
    {{"f", "float"}, {"i", "int"}, {"u", "uint"}, {"bf", "bfloat"}, {"float", "f"}, {"int", "i"}}};

// f32 -> float32. Other dtypes are unchanged.
std::string long_dtype(std::string_view s) {
  const std::size_t digits = std::min(s.find_first_of("0123456789"), s.size());
  for (const auto& [from, to] : kDtypes)
    if (s.substr(0, digits) == from && digits < s.size()) return std::string(to) + std::string(s.substr(digits));
  return std::string(s);
}
std::string short_dtype(const std::string& s) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 4> kShort{
      {{"float", "f"}, {"int", "i"}, {"uint", "u"}, {"bfloat", "bf"}}};
  const std::size_t digits = std::min(s.find_first_of("0123456789"), s.size());
  for (const auto& [from, to] : kShort)
    if (s.substr(0, digits) == from && s.find('_') == s.npos) return std::string(to) + s.substr(digits);
  return s;
}

bool is_dim_variable(std::string_view name) { return name == "n" || name == "m" || name == "k"; }

// 2, n, n + 1 -> 2, "n", "n + 1": only a string may declare a variable in a signature.
std::string quoted_dims(std::string_view dims) {
  std::string out;
  for (const std::string& d : split_list(dims)) {
    const bool number = std::all_of(d.begin(), d.end(), [](char c) { return c >= '0' && c <= '9'; });
    out += number ? d + ", " : "\"" + d + "\", ";
  }
  return out;
}

std::string tuple_annotation(std::string_view inner);

// The notation of the tables to an annotation.
std::string annotation(std::string_view s) {
  if (s == "any") return "R.Any";
  if (s == "opaque") return "R.Callable";
  if (s.starts_with("(")) return tuple_annotation(s.substr(1, s.size() - 2));
  if (s.starts_with("D<")) {
    std::string_view inner = s.substr(2, s.size() - 3);
    const std::size_t mesh = inner.find(" mesh[");
    const std::size_t place = inner.find(' ', mesh + 1);
    std::string t = annotation(trim(inner.substr(0, mesh)));
    t.replace(0, 9, "R.DTensor(");
    t.pop_back();
    return t + ", device_mesh=\"" + trim(inner.substr(mesh, place - mesh)) + "\", placement=\"" +
           trim(inner.substr(place)) + "\")";
  }
  const std::size_t open = s.find('[');
  if (open == s.npos) return "R.Prim(\"" + long_dtype(s) + "\")";
  const std::size_t close = s.rfind(']');
  std::string_view head = s.substr(0, open);
  std::string_view dims = s.substr(open + 1, close - open - 1);
  std::string_view device = s.substr(close + 1);
  if (head == "S") {
    if (dims == "*") return "R.Shape(ndim=-1)";
    if (dims.starts_with("ndim=")) return "R.Shape(" + std::string(dims) + ")";
    return "R.Shape([" + quoted_dims(dims) + "])";
  }
  std::string out = "R.Tensor(";
  if (dims.starts_with("="))
    out += std::string(dims.substr(1)) + ", ";
  else if (dims.starts_with("ndim="))
    out += std::string(dims) + ", ";
  else if (dims != "*")
    out += "(" + quoted_dims(dims) + "), ";
  if (head != "?") out += "dtype=\"" + long_dtype(head) + "\", ";
  if (device.starts_with("@")) out += "vdevice=\"" + std::string(device.substr(1)) + "\", ";
  if (out.ends_with(", ")) out.resize(out.size() - 2);
  return out + ")";
}

std::string tuple_annotation(std::string_view inner) {
  std::string out = "R.Tuple(";
  for (const std::string& item : split_list(inner)) out += annotation(item) + ", ";
  if (out.ends_with(", ")) out.resize(out.size() - 2);
  return out + ")";
}

// The names in an expression that are neither dims, keywords, attributes nor parameters of a lambda.
std::vector<std::string> free_names(const std::string& e) {
  std::vector<std::string> out;
  std::vector<std::string> bound{"R", "T", "I", "cls", "True", "False", "None", "lambda", "if", "else"};
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  bool parameters = false;
  for (std::size_t i = 0; i < e.size();) {
    if (e[i] == '"') {
      i = std::min(e.find('"', i + 1), e.size() - 1) + 1;
      continue;
    }
    if (e[i] == ':') parameters = false;
    if (!is_word(e[i])) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < e.size() && is_word(e[end])) ++end;
    const std::string word = e.substr(i, end - i);
    const bool attribute = i > 0 && e[i - 1] == '.';
    const bool keyword = end < e.size() && e[end] == '=' && (end + 1 >= e.size() || e[end + 1] != '=');
    i = end;
    if (std::isdigit(static_cast<unsigned char>(word[0])) || attribute || keyword) continue;
    if (word == "lambda") parameters = true;
    if (parameters) bound.push_back(word);
    if (is_dim_variable(word) || std::find(bound.begin(), bound.end(), word) != bound.end()) continue;
    if (std::find(out.begin(), out.end(), word) == out.end()) out.push_back(word);
  }
  return out;
}

bool mentions_dim(const std::string& e, char dim) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; };
  for (std::size_t i = 0; i < e.size(); ++i)
    if (e[i] == dim && (i == 0 || (!is_word(e[i - 1]) && e[i - 1] != '"')) &&
        (i + 1 == e.size() || (!is_word(e[i + 1]) && e[i + 1] != '=')))
      return true;
  return false;
}

constexpr std::string_view kHeader = R"(@I.ir_module
class Module:
    I.module_global_infos(
        {
            "mesh": [R.device_mesh((2,), I.Range(0, 2)), R.device_mesh((2, 2), I.Range(0, 4))],
            "vdevice": [I.vdevice({"kind": "cuda"}, 0, "global"), I.vdevice({"kind": "llvm"}, 0, "global")],
        }
    )

    @T.prim_func(private=True, s_tir=True)
    def kernel(A: T.Buffer((4,), "float32"), B: T.Buffer((4,), "float32")):
        for i in range(4):
            with T.sblock("b"):
                vi = T.axis.spatial(4, i)
                B[vi] = A[vi] + T.float32(1)

    @R.function(pure=False)
)";

std::string program(const Case& c) {
  std::string out(kHeader);
  out += "    def main(";
  const std::vector<std::string> names = free_names(c.expression);
  const bool holds_shape = std::any_of(c.inputs.begin(), c.inputs.end(),
                                       [](const std::string& input) { return input.find("[=s]") != input.npos; });
  if (holds_shape && std::find(names.begin(), names.end(), "s") == names.end()) out += "s: R.Shape(ndim=2), ";
  for (std::size_t i = 0; i < names.size(); ++i)
    out += names[i] + ": " + (i < c.inputs.size() ? annotation(c.inputs[i]) : "R.Any") + ", ";
  out += "):\n";
  for (char dim : {'n', 'm', 'k'})
    if (mentions_dim(c.expression, dim)) out += std::string("        ") + dim + " = T.int64()\n";
  out += "        cls = Module\n        result = " + c.expression + "\n        return result\n";
  return out;
}

std::string dims_text(std::span<const ir::Expr* const> dims) {
  std::string out;
  for (const ir::Expr* d : dims) out += (out.empty() ? "" : ", ") + ir::print_expr(d);
  return out;
}

void collect_ops(const ir::Function* f, std::vector<std::string>& out) {
  for (const ir::BindingBlock* block : f->body->blocks)
    for (const ir::Binding* b : block->bindings)
      if (const auto* call = ir::as<ir::Call>(b->value))
        if (const auto* op = ir::as<ir::Op>(call->callee)) out.emplace_back(op->name);
}

}  // namespace

std::string short_type(const ir::Type* t) {
  if (const auto* p = ir::as<ir::PrimType>(t)) return short_dtype(to_string(p->dtype));
  if (ir::as<ir::AnyType>(t)) return "any";
  if (const auto* s = ir::as<ir::ShapeType>(t)) {
    if (s->has_values) return "S[" + dims_text(s->values) + "]";
    return s->ndim == ir::kUnknownNdim ? "S[*]" : "S[ndim=" + std::to_string(s->ndim) + "]";
  }
  if (const auto* x = ir::as<ir::TensorType>(t)) {
    std::string out = x->dtype.is_void() ? "?" : short_dtype(to_string(x->dtype));
    if (x->has_shape)
      out += "[" + dims_text(x->shape) + "]";
    else if (x->shape_var)
      out += "[=" + ir::print_expr(x->shape_var) + "]";
    else
      out += x->ndim == ir::kUnknownNdim ? "[*]" : "[ndim=" + std::to_string(x->ndim) + "]";
    if (x->vdevice)
      out += "@" + std::string(x->vdevice->target_kind) + ":" + std::to_string(x->vdevice->device_id) + ":" +
             std::string(x->vdevice->memory_scope);
    return out;
  }
  if (const auto* d = ir::as<ir::DTensorType>(t)) {
    std::string mesh(d->device_mesh->is(ir::AttrKind::String) ? std::string(d->device_mesh->string)
                                                              : ir::print_attr(d->device_mesh));
    return "D<" + short_type(d->tensor) + " " + mesh + " " + std::string(d->placement) + ">";
  }
  if (const auto* tuple = ir::as<ir::TupleType>(t)) {
    std::string out;
    for (const ir::Type* f : tuple->fields) out += (out.empty() ? "" : ", ") + short_type(f);
    return "(" + out + ")";
  }
  return ir::print_type(t);
}

std::vector<Line> read_table(const std::string& text) {
  std::vector<Line> out;
  std::string expression;
  int number = 0;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t end = std::min(text.find('\n', i), text.size());
    Line line;
    line.text = text.substr(i, end - i);
    i = end + 1;
    ++number;
    if (line.text.starts_with("  ") && !trim(line.text).starts_with("#")) {
      line.is_case = true;
      line.c.line = number;
      line.c.expression = expression;
      const std::size_t arrow = std::min(line.text.find(kArrow), line.text.find(kError));
      line.c.inputs = split_list(std::string_view(line.text).substr(0, std::min(arrow, line.text.size())));
      if (arrow < line.text.size()) line.c.expected = trim(line.text.substr(arrow));
    } else if (!line.text.empty() && line.text[0] != '#') {
      expression = trim(line.text);
    }
    out.push_back(std::move(line));
  }
  return out;
}

std::string write_case(const Case& c) {
  std::string out = "  ";
  for (std::size_t i = 0; i < c.inputs.size(); ++i) out += (i ? ", " : "") + c.inputs[i];
  if (!c.inputs.empty()) out += "  ";
  return out + c.expected;
}

Outcome run_case(const Case& c) {
  Outcome out;
  ir::Context ctx;
  ops::install(ctx);
  source::SourceManager sources;
  source::Diagnostics diagnostics;
  const source::FileId file = sources.add("case.py", program(c));
  frontend::ParseOptions options;
  options.unknown_op_notes = false;
  const frontend::ParseResult parsed = frontend::parse(ctx, sources, file, diagnostics, options);
  for (const source::Diagnostic& d : diagnostics.all()) {
    if (d.severity != source::Severity::Error) continue;
    const std::string_view text = sources.get(d.span.file).text();
    std::string place(text.substr(d.span.begin, d.span.end - d.span.begin));
    if (place == c.expression) place = "call";
    out.text = std::string(kError) + place + ": " + d.message;
    return out;
  }
  const auto* main = parsed.module ? ir::as<ir::Function>(parsed.module->find("main")) : nullptr;
  if (!main) {
    out.text = std::string(kError) + "nothing was read";
    return out;
  }
  collect_ops(main, out.ops);
  out.text = std::string(kArrow) + short_type(main->body->body->type);
  return out;
}

Lowering legalise_case(const Case& c) {
  Lowering out;
  ir::Context ctx;
  ops::install(ctx);
  source::SourceManager sources;
  source::Diagnostics diagnostics;
  frontend::ParseOptions options;
  options.unknown_op_notes = false;
  const source::FileId file = sources.add("case.py", program(c));
  const frontend::ParseResult parsed = frontend::parse(ctx, sources, file, diagnostics, options);
  const auto* main = parsed.ok && parsed.module ? ir::as<ir::Function>(parsed.module->find("main")) : nullptr;
  if (!main || diagnostics.has_errors() || !ir::verify(ctx, parsed.module, diagnostics)) return out;
  try {
    ir::ModuleBuilder module(ctx, *parsed.module);
    Legalizer legalizer(ctx, module);
    for (const ir::BindingBlock* block : main->body->blocks) {
      ir::BlockBuilder builder(ctx);
      builder.begin_scope();
      for (const ir::Binding* b : block->bindings) {
        const auto* call = ir::as<ir::Call>(b->value);
        if (!call || !Legalizer::has_body(call)) continue;
        auto made = legalizer.legalize(call, builder);
        if (made.ok() && *made != call) ++out.lowered;
      }
      builder.end_scope(main->body->body);
    }
    source::Diagnostics broken;
    if (!ir::verify(ctx, module.build(), broken)) out.trouble = broken.all()[0].message;
  } catch (const support::InternalError& error) {
    out.trouble = error.what();
  }
  return out;
}

}  // namespace rldb::ops::testing

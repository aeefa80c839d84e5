// Literals, attributes and constants.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "ir/print/printer_impl.h"

namespace rldb::ir::print_detail {

void Printer::string_literal(std::string_view text) {
  out_ += '"';
  for (char c : text) {
    switch (c) {
      case '"':
        out_ += "\\\"";
        break;
      case '\\':
        out_ += "\\\\";
        break;
      case '\n':
        out_ += "\\n";
        break;
      case '\t':
        out_ += "\\t";
        break;
      case '\r':
        out_ += "\\r";
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
          out_ += fmt::format("\\x{:02x}", unsigned(static_cast<unsigned char>(c)));
        else
          out_ += c;
    }
  }
  out_ += '"';
}

// As TVM writes them: a whole number in full with one decimal (1e30 has 31 digits), anything else with 17 digits in the
// shorter of the two notations; a value without a number in Python is a string.
void Printer::float_literal(double v) {
  if (std::isnan(v)) {
    out_ += std::signbit(v) ? "\"-nan\"" : "\"nan\"";
    return;
  }
  if (std::isinf(v)) {
    out_ += v < 0 ? "\"-inf\"" : "\"inf\"";
    return;
  }
  out_ += std::nearbyint(v) == v ? fmt::format("{:.1f}", v) : fmt::format("{:.17g}", v);
}

void Printer::dtype_literal(DType t) {
  out_ += '"';
  out_ += runtime::to_string(t);
  out_ += '"';
}

void Printer::attr(const Attr* a) {
  if (a == nullptr) {
    out_ += "None";
    return;
  }
  if (too_deep()) return;
  ++depth_;
  switch (a->kind) {
    case AttrKind::None:
      out_ += "None";
      break;
    case AttrKind::Bool:
      out_ += a->integer != 0 ? "True" : "False";
      break;
    case AttrKind::Int:
      out_ += std::to_string(a->integer);
      break;
    case AttrKind::Float:  // TVM writes infinities as strings here, which read back as strings
      if (!std::isfinite(a->floating)) out_ += "float(";
      float_literal(a->floating);
      if (!std::isfinite(a->floating)) out_ += ')';
      break;
    case AttrKind::String:
      string_literal(a->string);
      break;
    case AttrKind::DType:
      if (a->dtype.is_void())
        out_ += "None";
      else
        dtype_literal(a->dtype);
      break;
    case AttrKind::List: {
      out_ += a->is_tuple ? '(' : '[';
      bool first = true;
      for (const Attr* item : a->items) {
        comma(first);
        attr(item);
      }
      if (a->is_tuple && a->items.size() == 1) out_ += ',';
      out_ += a->is_tuple ? ')' : ']';
      break;
    }
    case AttrKind::Dict:
      attr_dict(a->fields);
      break;
    case AttrKind::Expr:
      if (const auto* c = as<Constant>(a->node))
        tensor_reference(c);
      else
        expr(static_cast<const Expr*>(a->node));
      break;
    case AttrKind::Type:
      if (const auto* p = as<PointerType>(a->type)) {
        pointer_type(p, true);
        out_ += ".ty";
      } else {
        type(a->type);
      }
      break;
    case AttrKind::Node:
      if (const auto* b = as<Buffer>(a->node))
        buffer_use(b);
      else if (const auto* e = as<Expr>(a->node))
        expr(e);
      else
        out_ += "None";
      break;
    case AttrKind::Opaque: {
      if (a->string.starts_with("T.")) used_tir_ = true;
      if (a->string.starts_with("R.")) used_relax_ = true;
      if (a->string.starts_with("I.")) used_ir_ = true;
      out_ += a->string;
      out_ += '(';
      bool first = true;
      for (const Attr* item : a->items) {
        comma(first);
        const auto* l = item->node != nullptr ? as<Lambda>(item->node) : nullptr;
        if (l != nullptr && a->string == "T.index_map")
          lambda(l->params, {}, l->results, true);
        else
          attr(item);
      }
      for (const NamedAttr& f : a->fields) {
        comma(first);
        out_ += f.name;
        out_ += '=';
        attr(f.value);
      }
      out_ += ')';
      break;
    }
  }
  --depth_;
}

namespace {

// `tirx.` of today was `tir.` before 2026.
std::string old_key(std::string_view key) {
  if (key.starts_with("tirx.")) return "tir." + std::string(key.substr(5));
  return std::string(key);
}

}  // namespace

void Printer::attr_dict(Span<NamedAttr> fields, std::string_view skip) {
  std::vector<const NamedAttr*> sorted;
  for (const NamedAttr& f : fields)
    if (skip.empty() || f.name != skip) sorted.push_back(&f);
  std::sort(sorted.begin(), sorted.end(), [](const NamedAttr* a, const NamedAttr* b) { return a->name < b->name; });
  out_ += '{';
  bool first = true;
  for (const NamedAttr* f : sorted) {
    comma(first);
    string_literal(current() ? std::string(f->name) : old_key(f->name));
    out_ += ": ";
    attr(f->value);
  }
  out_ += '}';
}

void Printer::keyword_attrs(Span<NamedAttr> attrs, bool& first) {
  for (const NamedAttr& a : attrs) {
    comma(first);
    out_ += a.name;
    out_ += '=';
    attr(a.value);
  }
}

namespace {

// Scalars that TVM writes as R.const; the others go to the metadata.
bool is_plain_scalar(DType t) {
  if (t.lanes != 1) return false;
  if (t.is_bool()) return true;
  if (t.is_int()) return t.bits == 8 || t.bits == 16 || t.bits == 32 || t.bits == 64;
  return t.code == runtime::TypeCode::Float && (t.bits == 16 || t.bits == 32 || t.bits == 64);
}

}  // namespace

void Printer::constant(const Constant* c) {
  const runtime::Tensor& tensor = c->value->as_tensor();
  DType t = tensor.dtype();
  if (tensor.ndim() == 0 && is_plain_scalar(t)) {
    r("const(");
    if (t.is_bool())
      out_ += runtime::load_as_int(tensor.data(), t) != 0 ? "True" : "False";
    else if (t.is_int())
      out_ += std::to_string(runtime::load_as_int(tensor.data(), t));
    else
      float_literal(runtime::load_as_double(tensor.data(), t));
    out_ += ", ";
    dtype_literal(t);
    out_ += ')';
    return;
  }
  metadata_reference("relax.expr.Constant", constants_.index_of(c));
}

// An attribute is a plain tensor, whatever its rank: not an expression with a type.
void Printer::tensor_reference(const Constant* c) { metadata_reference("ffi.Tensor", attr_tensors_.index_of(c)); }

void Printer::metadata_reference(std::string_view key, std::int64_t index) {
  out_ += "metadata[";
  string_literal(key);
  out_ += "][" + std::to_string(index) + "]";
}

}  // namespace rldb::ir::print_detail

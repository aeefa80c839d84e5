// Values, their facts, and types.
#include <cmath>

#include "rldb/ir/printer.h"
#include "rldb/runtime/device_error.h"
#include "rldb/support/cancel.h"
#include "rldb/ui/prompt/data.h"

namespace rldb::ui {

using runtime::Value;
using runtime::ValueKind;

namespace {

constexpr int kDeepest = 32;  // nesting of tuples; deeper ones are described in words

Json element_json(const runtime::Tensor& t, std::int64_t i) {
  const runtime::DType dtype = t.dtype();
  const std::byte* at = t.peek() + std::size_t(i) * dtype.bytes();
  if (dtype.is_float()) return number_json(runtime::load_as_double(at, dtype));
  const std::int64_t n = runtime::load_as_int(at, dtype);
  if (dtype.is_bool()) return n != 0;
  return dtype.is_uint() ? Json(std::uint64_t(n)) : Json(n);
}

Json tensor_json(const runtime::Tensor& t, std::int64_t max_elements) {
  Json elements = nullptr;
  if (t.dtype().lanes == 1 && t.element_count() <= max_elements) {
    if (const auto read = runtime::read_back(*t.storage()); !read.ok())
      return {{"kind", "tensor"},
              {"dtype", runtime::to_string(t.dtype())},
              {"shape", t.shape()},
              {"elements", nullptr},
              {"text", "not readable: " + read.error().message}};
    elements = Json::array();
    for (std::int64_t i = 0; i < t.element_count(); ++i) {
      if (i % 4096 == 0) support::poll();
      elements.push_back(element_json(t, i));
    }
  }
  return {{"kind", "tensor"},
          {"dtype", runtime::to_string(t.dtype())},
          {"shape", t.shape()},
          {"elements", std::move(elements)}};
}

Json value_json(const Value& v, std::int64_t max_elements, int depth) {
  const std::string kind(runtime::to_string(v.kind()));
  switch (v.kind()) {
    case ValueKind::Null:
      return {{"kind", kind}};
    case ValueKind::Int:
      return {{"kind", kind}, {"value", v.as_int()}};
    case ValueKind::Bool:
      return {{"kind", kind}, {"value", v.as_int() != 0}};
    case ValueKind::Float:
      return {{"kind", kind}, {"value", number_json(v.as_float())}};
    case ValueKind::String:
      return {{"kind", kind}, {"value", v.as_string()}};
    case ValueKind::DType:
      return {{"kind", kind}, {"value", runtime::to_string(v.as_dtype())}};
    case ValueKind::Shape:
      return {{"kind", kind}, {"value", v.as_shape()}};
    case ValueKind::Tensor:
      return tensor_json(v.as_tensor(), max_elements);
    case ValueKind::Tuple: {
      if (depth >= kDeepest) break;
      Json fields = Json::array();
      for (const Value& field : v.as_tuple().fields) fields.push_back(value_json(field, max_elements, depth + 1));
      return {{"kind", kind}, {"fields", std::move(fields)}};
    }
    case ValueKind::Function:
    case ValueKind::Storage:
    case ValueKind::Object:
      break;
  }
  return {{"kind", kind}, {"text", runtime::describe(v)}};
}

}  // namespace

Json number_json(double x) {
  if (std::isfinite(x)) return x;
  return std::isnan(x) ? "nan" : x > 0 ? "inf" : "-inf";
}

Json value_json(const Value& v, std::int64_t max_elements) { return value_json(v, max_elements, 0); }

Json type_json(const ir::Type* type) {
  if (!type) return nullptr;
  Json out{{"text", ir::print_type(type)}};
  const auto texts = [](ir::Span<const ir::Expr*> dims) {
    Json list = Json::array();
    for (const ir::Expr* d : dims) list.push_back(ir::print_expr(d));
    return list;
  };
  if (const auto* t = ir::as<ir::TensorType>(type)) {
    out["kind"] = "tensor";
    out["rank"] = t->ndim == ir::kUnknownNdim ? Json() : Json(t->ndim);
    out["dtype"] = t->dtype.is_void() ? Json() : Json(runtime::to_string(t->dtype));
    out["shape"] = t->has_shape ? texts(t->shape) : Json();
    out["shape_kind"] = t->has_shape ? "V0" : t->shape_var ? "V1" : "V2";
  } else if (const auto* s = ir::as<ir::ShapeType>(type)) {
    out["kind"] = "shape";
    out["rank"] = s->ndim == ir::kUnknownNdim ? Json() : Json(s->ndim);
    out["values"] = s->has_values ? texts(s->values) : Json();
  } else if (const auto* f = ir::as<ir::FuncType>(type)) {
    out["kind"] = "function";
    out["pure"] = f->pure;
  } else {
    out["kind"] = "other";
  }
  return out;
}

Json statistics_json(std::string_view expression, const Value& v, const debug::Statistics& s) {
  Json out{{"expression", expression},
           {"value", runtime::describe(v)},
           {"count", s.count},
           {"finite", s.finite},
           {"zero", s.zero},
           {"negative", s.negative},
           {"nan", s.nan},
           {"inf", s.positive_inf},
           {"minus_inf", s.negative_inf},
           {"first_nan", s.first_nan.empty() ? Json() : Json(s.first_nan)},
           {"first_inf", s.first_inf.empty() ? Json() : Json(s.first_inf)}};
  if (s.finite == 0) return out;
  const auto extreme = [](const debug::Statistics::Extreme& e) {
    return Json{{"value", number_json(e.value)}, {"text", e.text}, {"index", e.index}};
  };
  Json quantiles = Json::array();
  for (const auto& [part, at] : s.quantiles) quantiles.push_back({{"part", part}, {"value", number_json(at)}});
  out["min"] = extreme(s.min);
  out["max"] = extreme(s.max);
  out["mean"] = number_json(s.mean);
  out["std"] = number_json(s.std);
  out["norm"] = number_json(s.norm);
  out["quantiles"] = std::move(quantiles);
  out["histogram"] = {{"edges", s.edges}, {"counts", s.histogram}};
  return out;
}

Json differences_json(const debug::Differences& d) {
  const auto element = [](const debug::Differences::Element& e) {
    return Json{{"index", e.index}, {"left", e.left}, {"right", e.right}};
  };
  const bool some = d.differing > 0;
  return {{"count", d.count},
          {"differing", d.differing},
          {"outside", d.outside},
          {"first", some ? element(d.first) : Json()},
          {"worst", some ? element(d.worst) : Json()},
          {"max_abs", number_json(d.max_absolute)},
          {"max_rel", number_json(d.max_relative)},
          {"mean_abs", number_json(d.mean_absolute)},
          {"max_ulp", d.has_ulp ? Json(d.max_ulp) : Json()}};
}

}  // namespace rldb::ui

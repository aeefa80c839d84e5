// Conversion by printing the program, changing its dtypes and reading it again.
#include "repro/compare/other_precision.h"

#include <algorithm>
#include <cctype>

#include "repro/read_again.h"
#include "rldb/ir/module.h"
#include "rldb/ir/op/dtype.h"
#include "rldb/ir/op_attr/dtype_attr.h"
#include "rldb/ir/printer.h"
#include "rldb/ir/walk.h"

namespace rldb::repro {

using ir::as;
using runtime::DType;
using runtime::Tensor;
using runtime::Value;
using runtime::ValueKind;

namespace {

constexpr std::string_view kNarrow[] = {"float32", "float16", "bfloat16"};

bool is_word(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

// Narrow floats in a text become another format. Constants with their bytes may come before it: those stay unchanged.
std::string with_floats(const std::string& text, const std::string& format) {
  const auto constants = text.find("metadata = ");
  const auto end = constants == std::string::npos ? constants : text.find("\"\"\")", constants);
  const std::size_t begin = end == std::string::npos ? 0 : end;
  std::string out = text.substr(0, begin);
  for (std::size_t at = begin; at < text.size();) {
    std::size_t stop = at;
    while (stop < text.size() && is_word(text[stop])) ++stop;
    const std::string_view word = std::string_view(text).substr(at, stop - at);
    const bool narrow = std::find(std::begin(kNarrow), std::end(kNarrow), word) != std::end(kNarrow);
    if (narrow)
      out += format;
    else
      out += stop > at ? word : std::string_view(text).substr(at, 1);
    at = stop > at ? stop : at + 1;
  }
  return out;
}

// Constants that are printed with their bytes are cast where they are read: the format in the text is then the cast's.
class CastConstants : public ir::Rewriter {
 public:
  using Rewriter::Rewriter;

 private:
  const ir::Expr* visit_expr(const ir::Expr* e) override {
    const auto* c = as<ir::Constant>(e);
    const auto* type = c ? as<ir::TensorType>(c->type) : nullptr;
    if (!type || type->ndim == 0 || !is_narrow(type->dtype)) return default_expr(e);
    auto cast = ctx_.call(op::Astype, {e}, {ctx_.named(op_attr::Dtype, ctx_.attr(type->dtype))});
    return cast.ok() ? *cast : e;
  }
};

}  // namespace

bool is_narrow(DType t) { return t.is_float() && t.bits < 64 && t.lanes == 1; }

const ir::Module* in_precision(session::Session& session, const ir::Module* module, DType format) {
  ir::ModuleBuilder builder(session.context(), *module);
  for (const ir::ModuleEntry& entry : module->entries)
    if (const auto* f = as<ir::Function>(entry.function))
      builder.set(std::string(entry.name), CastConstants(session.context()).rewrite_function(f));
  ir::PrintOptions print;
  print.show_meta = true;
  return read_again(session, with_floats(ir::print(builder.build(), print), runtime::to_string(format)));
}

Value in_precision(const Value& v, DType format) {
  if (v.is(ValueKind::Tuple)) {
    std::vector<Value> fields;
    for (const Value& f : v.as_tuple().fields) fields.push_back(in_precision(f, format));
    return Value::of_tuple(std::move(fields));
  }
  if (!v.is(ValueKind::Tensor) || !is_narrow(v.as_tensor().dtype())) return v;
  const Tensor& from = v.as_tensor();
  auto made = Tensor::empty(from.shape(), format);
  if (!made.ok()) return v;  // the run reports what is missing
  for (std::int64_t i = 0; i < from.element_count(); ++i)
    runtime::store_double((*made)->data() + std::size_t(i) * format.bytes(), format, from.at(i));
  return Value(std::move(made).value());
}

}  // namespace rldb::repro

#include "rldb/ir/signature.h"

#include <fmt/format.h>

#include "rldb/ir/printer.h"

namespace rldb::ir {

static std::string parameter_text(const PrimParam& p) {
  if (p.buffer) return fmt::format("{}: {}", p.buffer->name, buffer_text(p.buffer));
  const std::string type = p.var->dtype().is_void() ? "handle" : to_string(p.var->dtype());
  return fmt::format("{}: T.{}", p.var->name, type);
}

std::string buffer_text(const Buffer* buffer) {
  PrintOptions options;
  options.tensor_ir = true;
  std::string dims;
  for (const Expr* d : buffer->shape) dims += (dims.empty() ? "" : ", ") + print_expr(d, options);
  if (buffer->shape.size() == 1) dims += ",";
  const bool usual = buffer->scope.empty() || buffer->scope == "global";
  return fmt::format("T.Buffer(({}), \"{}\"{})", dims, to_string(buffer->dtype),
                     usual ? std::string() : fmt::format(", scope=\"{}\"", buffer->scope));
}

std::vector<std::string> parameter_texts(const Expr* function) {
  std::vector<std::string> texts;
  if (const auto* f = as<Function>(function))
    for (const Var* p : f->params) texts.push_back(fmt::format("{}: {}", p->name, print_type(p->type)));
  if (const auto* k = as<PrimFunc>(function))
    for (const PrimParam& p : k->params) texts.push_back(parameter_text(p));
  return texts;
}

std::string signature_text(const Expr* function, std::size_t most) {
  const auto* f = as<Function>(function);
  if (!f && !isa<PrimFunc>(function))
    return function && function->type ? ": " + print_type(function->type) : std::string();
  std::vector<std::string> parameters = parameter_texts(function);
  if (parameters.size() > most) {
    const std::size_t more = parameters.size() - most;
    parameters.resize(most);
    parameters.push_back(most == 0 ? fmt::format("{} parameters", more) : fmt::format("{} more", more));
  }
  return fmt::format("({}){}", fmt::join(parameters, ", "), f ? " -> " + print_type(f->ret_type) : "");
}

}  // namespace rldb::ir

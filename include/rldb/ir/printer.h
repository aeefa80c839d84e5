// Printer: TVMScript text of modules, functions, expressions, types, in three spellings; one writer, decorated.
//
// Text round-trips: parse(print(m)) is structurally equal to m. Canonical, stable, idempotent. Listing, verifier
// errors, the debugger's gutter and pass diffs all go through the Decorator. Source: TVM's src/script/printer.
// No text ends in a newline (as TVM's `script()`), and no line is wrapped, as in TVM. docs/printer.md.
#pragma once

#include <string>

#include "rldb/ir/module.h"

namespace rldb::ir {

class Context;

enum class Syntax : std::uint8_t { Current, Sinfo, Rfc };

struct PrintOptions {
  Syntax syntax = Syntax::Current;
  bool show_meta = false;         // bring constants in a metadata block
  bool show_all_ty = true;        // false drops every annotation that can be inferred
  bool header = true;             // `# from tvm.script import ...` comment lines
  bool pep695 = false;            // def main[n](...) instead of TypeVar lines
  bool check_well_formed = true;  // false: the decorator of the module says so
  bool tensor_ir = false;         // print_expr, print_attr: literals as in a PrimFunc (`1` is an int32, not an int64)
  std::string module_alias = "cls";
};

// Called line by line. `node` is what the line begins: the function (decorator, `def`, `func_attr`), the binding, the
// statement, the BindingBlock (`with R.dataflow()`, `R.output`), the SeqExpr (`return`, the last line of a branch);
// null for lines that belong to no node (header, `else:`, `n = T.int64()`, blank lines).
class Decorator {
 public:
  virtual ~Decorator() = default;
  virtual std::string gutter(const Node* /*node*/) { return {}; }   // put before the line
  virtual std::string trailer(const Node* /*node*/) { return {}; }  // put after it, e.g. a live value
  virtual std::string below(const Node* /*node*/) { return {}; }    // whole lines after it, e.g. an error
  virtual void line(int /*line_number*/, const Node* /*node*/) {}   // 1-based, without lines of `below`
};

std::string print(const Module* m, const PrintOptions& options = {}, Decorator* decorator = nullptr);
// A lone function with its decorator line; `name` as in its def line.
std::string print_function(std::string_view name, const Expr* function, const PrintOptions& options = {},
                           Decorator* decorator = nullptr);
std::string print_expr(const Expr* e, const PrintOptions& options = {});
std::string print_stmt(const Stmt* s, const PrintOptions& options = {});
std::string print_binding(const Binding* b, const PrintOptions& options = {});
std::string print_type(const Type* t, const PrintOptions& options = {});  // R.Tensor((n, 4), dtype="float32")
std::string print_attr(const Attr* a, const PrintOptions& options = {});
std::string print_region(const BufferRegion& r, const PrintOptions& options = {});
// Features of a module that a spelling cannot express; empty when it can express everything.
std::vector<std::string> unsayable(const Module* m, Syntax syntax);

}  // namespace rldb::ir

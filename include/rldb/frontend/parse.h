// Front end: TVMScript text -> typed IR. Reads the union of the three spellings (docs/frontend.md); never executes
// anything; reports every error of a text at once, with spans on the narrowest range, and keeps the good part.
//
// Invariants: everything in a result is typed and in normal form (ANF); an item whose text had an error is still
// there when enough of it could be read, marked `broken`, and must not be run or replace anything. Spans of functions,
// parameters, bindings, calls and statements are recorded in ctx.spans().
// Users: session (files and edits), ui (the prompt: completeness, highlighting), repro.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "rldb/ir/context.h"
#include "rldb/source/buffer.h"
#include "rldb/source/diagnostic.h"

namespace rldb::frontend {

struct ParseOptions {
  int max_depth = 1000;           // levels of nesting of the syntax tree; deeper text gets a diagnostic
  bool unknown_op_notes = true;   // a note for each operator that the registry does not know
  bool check_well_formed = true;  // False: like the decorator's option, for a text that is accepted unchecked
};

enum class ItemKind : std::uint8_t {
  Module,      // a class: `module`
  Function,    // a lone @R.function, @T.prim_func, extern or Python function: `name`, `function`
  Binding,     // name = e, name: T = e, name = R.match_cast(e, T): `var`, `value`, `annotation`
  Expression,  // e: `value`
  Symbols,     // n = T.int64(), n = TypeVar("n"): `symbols`; nothing to run
};

struct ParsedItem {
  ItemKind kind;
  source::Span span;
  std::string_view name;               // of the module, function or bound variable; empty for expressions
  const ir::Module* module = nullptr;  // Module
  const ir::Expr* function = nullptr;  // Function: ir::Function, PrimFunc, ExternFunc or OpaqueFunc
  const ir::Var* var = nullptr;        // Binding: typed by its annotation, else by its value
  const ir::SeqExpr* value = nullptr;  // Binding, Expression: bindings of nested calls, and a leaf or one call as body
  const ir::Type* annotation = nullptr;  // Binding: as written, or null
  bool is_match_cast = false;            // Binding: `annotation` is the type matched, its new variables are `symbols`
  std::vector<const ir::Var*> symbols;   // symbolic variables that this item introduces
  bool broken = false;                   // had errors
};

struct ParseResult {
  // The first class of the file; else a module of its lone functions; null when there is neither.
  const ir::Module* module = nullptr;
  std::vector<ParsedItem> items;  // in the order of the text
  bool ok = true;                 // no error was added
  // False when `module` is to be accepted unchecked (check_well_formed=False): verifier errors become warnings.
  bool check_well_formed = true;
  // Functions that lack something because of errors of the text: parameters, so that calls cannot be checked against
  // them; definitions of values, because they call functions that could not be read.
  struct Gaps {
    std::vector<const ir::Expr*> parameters, definitions;
  } gaps;
};

// A whole file: modules, lone functions, imports, TypeVar lines, a metadata trailer. Empty files, binary ones and
// those over source::kMaxBytes get their diagnostics here.
ParseResult parse(ir::Context& ctx, const source::SourceManager& sources, source::FileId file, source::Diagnostics& out,
                  const ParseOptions& options = {});

// Adds the verifier's findings on a file that was read with these findings, errors or not: functions that had
// errors are left alone, and what cannot be known because of them is not held against the others.
void verify_parsed(ir::Context& ctx, const source::SourceManager& sources, const ParseResult& parsed,
                   source::Diagnostics& found);

// Names that an entry at the prompt may refer to. Later duplicates win.
struct NamedValue {
  std::string_view name;
  const ir::Expr* value;  // a Var (usual: a value of the session, typed) or a Constant
};
// Names of which a text mentions few: each is asked for when it is met.
class OuterNames {
 public:
  virtual ~OuterNames() = default;
  virtual const ir::Expr* find(std::string_view name) const = 0;  // null: it is none of them
  virtual std::vector<std::string_view> all() const = 0;          // for hints at misspellings
};
struct Environment {
  const ir::Module* module = nullptr;   // its functions are callable as `f`, `cls.f` and `<module name>.f`
  std::vector<NamedValue> values;       // Relax values
  std::vector<const ir::Var*> symbols;  // symbolic variables, by their names
  const OuterNames* outer = nullptr;    // hidden by those
};

// An entry at the prompt: any sequence of modules, functions, bindings and expressions. Later items see earlier ones
// of the same entry (functions through their GlobalVar, bindings through their `var`). A function item refers to its
// siblings and to functions of the environment by GlobalVar.
ParseResult parse_input(ir::Context& ctx, const source::SourceManager& sources, source::FileId file,
                        const Environment& env, source::Diagnostics& out, const ParseOptions& options = {});

// A type written as an annotation, `R.Tensor(("n", 4), "float32")`; null after errors. Unknown names in strings declare
// symbolic variables, which are appended to `symbols`.
const ir::Type* parse_type(ir::Context& ctx, const source::SourceManager& sources, source::FileId file,
                           const Environment& env, std::vector<const ir::Var*>& symbols, source::Diagnostics& out);

// Whether the grammar accepts the text. Nothing is read: this is tree-sitter alone.
bool is_syntax(std::string_view text);

// Whether the parse tree of an entry shows that more is to come.
enum class Completeness : std::uint8_t {
  Complete,    // can be parsed now (well or badly: errors that more text cannot fix are left to the parser)
  Incomplete,  // an open bracket or long string, a header without a body, a decorator without its def
  Open,        // a compound statement whose block may go on: complete when followed by an empty line
};
Completeness completeness(std::string_view text);
// The indentation, in columns, that the next line of an entry would start with.
int next_indent(std::string_view text);

// Highlighting by grammar/queries/highlights.scm: non-overlapping, ascending, bytes.
struct Highlight {
  std::uint32_t begin;
  std::uint32_t end;
  std::string_view capture;  // "keyword", "string", "function.call", ...; static storage
};
std::vector<Highlight> highlight(std::string_view text);

}  // namespace rldb::frontend

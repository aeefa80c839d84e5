// Criteria for passing: Relay texts.
#include <fmt/format.h>

#include <cctype>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "conformance/conformance.h"
#include "rldb/frontend/relay.h"
#include "rldb/relay/ir/equal.h"
#include "rldb/relay/ops/infer.h"
#include "rldb/support/file.h"

namespace rldb::conformance {

namespace {

struct Program {
  relay::Context ctx;
  source::SourceManager sources;
  source::Diagnostics found;
  relay::MetaTable meta;
  frontend::RelayOptions options;
  const relay::Module* initial = nullptr;
  frontend::RelayResult parsed;
};

std::string text_of(const std::string& path) {
  auto read = support::read_file(path);
  return read.ok() ? std::move(read).value() : std::string();
}

// `FILE.meta.json` beside a text contains the table of its test: constants by shape and dtype, devices by scope or
// name.
void read_table(const std::string& path, Program& p) {
  const std::string text = text_of(path.substr(0, path.rfind('.')) + ".meta.json");
  if (text.empty()) return;
  const nlohmann::json doc = nlohmann::json::parse(text);
  for (const auto& [key, entries] : doc.items()) {
    relay::MetaTable::Section section{p.ctx.str(key), {}};
    for (const auto& e : entries) {
      relay::MetaEntry entry;
      if (e.is_object() && e["kind"] == "Constant") {
        const auto dtype = runtime::parse_dtype(e["dtype"].get<std::string>());
        entry.expr =
            p.ctx.constant(runtime::Tensor::empty(e["shape"].get<std::vector<std::int64_t>>(), *dtype).value());
      } else {
        const std::string scope = e.is_string() ? e.get<std::string>() : e.value("memory_scope", "");
        relay::MetaObject* o = p.ctx.object(key);
        o->fields = p.ctx.fields({{p.ctx.str("memory_scope"), p.ctx.str(scope), nullptr}});
        entry.object = o;
      }
      section.entries.push_back(entry);
    }
    p.meta.sections.push_back(section);
  }
}

bool read(Program& p, const std::string& name, std::string text, const frontend::RelayOptions& options) {
  const source::FileId file = p.sources.add(name, std::move(text));
  p.parsed = frontend::parse_relay(p.ctx, p.sources, file, p.found, options);
  return p.parsed.module != nullptr;
}

// Every name after an `@`.
std::vector<std::string> globals_in(const std::string& text) {
  std::vector<std::string> names;
  for (std::size_t at = text.find('@'); at != std::string::npos; at = text.find('@', at + 1)) {
    std::size_t end = at + 1;
    while (end < text.size() && (std::isalnum(static_cast<unsigned char>(text[end])) || text[end] == '_')) ++end;
    names.push_back(text.substr(at + 1, end - at - 1));
  }
  return names;
}

// Loaded by the test before the text: our prelude, another text of the test, or kernels that have no text.
void set_initial(const Case& c, const std::string& path, Program& p, frontend::RelayOptions& options) {
  if (c.initial.find("PrimFunc") != std::string::npos) options.externals = globals_in(text_of(path));
  std::string before;
  if (c.initial == "prelude") before = std::string(frontend::relay_prelude());
  if (c.initial.find("from the same test") != std::string::npos)
    before = text_of(path.substr(0, path.rfind("__")) + "__01.relay");
  if (!before.empty() && read(p, "initial", before, options)) p.initial = p.parsed.module;
  options.initial = p.initial;
}

// As TVM does with modules: an expression is not typed when it is parsed.
bool infer(Program& p, relay::Typing& typing) {
  const relay::Module* m = p.parsed.module;
  return !m || m->functions.empty() || relay::infer_types(p.ctx, m, typing, p.found);
}

bool read_file(Program& p, const Case& c, const std::string& path) {
  read_table(path, p);
  frontend::RelayOptions options;
  options.meta = &p.meta;
  set_initial(c, path, p, options);
  p.options = options;
  return read(p, path, text_of(path), options);
}

std::string first_error(const Program& p) {
  for (const source::Diagnostic& d : p.found.all())
    if (d.severity == source::Severity::Error) {
      const source::Buffer* buffer = p.sources.find(d.span.file);
      return buffer ? fmt::format("line {}: {}", buffer->line_column(d.span.begin).line, d.message) : d.message;
    }
  return "no diagnostic";
}

Outcome run_text(const Case& c) {
  Program p;
  relay::Typing typing;
  if (!read_file(p, c, c.path) || !infer(p, typing)) return failed(first_error(p));
  relay::PrintOptions options;
  options.metadata = false;  // the table replaces it: weights would be written out
  relay::MetaTable used;
  const relay::Module* first = p.parsed.module;
  const std::string text = relay::print(first, options, &used);
  // In the same context: entries of the table belong to it.
  frontend::RelayOptions again = p.options;
  again.initial = nullptr;
  again.meta = &used;
  if (!read(p, "printed", text, again)) return failed("does not read back: " + first_error(p) + "\n" + text);
  if (const auto d = relay::first_difference(first, p.parsed.module))
    return failed(fmt::format("another graph at {}: {} / {}", d->path, d->left, d->right));
  return relay::print(p.parsed.module, options) == text ? Outcome{true, {}} : failed("prints differently");
}

Outcome run_prints(const Case& c) {
  Program p;
  const std::string text = text_of(c.path);
  if (!read_file(p, c, c.path)) return failed(first_error(p));
  relay::PrintOptions options;
  options.version = text.starts_with("#[version");
  std::string printed = relay::print(p.parsed.module, options);
  if (printed.ends_with('\n') && !text.ends_with('\n')) printed.pop_back();
  if (!printed.ends_with('\n') && text.ends_with('\n')) printed += '\n';
  return printed == text ? Outcome{true, {}} : failed("printed: " + printed);
}

Outcome run_verdict(const Case& c) {
  Program p;
  relay::Typing typing;
  const bool accepted = read_file(p, c, c.path) && infer(p, typing);
  if (c.outcome == "raise") return accepted ? failed("accepted") : Outcome{true, {}};
  return accepted ? Outcome{true, {}} : failed(first_error(p));
}

Outcome run_equal(const Case& c) {
  Program a, b;
  if (!read_file(a, c, c.path)) return failed(first_error(a));
  if (!read_file(b, c, c.after)) return failed(first_error(b));
  const auto difference = relay::first_difference(a.parsed.module, b.parsed.module);
  if (c.outcome == "yes") return difference ? failed("differs at " + difference->path) : Outcome{true, {}};
  return difference ? Outcome{true, {}} : failed("the same");
}

// Nodes reachable from functions, each once.
class Counter {
 public:
  std::map<std::string, std::size_t> count(const Program& p) {
    const relay::Module* m = p.parsed.module;
    counts_["graph_vars"] = p.parsed.graph_variables;
    for (const relay::TypeDefinition* t : m->types) {
      if (p.initial && p.initial->find_type(t->name)) continue;
      ++counts_["types"];
      counts_["ctors"] += t->constructors.size();
    }
    for (const relay::Definition& d : m->functions) {
      if (p.initial && p.initial->find(d.name->name)) continue;
      ++counts_["globals"];
      counts_["params"] += d.function->params.size();
      open_.push_back(d.function->body);
    }
    if (m->body) open_.push_back(m->body);
    while (!open_.empty()) {
      const relay::Expr* e = open_.back();
      open_.pop_back();
      if (seen_.emplace(e, true).second) visit(e);
    }
    return counts_;
  }
  const std::map<std::string, std::size_t>& operators() const { return operators_; }

 private:
  void visit(const relay::Expr* e) {
    add(e);
    relay::for_each_operand(e, [&](const relay::Expr* x) { open_.push_back(x); });
  }

  void add(const relay::Expr* e) {
    using relay::ExprKind;
    static const std::map<ExprKind, std::string> names = {{ExprKind::Call, "calls"},
                                                          {ExprKind::Function, "fn_literals"},
                                                          {ExprKind::Let, "lets"},
                                                          {ExprKind::If, "ifs"},
                                                          {ExprKind::Match, "matches"},
                                                          {ExprKind::Tuple, "tuples"},
                                                          {ExprKind::Projection, "projections"}};
    if (const auto found = names.find(e->kind); found != names.end()) ++counts_[found->second];
    if (const auto* f = relay::as<relay::Function>(e)) counts_["params"] += f->params.size();
    if (const auto* m = relay::as<relay::Match>(e)) counts_["arms"] += m->arms.size();
    if (const auto* k = relay::as<relay::Constant>(e)) ++counts_[k->tensor->ndim() == 0 ? "scalars" : "meta_refs"];
    if (const auto* call = relay::as<relay::Call>(e)) {
      if (call->callee->kind == ExprKind::Constructor) ++counts_["ctor_calls"];
      if (const auto* op = relay::as<relay::Op>(call->callee)) ++operators_[std::string(op->info->name)];
    }
  }

  std::map<std::string, std::size_t> counts_;
  std::map<std::string, std::size_t> operators_;
  std::map<const relay::Expr*, bool> seen_;
  std::vector<const relay::Expr*> open_;
};

Outcome run_counts(const Case& c) {
  Program p;
  if (!read_file(p, c, c.path)) return failed(first_error(p));
  Counter counter;
  auto counts = counter.count(p);
  std::string wrong;
  for (std::size_t i = 1; i < c.counted_as.size(); ++i) {
    const std::string want = i < c.counts.size() ? c.counts[i] : "";
    std::string got = std::to_string(counts[c.counted_as[i]]);
    if (c.counted_as[i] == "operators") {
      got.clear();
      for (const auto& [name, n] : counter.operators()) got += fmt::format("{}{}:{}", got.empty() ? "" : " ", name, n);
    }
    if (got != want) wrong += fmt::format("{} {} (want {}) ", c.counted_as[i], got, want);
  }
  return wrong.empty() ? Outcome{true, {}} : failed(wrong);
}

}  // namespace

Outcome run_relay(const Case& c) {
  static const std::map<Kind, std::function<Outcome(const Case&)>> kinds = {{Kind::RelayText, run_text},
                                                                            {Kind::RelayPrints, run_prints},
                                                                            {Kind::RelayVerdict, run_verdict},
                                                                            {Kind::RelayEqual, run_equal},
                                                                            {Kind::RelayCounts, run_counts}};
  return kinds.at(c.kind)(c);
}

}  // namespace rldb::conformance

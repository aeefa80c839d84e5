// Whether an edited document agrees with a fresh parse of its text; and a module to edit. Used by document_test.cc and
// by the fuzz targets.
#pragma once

#include <algorithm>

#include "frontend/frontend_helper.h"
#include "rldb/frontend/document.h"

namespace rldb::frontend::testing {

// A bit of everything: calls between functions, kernels, dataflow, branches, local functions, casts, shadowing.
inline constexpr std::string_view kModule = R"(from tvm.script import ir as I
from tvm.script import relax as R
from tvm.script import tirx as T

@I.ir_module
class Module:
    @T.prim_func(private=True, s_tir=True)
    def twice(A: T.Buffer((T.int64(4), T.int64(4)), "float32"), B: T.Buffer((T.int64(4), T.int64(4)), "float32")):
        for i, j in T.grid(T.int64(4), T.int64(4)):
            with T.sblock("twice"):
                vi, vj = T.axis.remap("SS", [i, j])
                B[vi, vj] = A[vi, vj] * T.float32(2)

    @R.function(private=True)
    def helper(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
        n = T.int64()
        with R.dataflow():
            a = R.add(x, x)
            b = R.multiply(a, a)
            R.output(b)
        return b

    @R.function(private=True)
    def loose(x: R.Tensor(("n", 4), "float32")):
        y = R.nn.relu(x)
        return y

    @R.function
    def main(x: R.Tensor((4, 4), "float32"), s: R.Shape(["m", 4]), c: R.Tensor((), "bool")) -> R.Tensor((4, 4), "float32"):
        m = T.int64()
        cls = Module
        first = cls.helper(x)
        with R.dataflow():
            lv = R.add(first, x)
            lv1 = R.call_tir(cls.twice, (lv,), out_ty=R.Tensor((4, 4), "float32"))
            t = (lv, lv1)
            lv2 = t[0]
            lv = R.subtract(lv1, lv2)
            lv3: R.Tensor((4, 4), "float32") = R.add(R.multiply(lv, lv), lv1)
            gv = R.add(lv3, lv)
            R.output(gv)
        z = cls.loose(gv)
        if c:
            p = R.add(z, x)
            w = R.multiply(p, p)
        else:
            w = R.subtract(z, x)
        @R.function
        def inner(q: R.Tensor((4, 4), "float32")) -> R.Tensor((4, 4), "float32"):
            r = R.add(q, w)
            return r
        u = inner(w)
        with R.dataflow():
            k = R.match_cast(u, R.Tensor((4, 4), "float32"))
            v = R.add(k, u)
            R.output(v)
        return v
)";

// A fresh parse, as in `rldb check`.
struct Reference {
  Reading reading;
  std::string diagnostics;

  explicit Reference(std::string text) : reading(std::move(text)) {
    verify_parsed(reading.ctx, reading.sources, reading.result, reading.diagnostics);
    std::vector<source::Diagnostic> all = reading.diagnostics.all();
    std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.span.begin < b.span.begin; });
    for (const source::Diagnostic& d : all) diagnostics += source::render(d, reading.sources);
  }
};

using Spans = std::vector<source::Span>;
inline void spans_of(const ir::Context& ctx, const ir::Module* m, Spans& out) {
  for (const ir::ModuleEntry& e : m->entries) {
    out.push_back(ctx.spans().get(e.function->id));
    const auto* f = ir::as<ir::Function>(e.function);
    if (!f) continue;
    for (const ir::BindingBlock* block : f->body->blocks)
      for (const ir::Binding* b : block->bindings) {
        out.push_back(ctx.spans().get(b->id));
        out.push_back(ctx.spans().get(b->var->id));
      }
  }
}

// Empty if the document agrees with a fresh parse of its text.
inline std::string difference(const Document& document, const source::SourceManager& sources) {
  const Reference fresh{std::string(document.text())};
  std::string said;
  for (const source::Diagnostic& d : document.diagnostics().all()) said += source::render(d, sources);
  if (said != fresh.diagnostics) return "diagnostics:\n" + said + "---- fresh:\n" + fresh.diagnostics;
  const ParseResult& a = document.result();
  const ParseResult& b = fresh.reading.result;
  if (a.ok != b.ok || (a.module == nullptr) != (b.module == nullptr)) return "one of them has a module";
  if (!a.module) return {};
  // After errors there are unbound variables; each parse has its own.
  const ir::EqualOptions options{.map_free_vars = true};
  if (const auto d = ir::first_difference(a.module, b.module, options))
    return d->path + ": " + d->left + " <> " + d->right;
  if (ir::print(a.module) != ir::print(b.module)) return "they print differently";
  Spans left, right;
  spans_of(*document.context(), a.module, left);
  spans_of(fresh.reading.ctx, b.module, right);
  for (std::size_t i = 0; i < left.size(); ++i)
    if (left[i].begin != right[i].begin || left[i].end != right[i].end)
      return "span " + std::to_string(i) + " is " + std::to_string(left[i].begin) + ", fresh " +
             std::to_string(right[i].begin);
  return {};
}

}  // namespace rldb::frontend::testing

// Matrix products: C[.., i, j] = sum over k of A * B, in blocks and register tiles, for any order of the dimensions of
// A and B and any batch dimensions.
//
// Panels of B (kc x nr) and of A (mr x kc) are copied into the order in which they are read; a tile of mr x nr elements
// of C stays in registers while k runs. The elements of C accumulate over k in ascending order from the init value:
// the same order as the text's, whatever the blocking; multiply and add are fused where the CPU has it.
#include <llvm/IR/MDBuilder.h>

#include "codegen/llvm/lower/lowering.h"
#include "codegen/llvm/schedule/schedule.h"
#include "rldb/ir/equal.h"
#include "rldb/ir/scalar.h"

namespace rldb::codegen {

using ir::as;
using ir::BinaryKind;

namespace {

constexpr std::int64_t kKc = 256;                // nr * kc elements of B stay in the first level cache
constexpr std::int64_t kNc = 1024;               // kc * nc in the second
constexpr std::int64_t kMinWork = 16 * 16 * 16;  // less is not worth its code

const ir::BufferLoad* operand(const ir::Expr* e) {
  while (const auto* c = as<ir::CastExpr>(e)) {
    if (!c->dtype().is_float() || !c->value->dtype().is_float()) return nullptr;
    e = c->value;
  }
  return as<ir::BufferLoad>(e);
}

}  // namespace

struct MatmulPlan {
  ReductionNest nest;
  const ir::Expr* a_expr = nullptr;
  const ir::Expr* b_expr = nullptr;
  const ir::BufferLoad* a = nullptr;
  const ir::BufferLoad* b = nullptr;
  int i = -1, j = -1, k = -1;
  DType type;
  unsigned lanes = 0, mr = 0, nv = 0;
  unsigned nr() const { return lanes * nv; }
};

namespace {

std::optional<MatmulPlan> match(const ir::ForStmt* loop, unsigned vector_bytes) {
  auto nest = match_reduction(loop);
  if (!nest) return std::nullopt;
  MatmulPlan p;
  p.nest = std::move(*nest);
  const ir::BufferStore* update = p.nest.update;
  p.type = update->buffer->dtype;
  if (p.type != DType::Float(32) && p.type != DType::Float(64)) return std::nullopt;
  const auto* sum = as<ir::BinaryExpr>(update->value);
  if (!sum || sum->kind != BinaryKind::Add) return std::nullopt;
  const auto is_out = [&](const ir::Expr* e) {
    const auto* l = as<ir::BufferLoad>(e);
    return l && l->buffer == update->buffer;
  };
  const ir::Expr* term = is_out(sum->a) ? sum->b : is_out(sum->b) ? sum->a : nullptr;
  const auto* product = as<ir::BinaryExpr>(term);
  if (!product || product->kind != BinaryKind::Mul) return std::nullopt;
  const ir::BufferLoad* x = operand(product->a);
  const ir::BufferLoad* y = operand(product->b);
  if (!x || !y || x->buffer == update->buffer || y->buffer == update->buffer) return std::nullopt;

  for (std::size_t n = 0; n < p.nest.loops.size(); ++n) {
    if (!p.nest.is_reduce(int(n))) continue;
    if (p.k >= 0) return std::nullopt;
    p.k = int(n);
  }
  p.j = p.nest.loop_of(update->indices.back());
  if (p.j < 0 || p.k < 0) return std::nullopt;
  // How often the loop's axis stands alone among the indices; -1 when it stands inside an expression.
  const auto uses = [&](const ir::BufferLoad* l, int n) {
    const ir::Var* v = p.nest.axes[std::size_t(n)]->var;
    int count = 0;
    for (const ir::Expr* e : l->indices) {
      if (e == v)
        ++count;
      else if (mentions(e, v))
        return -1;
    }
    return count;
  };
  if (uses(x, p.j) == 1 && uses(y, p.j) == 0) {
    p.b = x;
    p.b_expr = product->a;
    p.a = y;
    p.a_expr = product->b;
  } else if (uses(y, p.j) == 1 && uses(x, p.j) == 0) {
    p.b = y;
    p.b_expr = product->b;
    p.a = x;
    p.a_expr = product->a;
  } else {
    return std::nullopt;
  }
  if (uses(p.a, p.k) != 1 || uses(p.b, p.k) != 1) return std::nullopt;
  for (int n = int(p.nest.loops.size()); n-- > 0;)
    if (n != p.j && n != p.k && uses(p.a, n) == 1 && uses(p.b, n) == 0) {
      p.i = n;
      break;
    }
  if (p.i < 0) return std::nullopt;
  std::int64_t work = 1;
  for (const int n : {p.i, p.j, p.k}) {
    const std::int64_t extent = ir::const_int(p.nest.loops[std::size_t(n)]->extent).value_or(256);
    if (extent <= 0 || __builtin_mul_overflow(work, extent, &work)) return std::nullopt;
  }
  if (work < kMinWork) return std::nullopt;

  p.lanes = vector_bytes / unsigned(p.type.bytes());
  // Tiles that fill the register file: 32 registers with AVX-512, else 16.
  p.nv = 2;
  p.mr = vector_bytes == 64 ? 12 : vector_bytes == 32 ? 6 : 4;
  if (const auto m = ir::const_int(p.nest.loops[std::size_t(p.i)]->extent); m && *m < std::int64_t(p.mr)) {
    p.mr = unsigned(*m);
    if (p.mr <= 4) p.nv = 4;
  }
  return p;
}

}  // namespace

// Emits one matrix product; lives as long as the emission.
struct MatmulEmitter {
  Lowering& l;
  llvm::IRBuilder<>& b;
  const MatmulPlan& p;
  llvm::Value* m = nullptr;
  llvm::Value* n = nullptr;
  llvm::Value* k = nullptr;
  llvm::Value* apack = nullptr;
  llvm::Value* bpack = nullptr;
  llvm::Function* micro = nullptr;
  llvm::Function* edge = nullptr;
  std::int64_t mc = 0;
  llvm::Type* element = nullptr;

  using V = llvm::Value*;
  V c(std::int64_t v) { return b.getInt64(std::uint64_t(v)); }
  V smin(V x, V y) { return b.CreateBinaryIntrinsic(llvm::Intrinsic::smin, x, y); }
  V mul(V x, V y) { return b.CreateMul(x, y, "", false, true); }
  V add(V x, V y) { return b.CreateAdd(x, y, "", false, true); }
  V at(V base, V index) { return b.CreateInBoundsGEP(element, base, index); }

  // The loop over a dimension of an operand moves by this many elements.
  V stride(const ir::BufferLoad* load, int loop) {
    const View& v = l.view(load->buffer);
    for (std::size_t d = 0; d < load->indices.size(); ++d)
      if (load->indices[d] == p.nest.axes[std::size_t(loop)]->var) return v.strides[d];
    return c(0);
  }

  void make_micro();
  void make_edge();
  void pack(V to, V from, const ir::Expr* expr, const ir::BufferLoad* load, V count, V stride, V kc, V k_stride,
            unsigned width);
  void product(V a_base, V b_base, V c_base, V c_stride);
};

void MatmulEmitter::make_micro() {
  // micro(a, b, c, kc, ldc, ldb, first)
  llvm::Type* ptr = b.getPtrTy();
  llvm::Type* word = b.getInt64Ty();
  auto* type = llvm::FunctionType::get(b.getVoidTy(), {ptr, ptr, ptr, word, word, word, b.getInt1Ty()}, false);
  micro = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "tile", *l.module_);
  micro->addFnAttr(llvm::Attribute::NoInline);
  micro->setDoesNotThrow();
  for (const unsigned i : {0u, 1u, 2u}) micro->getArg(i)->addAttr(llvm::Attribute::NoAlias);
  llvm::IRBuilder<>::InsertPointGuard guard(b);
  llvm::Type* vector = llvm::FixedVectorType::get(element, p.lanes);
  auto* entry = llvm::BasicBlock::Create(l.c_, "entry", micro);
  auto* fresh = llvm::BasicBlock::Create(l.c_, "first", micro);
  auto* again = llvm::BasicBlock::Create(l.c_, "again", micro);
  auto* loop = llvm::BasicBlock::Create(l.c_, "k", micro);
  auto* done = llvm::BasicBlock::Create(l.c_, "done", micro);
  V a = micro->getArg(0), bp = micro->getArg(1), cp = micro->getArg(2);
  V kc = micro->getArg(3), ldc = micro->getArg(4), ldb = micro->getArg(5);
  const auto align = llvm::Align(p.type.bytes());
  const auto place = [&](unsigned r, unsigned v) { return at(cp, add(mul(c(r), ldc), c(v * p.lanes))); };

  b.SetInsertPoint(entry);
  b.CreateCondBr(micro->getArg(6), fresh, again);
  b.SetInsertPoint(fresh);
  V zero = l.splat(l.value(p.nest.init->value), p.lanes);
  b.CreateBr(loop);
  b.SetInsertPoint(again);
  std::vector<V> old;
  for (unsigned r = 0; r < p.mr; ++r)
    for (unsigned v = 0; v < p.nv; ++v) old.push_back(b.CreateAlignedLoad(vector, place(r, v), align));
  b.CreateBr(loop);

  b.SetInsertPoint(loop);
  auto* kk = b.CreatePHI(b.getInt64Ty(), 3, "k");
  std::vector<llvm::PHINode*> acc;
  for (unsigned i = 0; i < p.mr * p.nv; ++i) {
    acc.push_back(b.CreatePHI(vector, 3));
    acc.back()->addIncoming(zero, fresh);
    acc.back()->addIncoming(old[i], again);
  }
  kk->addIncoming(c(0), fresh);
  kk->addIncoming(c(0), again);
  llvm::FastMathFlags flags;
  flags.setAllowContract();
  b.setFastMathFlags(flags);
  std::vector<V> row;
  V b_row = at(bp, mul(kk, ldb));
  V a_row = at(a, mul(kk, c(p.mr)));
  for (unsigned v = 0; v < p.nv; ++v) row.push_back(b.CreateAlignedLoad(vector, at(b_row, c(v * p.lanes)), align));
  std::vector<V> next;
  for (unsigned r = 0; r < p.mr; ++r) {
    V one = b.CreateVectorSplat(p.lanes, b.CreateAlignedLoad(element, at(a_row, c(r)), align));
    for (unsigned v = 0; v < p.nv; ++v) next.push_back(b.CreateFAdd(acc[r * p.nv + v], b.CreateFMul(one, row[v])));
  }
  b.clearFastMathFlags();
  V k1 = add(kk, c(1));
  kk->addIncoming(k1, loop);
  for (unsigned i = 0; i < acc.size(); ++i) acc[i]->addIncoming(next[i], loop);
  b.CreateCondBr(b.CreateICmpSLT(k1, kc), loop, done);
  b.SetInsertPoint(done);
  for (unsigned r = 0; r < p.mr; ++r)
    for (unsigned v = 0; v < p.nv; ++v) b.CreateAlignedStore(next[r * p.nv + v], place(r, v), align);
  b.CreateRetVoid();
}

// A tile at the edge, rows x columns of it: worked on in a copy.
void MatmulEmitter::make_edge() {
  llvm::Type* ptr = b.getPtrTy();
  llvm::Type* word = b.getInt64Ty();
  auto* type =
      llvm::FunctionType::get(b.getVoidTy(), {ptr, ptr, ptr, word, word, word, b.getInt1Ty(), word, word}, false);
  edge = llvm::Function::Create(type, llvm::GlobalValue::InternalLinkage, "edge", *l.module_);
  edge->addFnAttr(llvm::Attribute::NoInline);
  edge->setDoesNotThrow();
  for (const unsigned i : {0u, 1u, 2u}) edge->getArg(i)->addAttr(llvm::Attribute::NoAlias);
  llvm::IRBuilder<>::InsertPointGuard guard(b);
  llvm::Function* const outer = std::exchange(l.body_, edge);
  b.SetInsertPoint(llvm::BasicBlock::Create(l.c_, "entry", edge));
  auto* tile = b.CreateAlloca(llvm::ArrayType::get(element, p.mr * p.nr()));
  tile->setAlignment(llvm::Align(64));
  V cp = edge->getArg(2), ldc = edge->getArg(4);
  V rows = edge->getArg(7), columns = edge->getArg(8);
  const auto copy = [&](bool back) {
    l.emit_loop(c(0), rows, c(1), "r", [&](V r) {
      l.emit_loop(c(0), columns, c(1), "x", [&](V x) {
        V outside = at(cp, add(mul(r, ldc), x));
        V inside = at(tile, add(mul(r, c(p.nr())), x));
        const auto align = llvm::Align(p.type.bytes());
        b.CreateAlignedStore(b.CreateAlignedLoad(element, back ? inside : outside, align), back ? outside : inside,
                             align);
      });
    });
  };
  auto* load = llvm::BasicBlock::Create(l.c_, "load", edge);
  auto* work = llvm::BasicBlock::Create(l.c_, "work", edge);
  // The rest of the tile is computed too; it should not start from whatever is on the stack.
  b.CreateMemSet(tile, b.getInt8(0), p.mr * p.nr() * p.type.bytes(), llvm::Align(64));
  b.CreateCondBr(edge->getArg(6), work, load);
  b.SetInsertPoint(load);
  copy(false);
  b.CreateBr(work);
  b.SetInsertPoint(work);
  b.CreateCall(micro,
               {edge->getArg(0), edge->getArg(1), tile, edge->getArg(3), c(p.nr()), edge->getArg(5), edge->getArg(6)});
  copy(true);
  b.CreateRetVoid();
  l.body_ = outer;
}

// Copies count x kc elements into panels of `width`: to[panel][k][width], zeros past the end.
void MatmulEmitter::pack(V to, V from, const ir::Expr* expr, const ir::BufferLoad* load, V count, V stride, V kc,
                         V k_stride, unsigned width) {
  const DType memory = load->buffer->dtype;
  llvm::Type* source = l.memory_type(memory);
  const auto align = llvm::Align(memory.bytes());
  const auto converted = [&](V v) { return l.convert(l.from_memory(v, memory), memory, expr->dtype()); };
  const auto* unit = llvm::dyn_cast<llvm::ConstantInt>(stride);
  const bool contiguous = unit && unit->isOne() && width % p.lanes == 0;
  l.emit_loop(c(0), count, c(width), "panel", [&](V first) {
    V panel = at(to, mul(first, kc));
    V base = b.CreateInBoundsGEP(source, from, mul(first, stride));
    V left = smin(c(width), b.CreateSub(count, first));
    auto* whole = l.new_block("whole");
    auto* part = l.new_block("part");
    auto* done = l.new_block("packed");
    b.CreateCondBr(b.CreateICmpEQ(left, c(width)), whole, part);
    b.SetInsertPoint(whole);
    if (contiguous) {
      l.emit_loop(c(0), kc, c(1), "k", [&](V kk) {
        for (unsigned v = 0; v < width / p.lanes; ++v) {
          V x = b.CreateAlignedLoad(llvm::FixedVectorType::get(source, p.lanes),
                                    b.CreateInBoundsGEP(source, base, add(mul(kk, k_stride), c(v * p.lanes))), align);
          b.CreateAlignedStore(converted(x), at(panel, add(mul(kk, c(width)), c(v * p.lanes))),
                               llvm::Align(p.type.bytes()));
        }
      });
    } else {
      // k inside: rows of the source are read in order.
      l.emit_loop(c(0), kc, c(1), "k", [&](V kk) {
        for (unsigned r = 0; r < width; ++r) {
          V x = b.CreateAlignedLoad(
              source, b.CreateInBoundsGEP(source, base, add(mul(kk, k_stride), mul(c(r), stride))), align);
          b.CreateAlignedStore(converted(x), at(panel, add(mul(kk, c(width)), c(r))), llvm::Align(p.type.bytes()));
        }
      });
    }
    b.CreateBr(done);
    b.SetInsertPoint(part);
    b.CreateMemSet(panel, b.getInt8(0), mul(mul(kc, c(width)), c(std::int64_t(p.type.bytes()))),
                   llvm::Align(p.type.bytes()));
    l.emit_loop(c(0), kc, c(1), "k", [&](V kk) {
      l.emit_loop(c(0), left, c(1), "r", [&](V r) {
        V x = b.CreateAlignedLoad(source, b.CreateInBoundsGEP(source, base, add(mul(kk, k_stride), mul(r, stride))),
                                  align);
        b.CreateAlignedStore(converted(x), at(panel, add(mul(kk, c(width)), r)), llvm::Align(p.type.bytes()));
      });
    });
    b.CreateBr(done);
    b.SetInsertPoint(done);
  });
}

void MatmulEmitter::product(V a_base, V b_base, V c_base, V c_stride) {
  V a_i = stride(p.a, p.i), a_k = stride(p.a, p.k);
  V b_j = stride(p.b, p.j), b_k = stride(p.b, p.k);
  llvm::Type* a_type = l.memory_type(p.a->buffer->dtype);
  llvm::Type* b_type = l.memory_type(p.b->buffer->dtype);
  const unsigned nr = p.nr();
  l.emit_loop(c(0), n, c(kNc), "jc", [&](V jc) {
    V nc = smin(c(kNc), b.CreateSub(n, jc));
    l.emit_loop(c(0), k, c(kKc), "pc", [&](V pc) {
      l.poll();
      V kc = smin(c(kKc), b.CreateSub(k, pc));
      V first = b.CreateICmpEQ(pc, c(0));
      pack(bpack, b.CreateInBoundsGEP(b_type, b_base, add(mul(jc, b_j), mul(pc, b_k))), p.b_expr, p.b, nc, b_j, kc, b_k,
           nr);
      l.emit_loop(c(0), m, c(mc), "ic", [&](V ic) {
        l.poll();
        V rows = smin(c(mc), b.CreateSub(m, ic));
        pack(apack, b.CreateInBoundsGEP(a_type, a_base, add(mul(ic, a_i), mul(pc, a_k))), p.a_expr, p.a, rows, a_i, kc,
             a_k, p.mr);
        l.emit_loop(c(0), nc, c(nr), "jr", [&](V jr) {
          V columns = smin(c(nr), b.CreateSub(nc, jr));
          V b_panel = at(bpack, mul(jr, kc));
          l.emit_loop(c(0), rows, c(p.mr), "ir", [&](V ir) {
            V height = smin(c(p.mr), b.CreateSub(rows, ir));
            V a_panel = at(apack, mul(ir, kc));
            V place = at(c_base, add(mul(add(ic, ir), c_stride), add(jc, jr)));
            auto* whole = l.new_block("whole");
            auto* part = l.new_block("part");
            auto* done = l.new_block("tiled");
            V full = b.CreateAnd(b.CreateICmpEQ(height, c(p.mr)), b.CreateICmpEQ(columns, c(nr)));
            b.CreateCondBr(full, whole, part);
            b.SetInsertPoint(whole);
            b.CreateCall(micro, {a_panel, b_panel, place, kc, c_stride, c(nr), first});
            b.CreateBr(done);
            b.SetInsertPoint(part);
            b.CreateCall(edge, {a_panel, b_panel, place, kc, c_stride, c(nr), first, height, columns});
            b.CreateBr(done);
            b.SetInsertPoint(done);
          });
        });
      });
    });
  });
}

bool Lowering::matmul(const ir::ForStmt* loop) {
  if (!noalias_ || widened_ || flat_index_) return false;
  const auto plan = match(loop, options_.vector_bytes);
  if (!plan) return false;
  const MatmulPlan& p = *plan;
  const ir::Buffer* out = p.nest.update->buffer;
  const View& c = view(out);
  if (c.last_stride != 1) return false;

  finished_loops_ = true;
  MatmulEmitter e{*this, b_, p};
  e.element = memory_type(p.type);
  const auto extent = [&](int n) { return index(p.nest.loops[std::size_t(n)]->extent); };
  e.m = extent(p.i);
  e.n = extent(p.j);
  e.k = extent(p.k);
  e.mc = std::max<std::int64_t>(1, 192 / p.mr) * p.mr;
  e.make_micro();
  e.make_edge();

  // Panels, once a call; no larger than constant sizes need.
  const auto rounded = [](std::int64_t v, std::int64_t to) { return (v + to - 1) / to * to; };
  const auto size = [&](int n, std::int64_t limit) {
    return std::min(limit, ir::const_int(p.nest.loops[std::size_t(n)]->extent).value_or(limit));
  };
  const std::int64_t depth = size(p.k, kKc);
  const auto panel = [&](std::int64_t elements) {
    Value* made = b_.CreateCall(helper("rldb_panel", b_.getPtrTy(), {b_.getInt64Ty()}),
                                {i64(elements * std::int64_t(p.type.bytes()))});
    fault_from_helper(b_.CreateIsNull(made));
    return made;
  };
  e.bpack = panel(depth * rounded(size(p.j, kNc), p.nr()));
  e.apack = panel(depth * rounded(size(p.i, e.mc), p.mr));

  // The other loops go around it, with base addresses where i, j and k are zero.
  const std::function<void(std::size_t)> around = [&](std::size_t n) {
    if (n < p.nest.loops.size()) {
      const ir::ForStmt* l = p.nest.loops[n];
      const ir::Var* axis = p.nest.axes[n]->var;
      const auto bind_to = [&](Value* iv) {
        for (const ir::Var* v : {l->var, axis})
          vars_[v] = {b_.CreateTrunc(iv, value_type(v->dtype())), iv, nullptr, true};
      };
      if (int(n) == p.i || int(n) == p.j || int(n) == p.k) {
        bind_to(i64(0));
        around(n + 1);
        return;
      }
      emit_loop(i64(0), index(l->extent), i64(1), l->var->name, [&](Value* iv) {
        bind_to(iv);
        around(n + 1);
      });
      return;
    }
    const auto base = [&](const ir::Buffer* buffer, ir::Span<const ir::Expr*> indices) {
      return access(nullptr, buffer, indices, 1, nullptr).pointer;
    };
    Value* a_base = base(p.a->buffer, p.a->indices);
    Value* b_base = base(p.b->buffer, p.b->indices);
    Value* c_base = base(out, p.nest.update->indices);
    Value* c_stride = i64(0);
    for (std::size_t d = 0; d < p.nest.update->indices.size(); ++d)
      if (p.nest.update->indices[d] == p.nest.axes[std::size_t(p.i)]->var) c_stride = view(out).strides[d];
    e.product(a_base, b_base, c_base, c_stride);
  };
  around(0);
  finished_loops_ = false;
  return true;
}

}  // namespace rldb::codegen

// The values of a kernel's expressions while some of its loop variables lie in intervals: expressions, and the bytes
// that its buffers' elements lie in. Walks over the iterations of a kernel are built on it. Users: SlicedKernel,
// ForwardKernel.
#pragma once

#include <set>
#include <string_view>

#include "debug/provenance/interval.h"
#include "debug/provenance/reads.h"

namespace rldb::debug {

class KernelScope {
 public:
  // `args`: must outlive the scope and stay unchanged.
  KernelScope(const ir::PrimFunc* f, const std::vector<runtime::Value>& args) : f_(f), args_(args) {}

  // Errors: Unsupported, the kernel has what no walk can follow.
  runtime::Result<support::Unit> prepare();

 protected:
  // ---- values ----
  Interval range_of(const ir::Expr* e) const;
  std::optional<std::int64_t> point(const ir::Expr* e) const;
  // Of what a walk cannot go on without: none is a problem.
  std::int64_t needed(const ir::Expr* e);
  void fail(std::string_view why);
  void set_axes(const ir::SBlockRealize* r);
  bool starts_reduction(const ir::SBlockRealize* r);
  // The same for loop variables in intervals.
  bool may_start_reduction(const ir::SBlockRealize* r) const;
  // The interval of a loop variable over a whole loop; nullopt: the loop has no iterations.
  std::optional<Interval> whole_loop(const ir::Expr* min, const ir::Expr* extent) const;

  // ---- places ----
  // The element's first byte, as an interval.
  Interval bytes_of(const ir::Buffer* b, ir::Span<const ir::Expr*> indices) const;
  std::int64_t base_of(const ir::Buffer* b) const;
  const void* memory_of(const ir::Buffer* b) const;
  std::optional<MemoryPlace> place_of(const ir::Buffer* b, ir::Span<const ir::Expr*> indices) const;
  // Whether the indices can be those of one element. Each by itself: the interval of the position alone would keep
  // every row.
  bool may_be(const MemoryPlace& place, const ir::Buffer* b, ir::Span<const ir::Expr*> indices) const;
  ReadScope reads() const;

  const ir::PrimFunc* f_;
  const std::vector<runtime::Value>& args_;
  std::set<const ir::Var*> written_;                            // pointers of buffers that are stored to
  std::unordered_map<const ir::Var*, runtime::Value> tensors_;  // of arguments, by the buffer's pointer
  Intervals known_;
  std::unordered_map<const ir::Var*, const ir::Expr*> lets_;
  std::optional<runtime::Error> problem_;

 private:
  std::set<const ir::SBlockRealize*> loading_axes_;
  runtime::Result<support::Unit> arguments_apart() const;
  bool binds_written();
  std::optional<std::int64_t> exactly(const ir::Expr* e) const;
};

}  // namespace rldb::debug

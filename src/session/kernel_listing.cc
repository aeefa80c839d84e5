// The options of the session are those of its compiler.
#include "rldb/session/kernel_listing.h"

#include "rldb/support/cancel.h"

namespace rldb::session {

std::optional<codegen::KernelListing> kernel_listing(Session& session, std::string_view name, Diagnostics& out) {
  const ir::PrimFunc* f = session.find_kernel(name, out);
  if (!f) return std::nullopt;
  const Options& o = session.options();
  codegen::JitOptions options;
  options.fp = o.fast_math ? codegen::FpMode::Fast : codegen::FpMode::Strict;
  options.check_bounds = o.check_bounds;
  options.opt_level = o.opt_level;
  options.schedule = o.schedule;
  options.interrupt = &support::cancel_flag();
  auto made = codegen::kernel_listing(session.context(), f, name, options);
  if (made.ok()) return std::move(*made);
  out.add(session.context().span_of(f), std::move(made).error());
  return std::nullopt;
}

}  // namespace rldb::session

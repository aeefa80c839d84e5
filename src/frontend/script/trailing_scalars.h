// Kernels of texts from before 2026. `R.call_tir(f, (x,), out_sinfo=..., tir_vars=R.shape([n]))` passed the scalars
// after the outputs; today they are ordinary arguments, before the outputs. The kernels that a module calls with
// `tir_vars` are read with today's order of parameters, so that everything after the front end sees one order.
#pragma once

#include "frontend/script/reader.h"

namespace rldb::frontend::script {

// The keyword; a text without it has no such kernels.
inline constexpr std::string_view kTirVars = "tir_vars";

// Notes the kernels that functions of this class call with `tir_vars`.
void note_trailing_scalars(Reader& r, ModuleState& m, Node body);
// Converts a noted kernel to today's order.
void scalars_before_outputs(Reader& r, std::string_view kernel, std::vector<ir::PrimParam>& params);

}  // namespace rldb::frontend::script

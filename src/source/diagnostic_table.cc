// All rows, for docs and tests.
#include <array>

#include "rldb/source/diagnostic_ability.h"
#include "rldb/source/diagnostic_aot.h"
#include "rldb/source/diagnostic_attach.h"
#include "rldb/source/diagnostic_byoc.h"
#include "rldb/source/diagnostic_codegen.h"
#include "rldb/source/diagnostic_command.h"
#include "rldb/source/diagnostic_debug.h"
#include "rldb/source/diagnostic_entry.h"
#include "rldb/source/diagnostic_executable.h"
#include "rldb/source/diagnostic_file.h"
#include "rldb/source/diagnostic_general.h"
#include "rldb/source/diagnostic_input.h"
#include "rldb/source/diagnostic_ir.h"
#include "rldb/source/diagnostic_library.h"
#include "rldb/source/diagnostic_limit.h"
#include "rldb/source/diagnostic_missing.h"
#include "rldb/source/diagnostic_nvptx.h"
#include "rldb/source/diagnostic_onnx.h"
#include "rldb/source/diagnostic_opencl.h"
#include "rldb/source/diagnostic_pass.h"
#include "rldb/source/diagnostic_pass_option.h"
#include "rldb/source/diagnostic_pattern.h"
#include "rldb/source/diagnostic_pipeline.h"
#include "rldb/source/diagnostic_program.h"
#include "rldb/source/diagnostic_rank.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/source/diagnostic_relay.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/source/diagnostic_result.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/source/diagnostic_screen.h"
#include "rldb/source/diagnostic_script_call.h"
#include "rldb/source/diagnostic_script_expected.h"
#include "rldb/source/diagnostic_script_function.h"
#include "rldb/source/diagnostic_script_metadata.h"
#include "rldb/source/diagnostic_script_name.h"
#include "rldb/source/diagnostic_script_relax.h"
#include "rldb/source/diagnostic_script_tir.h"
#include "rldb/source/diagnostic_script_type.h"
#include "rldb/source/diagnostic_syntax.h"
#include "rldb/source/diagnostic_translate.h"
#include "rldb/source/diagnostic_type.h"
#include "rldb/source/diagnostic_verify.h"

namespace rldb::source {

namespace {

constexpr std::array kAll = std::to_array<const DiagRow*>({
#define RLDB_DIAG(id, severity, text, hint) &diag::id,
#include "rldb/source/diagnostic.def"
});

}  // namespace

std::span<const DiagRow* const> all_diagnostics() { return kAll; }

}  // namespace rldb::source

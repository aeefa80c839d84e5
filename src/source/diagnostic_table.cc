// All rows, for docs and tests.
#include <array>

#include "rldb/source/diagnostic_codegen.h"
#include "rldb/source/diagnostic_command.h"
#include "rldb/source/diagnostic_general.h"
#include "rldb/source/diagnostic_ir.h"
#include "rldb/source/diagnostic_library.h"
#include "rldb/source/diagnostic_pass.h"
#include "rldb/source/diagnostic_refusal.h"
#include "rldb/source/diagnostic_relay.h"
#include "rldb/source/diagnostic_repro.h"
#include "rldb/source/diagnostic_run.h"
#include "rldb/source/diagnostic_screen.h"
#include "rldb/source/diagnostic_script.h"
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

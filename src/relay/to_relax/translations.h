// The functions of the translation table: the column of translation.def. Each returns the Relax value of a call.
#pragma once

#include "relay/to_relax/op_call.h"

namespace rldb::to_relax::translations {

// Rows share functions, so that a prototype may be repeated.
#define RLDB_TO_RELAX(Id, function, Target) Made function(OpCall& o);
#define RLDB_TO_RELAX_OWN(Id, function) Made function(OpCall& o);
#define RLDB_TO_RELAX_REFUSED(Id, why)
#include "relay/to_relax/translation.def"

}  // namespace rldb::to_relax::translations

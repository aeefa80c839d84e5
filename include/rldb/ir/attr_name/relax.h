// The names of the attributes of relax.def: attr_name::NumInput is "num_input".
#pragma once

#define RLDB_ATTR_NAME_ROWS "rldb/ir/attr_name/relax.def"
#include "rldb/ir/attr_name/names.inc"

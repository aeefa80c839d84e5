// The names of the attributes in relax.def, as constants: attr_name::NumInput.
#pragma once

#define RLDB_ATTR_NAME_ROWS "rldb/ir/attr_name/relax.def"
#include "rldb/ir/attr_name/names.inc"

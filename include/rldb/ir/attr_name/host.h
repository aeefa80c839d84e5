// The names of the attributes in host.def, as constants: attr_name::CallingConv.
#pragma once

#define RLDB_ATTR_NAME_ROWS "rldb/ir/attr_name/host.def"
#include "rldb/ir/attr_name/names.inc"

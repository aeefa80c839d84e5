// The names of the attributes in kernel.def, as constants: attr_name::LayoutFreeBuffers.
#pragma once

#define RLDB_ATTR_NAME_ROWS "rldb/ir/attr_name/kernel.def"
#include "rldb/ir/attr_name/names.inc"

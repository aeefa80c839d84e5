// The intrinsics of all families as constants, for tables with an entry for each: everything that includes this
// is rebuilt for every new row.
#pragma once

#include "rldb/ir/intrinsic/bits.h"
#include "rldb/ir/intrinsic/cast.h"
#include "rldb/ir/intrinsic/choice.h"
#include "rldb/ir/intrinsic/control.h"
#include "rldb/ir/intrinsic/device.h"
#include "rldb/ir/intrinsic/hint.h"
#include "rldb/ir/intrinsic/host.h"
#include "rldb/ir/intrinsic/logic.h"
#include "rldb/ir/intrinsic/math.h"
#include "rldb/ir/intrinsic/rounding.h"
#include "rldb/ir/intrinsic/trigonometry.h"
#include "rldb/ir/intrinsic/vector.h"

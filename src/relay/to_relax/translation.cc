#include "relay/to_relax/translations.h"
#include "rldb/ir/op_id.h"
#include "rldb/relay/ir/op_id.h"

namespace rldb::to_relax {

// A missing or duplicate row does not compile.
Translation translation_of(relay::OpId id) {
  using relay::OpId;
  switch (id) {
#define RLDB_TO_RELAX(Op, function, Target) \
  case OpId::Op:                            \
    return {translations::function, op::row(op::Id::Target).name};
#define RLDB_TO_RELAX_OWN(Id, function) \
  case OpId::Id:                        \
    return {translations::function, {}};
#define RLDB_TO_RELAX_REFUSED(Id, why) \
  case OpId::Id:                       \
    return {nullptr, why};
#include "relay/to_relax/translation.def"
  }
  RLDB_UNREACHABLE("operator of Relay");
}

}  // namespace rldb::to_relax

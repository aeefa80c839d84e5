// The symptom in a partner's answer. Room-private.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "rldb/repro/oracle.h"

namespace rldb::repro {

// `reference`: the leaves of our result; empty: there is none. None: nothing is wrong, or `unseen` has the reason why
// it is not known.
std::optional<Symptom> symptom_of_answer(const PartnerAnswer& answer, const std::vector<runtime::Value>& reference,
                                         const Tolerances& tolerances, std::string& unseen);

}  // namespace rldb::repro

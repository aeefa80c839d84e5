// The symptom of a result, leaf by leaf against the reference. Room-private.
#pragma once

#include "rldb/repro/oracle.h"

namespace rldb::repro {

std::optional<Symptom> symptom_of_leaves(const std::vector<runtime::Value>& leaves,
                                         const std::vector<runtime::Value>& reference, const Question& question);
// A line that a command wrote, without what belongs to one program or run: names, numbers, addresses.
std::string form_of_line(std::string line);

}  // namespace rldb::repro

// Whether a Relay text may be given to the tree-sitter runtime at all: see grammar/src/limits.h, whose limits these
// are. What completes a token here is a comma, a semicolon or a closing bracket; comments run on over line ends.

#ifndef TREE_SITTER_RELAY_LIMITS_H_
#define TREE_SITTER_RELAY_LIMITS_H_

#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

enum {
  kRelayMaxDepth = 10000,    // open brackets
  kRelayMaxPending = 50000,  // tokens that nothing completes; comments in a row
};

// True when the text is within both limits. Else `*offset` (may be null) is the byte at which one is passed.
bool tree_sitter_relay_within_limits(const char* text, size_t size, size_t* offset);

#ifdef __cplusplus
}
#endif

#endif  // TREE_SITTER_RELAY_LIMITS_H_

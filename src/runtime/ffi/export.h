// Marks a function that plugins may call. Room-private.
#pragma once

#define RLDB_FFI_EXPORT __attribute__((visibility("default")))

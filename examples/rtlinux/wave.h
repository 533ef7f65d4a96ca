/* What both sides of the example must agree on. */
#ifndef WAVE_H
#define WAVE_H

#include <stdint.h>

enum { SET_STEP, STOP };

/* From the ordinary side. */
struct command {
    uint32_t what; /* SET_STEP or STOP */
    int32_t step;
};

/* To the ordinary side. */
struct sample {
    uint64_t number;
    uint64_t missed;
    int64_t position;
};

#define COMMAND_LAYOUT "command 1: what u32, step i32"
#define SAMPLE_LAYOUT "sample 1: number u64, missed u64, position i64"

#endif

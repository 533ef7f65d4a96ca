/* What FreeRTOS uses of the standard library's header; floor.c defines it. */
#ifndef TACTUS_FLOOR_STRING_H
#define TACTUS_FLOOR_STRING_H

#include <stddef.h>

void *memcpy(void *destination, const void *source, size_t length);
void *memset(void *destination, int value, size_t length);

#endif

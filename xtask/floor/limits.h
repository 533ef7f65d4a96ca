/* What FreeRTOS's port uses of the standard header. */
#define USHRT_MAX 0xffff

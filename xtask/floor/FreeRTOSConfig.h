/* How FreeRTOS is built to be a floor: nothing but what the experiment needs, checks off,
 * as a product would ship it. Read by the assembler too, so it holds constants alone. */
#ifndef FREERTOS_CONFIG_H
#define FREERTOS_CONFIG_H

/* The emulator's interrupt controller counts nanoseconds, whatever an instruction takes. */
#define configCPU_CLOCK_HZ                           1000000000UL
#define configTICK_RATE_HZ                           1000

#define configUSE_PREEMPTION                         1
#define configUSE_TIME_SLICING                       1
#define configUSE_PORT_OPTIMISED_TASK_SELECTION      1
#define configMAX_PRIORITIES                         8
#define configMINIMAL_STACK_SIZE                     256
#define configISR_STACK_SIZE                         1024
#define configMAX_API_CALL_INTERRUPT_PRIORITY        15
#define configUSE_COMMON_INTERRUPT_ENTRY_POINT       0
#define configSUPPORT_FPU                            0
#define configMAX_TASK_NAME_LEN                      8

#define configSUPPORT_STATIC_ALLOCATION              1
#define configSUPPORT_DYNAMIC_ALLOCATION             0
#define configKERNEL_PROVIDED_STATIC_MEMORY          1
#define configUSE_TIMERS                             0
#define configUSE_IDLE_HOOK                          0
#define configUSE_TICK_HOOK                          0
#define configCHECK_FOR_STACK_OVERFLOW               0
#define configUSE_16_BIT_TICKS                       0

#define INCLUDE_xTaskDelayUntil                      1

#endif

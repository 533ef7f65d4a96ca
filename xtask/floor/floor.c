/* The wakeup experiment on FreeRTOS: a task that wakes every millisecond, beside tasks of
 * lower priority that compute all the time. What it finds goes to the emulator's debug
 * console as lines of text: "spinners 2", then a lateness in nanoseconds for each wakeup. */

#include "FreeRTOS.h"
#include "task.h"

#define MESSAGE_PORT 0xe9
#define EXIT_PORT    0xf4
#define DONE         0x20

#define PERIOD_NS    1000000ULL
#define MOST_SAMPLES 20000
#define MOST_SPINNERS 8

/* In how many steps spinners are added, and how many there are after each. */
static const unsigned steps[] = { 0, 1, 2, 4, MOST_SPINNERS };

static unsigned samples = 1000;
static uint32_t late_ns[MOST_SAMPLES];

static inline void out(uint16_t port, uint8_t byte)
{
    __asm volatile("outb %0, %1" : : "a"(byte), "Nd"(port));
}

/* In exact time the counter counts nanoseconds. */
static inline uint64_t now_ns(void)
{
    uint32_t low, high;
    __asm volatile("rdtsc" : "=a"(low), "=d"(high));
    return ((uint64_t)high << 32) | low;
}

static void say(const char *text)
{
    for (; *text != '\0'; text++) {
        out(MESSAGE_PORT, (uint8_t)*text);
    }
}

static void say_number(uint32_t number)
{
    char digits[11];
    char *first = digits + sizeof digits - 1;
    *first = '\0';
    do {
        *--first = (char)('0' + number % 10);
        number /= 10;
    } while (number != 0);
    say(first);
}

static void spin(void *unused)
{
    volatile uint32_t count = 0;
    (void)unused;
    for (;;) {
        count = count + 1;
    }
}

static void add_spinner(unsigned number)
{
    static StaticTask_t tasks[MOST_SPINNERS];
    static StackType_t stacks[MOST_SPINNERS][configMINIMAL_STACK_SIZE];
    (void)xTaskCreateStatic(spin, "spin", configMINIMAL_STACK_SIZE, NULL, tskIDLE_PRIORITY + 1,
                            stacks[number], &tasks[number]);
}

/* Starts the tick anew, so that the moment of every later tick is known to the instruction. */
static uint64_t start_tick(void)
{
    uint64_t started;
    portDISABLE_INTERRUPTS();
    started = now_ns();
    portAPIC_TIMER_INITIAL_COUNT = ((configCPU_CLOCK_HZ >> 4) / configTICK_RATE_HZ) - 1;
    portENABLE_INTERRUPTS();
    return started;
}

static void measure_window(void)
{
    uint64_t due;
    TickType_t woken;
    unsigned sample;

    woken = xTaskGetTickCount();
    (void)xTaskDelayUntil(&woken, 2);
    due = start_tick();
    woken = xTaskGetTickCount();
    for (sample = 0; sample < samples; sample++) {
        (void)xTaskDelayUntil(&woken, 1);
        due += PERIOD_NS;
        late_ns[sample] = (uint32_t)(now_ns() - due);
    }
}

static void measure(void *unused)
{
    unsigned step, spinners = 0, sample;
    (void)unused;
    for (step = 0; step < sizeof steps / sizeof steps[0]; step++) {
        while (spinners < steps[step]) {
            add_spinner(spinners++);
        }
        measure_window();
        say("spinners ");
        say_number(spinners);
        say("\n");
        for (sample = 0; sample < samples; sample++) {
            say_number(late_ns[sample]);
            say("\n");
        }
    }
    out(EXIT_PORT, DONE);
    for (;;) {
    }
}

/* Reads "samples=N" from the command line that the loader passes on. */
static void read_command_line(const uint32_t *loader)
{
    static const char name[] = "samples=";
    const char *line = (const char *)loader[4];
    unsigned number = 0, matched = 0;
    if ((loader[0] & 4) == 0) {
        return;
    }
    for (; *line != '\0'; line++) {
        if (name[matched] != '\0') {
            matched = *line == name[matched] ? matched + 1 : 0;
        } else if (*line >= '0' && *line <= '9') {
            number = number * 10 + (unsigned)(*line - '0');
        } else {
            break;
        }
    }
    if (number > 0 && number <= MOST_SAMPLES) {
        samples = number;
    }
}

void floor(const uint32_t *loader)
{
    static StaticTask_t task;
    static StackType_t stack[configMINIMAL_STACK_SIZE * 4];
    /* Nothing but the timer may interrupt: the firmware's interrupt controller is shut. */
    out(0x21, 0xff);
    out(0xa1, 0xff);
    read_command_line(loader);
    (void)xTaskCreateStatic(measure, "measure", configMINIMAL_STACK_SIZE * 4, NULL,
                            tskIDLE_PRIORITY + 4, stack, &task);
    vTaskStartScheduler();
}

void *memset(void *destination, int value, size_t length)
{
    uint8_t *byte = destination;
    while (length-- > 0) {
        *byte++ = (uint8_t)value;
    }
    return destination;
}

void *memcpy(void *destination, const void *source, size_t length)
{
    uint8_t *to = destination;
    const uint8_t *from = source;
    while (length-- > 0) {
        *to++ = *from++;
    }
    return destination;
}

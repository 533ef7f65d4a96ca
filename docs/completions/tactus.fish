# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_tactus_global_optspecs
    string join \n h/help V/version
end

function __fish_tactus_needs_command
    # Figure out if the current invocation already has a command.
    set -l cmd (commandline -opc)
    set -e cmd[1]
    argparse -s (__fish_tactus_global_optspecs) -- $cmd 2>/dev/null
    or return
    if set -q argv[1]
        # Also print the command, so this can be used to figure out what it is.
        echo $argv[1]
        return 1
    end
    return 0
end

function __fish_tactus_using_subcommand
    set -l cmd (__fish_tactus_needs_command)
    test -z "$cmd"
    and return 1
    contains -- $cmd[1] $argv
end

complete -c tactus -n "__fish_tactus_needs_command" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_needs_command" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "doctor" -d 'Check what decides timing on this machine, and say what would mend it'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "measure" -d 'Measure wakeup latency under loads and policies, keep it, and show it'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "lab" -d 'Measure in guest kernels: other builds, preemption models and versions, and exact virtual time'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "watch" -d 'Watch wakeups while they happen: a scope, a percentile graph, and why some were late'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "record" -d 'Record what the kernel does: switches, wakeups, timers, interrupts, softirqs'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "list" -d 'List the runs in the store with their verdicts, the newest first'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "show" -d 'Show runs in full: verdict, cells, what was not granted, the machine'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "explain" -d 'Say why wakeups were late: their causes, then the worst of them one by one'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "quanta" -d 'Say where processor time went: by whom, in which quanta, and what ticks billed'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "report" -d 'Write runs as one self-contained HTML page'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "reproduce" -d 'Measure what a paper measured, and set its figures beside this machine\'s'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "compare" -d 'Compare two runs, or two cells, with confidence'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "gate" -d 'Require figures of a run, and exit with code 1 when a demand is not met'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "export" -d 'Write a run as complete JSON (documented in docs/run-format.md), or a recording of kernel events for other programs: the file of one, or what a run recorded in a turn'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "import" -d 'Take results into the store: exported runs, and those of other latency tools'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "delete" -d 'Delete runs from the store for good'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "completions" -d 'Write the completion script of a shell to standard output'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "internal" -d 'What a process that measuring starts has to do'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tactus -n "__fish_tactus_using_subcommand doctor" -l look -d 'Look for so long how much the hypervisor takes, heat slows and the firmware interrupts' -r
complete -c tactus -n "__fish_tactus_using_subcommand doctor" -l root -d 'Examine the machine whose /proc, /sys and /boot lie below this folder' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand doctor" -l json -d 'Write one JSON object a line, a finding each'
complete -c tactus -n "__fish_tactus_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand doctor" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l kernel -d 'The measured kernel: host, or a guest kernel: debian, debian-cloud, debian-rt, debian:preempt=none, debian-rt@VERSION, installed, a file' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l probe -d 'What is measured: timer (wakeup latency of a sleeping task), frames (frames that a player shows and skips), sort (duration of sorting an array, repeatedly)' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l load -d 'Competing work and its copies: idle, compute:2, compile:cpus, player@60+display, cmd:"make -j4", stress-ng:"--vm 2", …' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l load-policy -d 'How the load is scheduled' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l load-cpus -d 'The CPUs the load may use: all, or a list such as 0,2-3' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l policy -d 'Scheduling of the probe: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l cpus -d 'The measured CPUs: all, or a list such as 0,2-3' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l sleep -d 'How the probe sleeps: nanosleep, nanosleep-relative, timerfd, posix-timer, signal-handler, itimer, futex, ppoll, io-uring' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l clock -d 'The clock for sleeping: monotonic, realtime, tai, boottime' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l interval -d 'The time between wakeups: 1ms; 1ms..1s (uniform); 1ms~50us (dithered)' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l frame-rate -d 'The desired frame rate of a player, in frames/s: 60; 59.94; 60000/1001' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l tick -d 'Tick rate in Hz to which a player\'s timers are rounded up, as on a kernel without high-resolution timers: 100; none for the kernel\'s own timers' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l tick-shift -d 'Time from the first frame to a tick: 5ms; sweep covers every shift in turn' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l numbers -d 'How many four-byte numbers are sorted; 32768 fill half of a 256 KiB cache' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l align -d 'The first due time is a multiple of this; 0ns starts at once' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l offset -d 'Start delay of each further task relative to the task before it' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l work -d 'What a task does between wakeups: none, 5% (of the interval), continuous' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l tasks-per-cpu -d 'Number of tasks per CPU' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l tasks -d 'Whether tasks are threads or processes' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l lock-memory -d 'Lock and touch all memory before measuring: true or false' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l timer-slack -d 'Timer slack of ordinary tasks, or untouched' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l cpu-dma-latency -d 'Longest idle-state exit latency to allow, for the whole machine, or untouched' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l block-requests -d 'Data per request to block devices: untouched, or single for one page; restored afterwards' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l quantum -d 'Quantum of rr and ordinary tasks: 60ms, 6ticks, or untouched; set for the whole machine and restored afterwards' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l warmup -d 'How long the load runs before the measurement starts' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l duration -d 'How long each cell is measured in each round' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l traced -d 'Duration of a second measurement in which kernel events are recorded, for explanations; 0s for none' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l traced-events -d 'Which events are recorded: all; wakeup-path (interrupts, block I/O and the measured tasks only); scheduling (which task ran when)' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l sample-limit -d 'Maximum number of samples a task keeps in memory; further samples are counted as dropped' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l rounds -d 'How many times every cell is measured' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l until -d 'Add rounds until the 95 % interval of a percentile is this narrow in every cell: p99.9:5% of the percentile, or p99:2us; there are three rounds at least' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l limit -d 'With --until: add no round that would end later than this; 10min unless told otherwise' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l seed -d 'The seed of the order of cells and of random intervals' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l for -d 'What the machine is for: audio:48000/64, control:1kHz:50us, video:60, midi, or a period and the lateness that does no harm, as 2ms:100us; cells of options alone are measured at its period' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l continue -d 'Take the turns that an interrupted run has left' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l page -d 'Write the page to this file instead of one beside the store' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l plan-only -d 'Print the cells and how long they will take, and measure nothing'
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l no-page -d 'Write no page'
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l json -d 'Write events and results as JSON, one object a line'
complete -c tactus -n "__fish_tactus_using_subcommand measure" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand measure" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and not __fish_seen_subcommand_from measure gate kernels floor help" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and not __fish_seen_subcommand_from measure gate kernels floor help" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and not __fish_seen_subcommand_from measure gate kernels floor help" -f -a "measure" -d 'Measure an experiment\'s cells in guest kernels, and keep and show it as `measure` does'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and not __fish_seen_subcommand_from measure gate kernels floor help" -f -a "gate" -d 'Require that a kernel is no worse than another, and exit with code 1 when it is'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and not __fish_seen_subcommand_from measure gate kernels floor help" -f -a "kernels" -d 'List the kernels that can be booted as guests, or fetch or build some'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and not __fish_seen_subcommand_from measure gate kernels floor help" -f -a "floor" -d 'Measure what a bare kernel needs to wake a task, in exact time: the floor under all guests'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and not __fish_seen_subcommand_from measure gate kernels floor help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l kernel -d 'The measured kernel: host, or a guest kernel: debian, debian-cloud, debian-rt, debian:preempt=none, debian-rt@VERSION, installed, a file' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l probe -d 'What is measured: timer (wakeup latency of a sleeping task), frames (frames that a player shows and skips), sort (duration of sorting an array, repeatedly)' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l load -d 'Competing work and its copies: idle, compute:2, compile:cpus, player@60+display, cmd:"make -j4", stress-ng:"--vm 2", …' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l load-policy -d 'How the load is scheduled' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l load-cpus -d 'The CPUs the load may use: all, or a list such as 0,2-3' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l policy -d 'Scheduling of the probe: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l cpus -d 'The measured CPUs: all, or a list such as 0,2-3' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l sleep -d 'How the probe sleeps: nanosleep, nanosleep-relative, timerfd, posix-timer, signal-handler, itimer, futex, ppoll, io-uring' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l clock -d 'The clock for sleeping: monotonic, realtime, tai, boottime' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l interval -d 'The time between wakeups: 1ms; 1ms..1s (uniform); 1ms~50us (dithered)' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l frame-rate -d 'The desired frame rate of a player, in frames/s: 60; 59.94; 60000/1001' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l tick -d 'Tick rate in Hz to which a player\'s timers are rounded up, as on a kernel without high-resolution timers: 100; none for the kernel\'s own timers' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l tick-shift -d 'Time from the first frame to a tick: 5ms; sweep covers every shift in turn' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l numbers -d 'How many four-byte numbers are sorted; 32768 fill half of a 256 KiB cache' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l align -d 'The first due time is a multiple of this; 0ns starts at once' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l offset -d 'Start delay of each further task relative to the task before it' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l work -d 'What a task does between wakeups: none, 5% (of the interval), continuous' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l tasks-per-cpu -d 'Number of tasks per CPU' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l tasks -d 'Whether tasks are threads or processes' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l lock-memory -d 'Lock and touch all memory before measuring: true or false' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l timer-slack -d 'Timer slack of ordinary tasks, or untouched' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l cpu-dma-latency -d 'Longest idle-state exit latency to allow, for the whole machine, or untouched' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l block-requests -d 'Data per request to block devices: untouched, or single for one page; restored afterwards' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l quantum -d 'Quantum of rr and ordinary tasks: 60ms, 6ticks, or untouched; set for the whole machine and restored afterwards' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l warmup -d 'How long the load runs before the measurement starts' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l duration -d 'How long each cell is measured in each round' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l traced -d 'Duration of a second measurement in which kernel events are recorded, for explanations; 0s for none' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l traced-events -d 'Which events are recorded: all; wakeup-path (interrupts, block I/O and the measured tasks only); scheduling (which task ran when)' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l sample-limit -d 'Maximum number of samples a task keeps in memory; further samples are counted as dropped' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l rounds -d 'How many times every cell is measured' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l until -d 'Add rounds until the 95 % interval of a percentile is this narrow in every cell: p99.9:5% of the percentile, or p99:2us; there are three rounds at least' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l limit -d 'With --until: add no round that would end later than this; 10min unless told otherwise' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l seed -d 'The seed of the order of cells and of random intervals' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l for -d 'What the machine is for: audio:48000/64, control:1kHz:50us, video:60, midi, or a period and the lateness that does no harm, as 2ms:100us; cells of options alone are measured at its period' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l continue -d 'Take the turns that an interrupted run has left' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l page -d 'Write the page to this file instead of one beside the store' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l mips -d 'The speed of a machine in exact time, in million instructions a second: 1000, 500, 250, 125' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l proofs -d 'In exact time: how many machines, each booted by itself, must say the same; 2 to 100' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l guest-limit -d 'How long a guest may take on this host; by the length of its cell unless told otherwise' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l plan-only -d 'Print the cells and how long they will take, and measure nothing'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l no-page -d 'Write no page'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l json -d 'Write events and results as JSON, one object a line'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -l exact -d 'Let time be instructions, so that every run repeats to the byte'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from measure" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l against -d 'The kernel against which --kernel is held, written likewise' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l kernel -d 'The measured kernel: host, or a guest kernel: debian, debian-cloud, debian-rt, debian:preempt=none, debian-rt@VERSION, installed, a file' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l probe -d 'What is measured: timer (wakeup latency of a sleeping task), frames (frames that a player shows and skips), sort (duration of sorting an array, repeatedly)' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l load -d 'Competing work and its copies: idle, compute:2, compile:cpus, player@60+display, cmd:"make -j4", stress-ng:"--vm 2", …' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l load-policy -d 'How the load is scheduled' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l load-cpus -d 'The CPUs the load may use: all, or a list such as 0,2-3' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l policy -d 'Scheduling of the probe: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l cpus -d 'The measured CPUs: all, or a list such as 0,2-3' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l sleep -d 'How the probe sleeps: nanosleep, nanosleep-relative, timerfd, posix-timer, signal-handler, itimer, futex, ppoll, io-uring' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l clock -d 'The clock for sleeping: monotonic, realtime, tai, boottime' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l interval -d 'The time between wakeups: 1ms; 1ms..1s (uniform); 1ms~50us (dithered)' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l frame-rate -d 'The desired frame rate of a player, in frames/s: 60; 59.94; 60000/1001' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l tick -d 'Tick rate in Hz to which a player\'s timers are rounded up, as on a kernel without high-resolution timers: 100; none for the kernel\'s own timers' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l tick-shift -d 'Time from the first frame to a tick: 5ms; sweep covers every shift in turn' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l numbers -d 'How many four-byte numbers are sorted; 32768 fill half of a 256 KiB cache' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l align -d 'The first due time is a multiple of this; 0ns starts at once' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l offset -d 'Start delay of each further task relative to the task before it' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l work -d 'What a task does between wakeups: none, 5% (of the interval), continuous' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l tasks-per-cpu -d 'Number of tasks per CPU' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l tasks -d 'Whether tasks are threads or processes' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l lock-memory -d 'Lock and touch all memory before measuring: true or false' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l timer-slack -d 'Timer slack of ordinary tasks, or untouched' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l cpu-dma-latency -d 'Longest idle-state exit latency to allow, for the whole machine, or untouched' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l block-requests -d 'Data per request to block devices: untouched, or single for one page; restored afterwards' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l quantum -d 'Quantum of rr and ordinary tasks: 60ms, 6ticks, or untouched; set for the whole machine and restored afterwards' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l warmup -d 'How long the load runs before the measurement starts' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l duration -d 'How long each cell is measured in each round' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l traced -d 'Duration of a second measurement in which kernel events are recorded, for explanations; 0s for none' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l traced-events -d 'Which events are recorded: all; wakeup-path (interrupts, block I/O and the measured tasks only); scheduling (which task ran when)' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l sample-limit -d 'Maximum number of samples a task keeps in memory; further samples are counted as dropped' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l seeds -d 'Under how many seeds each cell is measured; ten unless the experiment or this tells otherwise' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l seed -d 'The seed from which all others follow' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l mips -d 'The speed of the guests\' time, in million instructions a second: 1000, 500, 250, 125' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l allow -d 'How much a path may differ: a percentage, a number of instructions, or both together' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l false-alarms -d 'The chance that kernels that are alike are called different in what differs from seed to seed' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l refuse -d 'What the gate refuses' -r -f -a "greater\t'Longer paths, later tails, more interrupts'
different\t'Any difference: shorter, earlier and fewer too'"
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l guest-limit -d 'How long a guest may take on this host; by the length of its cell unless told otherwise' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l run -d 'Measure nothing, and judge this run of an earlier gate' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l junit -d 'Write the outcome as JUnit XML to this file too' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l paths-only -d 'Ask only for paths that every seed gave alike, for which three seeds are enough'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l bisect -d 'Exit with 125 when the kernel could not be measured, as `git bisect run` wants it'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l plan-only -d 'Print the cells and how long they will take, and measure nothing'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l json -d 'Write one JSON object'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from kernels" -l background -d 'Fetch and build them after this command has ended, when nothing else wants the processors'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from kernels" -l yielding -d 'What --background starts: let everything else of this system go first'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from kernels" -l json -d 'Write one JSON object a line'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from kernels" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from kernels" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from floor" -l source -d 'A directory with the source of FreeRTOS, in place of the package' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from floor" -l mips -d 'The speed of the machine, in million instructions a second: 1000, 500, 250, 125' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from floor" -l samples -d 'How many wakeups are measured beside each number of tasks' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from floor" -l json -d 'Write one JSON object, with every wakeup'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from floor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from floor" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "measure" -d 'Measure an experiment\'s cells in guest kernels, and keep and show it as `measure` does'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "gate" -d 'Require that a kernel is no worse than another, and exit with code 1 when it is'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "kernels" -d 'List the kernels that can be booted as guests, or fetch or build some'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "floor" -d 'Measure what a bare kernel needs to wake a task, in exact time: the floor under all guests'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l kernel -d 'The measured kernel: host, or a guest kernel: debian, debian-cloud, debian-rt, debian:preempt=none, debian-rt@VERSION, installed, a file' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l probe -d 'What is measured: timer (wakeup latency of a sleeping task), frames (frames that a player shows and skips), sort (duration of sorting an array, repeatedly)' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l load -d 'Competing work and its copies: idle, compute:2, compile:cpus, player@60+display, cmd:"make -j4", stress-ng:"--vm 2", …' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l load-policy -d 'How the load is scheduled' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l load-cpus -d 'The CPUs the load may use: all, or a list such as 0,2-3' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l policy -d 'Scheduling of the probe: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l cpus -d 'The measured CPUs: all, or a list such as 0,2-3' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l sleep -d 'How the probe sleeps: nanosleep, nanosleep-relative, timerfd, posix-timer, signal-handler, itimer, futex, ppoll, io-uring' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l clock -d 'The clock for sleeping: monotonic, realtime, tai, boottime' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l interval -d 'The time between wakeups: 1ms; 1ms..1s (uniform); 1ms~50us (dithered)' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l frame-rate -d 'The desired frame rate of a player, in frames/s: 60; 59.94; 60000/1001' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l tick -d 'Tick rate in Hz to which a player\'s timers are rounded up, as on a kernel without high-resolution timers: 100; none for the kernel\'s own timers' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l tick-shift -d 'Time from the first frame to a tick: 5ms; sweep covers every shift in turn' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l numbers -d 'How many four-byte numbers are sorted; 32768 fill half of a 256 KiB cache' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l align -d 'The first due time is a multiple of this; 0ns starts at once' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l offset -d 'Start delay of each further task relative to the task before it' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l work -d 'What a task does between wakeups: none, 5% (of the interval), continuous' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l tasks-per-cpu -d 'Number of tasks per CPU' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l tasks -d 'Whether tasks are threads or processes' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l lock-memory -d 'Lock and touch all memory before measuring: true or false' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l timer-slack -d 'Timer slack of ordinary tasks, or untouched' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l cpu-dma-latency -d 'Longest idle-state exit latency to allow, for the whole machine, or untouched' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l block-requests -d 'Data per request to block devices: untouched, or single for one page; restored afterwards' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l quantum -d 'Quantum of rr and ordinary tasks: 60ms, 6ticks, or untouched; set for the whole machine and restored afterwards' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l warmup -d 'How long the load runs before the measurement starts' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l duration -d 'How long each cell is measured in each round' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l traced -d 'Duration of a second measurement in which kernel events are recorded, for explanations; 0s for none' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l traced-events -d 'Which events are recorded: all; wakeup-path (interrupts, block I/O and the measured tasks only); scheduling (which task ran when)' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l sample-limit -d 'Maximum number of samples a task keeps in memory; further samples are counted as dropped' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l seed -d 'The seed of random intervals' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l scale -d 'How far the scope\'s lines are apart; without it as it fits' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l threshold -d 'The latency above which a sample is explained' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l causes -d 'Record the kernel\'s events from the beginning, to tell why samples were late'
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l plain -d 'Write a line a second'
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l json -d 'Write one JSON object a line: what happens, and every second\'s figures'
complete -c tactus -n "__fish_tactus_using_subcommand watch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand watch" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand record" -l duration -d 'How long to record; without it until the command ends or an interrupt comes' -r
complete -c tactus -n "__fish_tactus_using_subcommand record" -s o -l output -d 'Write the recording to this file instead of one named after the time' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand record" -l perfetto -d 'Also write it for ui.perfetto.dev' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand record" -l ndjson -d 'Also write it as JSON, one event a line' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand record" -l flight -d 'Keep only what came so shortly before the end, in memory: a flight recorder' -r
complete -c tactus -n "__fish_tactus_using_subcommand record" -l over -d 'Save that, and say who was to blame, when a thread waited longer for a processor' -r
complete -c tactus -n "__fish_tactus_using_subcommand record" -l thread -d 'Only threads of this name or number; may be given several times' -r
complete -c tactus -n "__fish_tactus_using_subcommand record" -l saves -d 'How often to save before the recording ends' -r
complete -c tactus -n "__fish_tactus_using_subcommand record" -l source -d 'By which mechanism the kernel records: auto, perf, tracefs' -r
complete -c tactus -n "__fish_tactus_using_subcommand record" -l call-chains -d 'Record the kernel\'s call chain with each switch and interrupt'
complete -c tactus -n "__fish_tactus_using_subcommand record" -l json -d 'Write the account of the recording as JSON'
complete -c tactus -n "__fish_tactus_using_subcommand record" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand record" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand list" -s n -l newest -d 'How many runs to list, the newest' -r
complete -c tactus -n "__fish_tactus_using_subcommand list" -l all -d 'List every run, which takes about a second for a hundred'
complete -c tactus -n "__fish_tactus_using_subcommand list" -l json -d 'Write one JSON object a line, a run each'
complete -c tactus -n "__fish_tactus_using_subcommand list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand list" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand show" -l for -d 'What the machine is for: audio:48000/64, control:1kHz:50us, video:60, midi, or a period and the lateness that does no harm, as 2ms:100us; repeatable' -r
complete -c tactus -n "__fish_tactus_using_subcommand show" -l json -d 'Write one JSON object a line, a run each, with the summary of every cell'
complete -c tactus -n "__fish_tactus_using_subcommand show" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand show" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand explain" -l cell -d 'Of a run one cell only: its name, or its number counted from 0' -r
complete -c tactus -n "__fish_tactus_using_subcommand explain" -l thread -d 'Of a recording only threads of this name or number; may be given several times' -r
complete -c tactus -n "__fish_tactus_using_subcommand explain" -l threshold -d 'The latency above which a wakeup counts as late' -r
complete -c tactus -n "__fish_tactus_using_subcommand explain" -l worst -d 'How many of the slowest wakeups of a cell, or waits of a thread, are shown' -r
complete -c tactus -n "__fish_tactus_using_subcommand explain" -l json -d 'Write one JSON object a line, a cell or a name of threads each'
complete -c tactus -n "__fish_tactus_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand explain" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand quanta" -l cell -d 'Of a run one cell only: its name, or its number counted from 0' -r
complete -c tactus -n "__fish_tactus_using_subcommand quanta" -l by -d 'By what the rows are' -r -f -a "program\t'Processes of one name together'
thread\t'Each thread'"
complete -c tactus -n "__fish_tactus_using_subcommand quanta" -l tick -d 'Rates of simulated ticks, in Hz' -r
complete -c tactus -n "__fish_tactus_using_subcommand quanta" -l top -d 'How many rows a table has; what the others used is told in one' -r
complete -c tactus -n "__fish_tactus_using_subcommand quanta" -l page -d 'Also write a page with drawings: the distribution of quanta, billed against used' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand quanta" -l json -d 'Write one JSON object a line, a recording or a cell each'
complete -c tactus -n "__fish_tactus_using_subcommand quanta" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand quanta" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand report" -s o -l output -d 'Write to this file instead of one beside the store' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand report" -l for -d 'What the machine is for, as in `tactus show --for`; repeatable' -r
complete -c tactus -n "__fish_tactus_using_subcommand report" -l tick -d 'Rates of simulated ticks, in Hz, to be shown beside the kernel\'s own in the accounts of recorded cells' -r
complete -c tactus -n "__fish_tactus_using_subcommand report" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand report" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l part -d 'One part of it only, by name; may be given several times' -r
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l from -d 'Measure nothing, and use this run of the paper\'s experiment; may be given several times' -r
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l kernel -d 'Measure in a guest of this kernel, as `tactus lab kernels` lists them; give it several times to compare' -r
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l mips -d 'The speed of a machine in exact time, in million instructions a second: 1000, 500, 250, 125' -r
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l proofs -d 'In exact time: how many machines, each booted by itself, must say the same; 2 to 100' -r
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l guest-limit -d 'How long a guest may take on this host; by the length of its cell unless told otherwise' -r
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l preemption -d 'How the kernel preempts itself, where it does not tell: none, voluntary, full, lazy, rt' -r -f -a "none\t''
voluntary\t''
full\t''
lazy\t''
rt\t''"
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l seed -d 'The seed of the order of cells and of random intervals' -r
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -s o -l output -d 'Write the page to this file instead of one beside the store' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l full -d 'Take the paper\'s own durations: from half an hour to some hours'
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l exact -d 'Let time be instructions, so that every run repeats to the byte'
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l plan-only -d 'Print the cells and how long they will take, and measure nothing'
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l no-page -d 'Write no page'
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l json -d 'Write events and the result as JSON, one object a line'
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand compare" -l margin -d 'Figures that differ by less than this count as the same' -r
complete -c tactus -n "__fish_tactus_using_subcommand compare" -l page -d 'Write a self-contained page with both percentile graphs of each pair to this file too' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand compare" -l force -d 'Compare cells of another probe, sleep, clock or interval too'
complete -c tactus -n "__fish_tactus_using_subcommand compare" -l fail-on-worse -d 'Exit with code 1 when any figure is worse'
complete -c tactus -n "__fish_tactus_using_subcommand compare" -l json -d 'Write one JSON object'
complete -c tactus -n "__fish_tactus_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand compare" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l max -d 'No wakeup is later than this' -r
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l quantile -d 'A share of the wakeups, in per cent, is no later than this: 99.9=80us; repeatable' -r
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l missed -d 'No more due times than these are slept through' -r
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l for -d 'What the machine is for, as in `tactus show --for`; together with --at-most' -r
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l at-most -d 'No more deadlines of the purpose are missed than this, with 95 % confidence: 1/h' -r
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l no-worse-than -d 'No quantile is worse than that of the same cell in this run or exported file, as `tactus compare` finds' -r
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l margin -d 'Figures that differ from the baseline by less than this count as the same' -r
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l junit -d 'Write the outcome as JUnit XML to this file too' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l valid -d 'Nothing invalidates the figures, of the run and of the baseline: clock, load, accounting, machine'
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l no-reservations -d 'As --valid, and nothing else is held against the figures either'
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l allow-unsupported -d 'Count demands that the sample cannot support as met'
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l json -d 'Write one JSON object'
complete -c tactus -n "__fish_tactus_using_subcommand gate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand gate" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand export" -s o -l output -d 'Write to this file instead of standard output' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand export" -l cell -d 'Of a run only what was recorded under this cell, by label or number' -r
complete -c tactus -n "__fish_tactus_using_subcommand export" -l round -d 'In which round, counted from 1' -r
complete -c tactus -n "__fish_tactus_using_subcommand export" -l as -d 'In which form a recording is written; without it as JSON lines' -r -f -a "json-lines\t'One event a line'
perfetto\t'For ui.perfetto.dev'
recording\t'As `tactus record` keeps it (docs/recording-format.md)'"
complete -c tactus -n "__fish_tactus_using_subcommand export" -l without-samples -d 'Of a run leave out the single samples, which are most of the size'
complete -c tactus -n "__fish_tactus_using_subcommand export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand export" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand import" -l format -d 'Take the files for this format: tactus, cyclictest-json, cyclictest-histogram, timerlat-histogram, jitterdebugger-json, oslat-json, hdr-log' -r
complete -c tactus -n "__fish_tactus_using_subcommand import" -l unit -d 'The unit of figures whose unit the file does not tell, as 1us; without it, nanoseconds in interval logs and microseconds elsewhere' -r
complete -c tactus -n "__fish_tactus_using_subcommand import" -l as-rounds -d 'Take other tools\' files, in the order given, as rounds of one run, so that they can be compared with confidence'
complete -c tactus -n "__fish_tactus_using_subcommand import" -l json -d 'Write one JSON object a line, a run each'
complete -c tactus -n "__fish_tactus_using_subcommand import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand import" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand delete" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand delete" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand completions" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand completions" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell stream causes task load load-worker keeper help" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell stream causes task load load-worker keeper help" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell stream causes task load load-worker keeper help" -f -a "cell" -d 'Measure one cell'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell stream causes task load load-worker keeper help" -f -a "stream" -d 'Measure a cell that is looked at meanwhile'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell stream causes task load load-worker keeper help" -f -a "causes" -d 'Record the kernel\'s events and explain samples by them'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell stream causes task load load-worker keeper help" -f -a "task" -d 'Run one task of a probe'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell stream causes task load load-worker keeper help" -f -a "load" -d 'Keep the copies of a load'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell stream causes task load load-worker keeper help" -f -a "load-worker" -d 'Be one copy of a load'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell stream causes task load load-worker keeper help" -f -a "keeper" -d 'Change settings of the machine until the measurement ends'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell stream causes task load load-worker keeper help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from cell" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from cell" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from stream" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from stream" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from causes" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from causes" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from task" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from task" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from load" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from load" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from load-worker" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from load-worker" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from keeper" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from keeper" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "cell" -d 'Measure one cell'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "stream" -d 'Measure a cell that is looked at meanwhile'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "causes" -d 'Record the kernel\'s events and explain samples by them'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "task" -d 'Run one task of a probe'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "load" -d 'Keep the copies of a load'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "load-worker" -d 'Be one copy of a load'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "keeper" -d 'Change settings of the machine until the measurement ends'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure lab watch record list show explain quanta report reproduce compare gate export import delete completions internal help" -f -a "doctor" -d 'Check what decides timing on this machine, and say what would mend it'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure lab watch record list show explain quanta report reproduce compare gate export import delete completions internal help" -f -a "measure" -d 'Measure wakeup latency under loads and policies, keep it, and show it'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure lab watch record list show explain quanta report reproduce compare gate export import delete completions internal help" -f -a "lab" -d 'Measure in guest kernels: other builds, preemption models and versions, and exact virtual time'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure lab watch record list show explain quanta report reproduce compare gate export import delete completions internal help" -f -a "watch" -d 'Watch wakeups while they happen: a scope, a percentile graph, and why some were late'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure lab watch record list show explain quanta report reproduce compare gate export import delete completions internal help" -f -a "record" -d 'Record what the kernel does: switches, wakeups, timers, interrupts, softirqs'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure lab watch record list show explain quanta report reproduce compare gate export import delete completions internal help" -f -a "list" -d 'List the runs in the store with their verdicts, the newest first'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure lab watch record list show explain quanta report reproduce compare gate export import delete completions internal help" -f -a "show" -d 'Show runs in full: verdict, cells, what was not granted, the machine'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure lab watch record list show explain quanta report reproduce compare gate export import delete completions internal help" -f -a "explain" -d 'Say why wakeups were late: their causes, then the worst of them one by one'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure lab watch record list show explain quanta report reproduce compare gate export import delete completions internal help" -f -a "quanta" -d 'Say where processor time went: by whom, in which quanta, and what ticks billed'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure lab watch record list show explain quanta report reproduce compare gate export import delete completions internal help" -f -a "report" -d 'Write runs as one self-contained HTML page'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure lab watch record list show explain quanta report reproduce compare gate export import delete completions internal help" -f -a "reproduce" -d 'Measure what a paper measured, and set its figures beside this machine\'s'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure lab watch record list show explain quanta report reproduce compare gate export import delete completions internal help" -f -a "compare" -d 'Compare two runs, or two cells, with confidence'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure lab watch record list show explain quanta report reproduce compare gate export import delete completions internal help" -f -a "gate" -d 'Require figures of a run, and exit with code 1 when a demand is not met'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure lab watch record list show explain quanta report reproduce compare gate export import delete completions internal help" -f -a "export" -d 'Write a run as complete JSON (documented in docs/run-format.md), or a recording of kernel events for other programs: the file of one, or what a run recorded in a turn'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure lab watch record list show explain quanta report reproduce compare gate export import delete completions internal help" -f -a "import" -d 'Take results into the store: exported runs, and those of other latency tools'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure lab watch record list show explain quanta report reproduce compare gate export import delete completions internal help" -f -a "delete" -d 'Delete runs from the store for good'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure lab watch record list show explain quanta report reproduce compare gate export import delete completions internal help" -f -a "completions" -d 'Write the completion script of a shell to standard output'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure lab watch record list show explain quanta report reproduce compare gate export import delete completions internal help" -f -a "internal" -d 'What a process that measuring starts has to do'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure lab watch record list show explain quanta report reproduce compare gate export import delete completions internal help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "measure" -d 'Measure an experiment\'s cells in guest kernels, and keep and show it as `measure` does'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "gate" -d 'Require that a kernel is no worse than another, and exit with code 1 when it is'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "kernels" -d 'List the kernels that can be booted as guests, or fetch or build some'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "floor" -d 'Measure what a bare kernel needs to wake a task, in exact time: the floor under all guests'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "cell" -d 'Measure one cell'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "stream" -d 'Measure a cell that is looked at meanwhile'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "causes" -d 'Record the kernel\'s events and explain samples by them'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "task" -d 'Run one task of a probe'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "load" -d 'Keep the copies of a load'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "load-worker" -d 'Be one copy of a load'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "keeper" -d 'Change settings of the machine until the measurement ends'

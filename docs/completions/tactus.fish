# Print an optspec for argparse to handle cmd's options that are independent of any subcommand.
function __fish_tactus_global_optspecs
    string join \n color= store= h/help V/version
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

complete -c tactus -n "__fish_tactus_needs_command" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_needs_command" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_needs_command" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_needs_command" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "doctor" -d 'Check what affects timing on this machine, and print the commands that fix it'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "measure" -d 'Measure wakeup latency under loads and policies, store the run, and print the results'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "costs" -d 'Measure what operations cost on this machine: system calls, round trips, memory, clocks, interrupts'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "model" -d 'Predict how long a frame of a pipeline takes, and how often it misses its budget'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "lab" -d 'Prepare guests, list and build kernels, compare two kernels, and bisect'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "watch" -d 'Watch wakeups live: a scope, a percentile graph, and the causes of late wakeups'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "agent" -d 'Watch for late wakeups all the time, within a budget of CPU time, with metrics for Prometheus'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "record" -d 'Record kernel events: switches, wakeups, timers, interrupts, softirqs'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "admit" -d 'Check on paper whether periodic tasks meet their deadlines, and what would fit'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "reserve" -d 'Run a program with guaranteed CPU time'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "why" -d 'Show which threads of a program miss their deadlines, and why'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "lint" -d 'Show what the real-time code of a program does that it must not, with file and line'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "need" -d 'Measure how much CPU time the periodic threads of a program need'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "qosd" -d 'Grant CPU time to programs that ask for it, by admission, importance and a policy (QoS manager)'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "qos" -d 'Ask the QoS manager who has CPU time, and why'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "streamd" -d 'Deliver items of programs at their times, and answer each by a receipt (delivery server)'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "streams" -d 'Print what the delivery server delivers: its devices, its clients, and how early items arrive'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "midi" -d 'List, monitor, route and send MIDI'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "judge" -d 'Judge players from outside: offset of sound and picture, drift, slip, dropped and repeated frames'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "play" -d 'Play clips, picture and sound in step, with a receipt for each frame'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "mail" -d 'Record, send and play video mail'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "list" -d 'List the runs in the store with their verdicts, saved recordings, or what can be named: experiments, loads, policies, settings'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "show" -d 'Show a run: verdict, cells, shortfalls, the machine, estimates for longer times'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "explain" -d 'Explain why wakeups were late: their causes, then the worst wakeups in detail'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "quanta" -d 'Show where CPU time went: by program or thread, in which quanta, and what ticks billed'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "report" -d 'Write one self-contained HTML page about one or several runs'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "reproduce" -d 'Repeat the measurements of a paper, and compare its figures with those of this machine'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "compare" -d 'Compare two runs, or two cells, with confidence intervals'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "machines" -d 'Rank machines by a figure of the same experiment, with outliers and drift'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "gate" -d 'Check a run against limits or a baseline, and exit with code 1 if a demand fails'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "export" -d 'Export a run as JSON, or a recording of kernel events for other programs'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "import" -d 'Import results into the store: exported runs, and results of other latency tools'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "delete" -d 'Delete runs from the store permanently'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "serve" -d 'Serve the runs in the store as a read-only web site, with histories, comparisons and a JSON API'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "completions" -d 'Print the completion script for a shell'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "internal" -d 'Run one of the processes that tactus starts itself'
complete -c tactus -n "__fish_tactus_needs_command" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tactus -n "__fish_tactus_using_subcommand doctor" -l look -d 'Also watch the machine for this duration, e.g. 10s, and report steal time, thermal throttling and firmware interrupts (SMIs) [default: do not watch]' -r
complete -c tactus -n "__fish_tactus_using_subcommand doctor" -l root -d 'Examine the machine whose /proc, /sys and /boot are below this directory' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand doctor" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand doctor" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand doctor" -l json -d 'Print findings as JSON, one object a line'
complete -c tactus -n "__fish_tactus_using_subcommand doctor" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand doctor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand doctor" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l kernel -d 'The kernel to measure: host, or a guest kernel such as debian, debian-cloud, debian-rt, debian:preempt=none, debian-rt@VERSION, installed, or a file [default: host]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l probe -d 'What is measured: timer (wakeup latency of a sleeping task), frames (frames that a player shows and skips), sort (duration of sorting an array, repeatedly), net (delivery of bursts of packets), cost (duration of an operation, repeatedly), midi (delivery of MIDI messages that are handed over ahead of their time) [default: timer]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -s l -l load -d 'Competing work: idle, compute, memory, compile, file, disk, net, serial, process, syscall, pagefault, message, timer, build-over-network, editor, player, adaptive, display, x11-events, x11-keyboard, x11-mouse, console-input, each with its copies, e.g. compute:2 or compile:cpus; cmd:"make -j4"; stress-ng:"--vm 2"; several together: player@60+display [default: idle]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l load-policy -d 'Scheduling of the load: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD [default: other]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l load-cpus -d 'The CPUs the load may use: all, or a list such as 0,2-3 [default: all]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -s p -l policy -d 'Scheduling of the probe: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD [default: other]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l cpus -d 'The measured CPUs: all, or a list such as 0,2-3 [default: all]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l operation -d 'The measured operation, e.g. getppid, pipe, memory-copy, ipc-tcp, file-read, clock-read; docs/costs.md has all [default: getppid]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l sleep -d 'How the probe sleeps: nanosleep, nanosleep-relative, timerfd, posix-timer, signal-handler, itimer, futex, ppoll, io-uring; kernel-handler stamps the arrival in the timer\'s interrupt [default: nanosleep]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l clock -d 'The clock for sleeping: monotonic, realtime, tai, boottime [default: monotonic]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -s i -l interval -d 'The time between wakeups: 1ms; 1ms..1s (uniform); 1ms~50us (dithered) [default: 1ms]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l interrupted -d 'What runs on the CPU when a task is due: none (only the load), idle, thread (of the task\'s process), process (of another address space) [default: none]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l dirt -d 'What that program does to the caches before each due time: clean (nothing), l2 (dirties the second-level cache), tlb (the TLB too), l3 (the last-level cache too), random (one of the four each time) [default: clean]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l frame-rate -d 'The desired frame rate of a player, in frames/s: 60; 59.94; 60000/1001 [default: 60]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l tick -d 'Simulated tick rate in Hz: a player\'s timers expire only at these ticks, as on a kernel without high-resolution timers; none for the kernel\'s own timers [default: none]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l tick-shift -d 'Time from the first frame to a tick: 5ms; sweep covers every shift in turn [default: sweep]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l player -d 'Who plays the frames: half-slot (a loop that skips a frame late by more than half its slot), latest (a loop with the rule of tactus play: it shows the latest frame that is due), play-socket and play-shm (tactus play itself on an X server of its own, which gets the frames through a socket or shared memory) [default: half-slot]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l numbers -d 'How many four-byte numbers are sorted; 32768 fill half of a 256 KiB cache [default: 32768]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l net-path -d 'Who does the protocol work of packets: socket (the kernel), relay (one process for all senders), packet-library or xdp-library (the sender\'s thread, over AF_PACKET or AF_XDP) [default: socket]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l net-period -d 'The time from one burst of packets to the next [default: 40ms]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l net-packets -d 'The packets of a burst, 1 KiB each: 1 to 1000 [default: 10]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l net-work -d 'The computation of a burst, in CPU time [default: 3ms]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l net-rivals -d 'Low-priority senders of the same bursts, by the same path: 0 to 16 [default: 0]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l relay-policy -d 'Scheduling of the relay of net-path = relay: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD [default: other]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l net-receive -d 'Where the kernel works on received packets: softirq (here the sender\'s thread), thread (a kernel thread per queue: threaded NAPI) [default: softirq]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l napi-policy -d 'Scheduling of the kernel threads of net-receive = thread: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD [default: other]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l message-rate -d 'MIDI messages per second, at most 1000: 100; 24.5 [default: 100]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l message-ahead -d 'How long before its time a MIDI message is handed over, at most 60s [default: 1s]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l via -d 'Who keeps MIDI messages until their time: library (a thread of the program, with the cell\'s policy), server (tactus streamd, another process, with the cell\'s policy) [default: library]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l size -d 'Size of a block, e.g. 64KiB: 16B to 1GiB of memory, 512B to 64MiB of a file, a message of 1B to 1GiB [default: 64KiB]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l pages -d 'Pages of the memory of an operation: normal, huge (transparent huge pages) [default: normal]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l partner -d 'The other side of a round trip: thread (of the same process), process (another address space) [default: process]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l partner-cpu -d 'Where the other side of a round trip runs: same (as the task), other (the next of the cell\'s CPUs) [default: same]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l working-set -d 'Memory that each side of a round trip reads before it hands over, 0B to 1GiB [default: 0B]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l touch -d 'Who touches the bytes of a message: none, write (the sender writes them), read (the receiver reads them), both [default: both]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l buffers -d 'Memory of messages: recycled (the same for all), fresh (new pages for each) [default: recycled]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l wait -d 'How both sides wait for messages: block (sleep until woken), spin (look again and again, on two CPUs) [default: block]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l file-size -d 'Size of the file that is read, 512B to 1GiB, at least a block [default: 16MiB]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l directory -d 'Directory in which the file is made: an absolute path, or temporary (TMPDIR) [default: temporary]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l cache -d 'Where the file\'s content is: warm (in the page cache), cold (dropped from it before each pass over the file) [default: warm]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l advice -d 'Advice to the kernel about the reads: none, sequential, random (no read-ahead), will-need (read now) [default: none]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l queue-depth -d 'How many reads of io_uring are on their way at a time: 1 to 256 [default: 1]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l image -d 'Width, height and bytes per pixel of the image that is drawn: 80x60x4; 500x500x4 [default: 80x60x4]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l idle-count -d 'Whether a thread of the lowest priority counts while the task\'s CPU is idle: true, false; it shows all CPU time that the operation takes there [default: false]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l pause -d 'How long the task sleeps before each sample of an operation: it then finds the caches and idle states of a periodic task; 0s repeats back to back [default: 0s]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l times -d 'Operations in a sample: a number up to 1000000, or usual (several of a cheap operation) [default: usual]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l way -d 'What a sample of a round trip is: round-trip, one-way (until the partner runs), or back (from its answer until the task runs) [default: round-trip]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l read-clock -d 'The clock that clock-read reads: monotonic, monotonic-raw, monotonic-coarse, realtime, realtime-coarse, boottime, tai, realtime-alarm, boottime-alarm; thread-cpu, process-cpu, other-thread-cpu, other-process-cpu (CPU time); tsc (the CPU\'s counter) [default: monotonic]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l align -d 'Start at a multiple of this duration; 0ns starts at once [default: 0ns]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l offset -d 'Each further task starts this much later than the task before it [default: 0ns]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l work -d 'What a task does between wakeups: none, 5% (of the interval), continuous [default: none]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l tasks-per-cpu -d 'Number of tasks per CPU, 1 to 256 [default: 1]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l tasks -d 'What the tasks are: threads of one process, or processes [default: threads]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l lock-memory -d 'Lock and touch all memory before measuring: true or false [default: true]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l timer-slack -d 'Timer slack of ordinary tasks, or untouched [default: 1ns]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l cpu-dma-latency -d 'Longest idle-state exit latency that is allowed, on the whole machine; or untouched [default: untouched]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l block-requests -d 'Size of requests to block devices: untouched, or single (one page); restored afterwards [default: untouched]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l quantum -d 'Quantum of rr and ordinary tasks: 60ms, 6ticks, or untouched; set for the whole machine and restored afterwards [default: untouched]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l extra-interrupts -d 'Clock interrupts per second on the measured CPUs in addition to the kernel\'s own, 0 to 20000: an emulation of a higher tick rate, without the scheduler\'s work in a tick [default: 0]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l warmup -d 'How long the load runs before the measurement starts [default: 500ms]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -s d -l duration -d 'How long each cell is measured in each round [default: 10s]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l traced -d 'Duration of a second measurement in which kernel events are recorded, for explanations; 0s for none [default: 1s]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l traced-events -d 'Which events are recorded: all; wakeup-path (interrupts, block I/O and the measured tasks only); scheduling (which task ran when) [default: all]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l sample-limit -d 'Maximum number of samples a task keeps in memory, 16 bytes each, 1 to 10000000000; further samples are counted as dropped [default: 20000000]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l mips -d 'With --exact: speed of deterministic time, in million instructions per second: 1000, 500, 250 or 125' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l proofs -d 'With --exact: number of separately booted machines whose results must be equal, 2 to 100' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l guest-limit -d 'Time limit of a guest, in time of this host [default: derived from the duration of its cell]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l jobs -d 'In deterministic time: number of guests that run at a time; results are the same for any number [default: one for each CPU]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l on -d 'With deterministic time: measure on the nodes of a cluster, with the same result as on this machine' -r -f -a "slurm\t'A job array of Slurm'
kubernetes\t'An Indexed Job of Kubernetes, whose manifest is written'"
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l shared -d 'With --on: directory that this machine and all nodes see under the same path' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l turns-per-task -d 'With --on: number of turns of a task [default: as many as take about a minute]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l manifest -d 'With --on kubernetes: file for the manifest of the job, which you apply' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l pod-image -d 'With --on kubernetes: image of the containers; it needs QEMU' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l volume-claim -d 'With --on kubernetes: claim of the volume with the shared directory' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l nodes -d 'With --on slurm: measure each of these nodes itself, e.g. n1,n[4-7]. A job has its node alone; each node gives a run' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l node-wait -d 'With --nodes: go on without a node that is down, drained or not responding for this long. Busy nodes are waited for [default: 10min]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -s r -l rounds -d 'Number of rounds; each round measures every cell once [default: that of the experiment, or 1]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l until -d 'Add rounds until the 95 % interval of this percentile is no wider than WIDTH in every cell: a share of the percentile (p99.9:5%) or a duration (p99:2us); at least three rounds' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l limit -d 'With --until: time limit; a round that would end later is not started [default: 10min]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l seed -d 'Seed that determines the order of the cells and the random intervals [default: that of the experiment, or a new one]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l for -d 'What the machine is for: audio:RATE/FRAMES, control:RATE:LATENESS, video:RATE, midi, or PERIOD:LATENESS, e.g. audio:48000/64, control:1kHz:50us, 2ms:100us. A wakeup that is up to LATENESS late meets its deadline. Without an experiment, the period is the default of --interval' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l continue -d 'Continue an interrupted run, or one with failed turns: measure the turns without a result. A run continues only in the store and on the machine where it began; `last` is the last one that began here' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l page -d 'File of the HTML page [default: a file in reports/ beside the store]' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l exact -d 'Measure in deterministic (instruction-counted) time: every run with the same seed gives the same bytes'
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l plan-only -d 'Print the cells and the estimated duration, without measuring'
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l no-page -d 'Write no HTML page'
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l json -d 'Print events and results as JSON, one object a line'
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l csv -d 'Print the table as comma-separated values, durations in nanoseconds'
complete -c tactus -n "__fish_tactus_using_subcommand measure" -l markdown -d 'Print the table as Markdown'
complete -c tactus -n "__fish_tactus_using_subcommand measure" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand measure" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand measure" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l run -d 'Stored run whose costs to print, instead of measuring' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l kernel -d 'The kernel to measure: host, or a guest kernel such as debian, debian-cloud, debian-rt, debian:preempt=none, debian-rt@VERSION, installed, or a file [default: host]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l probe -d 'What is measured: timer (wakeup latency of a sleeping task), frames (frames that a player shows and skips), sort (duration of sorting an array, repeatedly), net (delivery of bursts of packets), cost (duration of an operation, repeatedly), midi (delivery of MIDI messages that are handed over ahead of their time) [default: timer]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -s l -l load -d 'Competing work: idle, compute, memory, compile, file, disk, net, serial, process, syscall, pagefault, message, timer, build-over-network, editor, player, adaptive, display, x11-events, x11-keyboard, x11-mouse, console-input, each with its copies, e.g. compute:2 or compile:cpus; cmd:"make -j4"; stress-ng:"--vm 2"; several together: player@60+display [default: idle]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l load-policy -d 'Scheduling of the load: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD [default: other]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l load-cpus -d 'The CPUs the load may use: all, or a list such as 0,2-3 [default: all]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -s p -l policy -d 'Scheduling of the probe: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD [default: other]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l cpus -d 'The measured CPUs: all, or a list such as 0,2-3 [default: all]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l operation -d 'The measured operation, e.g. getppid, pipe, memory-copy, ipc-tcp, file-read, clock-read; docs/costs.md has all [default: getppid]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l sleep -d 'How the probe sleeps: nanosleep, nanosleep-relative, timerfd, posix-timer, signal-handler, itimer, futex, ppoll, io-uring; kernel-handler stamps the arrival in the timer\'s interrupt [default: nanosleep]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l clock -d 'The clock for sleeping: monotonic, realtime, tai, boottime [default: monotonic]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -s i -l interval -d 'The time between wakeups: 1ms; 1ms..1s (uniform); 1ms~50us (dithered) [default: 1ms]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l interrupted -d 'What runs on the CPU when a task is due: none (only the load), idle, thread (of the task\'s process), process (of another address space) [default: none]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l dirt -d 'What that program does to the caches before each due time: clean (nothing), l2 (dirties the second-level cache), tlb (the TLB too), l3 (the last-level cache too), random (one of the four each time) [default: clean]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l frame-rate -d 'The desired frame rate of a player, in frames/s: 60; 59.94; 60000/1001 [default: 60]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l tick -d 'Simulated tick rate in Hz: a player\'s timers expire only at these ticks, as on a kernel without high-resolution timers; none for the kernel\'s own timers [default: none]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l tick-shift -d 'Time from the first frame to a tick: 5ms; sweep covers every shift in turn [default: sweep]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l player -d 'Who plays the frames: half-slot (a loop that skips a frame late by more than half its slot), latest (a loop with the rule of tactus play: it shows the latest frame that is due), play-socket and play-shm (tactus play itself on an X server of its own, which gets the frames through a socket or shared memory) [default: half-slot]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l numbers -d 'How many four-byte numbers are sorted; 32768 fill half of a 256 KiB cache [default: 32768]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l net-path -d 'Who does the protocol work of packets: socket (the kernel), relay (one process for all senders), packet-library or xdp-library (the sender\'s thread, over AF_PACKET or AF_XDP) [default: socket]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l net-period -d 'The time from one burst of packets to the next [default: 40ms]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l net-packets -d 'The packets of a burst, 1 KiB each: 1 to 1000 [default: 10]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l net-work -d 'The computation of a burst, in CPU time [default: 3ms]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l net-rivals -d 'Low-priority senders of the same bursts, by the same path: 0 to 16 [default: 0]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l relay-policy -d 'Scheduling of the relay of net-path = relay: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD [default: other]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l net-receive -d 'Where the kernel works on received packets: softirq (here the sender\'s thread), thread (a kernel thread per queue: threaded NAPI) [default: softirq]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l napi-policy -d 'Scheduling of the kernel threads of net-receive = thread: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD [default: other]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l message-rate -d 'MIDI messages per second, at most 1000: 100; 24.5 [default: 100]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l message-ahead -d 'How long before its time a MIDI message is handed over, at most 60s [default: 1s]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l via -d 'Who keeps MIDI messages until their time: library (a thread of the program, with the cell\'s policy), server (tactus streamd, another process, with the cell\'s policy) [default: library]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l size -d 'Size of a block, e.g. 64KiB: 16B to 1GiB of memory, 512B to 64MiB of a file, a message of 1B to 1GiB [default: 64KiB]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l pages -d 'Pages of the memory of an operation: normal, huge (transparent huge pages) [default: normal]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l partner -d 'The other side of a round trip: thread (of the same process), process (another address space) [default: process]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l partner-cpu -d 'Where the other side of a round trip runs: same (as the task), other (the next of the cell\'s CPUs) [default: same]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l working-set -d 'Memory that each side of a round trip reads before it hands over, 0B to 1GiB [default: 0B]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l touch -d 'Who touches the bytes of a message: none, write (the sender writes them), read (the receiver reads them), both [default: both]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l buffers -d 'Memory of messages: recycled (the same for all), fresh (new pages for each) [default: recycled]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l wait -d 'How both sides wait for messages: block (sleep until woken), spin (look again and again, on two CPUs) [default: block]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l file-size -d 'Size of the file that is read, 512B to 1GiB, at least a block [default: 16MiB]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l directory -d 'Directory in which the file is made: an absolute path, or temporary (TMPDIR) [default: temporary]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l cache -d 'Where the file\'s content is: warm (in the page cache), cold (dropped from it before each pass over the file) [default: warm]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l advice -d 'Advice to the kernel about the reads: none, sequential, random (no read-ahead), will-need (read now) [default: none]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l queue-depth -d 'How many reads of io_uring are on their way at a time: 1 to 256 [default: 1]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l image -d 'Width, height and bytes per pixel of the image that is drawn: 80x60x4; 500x500x4 [default: 80x60x4]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l idle-count -d 'Whether a thread of the lowest priority counts while the task\'s CPU is idle: true, false; it shows all CPU time that the operation takes there [default: false]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l pause -d 'How long the task sleeps before each sample of an operation: it then finds the caches and idle states of a periodic task; 0s repeats back to back [default: 0s]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l times -d 'Operations in a sample: a number up to 1000000, or usual (several of a cheap operation) [default: usual]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l way -d 'What a sample of a round trip is: round-trip, one-way (until the partner runs), or back (from its answer until the task runs) [default: round-trip]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l read-clock -d 'The clock that clock-read reads: monotonic, monotonic-raw, monotonic-coarse, realtime, realtime-coarse, boottime, tai, realtime-alarm, boottime-alarm; thread-cpu, process-cpu, other-thread-cpu, other-process-cpu (CPU time); tsc (the CPU\'s counter) [default: monotonic]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l align -d 'Start at a multiple of this duration; 0ns starts at once [default: 0ns]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l offset -d 'Each further task starts this much later than the task before it [default: 0ns]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l work -d 'What a task does between wakeups: none, 5% (of the interval), continuous [default: none]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l tasks-per-cpu -d 'Number of tasks per CPU, 1 to 256 [default: 1]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l tasks -d 'What the tasks are: threads of one process, or processes [default: threads]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l lock-memory -d 'Lock and touch all memory before measuring: true or false [default: true]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l timer-slack -d 'Timer slack of ordinary tasks, or untouched [default: 1ns]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l cpu-dma-latency -d 'Longest idle-state exit latency that is allowed, on the whole machine; or untouched [default: untouched]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l block-requests -d 'Size of requests to block devices: untouched, or single (one page); restored afterwards [default: untouched]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l quantum -d 'Quantum of rr and ordinary tasks: 60ms, 6ticks, or untouched; set for the whole machine and restored afterwards [default: untouched]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l extra-interrupts -d 'Clock interrupts per second on the measured CPUs in addition to the kernel\'s own, 0 to 20000: an emulation of a higher tick rate, without the scheduler\'s work in a tick [default: 0]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l warmup -d 'How long the load runs before the measurement starts [default: 500ms]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -s d -l duration -d 'How long each cell is measured in each round [default: 10s]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l traced -d 'Duration of a second measurement in which kernel events are recorded, for explanations; 0s for none [default: 1s]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l traced-events -d 'Which events are recorded: all; wakeup-path (interrupts, block I/O and the measured tasks only); scheduling (which task ran when) [default: all]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l sample-limit -d 'Maximum number of samples a task keeps in memory, 16 bytes each, 1 to 10000000000; further samples are counted as dropped [default: 20000000]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -s r -l rounds -d 'Number of processes that measure each operation [default: 5, with --quick 3]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l seed -d 'Seed that determines the order of the cells [default: a new one]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -s o -l output -d 'Also write an HTML page' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l quick -d 'Measure a few operations only'
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l plan-only -d 'Print the cells and the estimated duration, without measuring'
complete -c tactus -n "__fish_tactus_using_subcommand costs" -l json -d 'Print events and results as JSON, one object a line'
complete -c tactus -n "__fish_tactus_using_subcommand costs" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand costs" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand costs" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand model" -l run -d 'Stored run with the operations, instead of measuring' -r
complete -c tactus -n "__fish_tactus_using_subcommand model" -l frames -d 'Frames of the real pipeline in each round [default: those of one to five seconds]' -r
complete -c tactus -n "__fish_tactus_using_subcommand model" -s p -l policy -d 'Scheduling of all processes; replaces that of the pipeline' -r
complete -c tactus -n "__fish_tactus_using_subcommand model" -s l -l load -d 'Competing work; replaces that of the pipeline' -r
complete -c tactus -n "__fish_tactus_using_subcommand model" -l cpus -d 'The CPUs: all, or a list such as 0,2-3; replaces those of the pipeline' -r
complete -c tactus -n "__fish_tactus_using_subcommand model" -s r -l rounds -d 'Number of processes that measure each operation, and of runs of the real pipeline' -r
complete -c tactus -n "__fish_tactus_using_subcommand model" -l seed -d 'Seed of the order and of the simulation [default: a new one]' -r
complete -c tactus -n "__fish_tactus_using_subcommand model" -s o -l output -d 'Also write an HTML page' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand model" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand model" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand model" -l verify -d 'Also run the pipeline with real processes, and compare'
complete -c tactus -n "__fish_tactus_using_subcommand model" -l plan-only -d 'Print the cells and the estimated duration, without measuring'
complete -c tactus -n "__fish_tactus_using_subcommand model" -l json -d 'Print events and the prediction as JSON, one object a line; durations are in nanoseconds'
complete -c tactus -n "__fish_tactus_using_subcommand model" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand model" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand model" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and not __fish_seen_subcommand_from bisect gate kernels setup help" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand lab; and not __fish_seen_subcommand_from bisect gate kernels setup help" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and not __fish_seen_subcommand_from bisect gate kernels setup help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and not __fish_seen_subcommand_from bisect gate kernels setup help" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and not __fish_seen_subcommand_from bisect gate kernels setup help" -f -a "bisect" -d 'Find the first commit of a kernel\'s tree that is worse than a good commit'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and not __fish_seen_subcommand_from bisect gate kernels setup help" -f -a "gate" -d 'Compare a kernel with a baseline kernel, and exit with code 1 if it is worse'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and not __fish_seen_subcommand_from bisect gate kernels setup help" -f -a "kernels" -d 'List the kernels for guests, or fetch or build kernels'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and not __fish_seen_subcommand_from bisect gate kernels setup help" -f -a "setup" -d 'Prepare everything that guests need: emulator, guest program and kernels'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and not __fish_seen_subcommand_from bisect gate kernels setup help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l tree -d 'Tree of kernel sources, in a git repository' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l good -d 'Commit whose kernel is good: the baseline of all comparisons' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l bad -d 'Later commit whose kernel is worse; it is tried first' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l config -d 'Kernel configuration, a complete .config; new options get their defaults' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l build -d 'Shell command that builds a kernel in the tree, in place of Linux\'s own build' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l built-image -d 'Image that the command of --build writes, relative to the tree' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l parameters -d 'Parameters of the kernels\' command lines, e.g. preempt=none,threadirqs' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l probe -d 'What is measured: timer (wakeup latency of a sleeping task), frames (frames that a player shows and skips), sort (duration of sorting an array, repeatedly), net (delivery of bursts of packets), cost (duration of an operation, repeatedly), midi (delivery of MIDI messages that are handed over ahead of their time) [default: timer]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -s l -l load -d 'Competing work: idle, compute, memory, compile, file, disk, net, serial, process, syscall, pagefault, message, timer, build-over-network, editor, player, adaptive, display, x11-events, x11-keyboard, x11-mouse, console-input, each with its copies, e.g. compute:2 or compile:cpus; cmd:"make -j4"; stress-ng:"--vm 2"; several together: player@60+display [default: idle]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l load-policy -d 'Scheduling of the load: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD [default: other]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l load-cpus -d 'The CPUs the load may use: all, or a list such as 0,2-3 [default: all]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -s p -l policy -d 'Scheduling of the probe: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD [default: other]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l cpus -d 'The measured CPUs: all, or a list such as 0,2-3 [default: all]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l operation -d 'The measured operation, e.g. getppid, pipe, memory-copy, ipc-tcp, file-read, clock-read; docs/costs.md has all [default: getppid]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l sleep -d 'How the probe sleeps: nanosleep, nanosleep-relative, timerfd, posix-timer, signal-handler, itimer, futex, ppoll, io-uring; kernel-handler stamps the arrival in the timer\'s interrupt [default: nanosleep]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l clock -d 'The clock for sleeping: monotonic, realtime, tai, boottime [default: monotonic]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -s i -l interval -d 'The time between wakeups: 1ms; 1ms..1s (uniform); 1ms~50us (dithered) [default: 1ms]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l interrupted -d 'What runs on the CPU when a task is due: none (only the load), idle, thread (of the task\'s process), process (of another address space) [default: none]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l dirt -d 'What that program does to the caches before each due time: clean (nothing), l2 (dirties the second-level cache), tlb (the TLB too), l3 (the last-level cache too), random (one of the four each time) [default: clean]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l frame-rate -d 'The desired frame rate of a player, in frames/s: 60; 59.94; 60000/1001 [default: 60]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l tick -d 'Simulated tick rate in Hz: a player\'s timers expire only at these ticks, as on a kernel without high-resolution timers; none for the kernel\'s own timers [default: none]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l tick-shift -d 'Time from the first frame to a tick: 5ms; sweep covers every shift in turn [default: sweep]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l player -d 'Who plays the frames: half-slot (a loop that skips a frame late by more than half its slot), latest (a loop with the rule of tactus play: it shows the latest frame that is due), play-socket and play-shm (tactus play itself on an X server of its own, which gets the frames through a socket or shared memory) [default: half-slot]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l numbers -d 'How many four-byte numbers are sorted; 32768 fill half of a 256 KiB cache [default: 32768]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l net-path -d 'Who does the protocol work of packets: socket (the kernel), relay (one process for all senders), packet-library or xdp-library (the sender\'s thread, over AF_PACKET or AF_XDP) [default: socket]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l net-period -d 'The time from one burst of packets to the next [default: 40ms]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l net-packets -d 'The packets of a burst, 1 KiB each: 1 to 1000 [default: 10]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l net-work -d 'The computation of a burst, in CPU time [default: 3ms]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l net-rivals -d 'Low-priority senders of the same bursts, by the same path: 0 to 16 [default: 0]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l relay-policy -d 'Scheduling of the relay of net-path = relay: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD [default: other]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l net-receive -d 'Where the kernel works on received packets: softirq (here the sender\'s thread), thread (a kernel thread per queue: threaded NAPI) [default: softirq]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l napi-policy -d 'Scheduling of the kernel threads of net-receive = thread: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD [default: other]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l message-rate -d 'MIDI messages per second, at most 1000: 100; 24.5 [default: 100]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l message-ahead -d 'How long before its time a MIDI message is handed over, at most 60s [default: 1s]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l via -d 'Who keeps MIDI messages until their time: library (a thread of the program, with the cell\'s policy), server (tactus streamd, another process, with the cell\'s policy) [default: library]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l size -d 'Size of a block, e.g. 64KiB: 16B to 1GiB of memory, 512B to 64MiB of a file, a message of 1B to 1GiB [default: 64KiB]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l pages -d 'Pages of the memory of an operation: normal, huge (transparent huge pages) [default: normal]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l partner -d 'The other side of a round trip: thread (of the same process), process (another address space) [default: process]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l partner-cpu -d 'Where the other side of a round trip runs: same (as the task), other (the next of the cell\'s CPUs) [default: same]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l working-set -d 'Memory that each side of a round trip reads before it hands over, 0B to 1GiB [default: 0B]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l touch -d 'Who touches the bytes of a message: none, write (the sender writes them), read (the receiver reads them), both [default: both]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l buffers -d 'Memory of messages: recycled (the same for all), fresh (new pages for each) [default: recycled]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l wait -d 'How both sides wait for messages: block (sleep until woken), spin (look again and again, on two CPUs) [default: block]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l file-size -d 'Size of the file that is read, 512B to 1GiB, at least a block [default: 16MiB]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l directory -d 'Directory in which the file is made: an absolute path, or temporary (TMPDIR) [default: temporary]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l cache -d 'Where the file\'s content is: warm (in the page cache), cold (dropped from it before each pass over the file) [default: warm]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l advice -d 'Advice to the kernel about the reads: none, sequential, random (no read-ahead), will-need (read now) [default: none]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l queue-depth -d 'How many reads of io_uring are on their way at a time: 1 to 256 [default: 1]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l image -d 'Width, height and bytes per pixel of the image that is drawn: 80x60x4; 500x500x4 [default: 80x60x4]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l idle-count -d 'Whether a thread of the lowest priority counts while the task\'s CPU is idle: true, false; it shows all CPU time that the operation takes there [default: false]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l pause -d 'How long the task sleeps before each sample of an operation: it then finds the caches and idle states of a periodic task; 0s repeats back to back [default: 0s]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l times -d 'Operations in a sample: a number up to 1000000, or usual (several of a cheap operation) [default: usual]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l way -d 'What a sample of a round trip is: round-trip, one-way (until the partner runs), or back (from its answer until the task runs) [default: round-trip]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l read-clock -d 'The clock that clock-read reads: monotonic, monotonic-raw, monotonic-coarse, realtime, realtime-coarse, boottime, tai, realtime-alarm, boottime-alarm; thread-cpu, process-cpu, other-thread-cpu, other-process-cpu (CPU time); tsc (the CPU\'s counter) [default: monotonic]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l align -d 'Start at a multiple of this duration; 0ns starts at once [default: 0ns]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l offset -d 'Each further task starts this much later than the task before it [default: 0ns]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l work -d 'What a task does between wakeups: none, 5% (of the interval), continuous [default: none]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l tasks-per-cpu -d 'Number of tasks per CPU, 1 to 256 [default: 1]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l tasks -d 'What the tasks are: threads of one process, or processes [default: threads]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l lock-memory -d 'Lock and touch all memory before measuring: true or false [default: true]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l timer-slack -d 'Timer slack of ordinary tasks, or untouched [default: 1ns]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l cpu-dma-latency -d 'Longest idle-state exit latency that is allowed, on the whole machine; or untouched [default: untouched]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l block-requests -d 'Size of requests to block devices: untouched, or single (one page); restored afterwards [default: untouched]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l quantum -d 'Quantum of rr and ordinary tasks: 60ms, 6ticks, or untouched; set for the whole machine and restored afterwards [default: untouched]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l extra-interrupts -d 'Clock interrupts per second on the measured CPUs in addition to the kernel\'s own, 0 to 20000: an emulation of a higher tick rate, without the scheduler\'s work in a tick [default: 0]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l warmup -d 'How long the load runs before the measurement starts [default: 500ms]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -s d -l duration -d 'How long each cell is measured in each round [default: 10s]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l traced -d 'Duration of a second measurement in which kernel events are recorded, for explanations; 0s for none [default: 1s]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l traced-events -d 'Which events are recorded: all; wakeup-path (interrupts, block I/O and the measured tasks only); scheduling (which task ran when) [default: all]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l sample-limit -d 'Maximum number of samples a task keeps in memory, 16 bytes each, 1 to 10000000000; further samples are counted as dropped [default: 20000000]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l seeds -d 'Number of seeds for each cell [default: that of the experiment, or 10]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l mips -d 'Speed of deterministic time, in million instructions per second: 1000, 500, 250 or 125 [default: that of the experiment, or 1000]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l allow -d 'Allowed difference of path lengths: a percentage, a number of instructions, or both, e.g. 1%+16 [default: 1%+16]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l guest-limit -d 'Time limit of a guest, in time of this host [default: derived from the duration of its cell]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l kernel -d 'The kernel to measure: host, or a guest kernel such as debian, debian-cloud, debian-rt, debian:preempt=none, debian-rt@VERSION, installed, or a file [default: host]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l seed -d 'Seed from which all other seeds are derived' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l false-alarms -d 'Chance of a false alarm for each commit; at most 50% [default: 1%]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l paths-only -d 'Judge path lengths only, not tails: fewer figures need fewer seeds'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -l json -d 'Print events and the result as JSON, one object a line'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from bisect" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l against -d 'Baseline kernel, in the form of --kernel' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l probe -d 'What is measured: timer (wakeup latency of a sleeping task), frames (frames that a player shows and skips), sort (duration of sorting an array, repeatedly), net (delivery of bursts of packets), cost (duration of an operation, repeatedly), midi (delivery of MIDI messages that are handed over ahead of their time) [default: timer]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -s l -l load -d 'Competing work: idle, compute, memory, compile, file, disk, net, serial, process, syscall, pagefault, message, timer, build-over-network, editor, player, adaptive, display, x11-events, x11-keyboard, x11-mouse, console-input, each with its copies, e.g. compute:2 or compile:cpus; cmd:"make -j4"; stress-ng:"--vm 2"; several together: player@60+display [default: idle]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l load-policy -d 'Scheduling of the load: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD [default: other]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l load-cpus -d 'The CPUs the load may use: all, or a list such as 0,2-3 [default: all]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -s p -l policy -d 'Scheduling of the probe: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD [default: other]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l cpus -d 'The measured CPUs: all, or a list such as 0,2-3 [default: all]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l operation -d 'The measured operation, e.g. getppid, pipe, memory-copy, ipc-tcp, file-read, clock-read; docs/costs.md has all [default: getppid]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l sleep -d 'How the probe sleeps: nanosleep, nanosleep-relative, timerfd, posix-timer, signal-handler, itimer, futex, ppoll, io-uring; kernel-handler stamps the arrival in the timer\'s interrupt [default: nanosleep]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l clock -d 'The clock for sleeping: monotonic, realtime, tai, boottime [default: monotonic]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -s i -l interval -d 'The time between wakeups: 1ms; 1ms..1s (uniform); 1ms~50us (dithered) [default: 1ms]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l interrupted -d 'What runs on the CPU when a task is due: none (only the load), idle, thread (of the task\'s process), process (of another address space) [default: none]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l dirt -d 'What that program does to the caches before each due time: clean (nothing), l2 (dirties the second-level cache), tlb (the TLB too), l3 (the last-level cache too), random (one of the four each time) [default: clean]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l frame-rate -d 'The desired frame rate of a player, in frames/s: 60; 59.94; 60000/1001 [default: 60]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l tick -d 'Simulated tick rate in Hz: a player\'s timers expire only at these ticks, as on a kernel without high-resolution timers; none for the kernel\'s own timers [default: none]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l tick-shift -d 'Time from the first frame to a tick: 5ms; sweep covers every shift in turn [default: sweep]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l player -d 'Who plays the frames: half-slot (a loop that skips a frame late by more than half its slot), latest (a loop with the rule of tactus play: it shows the latest frame that is due), play-socket and play-shm (tactus play itself on an X server of its own, which gets the frames through a socket or shared memory) [default: half-slot]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l numbers -d 'How many four-byte numbers are sorted; 32768 fill half of a 256 KiB cache [default: 32768]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l net-path -d 'Who does the protocol work of packets: socket (the kernel), relay (one process for all senders), packet-library or xdp-library (the sender\'s thread, over AF_PACKET or AF_XDP) [default: socket]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l net-period -d 'The time from one burst of packets to the next [default: 40ms]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l net-packets -d 'The packets of a burst, 1 KiB each: 1 to 1000 [default: 10]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l net-work -d 'The computation of a burst, in CPU time [default: 3ms]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l net-rivals -d 'Low-priority senders of the same bursts, by the same path: 0 to 16 [default: 0]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l relay-policy -d 'Scheduling of the relay of net-path = relay: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD [default: other]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l net-receive -d 'Where the kernel works on received packets: softirq (here the sender\'s thread), thread (a kernel thread per queue: threaded NAPI) [default: softirq]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l napi-policy -d 'Scheduling of the kernel threads of net-receive = thread: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD [default: other]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l message-rate -d 'MIDI messages per second, at most 1000: 100; 24.5 [default: 100]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l message-ahead -d 'How long before its time a MIDI message is handed over, at most 60s [default: 1s]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l via -d 'Who keeps MIDI messages until their time: library (a thread of the program, with the cell\'s policy), server (tactus streamd, another process, with the cell\'s policy) [default: library]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l size -d 'Size of a block, e.g. 64KiB: 16B to 1GiB of memory, 512B to 64MiB of a file, a message of 1B to 1GiB [default: 64KiB]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l pages -d 'Pages of the memory of an operation: normal, huge (transparent huge pages) [default: normal]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l partner -d 'The other side of a round trip: thread (of the same process), process (another address space) [default: process]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l partner-cpu -d 'Where the other side of a round trip runs: same (as the task), other (the next of the cell\'s CPUs) [default: same]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l working-set -d 'Memory that each side of a round trip reads before it hands over, 0B to 1GiB [default: 0B]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l touch -d 'Who touches the bytes of a message: none, write (the sender writes them), read (the receiver reads them), both [default: both]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l buffers -d 'Memory of messages: recycled (the same for all), fresh (new pages for each) [default: recycled]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l wait -d 'How both sides wait for messages: block (sleep until woken), spin (look again and again, on two CPUs) [default: block]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l file-size -d 'Size of the file that is read, 512B to 1GiB, at least a block [default: 16MiB]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l directory -d 'Directory in which the file is made: an absolute path, or temporary (TMPDIR) [default: temporary]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l cache -d 'Where the file\'s content is: warm (in the page cache), cold (dropped from it before each pass over the file) [default: warm]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l advice -d 'Advice to the kernel about the reads: none, sequential, random (no read-ahead), will-need (read now) [default: none]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l queue-depth -d 'How many reads of io_uring are on their way at a time: 1 to 256 [default: 1]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l image -d 'Width, height and bytes per pixel of the image that is drawn: 80x60x4; 500x500x4 [default: 80x60x4]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l idle-count -d 'Whether a thread of the lowest priority counts while the task\'s CPU is idle: true, false; it shows all CPU time that the operation takes there [default: false]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l pause -d 'How long the task sleeps before each sample of an operation: it then finds the caches and idle states of a periodic task; 0s repeats back to back [default: 0s]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l times -d 'Operations in a sample: a number up to 1000000, or usual (several of a cheap operation) [default: usual]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l way -d 'What a sample of a round trip is: round-trip, one-way (until the partner runs), or back (from its answer until the task runs) [default: round-trip]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l read-clock -d 'The clock that clock-read reads: monotonic, monotonic-raw, monotonic-coarse, realtime, realtime-coarse, boottime, tai, realtime-alarm, boottime-alarm; thread-cpu, process-cpu, other-thread-cpu, other-process-cpu (CPU time); tsc (the CPU\'s counter) [default: monotonic]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l align -d 'Start at a multiple of this duration; 0ns starts at once [default: 0ns]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l offset -d 'Each further task starts this much later than the task before it [default: 0ns]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l work -d 'What a task does between wakeups: none, 5% (of the interval), continuous [default: none]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l tasks-per-cpu -d 'Number of tasks per CPU, 1 to 256 [default: 1]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l tasks -d 'What the tasks are: threads of one process, or processes [default: threads]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l lock-memory -d 'Lock and touch all memory before measuring: true or false [default: true]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l timer-slack -d 'Timer slack of ordinary tasks, or untouched [default: 1ns]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l cpu-dma-latency -d 'Longest idle-state exit latency that is allowed, on the whole machine; or untouched [default: untouched]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l block-requests -d 'Size of requests to block devices: untouched, or single (one page); restored afterwards [default: untouched]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l quantum -d 'Quantum of rr and ordinary tasks: 60ms, 6ticks, or untouched; set for the whole machine and restored afterwards [default: untouched]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l extra-interrupts -d 'Clock interrupts per second on the measured CPUs in addition to the kernel\'s own, 0 to 20000: an emulation of a higher tick rate, without the scheduler\'s work in a tick [default: 0]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l warmup -d 'How long the load runs before the measurement starts [default: 500ms]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -s d -l duration -d 'How long each cell is measured in each round [default: 10s]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l traced -d 'Duration of a second measurement in which kernel events are recorded, for explanations; 0s for none [default: 1s]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l traced-events -d 'Which events are recorded: all; wakeup-path (interrupts, block I/O and the measured tasks only); scheduling (which task ran when) [default: all]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l sample-limit -d 'Maximum number of samples a task keeps in memory, 16 bytes each, 1 to 10000000000; further samples are counted as dropped [default: 20000000]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l seeds -d 'Number of seeds for each cell [default: that of the experiment, or 10]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l seed -d 'Seed from which all other seeds are derived [default: that of the experiment, or a new one]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l mips -d 'Speed of deterministic time, in million instructions per second: 1000, 500, 250 or 125 [default: that of the experiment, or 1000]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l allow -d 'Allowed difference of path lengths: a percentage, a number of instructions, or both, e.g. 1%+16 [default: 1%+16]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l false-alarms -d 'Chance of a false alarm: that any difference of equal kernels is reported; at most 50% [default: 1%]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l guest-limit -d 'Time limit of a guest, in time of this host [default: derived from the duration of its cell]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l refuse -d 'Differences that fail the gate [default: greater]' -r -f -a "greater\t'Longer paths, later tails, more interrupts'
different\t'Any difference, including shorter, earlier and fewer'"
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l jobs -d 'In deterministic time: number of guests that run at a time; results are the same for any number [default: one for each CPU]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l on -d 'With deterministic time: measure on the nodes of a cluster, with the same result as on this machine' -r -f -a "slurm\t'A job array of Slurm'
kubernetes\t'An Indexed Job of Kubernetes, whose manifest is written'"
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l shared -d 'With --on: directory that this machine and all nodes see under the same path' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l turns-per-task -d 'With --on: number of turns of a task [default: as many as take about a minute]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l manifest -d 'With --on kubernetes: file for the manifest of the job, which you apply' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l pod-image -d 'With --on kubernetes: image of the containers; it needs QEMU' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l volume-claim -d 'With --on kubernetes: claim of the volume with the shared directory' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l run -d 'Judge this run of an earlier gate again, without measuring, by its rule; --allow, --false-alarms, --paths-only and --refuse replace parts of it' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l junit -d 'Also write the outcome as JUnit XML' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l kernel -d 'The kernel to judge: debian, debian-cloud, debian-rt, debian:preempt=none, debian-rt@VERSION, installed, or a file' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l paths-only -d 'Judge path lengths only, not tails: fewer figures need fewer seeds'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l bisect -d 'Exit with code 125 if the kernel could not be measured, so `git bisect run` skips it, and with 128 if none could'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l plan-only -d 'Print the cells and the estimated duration, without measuring'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -l json -d 'Print one JSON object'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from gate" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from kernels" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from kernels" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from kernels" -l background -d 'Fetch and build in the background, at the lowest priority'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from kernels" -l yielding -d 'Run at the lowest priority (the process that --background starts)'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from kernels" -l json -d 'Print JSON, one object a line'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from kernels" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from kernels" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from kernels" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from setup" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from setup" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from setup" -l json -d 'Print JSON, one object a line'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from setup" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from setup" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from setup" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "bisect" -d 'Find the first commit of a kernel\'s tree that is worse than a good commit'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "gate" -d 'Compare a kernel with a baseline kernel, and exit with code 1 if it is worse'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "kernels" -d 'List the kernels for guests, or fetch or build kernels'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "setup" -d 'Prepare everything that guests need: emulator, guest program and kernels'
complete -c tactus -n "__fish_tactus_using_subcommand lab; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l probe -d 'What is measured: timer (wakeup latency of a sleeping task), frames (frames that a player shows and skips), sort (duration of sorting an array, repeatedly), net (delivery of bursts of packets), cost (duration of an operation, repeatedly), midi (delivery of MIDI messages that are handed over ahead of their time) [default: timer]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -s l -l load -d 'Competing work: idle, compute, memory, compile, file, disk, net, serial, process, syscall, pagefault, message, timer, build-over-network, editor, player, adaptive, display, x11-events, x11-keyboard, x11-mouse, console-input, each with its copies, e.g. compute:2 or compile:cpus; cmd:"make -j4"; stress-ng:"--vm 2"; several together: player@60+display [default: idle]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l load-policy -d 'Scheduling of the load: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD [default: other]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l load-cpus -d 'The CPUs the load may use: all, or a list such as 0,2-3 [default: all]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -s p -l policy -d 'Scheduling of the probe: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD [default: other]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l cpus -d 'The measured CPUs: all, or a list such as 0,2-3 [default: all]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l operation -d 'The measured operation, e.g. getppid, pipe, memory-copy, ipc-tcp, file-read, clock-read; docs/costs.md has all [default: getppid]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l sleep -d 'How the probe sleeps: nanosleep, nanosleep-relative, timerfd, posix-timer, signal-handler, itimer, futex, ppoll, io-uring; kernel-handler stamps the arrival in the timer\'s interrupt [default: nanosleep]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l clock -d 'The clock for sleeping: monotonic, realtime, tai, boottime [default: monotonic]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -s i -l interval -d 'The time between wakeups: 1ms; 1ms..1s (uniform); 1ms~50us (dithered) [default: 1ms]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l interrupted -d 'What runs on the CPU when a task is due: none (only the load), idle, thread (of the task\'s process), process (of another address space) [default: none]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l dirt -d 'What that program does to the caches before each due time: clean (nothing), l2 (dirties the second-level cache), tlb (the TLB too), l3 (the last-level cache too), random (one of the four each time) [default: clean]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l frame-rate -d 'The desired frame rate of a player, in frames/s: 60; 59.94; 60000/1001 [default: 60]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l tick -d 'Simulated tick rate in Hz: a player\'s timers expire only at these ticks, as on a kernel without high-resolution timers; none for the kernel\'s own timers [default: none]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l tick-shift -d 'Time from the first frame to a tick: 5ms; sweep covers every shift in turn [default: sweep]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l player -d 'Who plays the frames: half-slot (a loop that skips a frame late by more than half its slot), latest (a loop with the rule of tactus play: it shows the latest frame that is due), play-socket and play-shm (tactus play itself on an X server of its own, which gets the frames through a socket or shared memory) [default: half-slot]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l numbers -d 'How many four-byte numbers are sorted; 32768 fill half of a 256 KiB cache [default: 32768]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l net-path -d 'Who does the protocol work of packets: socket (the kernel), relay (one process for all senders), packet-library or xdp-library (the sender\'s thread, over AF_PACKET or AF_XDP) [default: socket]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l net-period -d 'The time from one burst of packets to the next [default: 40ms]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l net-packets -d 'The packets of a burst, 1 KiB each: 1 to 1000 [default: 10]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l net-work -d 'The computation of a burst, in CPU time [default: 3ms]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l net-rivals -d 'Low-priority senders of the same bursts, by the same path: 0 to 16 [default: 0]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l relay-policy -d 'Scheduling of the relay of net-path = relay: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD [default: other]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l net-receive -d 'Where the kernel works on received packets: softirq (here the sender\'s thread), thread (a kernel thread per queue: threaded NAPI) [default: softirq]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l napi-policy -d 'Scheduling of the kernel threads of net-receive = thread: other[:NICE], batch[:NICE], idle, fifo:N, rr:N, deadline:RUNTIME/DEADLINE/PERIOD [default: other]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l message-rate -d 'MIDI messages per second, at most 1000: 100; 24.5 [default: 100]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l message-ahead -d 'How long before its time a MIDI message is handed over, at most 60s [default: 1s]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l via -d 'Who keeps MIDI messages until their time: library (a thread of the program, with the cell\'s policy), server (tactus streamd, another process, with the cell\'s policy) [default: library]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l size -d 'Size of a block, e.g. 64KiB: 16B to 1GiB of memory, 512B to 64MiB of a file, a message of 1B to 1GiB [default: 64KiB]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l pages -d 'Pages of the memory of an operation: normal, huge (transparent huge pages) [default: normal]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l partner -d 'The other side of a round trip: thread (of the same process), process (another address space) [default: process]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l partner-cpu -d 'Where the other side of a round trip runs: same (as the task), other (the next of the cell\'s CPUs) [default: same]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l working-set -d 'Memory that each side of a round trip reads before it hands over, 0B to 1GiB [default: 0B]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l touch -d 'Who touches the bytes of a message: none, write (the sender writes them), read (the receiver reads them), both [default: both]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l buffers -d 'Memory of messages: recycled (the same for all), fresh (new pages for each) [default: recycled]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l wait -d 'How both sides wait for messages: block (sleep until woken), spin (look again and again, on two CPUs) [default: block]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l file-size -d 'Size of the file that is read, 512B to 1GiB, at least a block [default: 16MiB]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l directory -d 'Directory in which the file is made: an absolute path, or temporary (TMPDIR) [default: temporary]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l cache -d 'Where the file\'s content is: warm (in the page cache), cold (dropped from it before each pass over the file) [default: warm]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l advice -d 'Advice to the kernel about the reads: none, sequential, random (no read-ahead), will-need (read now) [default: none]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l queue-depth -d 'How many reads of io_uring are on their way at a time: 1 to 256 [default: 1]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l image -d 'Width, height and bytes per pixel of the image that is drawn: 80x60x4; 500x500x4 [default: 80x60x4]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l idle-count -d 'Whether a thread of the lowest priority counts while the task\'s CPU is idle: true, false; it shows all CPU time that the operation takes there [default: false]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l pause -d 'How long the task sleeps before each sample of an operation: it then finds the caches and idle states of a periodic task; 0s repeats back to back [default: 0s]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l times -d 'Operations in a sample: a number up to 1000000, or usual (several of a cheap operation) [default: usual]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l way -d 'What a sample of a round trip is: round-trip, one-way (until the partner runs), or back (from its answer until the task runs) [default: round-trip]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l read-clock -d 'The clock that clock-read reads: monotonic, monotonic-raw, monotonic-coarse, realtime, realtime-coarse, boottime, tai, realtime-alarm, boottime-alarm; thread-cpu, process-cpu, other-thread-cpu, other-process-cpu (CPU time); tsc (the CPU\'s counter) [default: monotonic]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l align -d 'Start at a multiple of this duration; 0ns starts at once [default: 0ns]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l offset -d 'Each further task starts this much later than the task before it [default: 0ns]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l work -d 'What a task does between wakeups: none, 5% (of the interval), continuous [default: none]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l tasks-per-cpu -d 'Number of tasks per CPU, 1 to 256 [default: 1]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l tasks -d 'What the tasks are: threads of one process, or processes [default: threads]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l lock-memory -d 'Lock and touch all memory before measuring: true or false [default: true]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l timer-slack -d 'Timer slack of ordinary tasks, or untouched [default: 1ns]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l cpu-dma-latency -d 'Longest idle-state exit latency that is allowed, on the whole machine; or untouched [default: untouched]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l block-requests -d 'Size of requests to block devices: untouched, or single (one page); restored afterwards [default: untouched]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l quantum -d 'Quantum of rr and ordinary tasks: 60ms, 6ticks, or untouched; set for the whole machine and restored afterwards [default: untouched]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l extra-interrupts -d 'Clock interrupts per second on the measured CPUs in addition to the kernel\'s own, 0 to 20000: an emulation of a higher tick rate, without the scheduler\'s work in a tick [default: 0]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l warmup -d 'How long the load runs before the measurement starts [default: 500ms]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l sample-limit -d 'Maximum number of samples a task keeps in memory, 16 bytes each, 1 to 10000000000; further samples are counted as dropped [default: 20000000]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l seed -d 'Seed of random intervals [default: a new one]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l scale -d 'Time between two lines of the scope [default: automatic]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l threshold -d 'Latency above which a sample is late and is explained' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -s d -l duration -d 'How long to watch [default: until you quit]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l causes -d 'Record kernel events from the beginning, to explain late samples'
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l plain -d 'Print one line a second instead of drawing'
complete -c tactus -n "__fish_tactus_using_subcommand watch" -l json -d 'Print JSON, one object a line: events, and the figures of every second'
complete -c tactus -n "__fish_tactus_using_subcommand watch" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand watch" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand agent" -l listen -d 'Address and port at which to serve metrics; port 0 chooses a free one' -r
complete -c tactus -n "__fish_tactus_using_subcommand agent" -l interval -d 'Time between two wakeups of the probe, from 1ms to 1s' -r
complete -c tactus -n "__fish_tactus_using_subcommand agent" -l policy -d 'Policy of the probe' -r
complete -c tactus -n "__fish_tactus_using_subcommand agent" -l cpus -d 'CPUs on which the probe may run [default: all]' -r
complete -c tactus -n "__fish_tactus_using_subcommand agent" -l late -d 'Latency above which a wakeup is late' -r
complete -c tactus -n "__fish_tactus_using_subcommand agent" -l budget -d 'Share of one CPU that the agent may use, its recording included' -r
complete -c tactus -n "__fish_tactus_using_subcommand agent" -l keep -d 'Size of all saved recordings together; the oldest are removed' -r
complete -c tactus -n "__fish_tactus_using_subcommand agent" -l saves-per-hour -d 'Number of recordings that are saved in an hour at most' -r
complete -c tactus -n "__fish_tactus_using_subcommand agent" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand agent" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand agent" -l no-record -d 'Record no kernel events: late wakeups have no causes'
complete -c tactus -n "__fish_tactus_using_subcommand agent" -l json -d 'Print JSON, one object a line for each event'
complete -c tactus -n "__fish_tactus_using_subcommand agent" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand agent" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand agent" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand record" -l duration -d 'Duration of the recording [default: until the command ends or an interrupt]' -r
complete -c tactus -n "__fish_tactus_using_subcommand record" -s o -l output -d 'File of the recording [default: tactus-DATE.tactusrec]' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand record" -l perfetto -d 'Also write a trace for ui.perfetto.dev' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand record" -l ndjson -d 'Also write JSON, one event a line' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand record" -l flight -d 'Flight recorder: keep only the events of the last DURATION, in memory; at least 2s' -r
complete -c tactus -n "__fish_tactus_using_subcommand record" -l over -d 'With --flight: save the events when a thread waited longer than this for a CPU, and explain the wait' -r
complete -c tactus -n "__fish_tactus_using_subcommand record" -l thread -d 'With --over: consider only threads with this name or thread ID; may be repeated [default: all threads except those of tactus]' -r
complete -c tactus -n "__fish_tactus_using_subcommand record" -l saves -d 'With --over: number of saves after which the recording ends' -r
complete -c tactus -n "__fish_tactus_using_subcommand record" -l source -d 'Kernel mechanism that records the events: auto, perf, tracefs' -r
complete -c tactus -n "__fish_tactus_using_subcommand record" -l call-chains -d 'Events with a kernel call chain: never, interrupts, sleeps (and interrupts), all (switches and interrupts)' -r
complete -c tactus -n "__fish_tactus_using_subcommand record" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand record" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand record" -l json -d 'Print the summary of the recording as JSON'
complete -c tactus -n "__fish_tactus_using_subcommand record" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand record" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand record" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand admit" -l cost-for -d 'Also print the largest cost of a new task with this period and deadline, e.g. 10ms or 10ms:5ms; may be repeated' -r
complete -c tactus -n "__fish_tactus_using_subcommand admit" -l period-for -d 'Also print the shortest period of a new task with this cost, e.g. 2ms; may be repeated' -r
complete -c tactus -n "__fish_tactus_using_subcommand admit" -l page -d 'Also write a self-contained HTML page with the schedule in the worst window' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand admit" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand admit" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand admit" -l json -d 'Print one JSON object; durations are in nanoseconds'
complete -c tactus -n "__fish_tactus_using_subcommand admit" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand admit" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand reserve" -l adjust -d 'Change the capacity of a program that runs under `tactus reserve`, by its process ID' -r
complete -c tactus -n "__fish_tactus_using_subcommand reserve" -l threads -d 'Threads that get the capacity, each its own: main (the first), all, or names separated by commas, e.g. audio,video; a name can have its own capacity: main=1ms/10ms,audio=2ms/10ms' -r
complete -c tactus -n "__fish_tactus_using_subcommand reserve" -l rung -d 'Use only this rung; may be repeated [default: the best that is permitted]' -r
complete -c tactus -n "__fish_tactus_using_subcommand reserve" -l exclusive -d 'Set this CPU aside for the program (rung partitioned), with an exact test of all deadlines' -r
complete -c tactus -n "__fish_tactus_using_subcommand reserve" -l page -d 'Also write a self-contained HTML page that plots the use over time' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand reserve" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand reserve" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand reserve" -l lock-memory -d 'Let the program lock any amount of memory (RLIMIT_MEMLOCK)'
complete -c tactus -n "__fish_tactus_using_subcommand reserve" -l json -d 'Print the use as JSON; durations are in nanoseconds'
complete -c tactus -n "__fish_tactus_using_subcommand reserve" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand reserve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand reserve" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand why" -l pid -d 'Watch this process and its children; may be repeated' -r
complete -c tactus -n "__fish_tactus_using_subcommand why" -l name -d 'Watch the programs and threads with this name, and their children; may be repeated' -r
complete -c tactus -n "__fish_tactus_using_subcommand why" -l cgroup -d 'Watch the threads of this control group; may be repeated' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand why" -l thread -d 'Watch only threads with this name or thread ID; may be repeated [default: all periodic threads]' -r
complete -c tactus -n "__fish_tactus_using_subcommand why" -l over -d 'Time from due to done above which a job is late [default: the thread\'s period]' -r
complete -c tactus -n "__fish_tactus_using_subcommand why" -l period -d 'Period of the threads [default: found from each thread\'s due times]' -r
complete -c tactus -n "__fish_tactus_using_subcommand why" -l duration -d 'Duration of the recording [default: until the command ends or an interrupt]' -r
complete -c tactus -n "__fish_tactus_using_subcommand why" -l worst -d 'Number of the worst jobs of each thread to show in detail' -r
complete -c tactus -n "__fish_tactus_using_subcommand why" -s o -l output -d 'File of the recording; the page has the same name with .html [default: tactus-DATE.tactusrec]' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand why" -l source -d 'Kernel mechanism that records the events: auto, perf, tracefs' -r
complete -c tactus -n "__fish_tactus_using_subcommand why" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand why" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand why" -l json -d 'Print JSON, one object a line: each late job, each periodic thread, the summary'
complete -c tactus -n "__fish_tactus_using_subcommand why" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand why" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand why" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand lint" -l thread -d 'Watch only threads with this name or thread ID; may be repeated [default: all threads]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lint" -l pid -d 'Watch this process and its children; may be repeated' -r
complete -c tactus -n "__fish_tactus_using_subcommand lint" -l allow -d 'System call that sections may make; may be repeated [default: none]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lint" -l until -d 'System call in which the threads wait for their next period [default: found for each thread]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lint" -l duration -d 'How long to watch [default: until the program ends or an interrupt]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lint" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand lint" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand lint" -l accept-partial -d 'Pass also if sections, threads or kinds of violations were not or only partly watched'
complete -c tactus -n "__fish_tactus_using_subcommand lint" -l json -d 'Print one JSON object'
complete -c tactus -n "__fish_tactus_using_subcommand lint" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand lint" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand lint" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand need" -l pid -d 'Watch this process and its children; may be repeated' -r
complete -c tactus -n "__fish_tactus_using_subcommand need" -l name -d 'Watch the programs and threads with this name, and their children; may be repeated' -r
complete -c tactus -n "__fish_tactus_using_subcommand need" -l cgroup -d 'Watch the threads of this control group; may be repeated' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand need" -l thread -d 'Measure only threads with this name or thread ID; may be repeated [default: all periodic threads]' -r
complete -c tactus -n "__fish_tactus_using_subcommand need" -l period -d 'Period of the threads [default: found from each thread\'s due times]' -r
complete -c tactus -n "__fish_tactus_using_subcommand need" -l deadline -d 'Deadline of a job after its due time [default: the period]' -r
complete -c tactus -n "__fish_tactus_using_subcommand need" -l cover -d 'Share of jobs that the reserve is to cover' -r
complete -c tactus -n "__fish_tactus_using_subcommand need" -l confidence -d 'Confidence that the reserve covers as many' -r
complete -c tactus -n "__fish_tactus_using_subcommand need" -l cushion -d 'Share of the limit that is added to it, for what other programs cost it' -r
complete -c tactus -n "__fish_tactus_using_subcommand need" -l duration -d 'Duration of the measurement [default: until the command ends or an interrupt; with --trial 20s]' -r
complete -c tactus -n "__fish_tactus_using_subcommand need" -l load -d 'Competing load of the trial; may be repeated [default: those of `tactus measure quick`]' -r
complete -c tactus -n "__fish_tactus_using_subcommand need" -l rounds -d 'Number of pairs of windows for each load of the trial' -r
complete -c tactus -n "__fish_tactus_using_subcommand need" -l window -d 'Duration of a window of the trial [default: 2s, or 50 of the longest period]' -r
complete -c tactus -n "__fish_tactus_using_subcommand need" -l seed -d 'Seed of the order of the trial [default: a new one]' -r
complete -c tactus -n "__fish_tactus_using_subcommand need" -l plan -d 'Also write the reserves as a plan for `tactus admit`' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand need" -l page -d 'Also write a self-contained HTML page that plots the CPU time of jobs' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand need" -s o -l output -d 'Also keep the recording, for `tactus explain --jobs`' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand need" -l source -d 'Kernel mechanism that records the events: auto, perf, tracefs' -r
complete -c tactus -n "__fish_tactus_using_subcommand need" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand need" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand need" -l trial -d 'Then compare deadline misses with and without the reserves, under competing loads'
complete -c tactus -n "__fish_tactus_using_subcommand need" -l json -d 'Print JSON, one object a line: each periodic thread, the trial, the summary'
complete -c tactus -n "__fish_tactus_using_subcommand need" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand need" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand need" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand qosd" -l socket -d 'Socket to listen at, unless systemd passes one' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand qosd" -l policy -d 'Policy file in TOML, which only root may be able to write [default: /etc/tactus/qosd.toml, if it exists]' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand qosd" -l state -d 'File of the threads that have a grant, for the repair after a kill' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand qosd" -l idle-exit -d 'End after this long without connections, e.g. 1min; systemd starts the manager again when a program connects' -r
complete -c tactus -n "__fish_tactus_using_subcommand qosd" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand qosd" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand qosd" -l rtkit -d 'Serve rtkit\'s interface on the system\'s message bus too: threads with a priority are admitted by CPU time, and become ordinary when they use more (docs/rtkit.md)'
complete -c tactus -n "__fish_tactus_using_subcommand qosd" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand qosd" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand qosd" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand qos; and not __fish_seen_subcommand_from status help" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand qos; and not __fish_seen_subcommand_from status help" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand qos; and not __fish_seen_subcommand_from status help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand qos; and not __fish_seen_subcommand_from status help" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand qos; and not __fish_seen_subcommand_from status help" -f -a "status" -d 'Print all reserves: who has what, of which range, and what limits it'
complete -c tactus -n "__fish_tactus_using_subcommand qos; and not __fish_seen_subcommand_from status help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tactus -n "__fish_tactus_using_subcommand qos; and __fish_seen_subcommand_from status" -l socket -d 'Socket of the manager' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand qos; and __fish_seen_subcommand_from status" -l watch -d 'Print it again every so often until Ctrl-C [default: 1s]' -r
complete -c tactus -n "__fish_tactus_using_subcommand qos; and __fish_seen_subcommand_from status" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand qos; and __fish_seen_subcommand_from status" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand qos; and __fish_seen_subcommand_from status" -l json -d 'Print JSON: one object, or with --watch one a line; durations are in nanoseconds'
complete -c tactus -n "__fish_tactus_using_subcommand qos; and __fish_seen_subcommand_from status" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand qos; and __fish_seen_subcommand_from status" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand qos; and __fish_seen_subcommand_from help" -f -a "status" -d 'Print all reserves: who has what, of which range, and what limits it'
complete -c tactus -n "__fish_tactus_using_subcommand qos; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tactus -n "__fish_tactus_using_subcommand streamd" -l socket -d 'Socket to listen at, unless systemd passes one' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand streamd" -l device -d 'Device by the name by which programs open it; several are possible' -r
complete -c tactus -n "__fish_tactus_using_subcommand streamd" -l input -d 'MIDI input by the name by which programs listen to it: pty, pty:LINK, the path of a device, jack, or jack:CLIENT; several are possible' -r
complete -c tactus -n "__fish_tactus_using_subcommand streamd" -l policy -d 'Policy of the threads that deliver; the thread that serves programs has the next lower priority' -r
complete -c tactus -n "__fish_tactus_using_subcommand streamd" -l horizon -d 'How far ahead of the present an item may be due' -r
complete -c tactus -n "__fish_tactus_using_subcommand streamd" -l spin -d 'Watch the clock instead of sleeping this long before each item: at most 1ms; it takes as much CPU time' -r
complete -c tactus -n "__fish_tactus_using_subcommand streamd" -l osc -d 'Take Open Sound Control over UDP at this port of this machine, or at ADDRESS:PORT' -r
complete -c tactus -n "__fish_tactus_using_subcommand streamd" -l lines -d 'Take JSON lines at this local socket' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand streamd" -l lsl -d 'Show deliveries of a device as markers of the Lab Streaming Layer; several are possible' -r
complete -c tactus -n "__fish_tactus_using_subcommand streamd" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand streamd" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand streamd" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand streamd" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand streamd" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand streams" -l socket -d 'Socket of the server' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand streams" -l watch -d 'Print it again every so often until Ctrl-C [default: 1s]' -r
complete -c tactus -n "__fish_tactus_using_subcommand streams" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand streams" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand streams" -l json -d 'Print JSON: one object, or with --watch one a line; durations are in nanoseconds'
complete -c tactus -n "__fish_tactus_using_subcommand streams" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand streams" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and not __fish_seen_subcommand_from devices monitor thru send help" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand midi; and not __fish_seen_subcommand_from devices monitor thru send help" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand midi; and not __fish_seen_subcommand_from devices monitor thru send help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and not __fish_seen_subcommand_from devices monitor thru send help" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and not __fish_seen_subcommand_from devices monitor thru send help" -f -a "devices" -d 'List what can be an input or an output'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and not __fish_seen_subcommand_from devices monitor thru send help" -f -a "monitor" -d 'Print the messages of inputs with their arrival times'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and not __fish_seen_subcommand_from devices monitor thru send help" -f -a "thru" -d 'Pass messages from inputs to an output, each as soon as it is whole'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and not __fish_seen_subcommand_from devices monitor thru send help" -f -a "send" -d 'Send messages, each at its time, and print what became of them'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and not __fish_seen_subcommand_from devices monitor thru send help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from devices" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from devices" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from devices" -l json -d 'Print JSON: one object a line'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from devices" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from devices" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from monitor" -l socket -d 'Socket of the delivery server' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from monitor" -l kinds -d 'Kinds to print: notes, controllers, programs, pressure, bend, common, real-time, exclusive, joined by +, or all, or normal (all but exclusive)' -r
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from monitor" -l duration -d 'How long to monitor [default: until Ctrl-C]' -r
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from monitor" -l policy -d 'Scheduling policy of the thread that reads and writes' -r
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from monitor" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from monitor" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from monitor" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from monitor" -l json -d 'Print JSON, one object a line; times are in nanoseconds of CLOCK_MONOTONIC'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from monitor" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from monitor" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from thru" -l filter -d 'What passes, and how it is changed' -r
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from thru" -l rate -d 'Bits a second of the output, or unpaced: as fast as it takes bytes. A MIDI cable has 31250' -r
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from thru" -l duration -d 'How long to run [default: until Ctrl-C]' -r
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from thru" -l policy -d 'Scheduling policy of the thread that reads and writes' -r
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from thru" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from thru" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from thru" -l running-status -d 'Leave out status bytes that do not change: chords take up to a third less time on a cable'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from thru" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from thru" -l json -d 'Print the summary as JSON; durations are in nanoseconds'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from thru" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from thru" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from send" -l file -d 'File of messages with times' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from send" -l delay -d 'How long after the start the first message is due' -r
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from send" -l hold -d 'How long to wait after the last message, before notes end' -r
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from send" -l rate -d 'Bits a second of the output, or unpaced. A device of a server has its own' -r
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from send" -l socket -d 'Socket of the delivery server' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from send" -l policy -d 'Scheduling policy of the thread that reads and writes' -r
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from send" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from send" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from send" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from send" -l json -d 'Print JSON, one object a line: a receipt for each message, and a summary; times are in nanoseconds of CLOCK_MONOTONIC'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from send" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from send" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from help" -f -a "devices" -d 'List what can be an input or an output'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from help" -f -a "monitor" -d 'Print the messages of inputs with their arrival times'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from help" -f -a "thru" -d 'Pass messages from inputs to an output, each as soon as it is whole'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from help" -f -a "send" -d 'Send messages, each at its time, and print what became of them'
complete -c tactus -n "__fish_tactus_using_subcommand midi; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tactus -n "__fish_tactus_using_subcommand judge" -l player -d 'Players, separated by commas: tactus, mpv, ffplay, gstreamer [default: those that are installed]' -r
complete -c tactus -n "__fish_tactus_using_subcommand judge" -l rate -d 'Frames a second of the clip, from 10 to 120; several clips for several rates, separated by commas' -r
complete -c tactus -n "__fish_tactus_using_subcommand judge" -l size -d 'Size of the clip and of the screen, from 224x128 to 1920x1080' -r
complete -c tactus -n "__fish_tactus_using_subcommand judge" -l duration -d 'Duration of the clip in whole seconds, from 3s to 15min' -r
complete -c tactus -n "__fish_tactus_using_subcommand judge" -l load -d 'Also play beside these loads of `tactus measure`, separated by commas: e.g. compute:2,disk [default: none]' -r
complete -c tactus -n "__fish_tactus_using_subcommand judge" -l reserve -d 'Also play by tactus with a reserve, for the thread that shows the frames and for the X server, e.g. 6ms/20ms [default: none]' -r
complete -c tactus -n "__fish_tactus_using_subcommand judge" -s r -l rounds -d 'Number of times that each player plays each clip beside each load' -r
complete -c tactus -n "__fish_tactus_using_subcommand judge" -l seed -d 'Seed that determines the order of the turns [default: a new one]' -r
complete -c tactus -n "__fish_tactus_using_subcommand judge" -l quantum -d 'Frames of a cycle of the sound server, at 48 kHz' -r
complete -c tactus -n "__fish_tactus_using_subcommand judge" -l look -d 'Time between two looks of the photodiode, from 50us to 5ms' -r
complete -c tactus -n "__fish_tactus_using_subcommand judge" -l shift -d 'Plant an error: shift the sound of the clip, e.g. -40ms for early sound; several clips for several shifts, separated by commas' -r
complete -c tactus -n "__fish_tactus_using_subcommand judge" -s o -l output -d 'Also write an HTML page' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand judge" -l clip -d 'Only write the clip (QuickTime, H.264 and PCM), and judge nothing' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand judge" -l calibrate -d 'Judge a wave file instead: microphone in the first channel, photodiode in the second' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand judge" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand judge" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand judge" -l json -d 'Print one JSON object; durations are in nanoseconds'
complete -c tactus -n "__fish_tactus_using_subcommand judge" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand judge" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand judge" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand play" -l display -d 'X11 display, Wayland socket, or device of the delivery server: one for all clips, or one for each, in their order [default: DISPLAY; the server\'s only device that takes frames]' -r
complete -c tactus -n "__fish_tactus_using_subcommand play" -l through -d 'Let the delivery server show the frames, with those of other programs: its socket [default without a value: /run/tactus/streamd.sock]' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand play" -l transport -d 'Way of frames to the display' -r -f -a "auto\t'The best of the display'
present\t'Shared memory and extension Present: the server\'s own time stamps'
shm\t'Shared memory (MIT-SHM)'
socket\t'The connection carries the pixels'
wayland\t'A Wayland compositor, with presentation feedback; auto takes it if there is no DISPLAY'"
complete -c tactus -n "__fish_tactus_using_subcommand play" -l start -d 'Where to begin, in the time of the clip' -r
complete -c tactus -n "__fish_tactus_using_subcommand play" -l duration -d 'How much to play, in the time of the clip [default: to the end]' -r
complete -c tactus -n "__fish_tactus_using_subcommand play" -l rate -d 'Speed, from 0.25 to 4; the pitch stays' -r
complete -c tactus -n "__fish_tactus_using_subcommand play" -l sound -d 'Client of the sound server that gets the sound, or alsa:hw:CARD,DEVICE for a device without a sound server [default: the device that the server prefers]' -r
complete -c tactus -n "__fish_tactus_using_subcommand play" -l policy -d 'Policy of the threads that show frames' -r
complete -c tactus -n "__fish_tactus_using_subcommand play" -l decoders -d 'Policy of decoders' -r
complete -c tactus -n "__fish_tactus_using_subcommand play" -l reserve -d 'CPU time that is guaranteed to each thread that shows frames, e.g. 5ms/40ms' -r
complete -c tactus -n "__fish_tactus_using_subcommand play" -l over -d 'With --explain: time after which a frame that is shown or dropped is late [default: half the time between two frames]' -r
complete -c tactus -n "__fish_tactus_using_subcommand play" -s o -l output -d 'With --explain: file of the recording; the page has the same name with .html [default: tactus-DATE.tactusrec]' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand play" -l ticks -d 'Emulate a kernel whose timers expire only at ticks, so many a second: frames are shown at the next tick' -r
complete -c tactus -n "__fish_tactus_using_subcommand play" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand play" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand play" -l mute -d 'Play no sound: wall time drives the clock'
complete -c tactus -n "__fish_tactus_using_subcommand play" -l show-late -d 'Show late frames instead of dropping a frame when the next one is due as well'
complete -c tactus -n "__fish_tactus_using_subcommand play" -l explain -d 'Explain late and dropped frames'
complete -c tactus -n "__fish_tactus_using_subcommand play" -l json -d 'Print JSON, one object a line: each frame\'s receipt; times are in nanoseconds of CLOCK_MONOTONIC'
complete -c tactus -n "__fish_tactus_using_subcommand play" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand play" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand play" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand mail; and not __fish_seen_subcommand_from record send play help" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand mail; and not __fish_seen_subcommand_from record send play help" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand mail; and not __fish_seen_subcommand_from record send play help" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand mail; and not __fish_seen_subcommand_from record send play help" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand mail; and not __fish_seen_subcommand_from record send play help" -f -a "record" -d 'Record a clip, with a stamp for each picture and each block of sound'
complete -c tactus -n "__fish_tactus_using_subcommand mail; and not __fish_seen_subcommand_from record send play help" -f -a "send" -d 'Send a clip with its stamps, or write the mail to a file'
complete -c tactus -n "__fish_tactus_using_subcommand mail; and not __fish_seen_subcommand_from record send play help" -f -a "play" -d 'Play the clip of a mail, each picture at the time of its own stamp'
complete -c tactus -n "__fish_tactus_using_subcommand mail; and not __fish_seen_subcommand_from record send play help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from record" -l picture -d 'Source of pictures: screen, camera:DEVICE, synthetic (a test pattern that flashes each second), or none' -r
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from record" -l display -d 'X display of the source `screen` [default: that of DISPLAY]' -r
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from record" -l size -d 'Size of pictures in pixels; the source `screen` has its own' -r
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from record" -l rate -d 'Pictures a second, from 1 to 120' -r
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from record" -l sound -d 'Source of sound: microphone, microphone:CLIENT (a client of the sound server), synthetic (a tone each second), or none' -r
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from record" -l duration -d 'How long to record, at most 1h [default: until Ctrl-C]' -r
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from record" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from record" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from record" -l json -d 'Print the summary as JSON; durations are in nanoseconds'
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from record" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from record" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from record" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from send" -l to -d 'Address of a receiver; several are possible' -r
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from send" -l from -d 'Address of the sender [default: the mail program fills it in]' -r
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from send" -l subject -d 'Subject: one line' -r
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from send" -l text -d 'Text of the mail [default: what a video mail is]' -r
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from send" -s o -l output -d 'File for the mail, which is not sent' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from send" -l sendmail -d 'Program that sends, by name or path' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from send" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from send" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from send" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from send" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from send" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from play" -l display -d 'X11 display, Wayland socket, or device of the delivery server: one for all clips, or one for each, in their order [default: DISPLAY; the server\'s only device that takes frames]' -r
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from play" -l through -d 'Let the delivery server show the frames, with those of other programs: its socket [default without a value: /run/tactus/streamd.sock]' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from play" -l transport -d 'Way of frames to the display' -r -f -a "auto\t'The best of the display'
present\t'Shared memory and extension Present: the server\'s own time stamps'
shm\t'Shared memory (MIT-SHM)'
socket\t'The connection carries the pixels'
wayland\t'A Wayland compositor, with presentation feedback; auto takes it if there is no DISPLAY'"
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from play" -l start -d 'Where to begin, in the time of the clip' -r
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from play" -l duration -d 'How much to play, in the time of the clip [default: to the end]' -r
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from play" -l rate -d 'Speed, from 0.25 to 4; the pitch stays' -r
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from play" -l sound -d 'Client of the sound server that gets the sound, or alsa:hw:CARD,DEVICE for a device without a sound server [default: the device that the server prefers]' -r
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from play" -l policy -d 'Policy of the threads that show frames' -r
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from play" -l decoders -d 'Policy of decoders' -r
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from play" -l reserve -d 'CPU time that is guaranteed to each thread that shows frames, e.g. 5ms/40ms' -r
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from play" -l over -d 'With --explain: time after which a frame that is shown or dropped is late [default: half the time between two frames]' -r
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from play" -s o -l output -d 'With --explain: file of the recording; the page has the same name with .html [default: tactus-DATE.tactusrec]' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from play" -l ticks -d 'Emulate a kernel whose timers expire only at ticks, so many a second: frames are shown at the next tick' -r
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from play" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from play" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from play" -l mute -d 'Play no sound: wall time drives the clock'
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from play" -l show-late -d 'Show late frames instead of dropping a frame when the next one is due as well'
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from play" -l explain -d 'Explain late and dropped frames'
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from play" -l json -d 'Print JSON, one object a line: each frame\'s receipt; times are in nanoseconds of CLOCK_MONOTONIC'
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from play" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from play" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from play" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from help" -f -a "record" -d 'Record a clip, with a stamp for each picture and each block of sound'
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from help" -f -a "send" -d 'Send a clip with its stamps, or write the mail to a file'
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from help" -f -a "play" -d 'Play the clip of a mail, each picture at the time of its own stamp'
complete -c tactus -n "__fish_tactus_using_subcommand mail; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tactus -n "__fish_tactus_using_subcommand list" -s n -l newest -d 'Number of runs or recordings to list' -r
complete -c tactus -n "__fish_tactus_using_subcommand list" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand list" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand list" -l all -d 'List all of them; takes about a second for 100 runs'
complete -c tactus -n "__fish_tactus_using_subcommand list" -l json -d 'Print JSON, one object a line'
complete -c tactus -n "__fish_tactus_using_subcommand list" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand list" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand show" -l for -d 'What the machine is for: audio:RATE/FRAMES, control:RATE:LATENESS, video:RATE, midi, or PERIOD:LATENESS, e.g. audio:48000/64, control:1kHz:50us, 2ms:100us; prints how often its deadlines are missed; may be repeated' -r
complete -c tactus -n "__fish_tactus_using_subcommand show" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand show" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand show" -l json -d 'Print JSON, one object a line for each run, with the summary of every cell'
complete -c tactus -n "__fish_tactus_using_subcommand show" -l csv -d 'Print the table as comma-separated values, durations in nanoseconds'
complete -c tactus -n "__fish_tactus_using_subcommand show" -l markdown -d 'Print the table as Markdown'
complete -c tactus -n "__fish_tactus_using_subcommand show" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand show" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand explain" -l cell -d 'Explain only this cell of a run, like RUN#CELL: its number from 1, its label, or a part of its label [default: all cells]' -r
complete -c tactus -n "__fish_tactus_using_subcommand explain" -l thread -d 'Explain only threads of a recording with this name or thread ID; may be repeated [default: the most delayed threads]' -r
complete -c tactus -n "__fish_tactus_using_subcommand explain" -l threshold -d 'Latency above which a wakeup is late' -r
complete -c tactus -n "__fish_tactus_using_subcommand explain" -l period -d 'Period of the threads, for jobs [default: found from each thread\'s due times]' -r
complete -c tactus -n "__fish_tactus_using_subcommand explain" -l deadline -d 'Time from due to done above which a job is late [default: the period]' -r
complete -c tactus -n "__fish_tactus_using_subcommand explain" -l worst -d 'Number of the slowest wakeups of a cell, or longest waits of a thread, to show in detail' -r
complete -c tactus -n "__fish_tactus_using_subcommand explain" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand explain" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand explain" -l jobs -d 'Explain only the jobs of periodic threads of a recording, from due to done; with --thread, late jobs are explained in any case'
complete -c tactus -n "__fish_tactus_using_subcommand explain" -l json -d 'Print JSON, one object a line for each cell or thread name'
complete -c tactus -n "__fish_tactus_using_subcommand explain" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand explain" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand quanta" -l cell -d 'Show only this cell of a run, like RUN#CELL: its number from 1, its label, or a part of its label [default: all cells]' -r
complete -c tactus -n "__fish_tactus_using_subcommand quanta" -l by -d 'What each row of a table stands for' -r -f -a "program\t'All processes with the same name'
thread\t'Each thread'"
complete -c tactus -n "__fish_tactus_using_subcommand quanta" -l tick -d 'Rates of simulated ticks, in Hz, 1 to 100000' -r
complete -c tactus -n "__fish_tactus_using_subcommand quanta" -l top -d 'Number of rows in a table; one more row contains the sum of the others' -r
complete -c tactus -n "__fish_tactus_using_subcommand quanta" -l page -d 'Also write an HTML page with graphs: the distribution of quanta, billed against used time' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand quanta" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand quanta" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand quanta" -l json -d 'Print JSON, one object a line for each recording or cell'
complete -c tactus -n "__fish_tactus_using_subcommand quanta" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand quanta" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand report" -s o -l output -d 'File of the page [default: a file in reports/ beside the store]' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand report" -l for -d 'What the machine is for: audio:RATE/FRAMES, control:RATE:LATENESS, video:RATE, midi, or PERIOD:LATENESS; the page shows how often its deadlines are missed; may be repeated' -r
complete -c tactus -n "__fish_tactus_using_subcommand report" -l tick -d 'Rates of simulated ticks, in Hz, shown beside the kernel\'s tick in the CPU accounts of recorded cells [default: none]' -r
complete -c tactus -n "__fish_tactus_using_subcommand report" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand report" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand report" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand report" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l part -d 'Part of the paper to measure; may be repeated [default: all parts]' -r
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l from -d 'Use this run of the paper\'s experiment, without measuring; may be repeated' -r
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l kernel -d 'Measure in a guest with this kernel (`tactus lab kernels` lists them); repeat it to compare kernels [default: measure this machine]' -r
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l mips -d 'With --exact: speed of deterministic time, in million instructions per second: 1000, 500, 250 or 125' -r
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l proofs -d 'With --exact: number of separately booted machines whose results must be equal, 2 to 100' -r
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l guest-limit -d 'Time limit of a guest, in time of this host [default: derived from the duration of its cell]' -r
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l jobs -d 'In deterministic time: number of guests that run at a time; results are the same for any number [default: one for each CPU]' -r
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l preemption -d 'Preemption model of the kernel, if the kernel does not report it' -r -f -a "none\t''
voluntary\t''
full\t''
lazy\t''
rt\t''"
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l seed -d 'Seed that determines the order of the cells and the random intervals [default: a new one]' -r
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -s o -l output -d 'File of the HTML page [default: a file in reports/ beside the store]' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l full -d 'Measure for the paper\'s own durations, half an hour to several hours [default: the quick form]'
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l exact -d 'Measure in deterministic (instruction-counted) time: every run with the same seed gives the same bytes'
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l plan-only -d 'Print the cells and the estimated duration, without measuring'
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l no-page -d 'Write no HTML page'
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -l json -d 'Print events and results as JSON, one object a line'
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand reproduce" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand compare" -l margin -d 'Count figures that differ by less than this as the same' -r
complete -c tactus -n "__fish_tactus_using_subcommand compare" -l page -d 'Also write a self-contained HTML page with two percentile graphs for each pair' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand compare" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand compare" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand compare" -l force -d 'Compare cells with different probes, sleeps, clocks or intervals too'
complete -c tactus -n "__fish_tactus_using_subcommand compare" -l fail-on-worse -d 'Exit with code 1 if any figure is worse'
complete -c tactus -n "__fish_tactus_using_subcommand compare" -l json -d 'Print one JSON object'
complete -c tactus -n "__fish_tactus_using_subcommand compare" -l csv -d 'Print the table as comma-separated values, durations in nanoseconds'
complete -c tactus -n "__fish_tactus_using_subcommand compare" -l markdown -d 'Print the table as Markdown'
complete -c tactus -n "__fish_tactus_using_subcommand compare" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand compare" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand machines" -l experiment -d 'Experiment whose last runs are taken [default: that of the last run]' -r
complete -c tactus -n "__fish_tactus_using_subcommand machines" -l figure -d 'Figure: p50, p99, p99.9, max' -r
complete -c tactus -n "__fish_tactus_using_subcommand machines" -l cell -d 'Cell: its number from 1, its label, or a part of its label [default: the worst cell of each machine]' -r
complete -c tactus -n "__fish_tactus_using_subcommand machines" -s o -l output -d 'Also write a self-contained HTML page' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand machines" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand machines" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand machines" -l json -d 'Print one JSON object'
complete -c tactus -n "__fish_tactus_using_subcommand machines" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand machines" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l max -d 'Require that no wakeup is later than this' -r
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l quantile -d 'Require that this percentage of the due times is met within a duration, e.g. 99.9=80us; may be repeated' -r
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l missed -d 'Require at most this number of missed due times' -r
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l for -d 'With --at-most: what the machine is for: audio:RATE/FRAMES, control:RATE:LATENESS, video:RATE, midi, or PERIOD:LATENESS' -r
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l at-most -d 'With --for: require at most this rate of deadline misses, with 95 % confidence, e.g. 1/h' -r
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l no-worse-than -d 'Require that no quantile is worse than in the same cell of this run or exported file, by the method of `tactus compare`' -r
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l margin -d 'Count figures that differ from the baseline by less than this as the same' -r
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l junit -d 'Also write the outcome as JUnit XML' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l valid -d 'Require that the figures of the run and the baseline are valid: clock, load, accounting, machine'
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l no-warnings -d 'Like --valid, and require that the figures have no warnings'
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l allow-unsupported -d 'Let demands that the sample cannot support pass'
complete -c tactus -n "__fish_tactus_using_subcommand gate" -l json -d 'Print one JSON object'
complete -c tactus -n "__fish_tactus_using_subcommand gate" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand gate" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand export" -s o -l output -d 'File to write [default: standard output]' -r -F
complete -c tactus -n "__fish_tactus_using_subcommand export" -l cell -d 'Export the recording of this cell of a run, like RUN#CELL: its number from 1, its label, or a part of its label [default: export the run]' -r
complete -c tactus -n "__fish_tactus_using_subcommand export" -l round -d 'With RUN#CELL: round of the recording, counted from 1 [default: 1]' -r
complete -c tactus -n "__fish_tactus_using_subcommand export" -l as -d 'Format: for a run, hdr [default: JSON]; for a recording, one of the others [default: json-lines]' -r -f -a "json-lines\t'One JSON object a line for each event'
perfetto\t'Trace for ui.perfetto.dev'
recording\t'File of `tactus record` (docs/recording-format.md)'
hdr\t'Latencies of a run as an interval log of HdrHistogram'"
complete -c tactus -n "__fish_tactus_using_subcommand export" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand export" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand export" -l without-samples -d 'Leave out a run\'s single samples, which are most of its size'
complete -c tactus -n "__fish_tactus_using_subcommand export" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand export" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand export" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand import" -l format -d 'Format of the files: tactus, cyclictest-json, cyclictest-histogram, timerlat-histogram, jitterdebugger-json, oslat-json, hdr-log [default: determined by the content]' -r
complete -c tactus -n "__fish_tactus_using_subcommand import" -l unit -d 'Unit of figures in files that do not contain it, e.g. 1us [default: 1ns for interval logs, 1us otherwise]' -r
complete -c tactus -n "__fish_tactus_using_subcommand import" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand import" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand import" -l as-rounds -d 'Import files of another tool as the rounds of one run, in this order; a comparison needs several rounds'
complete -c tactus -n "__fish_tactus_using_subcommand import" -l json -d 'Print JSON, one object a line for each run'
complete -c tactus -n "__fish_tactus_using_subcommand import" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand import" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand import" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand delete" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand delete" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand delete" -s y -l yes -d 'Delete without asking'
complete -c tactus -n "__fish_tactus_using_subcommand delete" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand delete" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand delete" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand serve" -l listen -d 'Address and port to listen at; port 0 chooses a free one' -r
complete -c tactus -n "__fish_tactus_using_subcommand serve" -l name -d 'Name under which a reverse proxy reaches the site; may be repeated. Requests for other names are refused, except for localhost and the address' -r
complete -c tactus -n "__fish_tactus_using_subcommand serve" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand serve" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand serve" -s q -l quiet -d 'Print no progress and no notes; results, warnings and errors remain'
complete -c tactus -n "__fish_tactus_using_subcommand serve" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand serve" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand completions" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand completions" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand completions" -s h -l help -d 'Print help (see more with \'--help\')'
complete -c tactus -n "__fish_tactus_using_subcommand completions" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell live causes pipeline task interrupted relay load load-worker guardian observer shard node reserved help" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell live causes pipeline task interrupted relay load load-worker guardian observer shard node reserved help" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell live causes pipeline task interrupted relay load load-worker guardian observer shard node reserved help" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell live causes pipeline task interrupted relay load load-worker guardian observer shard node reserved help" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell live causes pipeline task interrupted relay load load-worker guardian observer shard node reserved help" -f -a "cell" -d 'Measure one cell'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell live causes pipeline task interrupted relay load load-worker guardian observer shard node reserved help" -f -a "live" -d 'Measure one cell and pass its samples on while measuring'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell live causes pipeline task interrupted relay load load-worker guardian observer shard node reserved help" -f -a "causes" -d 'Record kernel events and explain late samples'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell live causes pipeline task interrupted relay load load-worker guardian observer shard node reserved help" -f -a "pipeline" -d 'Run a pipeline with real processes'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell live causes pipeline task interrupted relay load load-worker guardian observer shard node reserved help" -f -a "task" -d 'Run one task of a probe'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell live causes pipeline task interrupted relay load load-worker guardian observer shard node reserved help" -f -a "interrupted" -d 'Prepare the caches for the events of a task, which interrupt this process'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell live causes pipeline task interrupted relay load load-worker guardian observer shard node reserved help" -f -a "relay" -d 'Send the packets of the net probe\'s senders'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell live causes pipeline task interrupted relay load load-worker guardian observer shard node reserved help" -f -a "load" -d 'Run the workers of a load'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell live causes pipeline task interrupted relay load load-worker guardian observer shard node reserved help" -f -a "load-worker" -d 'Run one worker of a load'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell live causes pipeline task interrupted relay load load-worker guardian observer shard node reserved help" -f -a "guardian" -d 'Change settings of the machine, and restore them when the measurement ends'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell live causes pipeline task interrupted relay load load-worker guardian observer shard node reserved help" -f -a "observer" -d 'Observe one playback of a player'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell live causes pipeline task interrupted relay load load-worker guardian observer shard node reserved help" -f -a "shard" -d 'Measure the turns of one task of a job on a cluster'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell live causes pipeline task interrupted relay load load-worker guardian observer shard node reserved help" -f -a "node" -d 'Measure the plan of a job on the node of one task'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell live causes pipeline task interrupted relay load load-worker guardian observer shard node reserved help" -f -a "reserved" -d 'Execute a command as soon as it has its reserve'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and not __fish_seen_subcommand_from cell live causes pipeline task interrupted relay load load-worker guardian observer shard node reserved help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from cell" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from cell" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from cell" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from cell" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from live" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from live" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from live" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from live" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from causes" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from causes" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from causes" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from causes" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from pipeline" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from pipeline" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from pipeline" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from pipeline" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from task" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from task" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from task" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from task" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from interrupted" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from interrupted" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from interrupted" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from interrupted" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from relay" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from relay" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from relay" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from relay" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from load" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from load" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from load" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from load" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from load-worker" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from load-worker" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from load-worker" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from load-worker" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from guardian" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from guardian" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from guardian" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from guardian" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from observer" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from observer" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from observer" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from observer" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from shard" -l job -r -F
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from shard" -l task -r
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from shard" -l node -r
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from shard" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from shard" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from shard" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from shard" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from node" -l job -r -F
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from node" -l task -r
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from node" -l node -r
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from node" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from node" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from node" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from node" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from reserved" -l parent -r
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from reserved" -l color -d 'Colour texts: auto (on a terminal, unless NO_COLOR is set), always, never' -r -f -a "auto\t''
always\t''
never\t''"
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from reserved" -l store -d 'Results database: a file, or postgresql://USER@HOST:PORT/DATABASE [default: TACTUS_STORE, or ~/.local/share/tactus/runs.sqlite]' -r
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from reserved" -l lock-memory
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from reserved" -s h -l help -d 'Print help'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from reserved" -s V -l version -d 'Print version'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "cell" -d 'Measure one cell'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "live" -d 'Measure one cell and pass its samples on while measuring'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "causes" -d 'Record kernel events and explain late samples'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "pipeline" -d 'Run a pipeline with real processes'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "task" -d 'Run one task of a probe'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "interrupted" -d 'Prepare the caches for the events of a task, which interrupt this process'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "relay" -d 'Send the packets of the net probe\'s senders'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "load" -d 'Run the workers of a load'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "load-worker" -d 'Run one worker of a load'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "guardian" -d 'Change settings of the machine, and restore them when the measurement ends'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "observer" -d 'Observe one playback of a player'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "shard" -d 'Measure the turns of one task of a job on a cluster'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "node" -d 'Measure the plan of a job on the node of one task'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "reserved" -d 'Execute a command as soon as it has its reserve'
complete -c tactus -n "__fish_tactus_using_subcommand internal; and __fish_seen_subcommand_from help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "doctor" -d 'Check what affects timing on this machine, and print the commands that fix it'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "measure" -d 'Measure wakeup latency under loads and policies, store the run, and print the results'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "costs" -d 'Measure what operations cost on this machine: system calls, round trips, memory, clocks, interrupts'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "model" -d 'Predict how long a frame of a pipeline takes, and how often it misses its budget'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "lab" -d 'Prepare guests, list and build kernels, compare two kernels, and bisect'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "watch" -d 'Watch wakeups live: a scope, a percentile graph, and the causes of late wakeups'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "agent" -d 'Watch for late wakeups all the time, within a budget of CPU time, with metrics for Prometheus'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "record" -d 'Record kernel events: switches, wakeups, timers, interrupts, softirqs'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "admit" -d 'Check on paper whether periodic tasks meet their deadlines, and what would fit'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "reserve" -d 'Run a program with guaranteed CPU time'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "why" -d 'Show which threads of a program miss their deadlines, and why'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "lint" -d 'Show what the real-time code of a program does that it must not, with file and line'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "need" -d 'Measure how much CPU time the periodic threads of a program need'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "qosd" -d 'Grant CPU time to programs that ask for it, by admission, importance and a policy (QoS manager)'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "qos" -d 'Ask the QoS manager who has CPU time, and why'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "streamd" -d 'Deliver items of programs at their times, and answer each by a receipt (delivery server)'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "streams" -d 'Print what the delivery server delivers: its devices, its clients, and how early items arrive'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "midi" -d 'List, monitor, route and send MIDI'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "judge" -d 'Judge players from outside: offset of sound and picture, drift, slip, dropped and repeated frames'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "play" -d 'Play clips, picture and sound in step, with a receipt for each frame'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "mail" -d 'Record, send and play video mail'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "list" -d 'List the runs in the store with their verdicts, saved recordings, or what can be named: experiments, loads, policies, settings'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "show" -d 'Show a run: verdict, cells, shortfalls, the machine, estimates for longer times'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "explain" -d 'Explain why wakeups were late: their causes, then the worst wakeups in detail'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "quanta" -d 'Show where CPU time went: by program or thread, in which quanta, and what ticks billed'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "report" -d 'Write one self-contained HTML page about one or several runs'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "reproduce" -d 'Repeat the measurements of a paper, and compare its figures with those of this machine'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "compare" -d 'Compare two runs, or two cells, with confidence intervals'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "machines" -d 'Rank machines by a figure of the same experiment, with outliers and drift'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "gate" -d 'Check a run against limits or a baseline, and exit with code 1 if a demand fails'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "export" -d 'Export a run as JSON, or a recording of kernel events for other programs'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "import" -d 'Import results into the store: exported runs, and results of other latency tools'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "delete" -d 'Delete runs from the store permanently'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "serve" -d 'Serve the runs in the store as a read-only web site, with histories, comparisons and a JSON API'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "completions" -d 'Print the completion script for a shell'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "internal" -d 'Run one of the processes that tactus starts itself'
complete -c tactus -n "__fish_tactus_using_subcommand help; and not __fish_seen_subcommand_from doctor measure costs model lab watch agent record admit reserve why lint need qosd qos streamd streams midi judge play mail list show explain quanta report reproduce compare machines gate export import delete serve completions internal help" -f -a "help" -d 'Print this message or the help of the given subcommand(s)'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "bisect" -d 'Find the first commit of a kernel\'s tree that is worse than a good commit'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "gate" -d 'Compare a kernel with a baseline kernel, and exit with code 1 if it is worse'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "kernels" -d 'List the kernels for guests, or fetch or build kernels'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from lab" -f -a "setup" -d 'Prepare everything that guests need: emulator, guest program and kernels'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from qos" -f -a "status" -d 'Print all reserves: who has what, of which range, and what limits it'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from midi" -f -a "devices" -d 'List what can be an input or an output'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from midi" -f -a "monitor" -d 'Print the messages of inputs with their arrival times'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from midi" -f -a "thru" -d 'Pass messages from inputs to an output, each as soon as it is whole'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from midi" -f -a "send" -d 'Send messages, each at its time, and print what became of them'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from mail" -f -a "record" -d 'Record a clip, with a stamp for each picture and each block of sound'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from mail" -f -a "send" -d 'Send a clip with its stamps, or write the mail to a file'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from mail" -f -a "play" -d 'Play the clip of a mail, each picture at the time of its own stamp'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "cell" -d 'Measure one cell'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "live" -d 'Measure one cell and pass its samples on while measuring'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "causes" -d 'Record kernel events and explain late samples'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "pipeline" -d 'Run a pipeline with real processes'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "task" -d 'Run one task of a probe'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "interrupted" -d 'Prepare the caches for the events of a task, which interrupt this process'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "relay" -d 'Send the packets of the net probe\'s senders'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "load" -d 'Run the workers of a load'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "load-worker" -d 'Run one worker of a load'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "guardian" -d 'Change settings of the machine, and restore them when the measurement ends'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "observer" -d 'Observe one playback of a player'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "shard" -d 'Measure the turns of one task of a job on a cluster'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "node" -d 'Measure the plan of a job on the node of one task'
complete -c tactus -n "__fish_tactus_using_subcommand help; and __fish_seen_subcommand_from internal" -f -a "reserved" -d 'Execute a command as soon as it has its reserve'

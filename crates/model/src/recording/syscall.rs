//! System calls in which a thread waits.

crate::text::keywords! {
    /// A system call in which a measured thread sleeps, by the kernel's name.
    pub enum SleepingCall: "sleeping system call" {
        /// clock_nanosleep(2)
        ClockNanosleep = "clock_nanosleep",
        /// nanosleep(2)
        Nanosleep = "nanosleep",
        /// read(2), of a timerfd, a pipe or an eventfd.
        Read = "read",
        /// futex(2)
        Futex = "futex",
        /// poll(2)
        Poll = "poll",
        /// ppoll(2)
        Ppoll = "ppoll",
        /// pselect6(2), behind pselect(2)
        Pselect = "pselect6",
        /// epoll_wait(2)
        EpollWait = "epoll_wait",
        /// epoll_pwait(2)
        EpollPwait = "epoll_pwait",
        /// rt_sigtimedwait(2), behind sigwaitinfo(2)
        SigTimedWait = "rt_sigtimedwait",
        /// rt_sigsuspend(2), behind sigsuspend(2)
        SigSuspend = "rt_sigsuspend",
        /// pause(2)
        Pause = "pause",
        /// io_uring_enter(2)
        IoUringEnter = "io_uring_enter",
    }
}

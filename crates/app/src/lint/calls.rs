//! The system calls that a question names.

use tactus_explain::sections::GivenWait;
use tactus_model::text::nearest;
use tactus_sys::system_call;

use super::Question;
use crate::{Error, Result};

/// The calls in which a thread can wait for its next period or event. Those that write can wait for
/// room in a device; `ioctl` waits for sound and video devices; `sched_yield` ends the job of a
/// thread under SCHED_DEADLINE.
const WAITS: &str = "accept accept4 clock_nanosleep epoll_pwait epoll_pwait2 epoll_wait fcntl flock \
    futex futex_waitv io_getevents io_uring_enter ioctl mq_timedreceive mq_timedsend msgrcv msgsnd \
    nanosleep pause poll ppoll pread64 preadv preadv2 pselect6 pwrite64 read readv recvfrom recvmmsg \
    recvmsg rt_sigsuspend rt_sigtimedwait sched_yield select semop semtimedop sendmsg sendto splice \
    wait4 waitid write writev";

/// The numbers of the system calls of a question.
pub(super) struct Calls {
    pub(super) allowed: Vec<i64>,
    pub(super) wait: Option<GivenWait>,
}

impl Calls {
    /// Reads the names.
    ///
    /// # Errors
    /// There is no such call, or no thread waits in it.
    pub(super) fn of(question: &Question) -> Result<Self> {
        Ok(Self {
            allowed: question.allowed.iter().map(|name| number(name)).collect::<Result<_>>()?,
            wait: question.wait.as_deref().map(given).transpose()?,
        })
    }
}

fn number(name: &str) -> Result<i64> {
    system_call::number(name).ok_or_else(|| {
        let near = nearest(name, &system_call::names());
        let near = near.map(|near| format!("did you mean `{near}`?"));
        let several = name.contains(',').then(|| "repeat the option for each call".to_owned());
        let error = Error::usage(format!("unknown system call `{name}`"));
        error.with_hint_if_any(several.or(near))
    })
}

/// Reads a wait: `CALL` or `CALL@FILE:LINE`.
fn given(wait: &str) -> Result<GivenWait> {
    let Some((call, at)) = wait.split_once('@') else {
        return Ok(GivenWait { number: waiting(wait)?, at: None });
    };
    let at = at.rsplit_once(':').and_then(|(file, line)| Some((file, line.parse::<u32>().ok()?)));
    let Some((file, line)) = at.filter(|(file, _)| !file.is_empty()) else {
        let example = "such as `clock_nanosleep@servo.c:42`";
        return Err(Error::usage(format!("`{wait}` is not CALL or CALL@FILE:LINE, {example}")));
    };
    Ok(GivenWait { number: waiting(call)?, at: Some((file.to_owned(), line)) })
}

/// The number of a call in which a thread can wait.
fn waiting(call: &str) -> Result<i64> {
    let number = number(call)?;
    let waits: Vec<&str> = WAITS.split_whitespace().collect();
    if waits.contains(&call) {
        return Ok(number);
    }
    let near = nearest(call, &waits).map(|near| format!("did you mean `{near}`?"));
    let hint = near.unwrap_or_else(|| format!("it is one of: {}", waits.join(", ")));
    let error = Error::usage(format!("no thread waits for its next period in `{call}`"));
    Err(error.with_hint(hint))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    #[cfg(target_arch = "x86_64")]
    fn all_calls_that_wait_are_known() {
        assert!(WAITS.split_whitespace().all(|call| waiting(call).is_ok()));
    }
}

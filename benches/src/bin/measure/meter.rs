//! What the operating system says about this process.

use std::fs;
use std::time::Instant;

/// What a workload cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Least CPU seconds of a repetition, over all threads.
    pub(crate) cpu_seconds: f64,
    /// Least wall seconds of a repetition.
    pub(crate) seconds: f64,
    /// Memory before the first repetition, the model included, in MiB.
    pub(crate) base_mib: f64,
    /// The most memory since then, in MiB.
    pub(crate) peak_mib: f64,
}

/// Runs `work` once to warm up, then `repeats` times.
pub(crate) fn measure(repeats: usize, mut work: impl FnMut()) -> Cost {
    forget_peak();
    let base_mib = peak_mib();
    work();
    let mut cost =
        Cost { cpu_seconds: f64::INFINITY, seconds: f64::INFINITY, base_mib, peak_mib: 0.0 };
    for _ in 0..repeats {
        let (clock, cpu) = (Instant::now(), cpu_seconds());
        work();
        cost.seconds = cost.seconds.min(clock.elapsed().as_secs_f64());
        cost.cpu_seconds = cost.cpu_seconds.min(cpu_seconds() - cpu);
    }
    Cost { peak_mib: peak_mib(), ..cost }
}

/// CPU seconds of this process so far, in steps of a clock tick.
pub(crate) fn cpu_seconds() -> f64 {
    const TICKS_A_SECOND: f64 = 100.0;
    let stat = fs::read_to_string("/proc/self/stat").expect("Linux' /proc");
    // The second field, the name in parentheses, may hold spaces; user and system time are the 14th and 15th.
    let fields = stat.rsplit_once(')').expect("a name in parentheses").1.split_whitespace();
    fields.skip(11).take(2).map(|ticks| ticks.parse::<f64>().expect("ticks")).sum::<f64>()
        / TICKS_A_SECOND
}

/// Sets the peak of memory to what is resident now: building a model takes more than the model.
fn forget_peak() {
    fs::write("/proc/self/clear_refs", "5").expect("Linux' /proc");
}

/// The most memory that was resident since then, in MiB.
fn peak_mib() -> f64 {
    let status = fs::read_to_string("/proc/self/status").expect("Linux' /proc");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("VmHWM");
    let kib: f64 = line.trim().trim_end_matches(" kB").parse().expect("a number of kB");
    kib / 1024.0
}

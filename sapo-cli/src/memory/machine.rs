//! How much memory there is.

use std::fs;

use crate::config::DeviceName;

/// Where a container's limit is, under the first and the second kind of control groups.
const LIMITS: [&str; 2] =
    ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];

/// The bytes that a device has to give; `None` where the system does not say.
pub(super) fn available(device: DeviceName) -> Option<u64> {
    match device {
        DeviceName::Flex => {
            let machine = fs::read_to_string("/proc/meminfo").ok().and_then(|text| free(&text));
            // "max", where there is no limit, is no number.
            let limit = |path| fs::read_to_string(path).ok()?.trim().parse().ok();
            machine.into_iter().chain(LIMITS.into_iter().filter_map(limit)).min()
        }
    }
}

/// `MemAvailable` of Linux' `/proc/meminfo`, in bytes.
fn free(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_available_is_read_in_bytes() {
        let text = "MemTotal:       16 kB\nMemFree:  1 kB\nMemAvailable:    8 kB\n";
        assert_eq!(free(text), Some(8192));
        assert_eq!(free("MemTotal: 16 kB\n"), None);
    }
}

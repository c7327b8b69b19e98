//! The environment that libraries below us read, set before any thread begins.
#![allow(unsafe_code)]

use std::env;
use std::ffi::OsStr;

/// Turns off Mesa's choice of a default GPU by the desktop where there is no desktop to ask.
const NO_SELECTION: &str = "NODEVICE_SELECT";

/// Keeps Mesa's device-select layer, which the Vulkan loader puts into every program, from asking a Wayland desktop which GPU is its own
/// where there is none: the Wayland library would print "error: XDG_RUNTIME_DIR is invalid or not set in the environment" for it. All GPUs
/// are found without the layer too. To be called first of all: once there are threads, it does nothing.
pub fn prepare() {
    if cfg!(target_os = "linux") && !has_desktop(|name| env::var_os(name)) && is_alone() {
        // SAFETY: the process has no other thread that could read the environment meanwhile.
        unsafe { env::set_var(NO_SELECTION, "1") };
    }
}

/// Whether the process has one thread.
fn is_alone() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() == 1)
}

/// Whether the layer finds a desktop without complaint, or the user has told it what to do.
fn has_desktop<T: AsRef<OsStr>>(variable: impl Fn(&str) -> Option<T>) -> bool {
    let is_path = |name: &str| variable(name).is_some_and(|value| value.as_ref().as_encoded_bytes().starts_with(b"/"));
    let told = ["MESA_VK_DEVICE_SELECT", NO_SELECTION, "DRI_PRIME"].iter().any(|name| variable(name).is_some());
    // A socket that was handed over needs no folder, nor does one that is named by its whole path.
    told || is_path("XDG_RUNTIME_DIR") || is_path("WAYLAND_DISPLAY") || variable("WAYLAND_SOCKET").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_desktop_is_known() {
        let found = |set: &[(&str, &'static str)]| {
            has_desktop(|name| set.iter().find(|(own, _)| *own == name).map(|(_, value)| *value))
        };
        for set in [
            &[][..],
            &[("XDG_RUNTIME_DIR", "")],
            &[("XDG_RUNTIME_DIR", "run/user")],
            &[("WAYLAND_DISPLAY", "wayland-0")],
        ] {
            assert!(!found(set), "{set:?}");
        }
        for set in [
            &[("XDG_RUNTIME_DIR", "/run/user/1000")][..],
            &[("WAYLAND_DISPLAY", "/run/user/1000/wayland-0")],
            &[("WAYLAND_SOCKET", "3")],
            &[("MESA_VK_DEVICE_SELECT", "10de:2204")],
            &[("NODEVICE_SELECT", "0")],
        ] {
            assert!(found(set), "{set:?}");
        }
    }
}

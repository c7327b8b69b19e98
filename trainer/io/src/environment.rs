//! Environment variables for libraries, set before any thread starts.
#![allow(unsafe_code)]

use std::env;
use std::ffi::OsStr;

/// Turns off Mesa's device-select layer.
const NO_SELECTION: &str = "NODEVICE_SELECT";

/// Turns off Mesa's device-select layer where no desktop runs. The layer asks a Wayland desktop for
/// its GPU. Without a desktop the Wayland library prints "error: XDG_RUNTIME_DIR is invalid or not
/// set in the environment". All GPUs are found without the layer. Call this first: it does nothing
/// once the process has several threads.
pub fn prepare() {
    if cfg!(target_os = "linux") && !has_desktop(|name| env::var_os(name)) && is_alone() {
        // SAFETY: the process has no other thread that could read the environment meanwhile.
        unsafe { env::set_var(NO_SELECTION, "1") };
    }
}

/// Whether the process has a single thread.
fn is_alone() -> bool {
    std::fs::read_dir("/proc/self/task").is_ok_and(|tasks| tasks.count() == 1)
}

/// Whether a Wayland desktop can be reached, or the user has set a device.
fn has_desktop<T: AsRef<OsStr>>(variable: impl Fn(&str) -> Option<T>) -> bool {
    let is_path = |name: &str| {
        variable(name).is_some_and(|value| value.as_ref().as_encoded_bytes().starts_with(b"/"))
    };
    let is_set_by_user = ["MESA_VK_DEVICE_SELECT", NO_SELECTION, "DRI_PRIME"]
        .iter()
        .any(|name| variable(name).is_some());
    // Neither an inherited socket nor an absolute socket path needs the runtime folder.
    is_set_by_user
        || is_path("XDG_RUNTIME_DIR")
        || is_path("WAYLAND_DISPLAY")
        || variable("WAYLAND_SOCKET").is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_desktop_is_detected() {
        let found = |set: &[(&str, &'static str)]| {
            has_desktop(|name| {
                set.iter()
                    .find(|(own, _)| *own == name)
                    .map(|(_, value)| *value)
            })
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

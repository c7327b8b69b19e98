//! Fixtures, goldens and devices for the tests of all crates.

pub mod table;

use burn::tensor::Device;
use pel_artifacts::device::{DeviceArgs, DeviceChoice, OpenDevice, Work, adapters};
use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// A file below this crate.
pub fn path(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// The bytes of a file below this crate.
///
/// # Panics
/// If it cannot be read.
pub fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A golden file.
///
/// # Panics
/// If it cannot be read or has another form.
pub fn golden<T: DeserializeOwned>(name: &str) -> T {
    serde_json::from_slice(&bytes(&format!("goldens/{name}")))
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// The bytes of an edited manifest with a new digest.
pub fn sealed(mut manifest: serde_json::Value) -> Vec<u8> {
    manifest["digest"] = "".into();
    manifest["digest"] = pel_kb::digest::of(manifest.to_string().as_bytes())
        .to_hex()
        .as_str()
        .into();
    manifest.to_string().into_bytes()
}

/// The folder of a model: a fixture, or MiniLM, which is not committed.
///
/// # Panics
/// If MiniLM is missing.
pub fn model(name: &str) -> PathBuf {
    if name != "minilm" && name != "all-MiniLM-L6-v2" {
        return path(&format!("../shared/tests/fixtures/{name}"));
    }
    let folder = std::env::var_os("PEL_MINILM")
        .map(PathBuf::from)
        .unwrap_or_default();
    assert!(
        folder.join("model.safetensors").is_file(),
        "PEL_MINILM: expected the folder of all-MiniLM-L6-v2, found {folder:?}; `./check test` \
         fetches it"
    );
    folder
}

/// The bytes of a file of a model.
///
/// # Panics
/// If it cannot be read.
pub fn model_bytes(name: &str, file: &str) -> Vec<u8> {
    let path = model(name).join(file);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The CPU, and a GPU or software Vulkan. Opened once, because a GPU runtime can be started only
/// once.
///
/// # Panics
/// If a Linux machine has no Vulkan device; Debian's `mesa-vulkan-drivers` suffice.
pub fn devices() -> Vec<(String, Device)> {
    static DEVICES: OnceLock<Vec<(String, Device)>> = OnceLock::new();
    DEVICES.get_or_init(open_devices).clone()
}

/// The CPU as an open device.
pub fn cpu() -> OpenDevice {
    let (name, device) = devices().remove(0);
    OpenDevice { device, name }
}

fn open_devices() -> Vec<(String, Device)> {
    let open = |device| {
        let args = DeviceArgs {
            device,
            ..DeviceArgs::default()
        };
        args.open(Work::Long)
            .map(|opened| (opened.name, opened.device))
            .unwrap_or_else(|error| panic!("{error}"))
    };
    let mut devices = vec![open(DeviceChoice::Cpu)];
    if adapters().is_empty() {
        // Other systems without a GPU have nothing to compare with.
        if cfg!(target_os = "linux") {
            panic!("no Vulkan device: install mesa-vulkan-drivers");
        }
    } else {
        devices.push(open(DeviceChoice::Vulkan));
    }
    devices
}

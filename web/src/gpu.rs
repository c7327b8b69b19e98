//! The GPU of a browser, by WebGPU.

use crate::failure::{Failure, Outcome};
use burn::tensor::Device;
use js_sys::{Object, Reflect, global};
use wasm_bindgen::JsCast;
use web_sys::DedicatedWorkerGlobalScope;

/// Asks the browser for a GPU.
///
/// # Errors
/// If it has none.
pub async fn device() -> Outcome<Device> {
    let setup = Device::wgpu_options().init_with_setup_async().await;
    let (device, setup) = setup.map_err(Failure::no_webgpu)?;
    // Work on a lost device never ends, so this callback tells the page.
    setup.device.set_device_lost_callback(|reason, message| {
        let reason = format!("{reason:?}").to_lowercase();
        post_lost(&format!("the GPU was lost ({reason}): {message}"));
    });
    Ok(device)
}

/// Tells the page that owns this worker that the engine cannot continue: posts `{ lost: why }`.
fn post_lost(why: &str) {
    let message = Object::new();
    // Setting a property of a fresh object cannot fail, and a plain object can be posted.
    let _ = Reflect::set(&message, &"lost".into(), &why.into());
    let _ = global()
        .unchecked_into::<DedicatedWorkerGlobalScope>()
        .post_message(&message);
}

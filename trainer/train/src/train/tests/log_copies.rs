//! The copy of the log for TensorBoard.

use super::{run, world};
use pel_io::files::entries;
use std::path::Path;

fn event_files(out: &Path) -> Vec<String> {
    entries(out)
        .expect("listed")
        .into_iter()
        .filter(|name| name.starts_with("events.out.tfevents."))
        .collect()
}

#[test]
fn resumed_run_has_an_event_file() {
    let root = tempfile::tempdir().expect("a folder");
    let mut config = world(root.path());
    config.checkpoints.every = 2;
    let out = root.path().join("run");
    run(&config, &out).expect("it trains");
    assert!(event_files(&out).is_empty());
    // A run can be resumed with another copy. A finished one adds nothing to it.
    config.log.tensorboard = true;
    run(&config, &out).expect("it is done");
    assert!(event_files(&out).is_empty());
    std::fs::remove_dir_all(out.join("checkpoints/step-0000005")).expect("removed");
    run(&config, &out).expect("it goes on from step 4");
    let files = event_files(&out);
    assert_eq!(files.len(), 1, "{files:?}");
    let bytes = std::fs::read(out.join(&files[0])).expect("there");
    let has = |tag: &str| bytes.windows(tag.len()).any(|part| part == tag.as_bytes());
    assert!(has("brain.Event:2") && has("train/loss") && has("validation/recall_64"));
}

//! The native side of PEL: files, devices, commands. Every computation on text, vectors or decisions is in `pel-shared`.

pub mod files;
pub mod interrupt;

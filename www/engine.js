// Which build of the package this engine can run: engines refuse a module whole if they lack one of its instructions.

// () => i32x4.relaxed_dot_i8x16_i7x16_add_s of three zeros.
const PROBE = Uint8Array.of(
  ...[0, 97, 115, 109, 1, 0, 0, 0], // magic number, version
  ...[1, 5, 1, 96, 0, 1, 123], // a type: no parameters, one v128
  ...[3, 2, 1, 0], // a function of it
  ...[10, 19, 1, 17, 0], // its code
  ...[65, 0, 253, 15],
  ...[65, 0, 253, 15],
  ...[65, 0, 253, 15],
  ...[253, 147, 2, 11],
);

/** The folder inside the package, with its slash; the package itself for engines without relaxed SIMD. */
export const build = WebAssembly.validate(PROBE) ? "relaxed/" : "";

// Errors with a code, across the border between the page and its worker too.

/** What went wrong, in a sentence, and a code for programs. */
export class PelError extends Error {
  constructor(code, message, options) {
    super(message, options);
    this.name = "PelError";
    this.code = code;
  }
}

/** An error as a worker posts it. */
export function posted(error) {
  return { code: error?.code ?? "device", message: error?.message ?? String(error) };
}

/** The error that was posted. */
export function revived({ code, message }) {
  return new PelError(code, message);
}

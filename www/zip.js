// Writes ZIP archives whose files are stored, not compressed, and reads archives. Pure.

const TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit += 1) value = value & 1 ? 0xedb88320 ^ (value >>> 1) : value >>> 1;
  return value;
});

/** The checksum of ZIP (CRC-32). @param {Uint8Array} bytes */
export function crc32(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) sum = TABLE[(sum ^ byte) & 0xff] ^ (sum >>> 8);
  return (sum ^ 0xffffffff) >>> 0;
}

/** Names are UTF-8. */
const [VERSION, FLAGS] = [20, 0x0800];

/**
 * @param {{ name: string, text: string }[]} files
 * @param {Date} date
 * @returns {Blob}
 */
export function zip(files, date = new Date()) {
  const encoder = new TextEncoder();
  const [parts, entries] = [[], []];
  let offset = 0;
  let size = 0;
  for (const file of files) {
    const [name, bytes] = [encoder.encode(file.name), encoder.encode(file.text)];
    const about = [VERSION, FLAGS, 0, ...dosTime(date)];
    const sizes = [crc32(bytes), bytes.length, bytes.length];
    const local = record([
      [0x04034b50, 4],
      ...about.map((one) => [one, 2]),
      ...sizes.map((one) => [one, 4]),
      [name.length, 2],
      [0, 2],
    ]);
    const entry = record([
      [0x02014b50, 4],
      [VERSION, 2],
      ...about.map((one) => [one, 2]),
      ...sizes.map((one) => [one, 4]),
      [name.length, 2],
      [0, 2],
      [0, 2],
      [0, 2],
      [0, 2],
      [0, 4],
      [offset, 4],
    ]);
    parts.push(local, name, bytes);
    entries.push(entry, name);
    offset += local.length + name.length + bytes.length;
    size += entry.length + name.length;
  }
  const end = record([
    [0x06054b50, 4],
    [0, 2],
    [0, 2],
    [files.length, 2],
    [files.length, 2],
    [size, 4],
    [offset, 4],
    [0, 2],
  ]);
  return new Blob([...parts, ...entries, end], { type: "application/zip" });
}

/** Numbers as little-endian bytes. @param {[number, number][]} fields value and bytes */
function record(fields) {
  const bytes = new Uint8Array(fields.reduce((sum, [, width]) => sum + width, 0));
  let at = 0;
  for (const [value, width] of fields) {
    for (let byte = 0; byte < width; byte += 1) bytes[at + byte] = (value >>> (8 * byte)) & 0xff;
    at += width;
  }
  return bytes;
}

/** Time and date as MS-DOS has them, to two seconds. */
const dosTime = (date) => [
  (date.getHours() << 11) | (date.getMinutes() << 5) | (date.getSeconds() >> 1),
  ((date.getFullYear() - 1980) << 9) | ((date.getMonth() + 1) << 5) | date.getDate(),
];

/** Files of an archive, and bytes of all of them together, that are read at most. */
const [FILES, BYTES] = [2000, 500_000_000];

/**
 * The files of an archive, stored or deflated. Folders and the files that systems add are left out.
 *
 * @param {Uint8Array} bytes
 * @returns {Promise<File[]>}
 * @throws if it is no such archive, or too large
 */
export async function unzip(bytes) {
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const end = findEnd(view);
  const count = view.getUint16(end + 10, true);
  if (count > FILES) throw new Error(`it has ${count} files; ${FILES} at most`);
  const files = [];
  let at = view.getUint32(end + 16, true);
  let left = BYTES;
  for (let number = 0; number < count; number += 1) {
    if (view.getUint32(at, true) !== 0x02014b50) throw new Error("its list of files is damaged");
    const [method, packed, size] = [
      view.getUint16(at + 10, true),
      view.getUint32(at + 20, true),
      view.getUint32(at + 24, true),
    ];
    const [name, extra, comment] = [28, 30, 32].map((place) => view.getUint16(at + place, true));
    const path = new TextDecoder().decode(bytes.subarray(at + 46, at + 46 + name));
    const place = view.getUint32(at + 42, true);
    at += 46 + name + extra + comment;
    left -= size;
    if (left < 0) throw new Error("it is too large");
    const plain = path.split("/").pop();
    if (plain === "" || plain.startsWith(".") || path.startsWith("__MACOSX/")) continue;
    const from = place + 30 + view.getUint16(place + 26, true) + view.getUint16(place + 28, true);
    files.push(new File([await inflated(bytes.subarray(from, from + packed), method, size)], plain));
  }
  return files;
}

/** The place of the record at the end of an archive, before which a comment may be. */
function findEnd(view) {
  for (let at = view.byteLength - 22; at >= Math.max(0, view.byteLength - 65_557); at -= 1) {
    if (view.getUint32(at, true) === 0x06054b50) return at;
  }
  throw new Error("it is not a ZIP archive");
}

async function inflated(bytes, method, size) {
  if (method === 0) return bytes;
  if (method !== 8) throw new Error("its files are packed in a way that the page does not know");
  const parts = [];
  let length = 0;
  const reader = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate-raw")).getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    parts.push(part.value);
    length += part.value.length;
    if (length > size) throw new Error("a file of it is larger than its list says");
  }
  return new Blob(parts);
}

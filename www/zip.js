// Writes a ZIP archive whose files are stored, not compressed. Pure.

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
    const local = record([[0x04034b50, 4], ...about.map((one) => [one, 2]), ...sizes.map((one) => [one, 4]), [name.length, 2], [0, 2]]);
    const entry = record([
      [0x02014b50, 4], [VERSION, 2], ...about.map((one) => [one, 2]), ...sizes.map((one) => [one, 4]), [name.length, 2],
      [0, 2], [0, 2], [0, 2], [0, 2], [0, 4], [offset, 4],
    ]);
    parts.push(local, name, bytes);
    entries.push(entry, name);
    offset += local.length + name.length + bytes.length;
    size += entry.length + name.length;
  }
  const end = record([[0x06054b50, 4], [0, 2], [0, 2], [files.length, 2], [files.length, 2], [size, 4], [offset, 4], [0, 2]]);
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

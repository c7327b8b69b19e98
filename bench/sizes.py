#!/usr/bin/env python3
"""Prints what each part of a bundle, the page's package and the program costs in bytes, as Markdown tables.

    bench/sizes.py --bundle FOLDER --packed bundle/default            files of a bundle, and of its packed form
    bench/sizes.py --package FOLDER                                   the files that a page loads
    bench/sizes.py --program PEL                                      sections, and code by crate if it has symbols
    bench/sizes.py --wasm FILE                                        the same of a WebAssembly module with names

A function counts for the crate that its name begins with; one that is made from a generic function counts for the crate of the
generic function: `rayon` has the loops of those who call it. Needs nm and c++filt (binutils). For a program with symbols:
CARGO_PROFILE_DIST_STRIP=none cargo build --profile dist -p pel-cli --bin pel; for a module with names:
CARGO_PROFILE_WEB_STRIP=none and `-p pel-web --target wasm32-unknown-unknown --profile web`.
"""
import argparse
import collections
import gzip
import pathlib
import re
import subprocess
import sys

# "<pel_linker::linker::Linker as core::fmt::Debug>::fmt", "core::ptr::drop_in_place<...>", "<&mut [rayon::Iter]>::next"
CRATE = re.compile(r"^[<&*(\[ ]*(?:mut |const |dyn |impl )*([A-Za-z_]\w*)(?:::|>|\[)")
LEAST = 0.01
MEGA = 1e6


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ["bundle", "packed", "package", "program", "wasm"]:
        parser.add_argument(f"--{name}", type=pathlib.Path)
    options = parser.parse_args()
    for path in filter(None, vars(options).values()):
        if not path.exists():
            parser.error(f"{path}: there is no such file or folder")
    if options.bundle:
        print_bundle(options.bundle, options.packed)
    if options.package:
        print_package(options.package)
    if options.program:
        print_code(options.program, *program_parts(options.program))
    if options.wasm:
        print_code(options.wasm, *wasm_parts(options.wasm))
    return 0


def table(head, rows):
    """A Markdown table."""
    lines = [head, ["---"] * len(head), *rows]
    print("\n".join(f"| {' | '.join(cells)} |" for cells in lines), end="\n\n")


def megabytes(size):
    return f"{size / MEGA:.2f}"


def print_bundle(folder, packed):
    """The files, largest first, and the packed ones beside them."""
    rows = []
    for path in sorted(folder.iterdir(), key=lambda path: (-path.stat().st_size, path.name)):
        forms = [packed / path.name, packed / f"{path.name}.xz"] if packed else []
        sizes = [form.stat().st_size for form in forms if form.exists()]
        rows.append((path.name, path.stat().st_size, sizes[0] if sizes else 0))
    rows.append(("all", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    table(["file", "MB", "packed (xz), MB"], [[name, megabytes(size), megabytes(small)] for name, size, small in rows])


def print_package(folder):
    """The programs and scripts, as they are and by gzip."""
    paths = [path for path in sorted(folder.rglob("*")) if path.suffix in {".js", ".wasm"}]
    rows = []
    for path in paths:
        data = path.read_bytes()
        rows.append([str(path.relative_to(folder)), megabytes(len(data)), megabytes(len(gzip.compress(data, 9)))])
    table(["file", "MB", "gzip, MB"], rows)


def run(*command, text=None):
    try:
        return subprocess.run(command, input=text, capture_output=True, text=True, check=True).stdout
    except (OSError, subprocess.CalledProcessError) as error:
        sys.exit(f"{' '.join(command[:1])}: {error}")


def program_parts(path):
    """Sections of an ELF file, and its functions with their bytes."""
    sections = [line.split() for line in run("size", "-A", str(path)).splitlines()]
    sizes = {cells[0]: int(cells[1]) for cells in sections if len(cells) == 3 and cells[1].isdigit()}
    functions = []
    for line in run("nm", "-S", "--size-sort", "-C", str(path)).splitlines():
        cells = line.split(" ", 3)
        if len(cells) == 4 and cells[2].lower() in "tw":
            functions.append((cells[3], int(cells[1], 16)))
    return sizes, functions


def number(data, at):
    """A LEB128 number and the position after it."""
    value = shift = 0
    while True:
        byte = data[at]
        value |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < 128:
            return value, at


def wasm_parts(path):
    """Sections of a module, and its functions with their bytes."""
    data = path.read_bytes()
    if data[:4] != b"\0asm":
        sys.exit(f"{path}: expected a WebAssembly module")
    known = {1: "types", 2: "imports", 3: "functions", 7: "exports", 9: "elements", 10: "code", 11: "data"}
    sizes, bodies, names, at = collections.Counter(), [], {}, 8
    while at < len(data):
        kind = data[at]
        length, start = number(data, at + 1)
        at = start + length
        name = known.get(kind, f"section {kind}")
        if kind == 0:
            count, begin = number(data, start)
            name = data[begin:begin + count].decode()
            if name == "name":
                names = function_names(data, begin + count, at)
        if kind == 10:
            count, start = number(data, start)
            for _ in range(count):
                size, start = number(data, start)
                bodies.append(size)
                start += size
        sizes[name] += length
    # Imported functions have the first numbers, and no body.
    first = max(names, default=-1) + 1 - len(bodies)
    mangled = "\n".join(names.get(first + place, "?") for place in range(len(bodies)))
    return dict(sizes), list(zip(run("c++filt", text=mangled).splitlines(), bodies))


def function_names(data, at, end):
    """The names of functions by their numbers, from the section `name`."""
    names = {}
    while at < end:
        kind = data[at]
        length, start = number(data, at + 1)
        at = start + length
        if kind != 1:
            continue
        count, start = number(data, start)
        for _ in range(count):
            function, start = number(data, start)
            size, start = number(data, start)
            names[function] = data[start:start + size].decode(errors="replace")
            start += size
    return names


def print_code(path, sections, functions):
    """The sections, then the crates with most code."""
    whole = path.stat().st_size
    largest = sorted(((size, name) for name, size in sections.items() if size > LEAST * whole), reverse=True)
    table([f"section of {path.name}", "MB"], [[f"`{name}`", megabytes(size)] for size, name in largest])
    crates = collections.Counter()
    for name, size in functions:
        found = CRATE.match(name)
        crates[found.group(1) if found else "others"] += size
    total = sum(crates.values())
    shown = [(name, size) for name, size in crates.most_common() if size > LEAST * total]
    shown.append(("all others", total - sum(size for _, size in shown)))
    if total:
        table(["crate", "MB", "%"], [[name, megabytes(size), f"{100 * size / total:.1f}"] for name, size in shown])


if __name__ == "__main__":
    sys.exit(main())

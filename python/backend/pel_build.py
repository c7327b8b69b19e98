"""Builds the package: unpacks the default bundle into it, then calls maturin.

As a program it only unpacks the bundle:

    python3 python/backend/pel_build.py

The bundle is that of the clone, `bundle/default`. The variable PEL_WHEEL_BUNDLE names another folder, or is empty for a
package without a bundle. Only the standard library is used.
"""

import hashlib
import lzma
import os
import pathlib
import shutil
import sys

PYTHON = pathlib.Path(__file__).resolve().parent.parent
ROOT = PYTHON.parent
PACKAGED = PYTHON / "pel_linker" / "data" / "default"
MARK = PACKAGED.parent / "unpacked"


def fingerprint(folder):
    """Changes with the name, size or time of any file."""
    found = hashlib.sha256()
    for path in sorted(folder.iterdir()):
        stat = path.stat()
        found.update(f"{path} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return found.hexdigest()


def remove():
    """Takes the bundle out of the package."""
    MARK.unlink(missing_ok=True)
    shutil.rmtree(PACKAGED, ignore_errors=True)


def unpack():
    """Brings the bundle into the package, unless it is there already."""
    chosen = os.environ.get("PEL_WHEEL_BUNDLE")
    if chosen == "":
        remove()
        return
    source = pathlib.Path(chosen) if chosen else ROOT / "bundle" / "default"
    if not (source / "manifest.json").is_file():
        if (PACKAGED / "manifest.json").is_file():
            # A source distribution brings it unpacked.
            return
        raise SystemExit(f"{source}: expected a bundle, found none; PEL_WHEEL_BUNDLE= builds a package without one")
    state = fingerprint(source)
    if PACKAGED.is_dir() and MARK.is_file() and MARK.read_text() == state:
        return
    remove()
    part = PACKAGED.with_name("part")
    shutil.rmtree(part, ignore_errors=True)
    part.mkdir(parents=True)
    for path in sorted(source.iterdir()):
        if path.suffix == ".xz":
            with lzma.open(path) as packed, open(part / path.stem, "wb") as file:
                shutil.copyfileobj(packed, file, 1 << 20)
        elif path.is_file():
            shutil.copyfile(path, part / path.name)
    part.rename(PACKAGED)
    MARK.write_text(state)


def prepare():
    """What precedes each build."""
    unpack()
    # As scripts/common.sh: builds are kept outside the clone.
    if "CARGO_TARGET_DIR" not in os.environ:
        home = os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache"
        cache = pathlib.Path(os.environ.get("PEL_CACHE") or pathlib.Path(home) / "pel")
        os.environ["CARGO_TARGET_DIR"] = str(cache / "target")


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    import maturin

    prepare()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)


def build_editable(wheel_directory, config_settings=None, metadata_directory=None):
    import maturin

    prepare()
    return maturin.build_editable(wheel_directory, config_settings, metadata_directory)


def build_sdist(sdist_directory, config_settings=None):
    raise SystemExit("pel-linker has wheels alone; build one in a clone of the repository")


def get_requires_for_build_wheel(config_settings=None):
    import maturin

    return maturin.get_requires_for_build_wheel(config_settings)


def get_requires_for_build_editable(config_settings=None):
    import maturin

    return maturin.get_requires_for_build_editable(config_settings)


if __name__ == "__main__":
    unpack()
    sys.exit(print(PACKAGED if PACKAGED.is_dir() else "without a bundle"))

"""Hardware and software versions of the measurement."""

import importlib.metadata
import os
import pathlib
import platform

PACKAGES = ("torch", "transformers", "onnx", "onnxruntime", "faiss-cpu", "hnswlib", "numpy")


def machine():
    return {"cpu": cpu_model(), "cores": os.cpu_count(), "system": platform.platform(), "versions": versions()}


def cpu_model():
    try:
        for line in pathlib.Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def versions():
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            found[name] = None
    return found

"""ONNX Runtime Web, and pel's WebAssembly, in Node on one thread: web/bench.mjs runs both."""

import json
import pathlib
import shlex
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent.parent / "web"
SHAPES = [(1, 32), (16, 64)]
# The target ratio.
TARGET = 0.9
# Peer -> the corresponding engine of pel.
PEERS = {"ort-web-fp32": ["pel-f32", "pel-f32-relaxed"], "ort-web-int8": ["pel-int8", "pel-int8-relaxed"]}
# A flag in Node 20, the default in newer versions.
RELAXED = "--experimental-wasm-relaxed-simd"


def ready():
    """Whether Node is installed; downloads ONNX Runtime Web at the first call."""
    if not shutil.which("node") or not shutil.which("npm"):
        return False
    if not (HERE / "node_modules" / ".package-lock.json").exists():
        subprocess.run(["npm", "ci", "--no-audit", "--no-fund", "--loglevel=error"], cwd=HERE, stdout=sys.stderr, check=True)
    return True


def node():
    """The command for Node with relaxed SIMD."""
    knows = subprocess.run(["node", RELAXED, "-e", ""], stderr=subprocess.DEVNULL).returncode == 0
    return ["node", RELAXED] if knows else ["node"]


def run_web(options, fp32, int8):
    """One run: rows of {engine, batch, seq, median_ms, runs, cosine_to_first}."""
    command = [*node(), str(HERE / "bench.mjs"), "--onnx", f"ort-web-fp32={fp32}", "--onnx", f"ort-web-int8={int8}",
               "--shapes", ",".join(f"{batch}x{seq}" for batch, seq in SHAPES), "--seconds", str(options.seconds)]
    if options.web_package:
        command += ["--pel", str(options.web_package), "--model", f"pel-f32={options.model}"]
        if options.int8_model:
            command += ["--model", f"pel-int8={options.int8_model}"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"{shlex.join(command)} failed with exit code {done.returncode}")
    return json.loads(done.stdout)["web"]

"""Tests the REST interface of a running `pel serve --api`. See scripts/test/api-test.

Usage: api.py [--seconds N] [--examples N] [--bundle BUNDLE] PEL
"""
import argparse
import atexit
import json
import os
import pathlib
import secrets
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What no log may have.
SECRET = "zyxwvutsrq"


def tiny_bundle(pel, folder):
    """A bundle of a few concepts with the committed tiny model."""
    kb = folder / "kb.jsonl"
    concepts = [
        {"id": "D1", "name": "fever", "synonyms": ["pyrexia"], "types": ["Sign"], "sources": ["TEST"]},
        {"id": "D2", "name": "chest pain", "types": ["Sign"], "sources": ["TEST"]},
        {"id": "D3", "name": "diabetes mellitus", "synonyms": ["diabetes"], "types": ["Disease"], "sources": ["TEST"]},
    ]
    kb.write_text("".join(json.dumps(concept) + "\n" for concept in concepts))
    bundle = folder / "bundle"
    encoder = ROOT / "shared/tests/fixtures/tiny"
    command = [pel, "index", "--device", "cpu", "--kb", kb, "--encoder", encoder, "--out", bundle]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return bundle


class Server:
    """A server on a free port; its standard error goes to a file."""

    def __init__(self, pel, bundle, folder, *more):
        self.log = folder / f"log-{secrets.token_hex(4)}"
        command = [pel, "serve", "--api", "--json", "--port", "0", "--bundle", bundle, "--max-per-address", "512"]
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen([*map(str, command), *more], stdout=subprocess.PIPE, stderr=log)
        # A check that fails ends this program at once.
        atexit.register(self.process.kill)
        self.address = json.loads(self.process.stdout.readline())["address"].rstrip("/")

    def ask(self, path, body=None, **headers):
        """The status, headers and body of a response."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"content-type": "application/json", **headers}
        request = urllib.request.Request(self.address + path, data, headers)
        try:
            with urllib.request.urlopen(request, timeout=60) as response:
                return response.status, response.headers, response.read()
        except urllib.error.HTTPError as error:
            return error.code, error.headers, error.read()

    def stop(self, number=signal.SIGTERM):
        """The exit code and the log."""
        self.process.send_signal(number)
        code = self.process.wait(timeout=60)
        return code, self.log.read_text()


def check(holds, what):
    print(("ok      " if holds else "FAILED  ") + what, flush=True)
    if not holds:
        sys.exit(1)


def conformance(pel, bundle, folder, examples):
    """Requests made from the description, with and without a token."""
    token = folder / "token"
    token.write_text(secrets.token_hex(32))
    token.chmod(0o600)
    for name, more, given in [
        ("schemathesis finds nothing", [], []),
        (
            "schemathesis finds nothing with a token",
            ["--token-file", str(token)],
            ["-H", f"Authorization: Bearer {token.read_text()}"],
        ),
    ]:
        server = Server(pel, bundle, folder, *more)
        command = [
            pathlib.Path(sys.executable).parent / "schemathesis",
            "--config-file", ROOT / "tests/python/schemathesis.toml",
            "run", "--max-examples", examples, "--seed", 1, "--continue-on-failure", "--workers", 2,
            "--suppress-health-check", "all", "--warnings", "off", *given, server.address + "/openapi.json",
        ]
        done = subprocess.run([*map(str, command)], cwd=folder, stdin=subprocess.DEVNULL, capture_output=True, text=True)
        if done.returncode:
            print(done.stdout[-8000:], done.stderr[-2000:])
        check(done.returncode == 0, name)
        summary = [line.strip() for line in done.stdout.splitlines() if "generated" in line or "passed" in line]
        print("        " + "; ".join(summary[-3:]))
        code, log = server.stop()
        check(code == 0, "the server has survived it, and stops with exit code 0")
        check(len(log.splitlines()) < 10, "the log has no requests")


def stopping(pel, bundle, folder):
    """Open requests end after SIGTERM, and new ones are refused."""
    server = Server(pel, bundle, folder)
    body = {"texts": [f"fever, chest pain and {SECRET}; " * 60] * 64}
    answers = []
    threads = [threading.Thread(target=lambda: answers.append(server.ask("/v1/link", body)[0])) for _ in range(4)]
    for thread in threads:
        thread.start()
    time.sleep(0.5)
    code, log = server.stop()
    for thread in threads:
        thread.join()
    check(answers == [200] * 4, f"requests in flight end after SIGTERM: {answers}")
    check(code == 0, "then the exit code is 0")
    check(SECRET not in log and "POST" not in log, "no text is in the log")

    server = Server(pel, bundle, folder)
    thread = threading.Thread(target=lambda: ask_quietly(server, body))
    thread.start()
    time.sleep(0.3)
    server.process.kill()
    thread.join()
    check(server.process.wait() != 0, "a killed server ends at once")
    server = Server(pel, bundle, folder)
    check(server.ask("/v1/link", {"text": "fever"})[0] == 200, "and another one starts")
    server.stop()


def ask_quietly(server, body):
    try:
        server.ask("/v1/link", body)
    except OSError:
        pass


def example(pel, bundle, folder):
    """examples/api/link.sh."""
    server = Server(pel, bundle, folder)
    environment = {**os.environ, "PEL_API": server.address}
    done = subprocess.run(["bash", ROOT / "examples/api/link.sh"], env=environment, capture_output=True, text=True)
    if done.returncode:
        print(done.stdout, done.stderr)
    check(done.returncode == 0, "examples/api/link.sh runs")
    check('"mentions"' in done.stdout, "and prints links")
    server.stop()


def load(pel, bundle, folder, seconds):
    """200 connections for a while."""
    command = [sys.executable, "-B", ROOT / "bench/api_load.py", "--pel", pel, "--bundle", bundle, "--seconds", seconds]
    done = subprocess.run([*map(str, command), "--check"], text=True)
    check(done.returncode == 0, "200 connections: nothing fails, and memory is flat")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--examples", type=int, default=50)
    parser.add_argument("--bundle", type=pathlib.Path)
    parser.add_argument("--only", choices=["conformance", "stopping", "example", "load"])
    parser.add_argument("pel", type=pathlib.Path)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        folder, pel = pathlib.Path(folder), args.pel.resolve()
        bundle = args.bundle.resolve() if args.bundle else tiny_bundle(pel, folder)
        for name, test, more in [
            ("conformance", conformance, [args.examples]),
            ("stopping", stopping, []),
            ("example", example, []),
            ("load", load, [args.seconds]),
        ]:
            if args.only in (None, name):
                test(pel, bundle, folder, *more)


if __name__ == "__main__":
    main()

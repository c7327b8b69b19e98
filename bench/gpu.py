#!/usr/bin/env python3
"""Measures pel on a GPU beside PyTorch on the same card, in the same run, and prints the ratios.

    gpu.py --pel target/release/pel --bundle BUNDLE

    encode   batches of token ids to pooled vectors on the host
    train    whole steps of pairs: two forward passes, in-batch cross-entropy, gradients, clipping, AdamW

pel needs a build with the cargo feature `gpu` or `spirv`, PyTorch one for CUDA. PyTorch gets an encoder with the bundle's
config.json and random weights, because times do not depend on them. Rows are full, without padding. Rounds alternate; the
figure of a case is the median over rounds of the medians within a round. pel's weights are floats on a GPU; PyTorch's row
`f32` computes without TF32, the row `tf32` with it, the others under autocast.
"""

import argparse
import datetime
import json
import pathlib
import statistics
import subprocess
import sys
import time

from peers.machine import machine
from peers.report import table

SCALE = 20.0


def shapes(text):
    return [tuple(int(part) for part in shape.split("x")) for shape in text.split(",")]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pel", type=pathlib.Path, required=True, help="the binary, built with a GPU feature")
    parser.add_argument("--bundle", type=pathlib.Path, required=True, help="an unpacked bundle folder")
    parser.add_argument("--device", default="vulkan", choices=("vulkan", "cuda"), help="device of pel (default vulkan)")
    parser.add_argument("--encode-shapes", default="1x32,32x128,256x128,1024x32", help="rows and tokens")
    parser.add_argument("--train-shapes", default="16x64,64x64,256x64", help="pairs and tokens")
    parser.add_argument("--rounds", type=int, default=3, help="alternating rounds (default 3)")
    parser.add_argument("--seconds", type=float, default=0.5, help="least time per measurement within a round (default 0.5)")
    parser.add_argument("--out", type=pathlib.Path, help="file for the raw figures")
    return parser.parse_args()


def run_pel(options):
    command = [options.pel, "bench", "--json", "--device", options.device, "--bundle", options.bundle, "--no-search", "--train",
               "--encode-shapes", options.encode_shapes, "--train-shapes", options.train_shapes, "--seconds", str(options.seconds)]
    done = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"pel bench failed with exit code {done.returncode}")
    report = json.loads(done.stdout)
    times = {("encode", row["precision"], row["batch"], row["seq"]): row["median_ms"] for row in report["encode"]}
    for row in report["train"]:
        if row["kind"] == "step":
            times["step", row["precision"], row["batch"], row["seq"]] = row["median_ms"]
    return report["device"], times


def timed(seconds, run):
    """The median time of a run in milliseconds: at least three runs, for at least `seconds`, after two to warm up."""
    run()
    run()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 3 or time.perf_counter() < end:
        began = time.perf_counter()
        run()
        times.append(1000 * (time.perf_counter() - began))
    return statistics.median(times)


class Torch:
    """The encoder in PyTorch on a CUDA device."""

    def __init__(self, options):
        import torch
        import transformers

        transformers.logging.set_verbosity_error()
        self.torch = torch
        if not torch.cuda.is_available():
            sys.exit("PyTorch finds no CUDA device")
        self.card = torch.cuda.get_device_name()
        config = transformers.BertConfig.from_json_file(str(options.bundle / "config.json"))
        config._attn_implementation = "sdpa"
        torch.manual_seed(1)
        self.model = transformers.BertModel(config, add_pooling_layer=False).cuda().eval()
        self.vocabulary = config.vocab_size

    def ids(self, batch, seq):
        return self.torch.randint(self.vocabulary, (batch, seq), device="cuda")

    def vectors(self, ids):
        pooled = self.model(input_ids=ids).last_hidden_state.float().mean(1)
        return self.torch.nn.functional.normalize(pooled, dim=-1)

    def precision(self, name):
        torch = self.torch
        torch.backends.cuda.matmul.allow_tf32 = name == "tf32"
        dtype = {"bf16": torch.bfloat16, "f16": torch.float16}.get(name)
        return torch.autocast("cuda", dtype=dtype or torch.bfloat16, enabled=dtype is not None)

    def encode(self, precision, batch, seq, seconds):
        ids = self.ids(batch, seq)

        def run():
            with self.torch.inference_mode(), self.precision(precision):
                self.vectors(ids).cpu()

        return timed(seconds, run)

    def step(self, precision, batch, seq, seconds):
        torch = self.torch
        optimiser = torch.optim.AdamW(self.model.parameters(), lr=1e-5, eps=1e-6, weight_decay=0.01, fused=True)
        mentions, entities, gold = self.ids(batch, seq), self.ids(batch, seq), torch.arange(batch, device="cuda")

        def run():
            optimiser.zero_grad(set_to_none=True)
            with self.precision(precision):
                scores = SCALE * self.vectors(mentions) @ self.vectors(entities).T
            torch.nn.functional.cross_entropy(scores.float(), gold).backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0).item()
            optimiser.step()
            torch.cuda.synchronize()

        return timed(seconds, run)

    def measure(self, options):
        times = {}
        for precision in ("f32", "tf32", "bf16", "f16"):
            for batch, seq in shapes(options.encode_shapes):
                times["encode", precision, batch, seq] = self.encode(precision, batch, seq, options.seconds)
            for batch, seq in shapes(options.train_shapes):
                times["step", precision, batch, seq] = self.step(precision, batch, seq, options.seconds)
        return times


def medians(rounds):
    cases = dict.fromkeys(case for times in rounds for case in times)
    return {case: statistics.median(times[case] for times in rounds if case in times) for case in cases}


def main():
    options = arguments()
    peer = Torch(options)
    ours, theirs, device = [], [], ""
    for at in range(options.rounds):
        print(f"round {at + 1} of {options.rounds}", file=sys.stderr, flush=True)
        device, times = run_pel(options)
        ours.append(times)
        theirs.append(peer.measure(options))
    ours, theirs = medians(ours), medians(theirs)
    print(f"pel on {device}; PyTorch {peer.torch.__version__} on {peer.card}. Milliseconds; ratio: time of pel by that of PyTorch.\n")
    rows = []
    for (kind, precision, batch, seq), peer_ms in sorted(theirs.items()):
        # TF32 is PyTorch's fast road for floats; pel has none of that kind.
        own = ours.get((kind, "f32" if precision == "tf32" else precision, batch, seq))
        rate = 1000 * batch / own if own else None
        rows.append([f"{kind} {batch} x {seq}", precision, f"{own:.2f}" if own else "-", f"{peer_ms:.2f}",
                     f"{own / peer_ms:.2f}" if own else "-", f"{rate:.0f}" if rate else "-"])
    table(["", "precision", "pel", "PyTorch", "ratio", "rows/s"], rows)
    if options.out:
        now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
        flat = [{"kind": kind, "precision": precision, "batch": batch, "seq": seq, "pel_ms": ours.get((kind, precision, batch, seq)),
                 "torch_ms": theirs.get((kind, precision, batch, seq))} for kind, precision, batch, seq in sorted({*ours, *theirs})]
        value = {"date": now, **machine(), "device": device, "card": peer.card, "rounds": options.rounds, "times": flat}
        options.out.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()

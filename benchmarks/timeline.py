"""How fast the timeline draws: first paint, frames of panning and zooming, hover, bytes per event.

    python benchmarks/timeline.py [--events 10000 1000000 10000000] [--lanes 2000]

Makes a trace of ranges, nested ranges and instants, opens it in headless Chromium, and pans and zooms a scripted way at
every scale, step by step, each in a frame of the browser. Of every frame it takes two times. ``wall`` is from the start
of the animation callback to the first task after it, with whatever else the machine does in between. ``cpu`` is the
processor's time of the page's main thread for script, style, layout and painting, with that of the measuring itself
(some tenths of a millisecond). Frames that first build a level of detail count as all others.
"""

from __future__ import annotations

import argparse
import base64
import gzip
import json
import os
import shutil
import threading
import time
from collections import defaultdict
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd
from playwright.sync_api import sync_playwright

from tltrace_nb.render.frames import frames
from tltrace_nb.widget.wire import Wire, encode

FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
         "--disable-background-networking", "--disable-component-update", "--disable-sync"]  # fmt: skip
PAGE = """<!DOCTYPE html><meta charset="utf-8"><div id="t"></div><script type="module">
import { mount } from "./timeline.js";
const header = await (await fetch("header")).text();
const columns = await (await fetch("columns")).arrayBuffer();
const began = performance.now();
const view = await mount(document.getElementById("t"), { header, columns });
view.draw();
const task = () => new Promise((done) => {
  const { port1, port2 } = new MessageChannel();
  port1.onmessage = done;
  port2.postMessage(0);
});
const frame = (step) => new Promise((done) => requestAnimationFrame(async () => {
  const began = performance.now();
  step();
  view.draw();
  await task();
  done(performance.now() - began);
}));
await frame(() => {});
window.first = performance.now() - began;
window.memory = () => (view.scene.events.bytes + view.scene.levels.bytes + view.scene.paint.marks.byteLength);
// The steps of the walk, one at a time, so that the processor's time of each can be asked for in between.
window.steps = [];
const { scene } = view;
const lanes = document.querySelector(".tlt-stage");
for (let width = 1; width > 1e-5; width /= 1.35) {
  const all = scene.axis.all;
  const size = (all.to - all.from) * width;
  const from = all.from + (all.to - all.from - size) * 0.37;
  steps.push(["zoom", () => scene.look({ from, to: from + size })]);
  for (let n = 0; n < 6; n++) steps.push(["pan", () => scene.pan(0.07)]);
  steps.push(["scroll", () => scene.scrollTo((scene.state.scroll + 1237) % scene.rows.height)]);
  for (let n = 0; n < 4; n++) {
    const stage = lanes.getBoundingClientRect();
    const at = { clientX: stage.left + 300 + 130 * n, clientY: stage.top + 80 + 60 * n, bubbles: true };
    steps.push(["hover", () => lanes.dispatchEvent(new PointerEvent("pointermove", at))]);
  }
}
window.walk = (n) => frame(steps[n][1]).then((wall) => [steps[n][0], wall, view.spent.looked]);
</script>"""


def synthetic(events: int, lanes: int) -> pd.DataFrame:
    """Per lane a loop of ranges, one in eight nested in the one before, one in sixteen an instant; two lanes a CTA."""
    rng = np.random.default_rng(7)
    per = events // lanes
    length = rng.integers(20, 2000, (lanes, per))
    gap = rng.integers(0, 400, (lanes, per))
    start = np.cumsum(length + gap, axis=1) - length
    nested = np.zeros(per, bool)
    nested[5::8] = True
    start[:, nested] = start[:, np.roll(nested, -1)] + 3
    length[:, nested] = np.maximum(length[:, np.roll(nested, -1)] - 6, 1) // 2
    instant = np.zeros(per, bool)
    instant[11::16] = True
    length[:, instant] = 0
    lane = np.repeat(np.arange(lanes), per)
    name = rng.integers(0, 12, lanes * per)
    cta = lane // 2
    rate = 0.55 + 0.01 * (cta % 5)
    begin = start.ravel()
    duration = length.ravel()
    names = pd.Index([f"stage {n}" for n in range(12)], dtype="str")
    fixed = pd.CategoricalDtype
    return pd.DataFrame(
        {
            "kind": pd.Categorical.from_codes(np.tile(instant, lanes).astype(int), dtype=fixed(["range", "instant"])),
            "name": pd.Categorical.from_codes(name, dtype=fixed(names)),
            "group": pd.Categorical.from_codes(np.zeros(len(name), int), dtype=fixed(["default"])),
            "role": pd.Categorical.from_codes(lane % 2, dtype=fixed(["producer", "consumer"])),
            "lane": pd.Categorical.from_codes(np.zeros(len(name), int), dtype=fixed(["main"])),
            "source": pd.Categorical.from_codes(name, dtype=fixed([f"kernel.py:{n}" for n in range(12)])),
            "cta": cta.astype(np.int32),
            "thread": (lane % 2 * 128).astype(np.int32),
            "sm": (cta % 132).astype(np.int32),
            "start": begin,
            "end": begin + duration,
            "start_ns": begin * rate + cta // 132 * 1000.0,
            "duration_ns": duration * rate,
            "payload": pd.array(np.tile(np.arange(per), lanes), dtype="Int64"),
        }
    )


class _Server(BaseHTTPRequestHandler):
    def __init__(self, wire: Wire, *rest: Any) -> None:
        self.wire = wire
        super().__init__(*rest)

    def do_GET(self) -> None:
        script = files("tltrace_nb").joinpath("widget", "static", "timeline.js").read_bytes()
        bodies = {
            "/": ("text/html", PAGE.encode()),
            "/timeline.js": ("text/javascript", script),
            "/header": ("application/json", self.wire.header.encode()),
            "/columns": ("application/octet-stream", self.wire.columns),
        }
        kind, body = bodies.get(self.path, ("text/plain", b""))
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


def measure(browser: Any, events: int, lanes: int) -> dict[str, Any]:
    """Everything about one size."""
    source = frames(synthetic(events, lanes))
    began = time.perf_counter()
    wire = encode(source)
    encoding = time.perf_counter() - began
    exported = len(base64.b64encode(gzip.compress(wire.columns, 9))) + len(wire.header)
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Server, wire))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    page = browser.new_page(viewport={"width": 1300, "height": 900})
    try:
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        page.wait_for_function("window.first !== undefined", timeout=180_000)
        page.wait_for_timeout(2500)  # the overview is counted in the background
        client = page.context.new_cdp_session(page)
        client.send("Performance.enable", {"timeDomain": "threadTicks"})

        def spent() -> float:
            found = {each["name"]: each["value"] for each in client.send("Performance.getMetrics")["metrics"]}
            return 1000 * float(found["TaskDuration"])

        times: dict[tuple[str, str], list[float]] = defaultdict(list)
        looked = 0
        before = spent()
        for n in range(page.evaluate("steps.length")):
            kind, wall, seen = page.evaluate("(n) => walk(n)", n)
            after = spent()
            kinds = [kind, *(["pan and zoom"] if kind in {"pan", "zoom"} else [])]
            for each in kinds:
                times[each, "wall"].append(wall)
                times[each, "cpu"].append(after - before)
            before, looked = after, max(looked, seen)
        count = events // lanes * lanes
        result: dict[str, Any] = {
            "events": count,
            "lanes": lanes,
            "encode_s": round(encoding, 3),
            "sent_bytes_per_event": round(len(wire.columns) / count, 2),
            "page_bytes_per_event": round(exported / count, 2),
            "mount_to_first_paint_s": round(page.evaluate("first") / 1000, 3),
            "browser_bytes_per_event": round(page.evaluate("memory()") / count, 1),
            "heap_MB": round(page.evaluate("performance.memory.usedJSHeapSize") / 1e6),
            "most_events_looked_at": looked,
        }
        for (kind, clock), values in times.items():
            p50, p95, worst = (round(float(np.percentile(values, p)), 1) for p in (50, 95, 100))
            result[f"{kind}, {clock} ms"] = f"p50 {p50}, p95 {p95}, worst {worst} of {len(values)}"
        return result
    finally:
        page.close()
        server.shutdown()
        server.server_close()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--events", type=int, nargs="+", default=[10_000, 1_000_000, 10_000_000])
    parser.add_argument("--lanes", type=int, default=2000)
    arguments = parser.parse_args()
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("chromium is not installed")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        for events in arguments.events:
            print(json.dumps(measure(browser, events, arguments.lanes), indent=1), flush=True)
        print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
        browser.close()


if __name__ == "__main__":
    main()

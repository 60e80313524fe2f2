/// Writes a timeline as one HTML file that shows itself, without a network.
///
/// The file contains the events of ``ChromeTrace`` and a small viewer.
struct TimelinePage {
    private let trace: TimelineTrace

    init(_ trace: TimelineTrace) { self.trace = trace }

    /// Whether a file of this name is to be a page.
    static func isMeant(by path: String) -> Bool {
        path.hasSuffix(".html") || path.hasSuffix(".htm")
    }

    /// - Parameter sink: receives the text in portions.
    func write<Failure: Error>(
        _ sink: ([UInt8]) throws(Failure) -> Void
    ) throws(Failure) {
        try sink(Array(Self.head.utf8))
        try ChromeTrace(trace).write { (bytes) throws(Failure) in try sink(Self.escaped(bytes)) }
        try sink(Array(Self.foot.utf8))
    }

    /// Returns JSON that cannot end the element of the page in which it stands: `<` occurs in
    /// strings only.
    private static func escaped(_ json: [UInt8]) -> [UInt8] {
        let less = UInt8(ascii: "<")
        guard json.contains(less) else { return json }
        var escaped: [UInt8] = []
        escaped.reserveCapacity(json.count + 64)
        for byte in json {
            if byte == less { escaped += Array("\\u003c".utf8) } else { escaped.append(byte) }
        }
        return escaped
    }

    private static let head = """
        <!DOCTYPE html>
        <html lang="en">
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>Timeline of operations</title>
        <style>
        :root { color-scheme: light dark; --line: #8884; --text: CanvasText; --blocked: #8888; }
        body { margin: 0; font: 13px system-ui, sans-serif; }
        header { position: sticky; top: 0; display: flex; gap: 1em; align-items: center;
          padding: .5em 1em; background: Canvas; border-bottom: 1px solid var(--line); }
        header input { font: inherit; width: 14em; }
        canvas { display: block; width: 100%; }
        #tip { position: fixed; display: none; padding: .4em .6em; border: 1px solid var(--line);
          background: Canvas; white-space: pre; pointer-events: none; }
        </style>
        <header>
        <strong>Timeline</strong>
        <input id="search" type="search" placeholder="Name of an operation" aria-label="Search">
        <span id="shown"></span>
        <span>Wheel: zoom. Drag: move. Double click: all.</span>
        </header>
        <canvas id="canvas"></canvas>
        <div id="tip"></div>
        <script type="application/json" id="trace">
        """

    private static let foot = """
        </script>
        <script>
        "use strict";
        const events = JSON.parse(document.getElementById("trace").textContent).traceEvents;
        const canvas = document.getElementById("canvas"), tip = document.getElementById("tip");
        const search = document.getElementById("search"), shown = document.getElementById("shown");
        const [nameWidth, rowHeight] = [180, 18];

        // Tracks of threads with slices, and tracks of queues with counts of what waits.
        const processes = new Map(), tracks = new Map();
        const process = pid => {
          if (!processes.has(pid)) processes.set(pid, { pid, name: "", order: pid, waits: [] });
          return processes.get(pid);
        };
        const track = (pid, tid) => {
          const key = pid + "/" + tid;
          if (!tracks.has(key)) tracks.set(key, { pid, tid, name: "", slices: [], open: [] });
          return tracks.get(key);
        };
        let end = 0;
        for (const event of events) {
          if (event.ts !== undefined) end = Math.max(end, event.ts + (event.dur || 0));
          const own = () => track(event.pid, event.tid);
          switch (event.ph) {
          case "M":
            if (event.name === "process_name") process(event.pid).name = event.args.name;
            if (event.name === "process_sort_index") process(event.pid).order = event.args.sort_index;
            if (event.name === "thread_name") own().name = event.args.name;
            break;
          case "X":
            own().slices.push({ ...event, from: event.ts, to: event.ts + event.dur, level: 0 });
            break;
          case "B": {
            const slice = { ...event, from: event.ts, to: Infinity, level: own().open.length + 1 };
            own().open.push(slice);
            own().slices.push(slice);
            break;
          }
          case "E": {
            const slice = own().open.pop();
            if (slice) slice.to = event.ts;
            break;
          }
          case "b": process(event.pid).waits.push([event.ts, 1]); break;
          case "e": process(event.pid).waits.push([event.ts, -1]); break;
          }
        }
        const rows = [];
        for (const part of [...processes.values()].sort((a, b) => a.order - b.order)) {
          const own = [...tracks.values()].filter(t => t.pid === part.pid && t.slices.length);
          if (!own.length && !part.waits.length) continue;
          rows.push({ kind: "title", name: part.name, height: rowHeight });
          if (part.waits.length) {
            let [count, most] = [0, 0];
            const steps = part.waits.sort((a, b) => a[0] - b[0] || a[1] - b[1]).map(([time, change]) => {
              count += change;
              most = Math.max(most, count);
              return [time, count];
            });
            rows.push({ kind: "waits", name: "waiting, at most " + most, steps, most, height: 2 * rowHeight });
          }
          for (const t of own.sort((a, b) => a.tid - b.tid)) {
            const levels = Math.max(...t.slices.map(slice => slice.level)) + 1;
            t.slices.sort((a, b) => a.from - b.from || a.level - b.level);
            rows.push({ kind: "slices", name: t.name, slices: t.slices, height: levels * rowHeight });
          }
        }
        let view = { from: 0, to: end || 1 };

        const time = µs => µs >= 1e6 ? (µs / 1e6).toFixed(3) + " s"
          : µs >= 1e3 ? (µs / 1e3).toFixed(3) + " ms" : µs.toFixed(1) + " µs";
        const color = name => {
          let hash = 0;
          for (const unit of name) hash = Math.imul(hash ^ unit.codePointAt(0), 0x01000193) >>> 0;
          return `hsl(${(hash >>> 8) % 360} 55% 65%)`;
        };
        const x = t => nameWidth + (t - view.from) / (view.to - view.from) * (canvas.clientWidth - nameWidth);
        const at = px => view.from + (px - nameWidth) / (canvas.clientWidth - nameWidth) * (view.to - view.from);

        function draw() {
          const height = rows.reduce((sum, row) => sum + row.height + 2, 24);
          const scale = window.devicePixelRatio || 1, width = canvas.clientWidth;
          canvas.style.height = height + "px";
          [canvas.width, canvas.height] = [width * scale, height * scale];
          const pen = canvas.getContext("2d"), style = getComputedStyle(document.documentElement);
          const text = getComputedStyle(document.body).color, wanted = search.value.toLowerCase();
          pen.scale(scale, scale);
          pen.font = "12px system-ui, sans-serif";
          pen.textBaseline = "middle";
          // Times at round distances.
          const least = (view.to - view.from) * 90 / (width - nameWidth), power = 10 ** Math.floor(Math.log10(least));
          const step = [1, 2, 5, 10].map(factor => factor * power).find(length => length >= least);
          for (let t = Math.ceil(view.from / step) * step; t <= view.to; t += step) {
            pen.fillStyle = style.getPropertyValue("--line");
            pen.fillRect(x(t), 0, 1, height);
            pen.fillStyle = text;
            pen.fillText(time(t), x(t) + 3, 10);
          }
          let y = 22, found = 0;
          for (const row of rows) {
            row.y = y;
            pen.fillStyle = text;
            pen.font = (row.kind === "title" ? "bold " : "") + "12px system-ui, sans-serif";
            pen.fillText(row.name.slice(0, 26), row.kind === "title" ? 6 : 16, y + rowHeight / 2);
            pen.save();
            pen.beginPath();
            pen.rect(nameWidth, y, width - nameWidth, row.height);
            pen.clip();
            if (row.kind === "waits") {
              pen.fillStyle = style.getPropertyValue("--blocked");
              row.steps.forEach(([from, count], index) => {
                const to = index + 1 < row.steps.length ? row.steps[index + 1][0] : from;
                const high = row.height * count / row.most;
                if (count > 0) pen.fillRect(x(from), y + row.height - high, Math.max(.5, x(to) - x(from)), high);
              });
            }
            for (const slice of row.slices || []) {
              const isFound = wanted && slice.name.toLowerCase().includes(wanted);
              if (isFound) found += 1;
              if (slice.to < view.from || slice.from > view.to) continue;
              const [left, right] = [x(slice.from), x(Math.min(slice.to, end))];
              const top = y + slice.level * rowHeight, long = Math.max(1, right - left);
              pen.globalAlpha = wanted && !isFound ? .2 : 1;
              pen.fillStyle = slice.cat === "blocked" ? style.getPropertyValue("--blocked") : color(slice.name);
              pen.fillRect(left, top, long, rowHeight - 2);
              if (slice.args && slice.args.outcome === "failed") {
                pen.fillStyle = "#d00";
                pen.fillRect(left, top + rowHeight - 5, long, 3);
              }
              if (long > 40) {
                pen.fillStyle = slice.cat === "blocked" ? text : "#111";
                pen.save();
                pen.beginPath();
                pen.rect(left, top, long, rowHeight);
                pen.clip();
                pen.font = "12px system-ui, sans-serif";
                pen.fillText(slice.name, Math.max(left, nameWidth) + 3, top + rowHeight / 2 - 1);
                pen.restore();
              }
              pen.globalAlpha = 1;
            }
            pen.restore();
            y += row.height + 2;
          }
          shown.textContent = time(view.from) + " to " + time(view.to) + (wanted ? ", " + found + " found" : "");
        }

        function under(event) {
          const box = canvas.getBoundingClientRect(), y = event.clientY - box.top, t = at(event.clientX - box.left);
          const row = rows.find(row => row.slices && y >= row.y && y < row.y + row.height);
          if (!row) return null;
          const level = Math.floor((y - row.y) / rowHeight);
          return row.slices.findLast(slice => slice.level === level && slice.from <= t && t <= slice.to) || null;
        }
        function zoom(center, factor) {
          const from = center - (center - view.from) * factor, to = center + (view.to - center) * factor;
          if (to - from < .01) return;
          view = { from: Math.max(0, from), to: Math.min(end || 1, to) };
          draw();
        }
        canvas.addEventListener("wheel", event => {
          if (event.shiftKey) return;
          event.preventDefault();
          zoom(at(event.clientX - canvas.getBoundingClientRect().left), event.deltaY < 0 ? .8 : 1.25);
        }, { passive: false });
        let dragged = null;
        canvas.addEventListener("pointerdown", event => { dragged = { at: event.clientX, view }; });
        window.addEventListener("pointerup", () => { dragged = null; });
        canvas.addEventListener("pointermove", event => {
          if (dragged) {
            const wide = dragged.view.to - dragged.view.from;
            const moved = (dragged.at - event.clientX) / (canvas.clientWidth - nameWidth) * wide;
            const from = Math.min(Math.max(0, dragged.view.from + moved), Math.max(0, (end || 1) - wide));
            view = { from, to: from + wide };
            return draw();
          }
          const slice = under(event);
          tip.style.display = slice ? "block" : "none";
          if (!slice) return;
          const details = Object.entries(slice.args || {}).map(([key, value]) => "\\n" + key + ": " + value).join("");
          tip.textContent = slice.name + "\\n" + time(Math.min(slice.to, end) - slice.from)
            + ", from " + time(slice.from) + details;
          tip.style.left = Math.min(event.clientX + 12, window.innerWidth - tip.offsetWidth - 8) + "px";
          tip.style.top = Math.min(event.clientY + 12, window.innerHeight - tip.offsetHeight - 8) + "px";
        });
        canvas.addEventListener("dblclick", () => { view = { from: 0, to: end || 1 }; draw(); });
        search.addEventListener("input", draw);
        window.addEventListener("resize", draw);
        draw();
        </script>
        </html>

        """
}

#if DurableJobsDashboard
/// The files of the pages, which are part of the program.
enum DashboardFiles {
    /// The colors are those of the gallery of ClassicPhotos.
    static let style = """
        :root {
          color-scheme: light dark;
          --ground: light-dark(#f5f2ee, #151412);
          --surface: light-dark(#fffefc, #1e1c1a);
          --line: light-dark(#e4dfd8, #2f2c28);
          --ink: light-dark(#211e1a, #f1ede7);
          --ink-soft: light-dark(#665f56, #a8a096);
          --accent: light-dark(#83531d, #e0ae6c);
          --good: light-dark(#2c6b3f, #7cc492);
          --busy: light-dark(#2f63a0, #7fb0e6);
          --late: light-dark(#83531d, #e0ae6c);
          --bad: light-dark(#b03326, #ee8475);
        }
        * { box-sizing: border-box; }
        body {
          margin: 0 auto; padding: 24px; max-width: 1200px;
          background: var(--ground); color: var(--ink);
          font: 15px/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", sans-serif;
          font-variant-numeric: tabular-nums;
        }
        header { display: flex; flex-wrap: wrap; align-items: baseline; gap: 4px 16px; margin-bottom: 20px; }
        header nav { flex-basis: 100%; font-size: 13px; }
        header ol { display: flex; gap: 6px; margin: 0; padding: 0; list-style: none; }
        header li::after { content: "/"; margin-left: 6px; color: var(--ink-soft); }
        h1 { margin: 0; font-size: 22px; overflow-wrap: anywhere; }
        h2 { margin: 24px 0 8px; font-size: 15px; }
        #age { margin: 0 0 0 auto; color: var(--ink-soft); font-size: 13px; }
        a { color: var(--accent); }
        :focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; }
        .wide { overflow-x: auto; background: var(--surface); border: 1px solid var(--line); border-radius: 10px; }
        table { width: 100%; border-collapse: collapse; }
        th, td { padding: 9px 14px; text-align: left; vertical-align: baseline; border-top: 1px solid var(--line); }
        thead th { border-top: 0; color: var(--ink-soft); font-size: 13px; font-weight: 500; white-space: nowrap; }
        tbody th { font-weight: 500; white-space: nowrap; }
        .number { text-align: right; white-space: nowrap; }
        .none { color: var(--ink-soft); }
        .note { color: var(--ink-soft); overflow-wrap: anywhere; min-width: 180px; }
        .jobs td:nth-child(4) { white-space: nowrap; }
        .states { display: flex; flex-wrap: wrap; gap: 6px; margin: 0 0 16px; padding: 0; list-style: none; }
        .states a {
          display: block; padding: 5px 12px; border: 1px solid var(--line); border-radius: 999px;
          background: var(--surface); color: var(--ink); text-decoration: none;
        }
        .states a[aria-current] { background: var(--ink); border-color: var(--ink); color: var(--ground); }
        .states span { opacity: 0.85; margin-left: 4px; }
        .find { display: flex; flex-wrap: wrap; gap: 8px; align-items: center; margin-bottom: 16px; }
        input, button, select {
          font: inherit; color: inherit; padding: 5px 12px; border-radius: 8px;
          border: 1px solid light-dark(#948b7f, #7d766c); background: var(--surface);
        }
        button { cursor: pointer; }
        .steps { display: flex; gap: 16px; }
        .state { white-space: nowrap; font-weight: 500; }
        .completed { color: var(--good); }
        .running { color: var(--busy); }
        .retryable, .scheduled, .blocked { color: var(--late); }
        .discarded, .problem { color: var(--bad); }
        .cancelled { color: var(--ink-soft); }
        .paused, .pause { color: var(--late); font-weight: 500; }
        .pause { padding: 12px 16px; background: var(--surface); border: 1px solid var(--line); border-radius: 10px; }
        .unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
        td .buttons { margin: 0; }
        .explanation { margin: 0 0 16px; font-size: 18px; overflow-wrap: anywhere; }
        .buttons { display: flex; flex-wrap: wrap; gap: 8px; margin-bottom: 16px; }
        .buttons form { display: flex; gap: 8px; align-items: center; }
        dl {
          display: grid; grid-template-columns: repeat(auto-fill, minmax(180px, 1fr)); gap: 14px;
          margin: 0; padding: 16px; background: var(--surface); border: 1px solid var(--line); border-radius: 10px;
        }
        dt { color: var(--ink-soft); font-size: 13px; }
        dd { margin: 0; overflow-wrap: anywhere; }
        pre {
          margin: 0; padding: 16px; overflow: auto; max-height: 60vh; white-space: pre-wrap; overflow-wrap: anywhere;
          background: var(--surface); border: 1px solid var(--line); border-radius: 10px;
          font: 13px/1.5 ui-monospace, "Cascadia Mono", "DejaVu Sans Mono", monospace;
        }
        @media (max-width: 600px) { body { padding: 16px; } th, td { padding: 8px 10px; } }

        """

    /// Asks for the page again every two seconds, while somebody can see it, and nothing in it is
    /// selected or has the focus.
    static let script = """
        const age = document.getElementById("age");
        const seconds = 2;
        let failures = 0;

        async function refresh() {
          const main = document.querySelector("main");
          const isBusy = main.contains(document.activeElement) || !getSelection().isCollapsed;
          if (document.visibilityState === "visible" && !isBusy) {
            try {
              const answer = await fetch(location.href, { cache: "no-store" });
              if (!answer.ok) throw new Error(`the server answers ${answer.status}`);
              const page = new DOMParser().parseFromString(await answer.text(), "text/html");
              const next = page.querySelector("main");
              if (next && next.innerHTML !== main.innerHTML) main.replaceWith(next);
              failures = 0;
              age.textContent = "";
            } catch (error) {
              failures += 1;
              if (failures > 1) age.textContent = `This page is ${failures * seconds} seconds old: ${error.message}`;
            }
          }
          setTimeout(refresh, seconds * 1000);
        }

        setTimeout(refresh, seconds * 1000);

        """
}
#endif

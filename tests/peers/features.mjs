// What our client can do beyond listing and calling, with other people's servers. A part of check.mjs.
import { spawn } from "node:child_process";
import fs from "node:fs";
import path from "node:path";
import { createInterface } from "node:readline";
import { bytes, form, page, question, sure } from "./things.mjs";

export async function features({ attempt, check, run, bin, script, scratch, modules, here }) {
  const mcp = (args, server, options) => run(bin("mcp"), [...args, "--", ...server], options);
  const ours = name => [process.execPath, path.join(here, name), modules];
  const everything = script("@modelcontextprotocol/server-everything/dist/index.js");
  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);
  const parsed = t => { try { return JSON.parse(t); } catch { return {}; } };
  const sorted = o => JSON.stringify(o, Object.keys(o ?? {}).sort());
  const everyCapability = { elicitation: { form: {}, url: {} }, sampling: {}, roots: { listChanged: true } };

  // peer_client and a server: fn gets a function that does one thing and tells what came of it. answers: by method, what is answered.
  async function session(server, { era = "auto", capabilities = everyCapability, answers = {} }, fn) {
    const child = spawn(bin("peer_client"), [era, JSON.stringify(capabilities), ...server], { stdio: ["pipe", "pipe", "pipe"] });
    process.on("exit", () => child.kill("SIGKILL"));  // one that hangs
    const lines = [], waiting = [];
    let err = "", ended = false;
    const next = () => lines.length ? Promise.resolve(lines.shift()) : ended ? Promise.resolve(null) : new Promise(got => waiting.push(got));
    const add = line => { if (waiting.length) waiting.shift()(line); else lines.push(line); };
    child.stderr.on("data", d => { err += d; });
    child.stdin.on("error", () => {});
    createInterface({ input: child.stdout }).on("line", l => add(JSON.parse(l))).on("close", () => { ended = true; while (waiting.length) waiting.shift()(null); });
    const closed = new Promise(done => { child.on("close", (status, signal) => done(status ?? signal)); child.on("error", done); });
    const all = [];                                   // what it was told, in the whole session
    async function act(op) {
      const seen = { told: [], progress: [], asked: [], answered: [] };
      child.stdin.write(JSON.stringify(op) + "\n");
      for (let l; (l = await next()) !== null;) {
        if (l.done !== undefined) return { ...l, ...seen };
        if (l.told) { seen.told.push(l); all.push(l); }
        if (l.progress !== undefined) seen.progress.push(l);
        if (l.answered) seen.answered.push(l.answered);
        if (l.asked) {
          seen.asked.push(l);
          const answer = answers[l.asked];
          child.stdin.write(JSON.stringify(typeof answer === "function" ? answer(l.params) : answer ?? { status: "UNKNOWN" }) + "\n");
        }
      }
      throw new Error("peer_client has ended: " + err);
    }
    try {
      const ready = await next();
      if (ready?.ready !== "ok") throw new Error(JSON.stringify(ready) + err);
      await fn(act, { ready, all });
      child.stdin.end();
      const status = await closed;
      if (status !== 0) throw new Error(`peer_client: exit status ${status}: ${err}`);
    } finally { child.kill("SIGKILL"); }
  }
  const textOf = r => (r.result?.content ?? r.result?.contents ?? r.result?.messages?.map(m => m.content) ?? []).map(c => c.text).join("\n");

  // `mcp watch`, until a line of each of `wanted` was seen; then Ctrl-C.
  function watch(era, uris, server, wanted) {
    return new Promise(done => {
      const child = spawn(bin("mcp"), ["watch", "--era", era, ...uris, "--", ...server], { stdio: ["ignore", "pipe", "pipe"] });
      let out = "", err = "", sent = false;
      const stop = () => { if (!sent) { sent = true; child.kill("SIGINT"); } };
      const timer = setTimeout(stop, 15000);
      child.stderr.on("data", d => { err += d; });
      child.stdout.on("data", d => { out += d; if (wanted.every(w => out.split("\n").includes(w))) stop(); });
      child.on("close", status => { clearTimeout(timer); done({ status, out: [...new Set(out.split("\n").filter(Boolean))].sort(), err }); });
    });
  }

  const peers = [
    { name: "SDK 1.32.2 server", argv: ours("ts1_server.mjs"), eras: ["legacy", "auto"], v1: true },
    { name: "SDK 2.4.0 server", argv: ours("ts2_server.mjs"), eras: ["legacy", "auto", "modern"] },
  ];

  for (const { name: who, argv, eras, v1 } of peers) for (const era of eras) {
    const modern = !v1 && era !== "legacy";
    const name = what => `${who}, ${era}: ${what}`;

    await attempt(name("the command mcp"), async () => {
      const go = (...args) => mcp([args[0], "--era", era, ...args.slice(1)], argv);
      let r = await go("resources", "--json");
      const { resources, resourceTemplates } = parsed(r.out);
      const want = v1 ? ["readme", "bytes", "page/a", "page/b", "page/c"] : ["readme", "bytes", "counter", "secret", "page/a", "page/b"];
      check(name(v1 ? "resources, on three pages" : "resources"), r.status === 0 && same(resources?.map(x => x.uri), want.map(x => `note://${x}`)), r);
      check(name("templates"), same(resourceTemplates?.map(x => x.uriTemplate), ["note://page/{name}"]), r);
      r = await go("read", "note://readme");
      check(name("reads text"), r.status === 0 && r.out === "gr\u00fc\u00dfe\n", r);
      r = await run(bin("mcp"), ["read", "--era", era, "note://bytes", "--", ...argv], { encoding: "buffer" });
      check(name("reads bytes"), r.status === 0 && bytes.equals(r.out), r);
      r = await go("read", "note://page/b");
      check(name("reads by a template"), r.status === 0 && r.out === "page b", r);
      r = await go("read", "note://no/such/thing");
      check(name("no such resource: a sentence, and 4"), r.status === 4 && /^mcp: error -32\d+: .*not found/m.test(r.err), r);
      r = await go("prompts");
      check(name("prompts"), r.status === 0 && r.out.startsWith("plain\n    Without arguments.\nreview\n      language, required\n          of the program\n      style\n"), r);
      r = await go("prompt", "plain");
      check(name("a prompt"), r.status === 0 && r.out === "user: Hello.\nassistant: Yes?\n", r);
      r = await go("prompt", "review", '{"language": "c", "style": "knf"}');
      check(name("a prompt with arguments"), r.status === 0 && r.out === "user: Review my c, knf.\nuser: [resource note://page/a text/markdown, 6 bytes]\n", r);
      r = await go("prompt", "review");
      check(name("a prompt without its argument: a sentence, and 4"), r.status === 4 && /^mcp: error -32602: ./m.test(r.err), r);
      r = await go("complete", "review", "language", "c");
      check(name("completes an argument"), r.status === 0 && r.out === "c\ncobol\n", r);
      r = await go("complete", "note://page/{name}", "name");
      check(name("completes a variable"), r.status === 0 && r.out === "a\nb\n", r);
      r = await go("complete", "no_such_prompt", "x");
      check(name("completes nothing of an unknown prompt"), r.status === 4 && /^mcp: error -32602: ./m.test(r.err), r);
      for (const tool of ["sample", "roots", "order", "visit"]) {         // it declared nothing
        r = await go("call", tool);
        check(name(`${tool}, which was not declared: a sentence, and ${modern ? 4 : 1}`), modern ? r.status === 4 && /^mcp: error -32021: ./m.test(r.err)
          : r.status === 1 && /Method not found|does not support|did not declare/.test(r.err), r);
      }
      if (!modern) for (const method of ["sampling/createMessage", "roots/list", "elicitation/create", "no/such/method"]) {
        r = await go("call", "raw", JSON.stringify({ method, params: method[0] === "s" ? question : {} }));
        check(name(`${method} all the same: refused, and 1`), r.status === 1 && /-32601|not found/i.test(r.err), r);
      }
      r = await watch(era, ["note://page/a"], [...argv, "changes"], ["tools/list_changed", "resources/updated note://page/a"]);
      check(name("watch"), r.status === 130 && same(r.out, ["resources/updated note://page/a", "tools/list_changed"]) && /^watching /m.test(r.err), r);
    }, 90000);

    await attempt(name("a session"), async () => {
      let reply = "They fold.", go = true, first;
      const answers = {
        "elicitation/create": p => p.mode === "url" ? (go ? {} : { status: "DECLINED" })
          : p.requestedSchema.properties.sure ? (go ? { content: { sure: true } } : { status: "DECLINED" }) : first,
        "sampling/createMessage": () => ({ role: "assistant", model: "m", content: { type: "text", text: reply } }),
        "roots/list": { roots: [{ uri: "file:///a", name: "a" }, { uri: "file:///b" }] },
      };
      await session(argv, { era, answers }, async (act, { ready, all }) => {
        check(name("the protocol found"), ready.protocol === (modern ? "2026-07-28" : "2025-11-25"), ready);
        let r = await act({ tool: "steps", args: { n: 4 }, progress: true });
        check(name("progress, all of it, in order"), textOf(r) === "4 steps" && same(r.progress.map(p => [p.progress, p.total, p.message]), [1, 2, 3, 4].map(i => [i, 4, `step ${i}`])), r);
        r = await act({ tool: "steps", args: { n: 4 } });
        check(name("no progress where none was asked for"), textOf(r) === "no progress was asked for" && r.progress.length === 0, r);
        r = await act({ tool: "steps", args: { n: 30 }, progress: true, timeout_ms: 700 });
        check(name("progress starts the time anew"), textOf(r) === "30 steps", r);
        r = await act({ tool: "steps", args: { n: 30 }, progress: true, max_ms: 700 });
        check(name("but not the time in all"), r.done === "timed out", r);

        const levels = r => r.told.filter(t => t.told === "notifications/message").map(t => t.params.level + t.params.data.said);
        r = await act({ tool: "logs", log_level: "warning" });
        check(name("logs from the level up"), same(levels(r), ["warningwarning", "errorerror"]), r);
        r = await act({ tool: "logs", log_level: "debug" });
        check(name("logs from another level up"), levels(r).length === 4, r);
        r = await act({ tool: "meta", meta: { traceparent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "org.example/x": [1] } });
        check(name("_meta goes along"), parsed(textOf(r))["org.example/x"]?.[0] === 1 && parsed(textOf(r)).traceparent?.startsWith("00-"), r);
        r = await act({ method: "resources/list", each: true });
        check(name("each item of a list"), r.done === "ok" && r.items === (v1 ? 5 : 6), r);
        for (const language of ["c", "rust"]) {
          r = await act({ prompt: "review", complete: "style", value: "k", args: { language } });
          check(name(`completes by what is known: ${language}`), same(r.result?.completion.values, language === "c" ? ["k&r", "knf"] : ["kind"]), r);
        }

        // asking
        first = { content: { name: "Ada" } };
        r = await act({ tool: "order" });
        const full = { name: "Ada", ...Object.fromEntries(Object.entries(form.properties).slice(1).map(([k, v]) => [k, v.default])) };
        check(name("a form: the defaults are filled in"), r.done === "ok" && sorted(parsed(textOf(r))) === sorted(full), r);
        check(name("a form: what was asked, in two rounds"), same(r.asked.map(a => a.params.message), ["What would you like?", "Are you sure?"])
          && sorted(r.asked[0].params.requestedSchema.properties) === sorted(form.properties) && same(r.asked[1].params.requestedSchema.properties, sure.properties), r.asked);
        const own = { name: "Bo", mail: "b@example.org", cups: 9, litres: -1.5, milk: false, drink: "coffee", size: "s", extras: ["ice", "sugar"] };
        first = { content: own };
        r = await act({ tool: "order" });
        check(name("a form: all of it filled in"), r.done === "ok" && sorted(parsed(textOf(r))) === sorted(own), r);
        go = false;
        r = await act({ tool: "order" });
        check(name("a form: declined in the second round"), textOf(r) === "Not sure: decline.", r);
        r = await act({ tool: "visit" });
        check(name("a page: declined"), textOf(r) === "visit: decline", r);
        go = true;
        r = await act({ tool: "visit" });
        check(name("a page: agreed"), textOf(r) === "visit: accept" && r.asked[0].params.url === page && r.asked[0].params.mode === "url", r);
        first = { status: "CANCELLED" };
        r = await act({ tool: "order" });
        check(name("a form: closed"), textOf(r) === "The form: cancel.", r);
        for (const [what, content] of [["no number", { name: "Ada", cups: "two" }], ["over the maximum", { name: "Ada", cups: 10 }], ["none of the choices", { name: "Ada", drink: "rum" }],
                                       ["a required one is missing", {}], ["too short", { name: "A" }], ["too many", { name: "Ada", extras: ["sugar", "lemon", "ice"] }]]) {
          first = { content };
          r = await act({ tool: "order" });
          check(name(`a form that does not fit is not sent: ${what}`), modern ? r.done === "bad argument" : r.result?.isError === true, r);
        }
        r = await act({ tool: "sample" });
        check(name("a model"), textOf(r) === "The model says: They fold." && same(r.asked[0].params.messages, question.messages) && r.asked[0].params.maxTokens === 50, r);
        const model = answers["sampling/createMessage"];
        answers["sampling/createMessage"] = { status: "DECLINED" };
        r = await act({ tool: "sample" });
        check(name("a model: declined"), modern ? r.done === "the user declined" : r.result?.isError === true && /declined/.test(textOf(r)), r);
        answers["sampling/createMessage"] = model;
        if (!modern) {
          r = await act({ tool: "raw", args: { method: "ping", params: {} } });
          check(name("answers a ping"), textOf(r) === "{}" && r.asked.length === 0, r);
          r = await act({ tool: "raw", args: { method: "no/such/method", params: {} } });
          check(name("a method that is unknown"), r.result?.isError === true && r.asked.length === 1 && /-32601|not found/i.test(textOf(r)), r);
        }
        r = await act({ tool: "roots" });
        check(name("folders"), textOf(r) === "file:///a,file:///b" && r.asked.length === 1, r);
        r = await act({ tool: "survey" });
        check(name("three questions at once"), textOf(r) === "accept,They fold.,2" && r.asked.length === 3, r);

        // the same, answered later: mcp_client_answer, the last question first, and none that does not fit is taken
        const now = { ...answers };
        const later = (ms, ...list) => ({ late: ms, answers: list });
        answers["elicitation/create"] = p => { const a = now["elicitation/create"](p); return later(40, { content: { name: 7 } }, a); };
        answers["sampling/createMessage"] = () => later(20, { content: "They fold." }, now["sampling/createMessage"]());
        answers["roots/list"] = later(1, { roots: [{ uri: "/a" }] }, now["roots/list"]);
        first = { content: own };
        r = await act({ tool: "order", late: true });
        check(name("a form, answered later"), r.done === "ok" && sorted(parsed(textOf(r))) === sorted(own) && r.asked.length === 2, r);
        check(name("a form, answered later: what does not fit is refused, and it is still open"), same(r.answered, ["bad argument", "ok", "bad argument", "ok"]), r);
        r = await act({ tool: "survey", late: true });
        check(name("three questions at once, answered later"), textOf(r) === "accept,They fold.,2" && r.asked.length === 3 && r.answered.filter(x => x === "ok").length === 3, r);
        Object.assign(answers, now);

        // changes
        r = await act({ listen: 7, uris: ["note://page/a", "note://counter"] });
        check(name("listens"), r.done === "ok" && r.told.some(t => t.told.endsWith("/acknowledged") && t.params.notifications.toolsListChanged === true), r);
        const told = async op => { const a = await act(op), b = await act({ wait: 250 }); return [...a.told, ...b.told].map(t => t.told.slice(14) + (t.params?.uri ? " " + t.params.uri : "")).sort(); };
        let what = await told({ tool: "edit", args: { name: "b", text: "not watched" } });
        check(name("told nothing of what is not watched"), same(what, []), what);
        what = await told({ tool: "edit", args: { name: "a", text: "page a, edited" } });
        check(name("told of what is watched"), same(what, ["resources/updated note://page/a"]), what);
        check(name("reads what is new"), textOf(await act({ uri: "note://page/a" })) === "page a, edited");
        what = await told({ tool: "touch" });
        check(name("told of the lists"), same(what, ["prompts/list_changed", "resources/list_changed", "tools/list_changed"]), what);
        r = await act({ method: "tools/list", each: true });
        check(name("lists anew"), JSON.stringify(r.result).includes('"extra"') === false && r.items > 10, r);
        if (modern) {
          const count = async (more = {}) => textOf(await act({ uri: "note://counter", ...more }));
          const one = await count();
          check(name("kept as long as the server says"), one === "read 1 times" && await count() === one, one);
          check(name("read anew on demand"), await count({ fresh: true }) === "read 2 times" && await count() === "read 2 times");
          await act({ tool: "count" });
          await act({ wait: 200 });
          check(name("read anew when it was told"), await count() === "read 3 times");
        }
        r = await act({ unlisten: true });
        check(name("ends to listen"), r.done === "cancelled", r);
        what = (await told({ tool: "edit", args: { name: "a", text: "again" } })).filter(t => t.startsWith("resources/updated"));
        check(name("told no more"), same(what, []), what);

        if (v1) {
          const kept = answers["elicitation/create"];
          answers["elicitation/create"] = { status: "AGAIN" };
          r = await act({ tool: "impatient" });
          check(name("a question that is taken back"), textOf(r) === "too late: -32001" && all.some(t => t.told === "notifications/cancelled"), r);
          r = await act({ tool: "pays" });
          check(name("refused until a page was visited, and sent again when the server says so"), textOf(r) === "paid" && r.asked.length === 1
            && r.told.some(t => t.told === "notifications/elicitation/complete" && t.params.elicitationId === "e2"), r);
          answers["elicitation/create"] = kept;
          r = await act({ tool: "structure" });
          check(name("structured content"), same(r.result?.structuredContent, { n: 1, deep: [{ a: null }] }), r);
        } else {
          r = await act({ tool: "waits" });
          check(name("more input, but no question"), textOf(r) === "came 3 times" && r.asked.length === 0, r);
          r = await act({ uri: "note://secret" });
          check(name("a resource asks"), textOf(r) === "the secret" && r.asked.length === 1, r);
          r = await act({ prompt: "secretive" });
          check(name("a prompt asks"), textOf(r) === "prompt: accept" && r.asked.length === 1, r);
          r = await act({ tool: "endless" });
          check(name("a tool that never stops to ask"), modern ? r.done === "over a configured limit" && r.asked.length === 10 : r.result?.isError === true, r);
        }
        r = await act({ tool: "greet", args: { name: "C" } });
        check(name("still answers"), textOf(r) === "Hello, C!", r);
      });
    }, 90000);
  }

  // Typed on a terminal, that is to say: on stdin.
  for (const { name: who, argv, v1 } of peers) await attempt(`ask_client, ${who}`, async () => {
    const name = what => `ask_client, ${who}: ${what}`;
    const type = (tool, ...lines) => run(bin("ask_client"), [tool, "{}", ...argv], { input: lines.map(l => l + "\n").join("") });
    let r = await type("order", "Ada", "", "", "", "", "", "", "", "y");
    check(name("only the name was typed"), r.status === 0 && r.out.includes('"drink":"tea"') && r.out.includes('"cups":2') && r.out.includes("Are you sure?"), r);
    r = await type("order", "Ada", "", "12", "", "", "", "", "", "Ada", "", "3", "1.5", "n", "coffee", "s", '["ice"]', "y");
    check(name("typed again when it does not fit"), r.status === 0 && r.out.includes('"cups":3') && r.out.includes('"drink":"coffee"') && r.out.includes('"extras":["ice"]') && r.out.match(/Name: /g).length === 2, r);
    r = await type("order", "Ada");
    check(name("the end of the input closes the form"), r.status === 0 && r.out.includes("The form: cancel."), r);
    for (const [typed, action] of [["y", "accept"], ["n", "decline"]]) {
      r = await type("visit", typed);
      check(name(`a page to visit: ${typed}`), r.status === 0 && r.out.includes(page) && r.out.includes(`visit: ${action}`), r);
    }
    r = await type("sample");
    check(name("a model it has not"), r.status === 1 && r.err.length > 10, r);
    r = await run(bin("ask_client"), ["steps", '{"n": 4}', ...argv]);
    check(name("shows progress"), r.status === 0 && r.out === " 25% step 1\n 50% step 2\n 75% step 3\n100% step 4\n4 steps\n", r);
  }, 60000);
  // The command mcp asks only on a terminal; script(1) of Linux makes one.
  const terminal = process.platform === "linux" && (await run("script", ["-qec", "true", "/dev/null"])).status === 0;
  if (!terminal) console.log("skip  no script(1) of Linux: mcp was not asked on a terminal");
  else for (const { name: who, argv, eras, v1 } of peers) for (const era of eras.filter(e => e !== "auto")) await attempt(`mcp on a terminal, ${who}, ${era}`, async () => {
    const name = what => `mcp on a terminal, ${who}, ${era}: ${what}`;
    const type = (tool, ...lines) => run("script", ["-qec", [bin("mcp"), "call", "--era", era, tool, "--", ...argv].map(a => `'${a}'`).join(" "), "/dev/null"], { input: lines.map(l => l + "\n").join("") });
    let r = await type("order", "Ada", "", "10", "", "n", "", "", "ice, sugar", "Ada", "", "3", "", "n", "", "", "ice, sugar", "y");
    check(name("a form"), r.status === 0 && ['"name":"Ada"', '"mail":"a@example.org"', '"cups":3', '"litres":0.25', '"milk":false', '"extras":["ice","sugar"]'].every(x => r.out.includes(x)) && r.out.match(/Name \(/g).length === 2, r);
    r = await type("visit", "y");
    check(name("a page"), r.status === 0 && r.out.includes(page) && r.out.includes("visit: accept"), r);
    r = await type("sample");
    check(name("a model it has not"), v1 || era === "legacy" ? r.status === 1 : r.status === 4 && r.out.includes("-32021"), r);
  }, 60000);

  await attempt("ask_client, server-everything", async () => {
    const name = what => `ask_client, server-everything: ${what}`;
    const type = (tool, args, ...lines) => run(bin("ask_client"), [tool, JSON.stringify(args), ...everything], { input: lines.map(l => l + "\n").join("") });
    const empty = n => Array(n).fill("");
    let r = await type("trigger-elicitation-request", {}, "Ada", "y", ...empty(4), "1000", ...empty(6), "Bo", "n", ...empty(4), "7", ...empty(6));
    check(name("a long form, at the second time"), r.status === 0 && ["Name: Bo", "Agreed to terms: false", "Favorite Integer: 7", "Favorite Number: 3.14", '"Monica"', '"hero-1"', '"fish-1"', '"pet-1"'].every(x => r.out.includes(x)), r);
    r = await type("trigger-url-elicitation", { url: page, errorPath: true }, "y", "y");
    check(name("a page to visit first"), r.status === 0 && r.out.includes("https://modelcontextprotocol.io") && r.out.includes("User completed"), r);
    r = await type("trigger-url-elicitation", { url: page, errorPath: true }, "n");
    check(name("that page: declined"), r.status === 1 && r.err.includes("declined"), r);
  }, 60000);

  await attempt("server-filesystem, folders", async () => {
    const name = what => `server-filesystem: ${what}`;
    const answers = { "roots/list": { roots: [{ uri: "file://" + scratch, name: "scratch" }] } };
    const inside = path.join(scratch, "inside");
    fs.mkdirSync(inside);
    await session(script("@modelcontextprotocol/server-filesystem/dist/index.js"), { era: "legacy", answers }, async act => {
      let r = await act({ wait: 400 });
      check(name("asks for our folders by itself"), same(r.asked.map(a => a.asked), ["roots/list"]), r);
      r = await act({ tool: "list_allowed_directories" });
      check(name("works in our folder"), textOf(r).split("\n").includes(scratch), r);
      answers["roots/list"] = { roots: [{ uri: "file://" + inside }] };
      await act({ notify: "notifications/roots/list_changed" });
      r = await act({ wait: 300 });
      check(name("asks anew when they have changed"), r.asked.length === 1, r);
      r = await act({ tool: "list_allowed_directories" });
      check(name("works in the new one"), textOf(r).split("\n").includes(inside) && !textOf(r).split("\n").includes(scratch), r);
    });
  });

  // server-everything: all that it has
  for (const era of ["legacy", "auto"]) {
    const name = what => `server-everything, ${era}: ${what}`;
    await attempt(name("the command mcp"), async () => {
      const go = (...args) => mcp([args[0], "--era", era, ...args.slice(1)], everything);
      let r = await go("resources", "--json");
      const { resources, resourceTemplates } = parsed(r.out);
      check(name("resources"), r.status === 0 && resources?.length === 7 && resources.every(x => x.uri.startsWith("demo://resource/static/document/")), r);
      check(name("templates"), same(resourceTemplates?.map(x => x.uriTemplate), ["demo://resource/dynamic/text/{resourceId}", "demo://resource/dynamic/blob/{resourceId}"]), r);
      r = await go("read", "demo://resource/static/document/features.md");
      check(name("reads a document"), r.status === 0 && r.out.includes("trigger-elicitation-request"), r);
      r = await go("read", "demo://resource/dynamic/text/7");
      check(name("reads text by a template"), r.status === 0 && r.out.startsWith("Resource 7: This is a plaintext resource"), r);
      r = await go("read", "demo://resource/dynamic/blob/8");
      check(name("reads bytes by a template"), r.status === 0 && r.out.startsWith("Resource 8: This is a base64 blob"), r);
      r = await go("read", "demo://resource/dynamic/text/x");
      check(name("no such resource"), r.status === 4 && /^mcp: error -\d+: .*demo:/m.test(r.err), r);
      r = await go("prompts", "--json");
      check(name("prompts"), same(parsed(r.out).prompts?.map(p => p.name), ["simple-prompt", "args-prompt", "completable-prompt", "resource-prompt"]), r);
      for (const [prompt, args, want] of [["simple-prompt", {}, "user: This is a simple prompt without arguments.\n"], ["args-prompt", { city: "Rome", state: "Lazio" }, "user: What's weather in Rome, Lazio?\n"],
                                          ["completable-prompt", { department: "Sales", name: "Eve" }, "user: Please promote Eve to the head of the Sales team.\n"]]) {
        r = await go("prompt", prompt, JSON.stringify(args));
        check(name(`prompt ${prompt}`), r.status === 0 && r.out === want, r);
      }
      r = await go("prompt", "resource-prompt", '{"resourceType": "Blob", "resourceId": "3"}');
      check(name("prompt resource-prompt"), r.status === 0 && /\[resource demo:\/\/resource\/dynamic\/blob\/3 text\/plain, \d+ bytes\]/.test(r.out), r);
      r = await go("complete", "completable-prompt", "department", "S");
      check(name("completes an argument"), r.status === 0 && r.out === "Sales\nSupport\n", r);
      r = await go("complete", "demo://resource/dynamic/text/{resourceId}", "resourceId", "12");
      check(name("completes a variable"), r.status === 0 && r.out === "12\n", r);
    }, 90000);

    await attempt(name("every tool"), async () => {
      let refuse = false;
      const answers = {
        "elicitation/create": p => refuse ? { status: "DECLINED" } : p.mode === "url" ? {} : p.requestedSchema.properties.interpretation ? { content: { interpretation: "snake" } } : { content: { name: "Ada" } },
        "sampling/createMessage": p => ({ role: "assistant", model: "m", content: { type: "text", text: `${p.maxTokens}: ${p.messages[0].content.text}` } }),
        "roots/list": { roots: [{ uri: "file:///a", name: "a" }] },
      };
      const capabilities = { ...everyCapability, tasks: { requests: { elicitation: { create: {} }, sampling: { createMessage: {} } } } };
      await session(everything, { era, answers, capabilities }, async (act, { all }) => {
        let r = await act({ method: "tools/list" });
        const untried = new Set(r.result.tools.map(t => t.name));
        const tool = async (called, args, good, more = {}) => {
          untried.delete(called);
          const r = await act({ tool: called, args, ...more });
          check(name(`${called} ${JSON.stringify(args)}`), r.done === "ok" && good(r, textOf(r)), r);
        };
        const types = r => r.result.content.map(c => c.type).join();
        await tool("echo", { message: "gr\u00fc\u00dfe" }, (r, t) => t === "Echo: gr\u00fc\u00dfe");
        await tool("get-annotated-message", { messageType: "error", includeImage: true }, r => types(r) === "text,image" && r.result.content[0].annotations.priority === 1);
        await tool("get-env", {}, (r, t) => parsed(t).PATH === process.env.PATH);
        await tool("get-resource-links", { count: 4 }, r => types(r) === "text" + ",resource_link".repeat(4));
        await tool("get-resource-reference", { resourceType: "Blob", resourceId: 5 }, r => types(r) === "text,resource,text" && r.result.content[1].resource.blob);
        await tool("get-structured-content", { location: "Chicago" }, r => r.result.structuredContent.temperature === 36);
        await tool("get-sum", { a: 0.1, b: 0.2 }, (r, t) => t.includes(String(0.1 + 0.2)));
        await tool("get-tiny-image", {}, r => types(r).includes("image"));
        await tool("gzip-file-as-resource", { name: "x.gz", data: "data:text/plain,hello", outputType: "resourceLink" }, r => types(r) === "resource_link");
        r = await act({ uri: "demo://resource/session/x.gz" });
        check(name("reads what the tool has made"), r.done === "ok" && r.result.contents[0].blob?.startsWith("H4sI"), r);
        r = await act({ method: "resources/list" });
        check(name("it is on the list"), JSON.stringify(r.result).includes("demo://resource/session/x.gz"), r);
        await tool("trigger-long-running-operation", { duration: 0.4, steps: 4 }, r => same(r.progress.map(p => p.progress), [1, 2, 3, 4]) && r.progress.every(p => p.total === 4), { progress: true });
        await tool("toggle-simulated-logging", {}, (r, t) => t.startsWith("Started"), { log_level: "debug" });
        await act({ wait: 50 });
        check(name("a log message"), all.some(t => t.told === "notifications/message" && typeof t.params.level === "string"), all);
        r = await act({ listen: 7, uris: ["demo://resource/dynamic/text/1"] });
        check(name("listens"), r.done === "ok", r);
        await tool("toggle-subscriber-updates", {}, (r, t) => t.startsWith("Started"));
        await act({ wait: 100 });
        check(name("told of a resource"), all.some(t => t.told === "notifications/resources/updated" && t.params.uri === "demo://resource/dynamic/text/1"), all);
        r = await act({ unlisten: true });
        check(name("ends to listen"), r.done === "cancelled", r);
        await tool("get-roots-list", {}, (r, t) => t.includes("Current MCP Roots (1 total)") && t.includes("file:///a"));
        answers["roots/list"] = { roots: [{ uri: "file:///a" }, { uri: "file:///b" }] };
        await act({ notify: "notifications/roots/list_changed" });
        await act({ wait: 150 });
        await tool("get-roots-list", {}, (r, t) => t.includes("Current MCP Roots (2 total)"));
        await tool("trigger-elicitation-request", {}, (r, t) => t.includes("User provided") && t.includes("Name: Ada") && t.includes("Favorite Integer: 42") && t.includes('"titledMultipleSelectEnum"') && t.includes("fish-1"));
        await tool("trigger-url-elicitation", { url: page }, (r, t) => t.includes("User completed") && r.asked[0].params.url === page);
        await tool("trigger-url-elicitation", { url: page, errorPath: true }, (r, t) => t.includes("User completed") && r.asked.length === 2);
        await tool("trigger-sampling-request", { prompt: "maps", maxTokens: 7 }, (r, t) => t.includes("7: ") && t.includes("maps"));
        await tool("trigger-sampling-request-async", { prompt: "maps", maxTokens: 7 }, (r, t) => t.startsWith("[SYNC]") && t.includes("maps"));
        await tool("trigger-elicitation-request-async", {}, (r, t) => t.startsWith("[SYNC]") && t.includes("Ada"));
        refuse = true;
        await tool("trigger-elicitation-request", {}, (r, t) => t.includes("User declined"));
        refuse = false;
        // Only with a task, which is no part of our client; but any method can be asked.
        r = await act({ tool: "simulate-research-query", args: { topic: "python" } });
        check(name("simulate-research-query, without a task: refused"), r.result?.isError === true || r.code < 0, r);
        untried.delete("simulate-research-query");
        r = await act({ method: "tools/call", params: { name: "simulate-research-query", arguments: { topic: "python" }, task: { ttl: 60000 } } });
        const taskId = r.result?.task?.taskId;
        check(name("simulate-research-query, with a task"), typeof taskId === "string", r);
        r = await act({ method: "tasks/result", params: { taskId } });
        check(name("the result of the task"), textOf(r).startsWith("# Research Report: python"), r);
        check(name("every tool that it has"), untried.size === 0, [...untried]);
      });
    }, 60000);
  }
}

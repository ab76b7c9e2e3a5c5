// usage: node check.mjs BUILD NODE_MODULES     (see check.sh)
import { execFile, spawn } from "node:child_process";
import fs from "node:fs";
import { createRequire } from "node:module";
import os from "node:os";
import path from "node:path";
import { agent } from "./agent.mjs";
import { features } from "./features.mjs";

const build = path.resolve(process.argv[2]), modules = path.resolve(process.argv[3]);
const need = createRequire(path.join(modules, "x.js"));
const here = import.meta.dirname ?? path.dirname(new URL(import.meta.url).pathname);
const bin = name => path.join(build, name);
const only = process.env.ONLY ? new RegExp(process.env.ONLY) : /./;

let passed = 0, failed = 0;
const show = x => { const t = typeof x === "string" ? x : JSON.stringify(x); return t && t.length > 300 ? t.slice(0, 300) + "..." : t; };
function check(name, good, got) {
  if (good) { passed++; console.log("ok    " + name); }
  else { failed++; console.log(`FAIL  ${name}${got === undefined ? "" : ": " + show(got)}`); }
}
// A check that may throw or hang: both are failures.
async function attempt(name, body, limit = 30000) {
  if (!only.test(name)) return;
  let timer;
  const late = new Promise((_, no) => { timer = setTimeout(() => no(new Error("took too long")), limit); });
  try { await Promise.race([body(), late]); }
  catch (e) { check(name, false, String(e?.stack ?? e)); }
  finally { clearTimeout(timer); }
}
const textOf = r => (r.content ?? []).map(c => c.text).join("\n");
const alive = pid => { try { process.kill(pid, 0); return true; } catch { return false; } };

// -- our servers, their clients -------------------------------------------------------------------------------------

const sdk1 = { ...need("@modelcontextprotocol/sdk/client/index.js"), ...need("@modelcontextprotocol/sdk/client/stdio.js"),
               ...need("@modelcontextprotocol/sdk/types.js") };
const sdk2 = { ...need("@modelcontextprotocol/client"), ...need("@modelcontextprotocol/client/stdio") };

const kinds = [
  { name: "SDK 1.32.2", sdk: sdk1, v1: true, era: "legacy" },
  { name: "SDK 2.4.0 legacy", sdk: sdk2, era: "legacy" },
  { name: "SDK 2.4.0 auto", sdk: sdk2, era: "modern", negotiation: { mode: "auto" } },
  { name: "SDK 2.4.0 modern", sdk: sdk2, era: "modern", negotiation: { mode: { pin: "2026-07-28" } } },
];

async function connect(kind, command, args = [], capabilities = {}) {
  const { Client, StdioClientTransport } = kind.sdk;
  const client = new Client({ name: "peers", version: "1" }, { capabilities, ...(kind.negotiation && { versionNegotiation: kind.negotiation }) });
  const transport = new StdioClientTransport({ command, args, stderr: "pipe" });
  client.lost = [];
  client.onerror = e => client.lost.push(String(e));
  await client.connect(transport, { timeout: 10000 });
  client.pid = transport.pid;
  client.tool = (name, args, options) => kind.v1 ? client.callTool({ name, arguments: args }, undefined, options)
                                                 : client.callTool({ name, arguments: args }, options);
  return client;
}

for (const kind of kinds) {
  await attempt(`${kind.name}, hello_server`, async () => {
    const c = await connect(kind, bin("hello_server"));
    check(`${kind.name}, hello_server: lists`, (await c.listTools()).tools.map(t => t.name).join() === "greet");
    check(`${kind.name}, hello_server: calls`, textOf(await c.tool("greet", { name: "peer" })) === "Hello, peer!");
    await c.close();
  });
  await attempt(`${kind.name}, fixed_server`, async () => {
    const c = await connect(kind, bin("fixed_server"));
    check(`${kind.name}, fixed_server: calls`, textOf(await c.tool("led", { on: true })) === "The LED is on.");
    await c.close();
  });
  await attempt(`${kind.name}, worker_server`, async () => {
    const c = await connect(kind, bin("worker_server")), seen = [];
    const r = await c.tool("primes", { below: 2000000 }, { onprogress: p => seen.push(p.progress) });
    check(`${kind.name}, worker_server: a deferred answer`, textOf(r) === "148933 primes below 2000000", r);
    check(`${kind.name}, worker_server: progress from a thread rises`, seen.length > 1 && seen.every((p, i) => i === 0 || p > seen[i - 1]), seen);
    await c.close();
  });
  await attempt(`${kind.name}, docs_server`, async () => {
    const name = what => `${kind.name}, docs_server: ${what}`;
    const c = await connect(kind, bin("docs_server"));
    check(name("resources"), (await c.listResources()).resources.map(r => r.uri).join() === "docs://pages");
    check(name("templates"), (await c.listResourceTemplates()).resourceTemplates.map(r => r.uriTemplate).join() === "docs://page/{name}");
    check(name("several contents"), (await c.readResource({ uri: "docs://pages" })).contents.map(x => x.uri).join() === "docs://page/install,docs://page/hello,docs://page/loop");
    check(name("a template"), (await c.readResource({ uri: "docs://page/l%6Fop" })).contents[0].text.includes("mcp_server_step"));
    // SDK 2 makes the number of the modern era of the legacy one.
    const gone = await c.readResource({ uri: "docs://page/nothing" }).catch(e => e);
    check(name("no such page"), gone instanceof Error && gone.code === (kind.v1 ? -32002 : -32602) && gone.data?.uri === "docs://page/nothing", gone);
    check(name("prompts"), (await c.listPrompts()).prompts.map(p => p.name + p.arguments[0].name + p.arguments[0].required).join() === "explainpagetrue");
    check(name("a prompt"), (await c.getPrompt({ name: "explain", arguments: { page: "hello" } })).messages.map(m => m.role + m.content.type).join() === "usertext,usertext");
    check(name("an argument is missing"), (await c.getPrompt({ name: "explain" }).catch(e => e)).code === -32602);
    for (const ref of [{ type: "ref/prompt", name: "explain" }, { type: "ref/resource", uri: "docs://page/{name}" }])
      check(name(`completion, ${ref.type}`), (await c.complete({ ref, argument: { name: "page", value: "l" } })).completion.values.join() === "loop");
    const told = [];
    if (kind.v1) c.setNotificationHandler(sdk1.ResourceUpdatedNotificationSchema, n => { told.push(n.params.uri); });
    else c.setNotificationHandler("notifications/resources/updated", n => { told.push(n.params.uri); });
    if (kind.era === "modern") await c.listen({ resourceSubscriptions: ["docs://page/hello"] });
    else await c.subscribeResource({ uri: "docs://page/hello" });
    await c.tool("edit", { page: "loop", text: "not watched" });
    await c.tool("edit", { page: "hello", text: "edited" });
    await new Promise(r => setTimeout(r, 300));
    check(name("told of the page that is watched"), told.join() === "docs://page/hello", told);
    check(name("reads what is new"), (await c.readResource({ uri: "docs://page/hello" })).contents[0].text === "edited");
    check(name("no surprises"), c.lost.length === 0, c.lost);
    await c.close();
  });
  await attempt(`${kind.name}, ask_server`, async () => {
    const name = what => `${kind.name}, ask_server: ${what}`;
    const c = await connect(kind, bin("ask_server"), [], { elicitation: { form: {} }, sampling: {}, roots: {} });
    const on = (method, schema, fn) => c.setRequestHandler(kind.v1 ? kind.sdk[schema] : method, fn);
    const asked = [];
    let sure = { action: "accept", content: { sure: true } };
    on("elicitation/create", "ElicitRequestSchema", async q => {
      asked.push(q.params.message);
      return q.params.requestedSchema.properties.drink ? { action: "accept", content: { drink: "tea", cups: 2 } } : sure;
    });
    on("sampling/createMessage", "CreateMessageRequestSchema", async () => ({ role: "assistant", model: "m", content: { type: "text", text: "They fold." } }));
    on("roots/list", "ListRootsRequestSchema", async () => ({ roots: [{ uri: "file:///a", name: "a" }, { uri: "file:///b" }] }));
    check(name("two rounds"), textOf(await c.tool("order", {})) === "Order 1 is on its way.");
    check(name("what was asked"), asked.join() === "What would you like?,2 tea: is that right?", asked);
    sure = { action: "decline" };
    check(name("declined"), textOf(await c.tool("order", {})) === "Nothing was ordered.");
    check(name("model and folders at once"), textOf(await c.tool("summary", {})) === "2 folders. They fold.");
    check(name("no surprises"), c.lost.length === 0, c.lost);
    await c.close();
    const mute = await connect(kind, bin("ask_server"));
    const error = await mute.tool("order", {}).catch(e => e);
    check(name("who cannot ask is told"), error instanceof Error && error.code === -32021, error);
    await mute.close();
  });
  await attempt(`${kind.name}, faults_server`, async () => {
    const name = what => `${kind.name}, faults_server: ${what}`;
    const c = await connect(kind, bin("faults_server"));
    if (!kind.v1) check(name("era"), c.getProtocolEra() === kind.era, c.getProtocolEra());
    check(name("who it is"), c.getServerVersion()?.name === "faults", c.getServerVersion());
    const tools = (await c.listTools()).tools.map(t => t.name);
    check(name("lists"), tools[0] === "echo" && tools.includes("touch_tools"), tools);
    const odd = "quote \" backslash \\ newline \n tab \t \u0001 \u20ac \u{1f600}";
    check(name("echoes any text"), textOf(await c.tool("echo", { text: odd })) === odd);
    const big = "x".repeat(1 << 20);
    check(name("echoes 1 MiB"), textOf(await c.tool("echo", { text: big })) === big);
    check(name("many at a time"), (await Promise.all(Array.from({ length: 500 }, (_, i) => c.tool("echo", { text: "n" + i }))))
      .every((r, i) => textOf(r) === "n" + i));
    const failure = await c.tool("fail", {});
    check(name("isError"), failure.isError === true && textOf(failure).length > 0, failure);
    const error = await c.tool("no_such_tool", {}).catch(e => e);
    check(name("an unknown tool"), error instanceof Error && error.code === -32602, error);
    const missing = await c.tool("echo", {}).catch(e => e);
    check(name("a missing argument"), missing instanceof Error || missing.isError === true, missing);

    const seen = [];
    await c.tool("progress3", {}, { onprogress: p => seen.push(p) });
    // An answer in the same read makes the SDKs forget the token before they deliver the last one.
    check(name("progress"), seen.length >= 2 && seen.every((p, i) => p.progress === i + 1 && p.total === 3), seen);
    c.lost = c.lost.filter(e => !/progress notification for an unknown token/.test(e));

    const stop = new AbortController(), began = Date.now();
    setTimeout(() => stop.abort("enough"), 200);
    const cancelled = await c.tool("slow", { ms: 20000 }, { signal: stop.signal }).catch(e => e);
    check(name("cancel"), cancelled !== undefined && !cancelled.content && Date.now() - began < 3000, cancelled);
    check(name("goes on after a cancel"), textOf(await c.tool("echo", { text: "still here" })) === "still here");
    const late = await c.tool("slow", { ms: 20000 }, { timeout: 200 }).catch(e => e);
    check(name("a timeout"), late instanceof Error, late);
    check(name("slow answers when left alone"), textOf(await c.tool("slow", { ms: 50 })) === "done");

    let changes = 0;
    if (kind.v1) c.setNotificationHandler(sdk1.ToolListChangedNotificationSchema, () => { changes++; });
    else c.setNotificationHandler("notifications/tools/list_changed", () => { changes++; });
    if (kind.era === "modern") await c.listen({ toolsListChanged: true });
    await c.tool("touch_tools", {});
    await new Promise(r => setTimeout(r, 300));
    check(name("tells that the list changed"), changes === 1, changes);
    check(name("lists what was added"), (await c.listTools()).tools.some(t => t.name === "extra"));

    const logs = [];
    if (kind.era === "legacy") {
      if (kind.v1) c.setNotificationHandler(sdk1.LoggingMessageNotificationSchema, n => { logs.push(n.params.level); });
      else c.setNotificationHandler("notifications/message", n => { logs.push(n.params.level); });
      await c.setLoggingLevel("info");
      await c.tool("logs", {});
      check(name("logs from the level up"), logs.join() === "info,error", logs);
      await c.ping();
      check(name("ping"), true);
    }
    check(name("nothing on the wire that the client refused"), c.lost.length === 0, c.lost);
    const pid = c.pid;
    await c.close();
    for (let i = 0; i < 40 && alive(pid); i++) await new Promise(r => setTimeout(r, 50));
    check(name("ends when its client closes"), !alive(pid));
  }, 60000);
}

function run(command, args, { input = "", timeout = 60000, env, encoding = "utf8" } = {}) {
  return new Promise(done => {
    const child = execFile(command, args, { timeout, encoding, env: { ...process.env, ...env }, maxBuffer: 1 << 26, killSignal: "SIGKILL" },
      (error, out, err) => done({ status: error ? error.code ?? error.signal : 0, out, err }));
    child.stdin.on("error", () => {});
    child.stdin.end(input);
  });
}

// -- our servers, the Inspector -------------------------------------------------------------------------------------

const nodeIs = process.versions.node.split(".").map(Number), node22 = nodeIs[0] > 22 || (nodeIs[0] === 22 && nodeIs[1] >= 19);
if (node22) {
  const home = fs.mkdtempSync(path.join(os.tmpdir(), "inspector-"));       // it writes a catalog into the home folder
  const inspector = (era, args) => run(process.execPath,
    [path.join(modules, "@modelcontextprotocol/inspector/clients/launcher/build/index.js"), "--cli", "--format", "json", "-q",
     ...args, "--protocol-era", era], { env: { HOME: home, MCP_CATALOG_PATH: path.join(home, "c.json") } });
  for (const era of ["legacy", "auto", "modern"]) await attempt(`Inspector, ${era}`, async () => {
    const name = what => `Inspector 2.12.0 ${era}: ${what}`;
    let r = await inspector(era, [bin("hello_server"), "--method", "tools/list", "--strict"]);
    check(name("lists, and finds nothing to complain about"), r.status === 0 && r.out.includes('"greet"'), r);
    r = await inspector(era, [bin("hello_server"), "--method", "tools/call", "--tool-name", "greet", "--tool-arg", "name=Inspector"]);
    check(name("calls"), r.status === 0 && r.out.includes("Hello, Inspector!"), r);
    r = await inspector(era, [bin("faults_server"), "--method", "tools/call", "--tool-name", "fail"]);
    check(name("isError"), r.status !== 0 && (r.out + r.err).includes("this tool always fails"), r);
    r = await inspector(era, [bin("faults_server"), "--method", "tools/call", "--tool-name", "no_such_tool"]);
    check(name("an unknown tool"), r.status !== 0, r);
    r = await inspector(era, [bin("faults_server"), "--method", "tools/call", "--tool-name", "progress3"]);
    check(name("progress"), r.status === 0 && r.out.includes("done"), r);
    r = await inspector(era, [bin("docs_server"), "--method", "resources/read", "--uri", "docs://page/install"]);
    check(name("reads a resource"), r.status === 0 && r.out.includes("Copy mcp.h"), r);
    r = await inspector(era, [bin("docs_server"), "--method", "resources/templates/list"]);
    check(name("lists templates"), r.status === 0 && r.out.includes("docs://page/{name}"), r);
    r = await inspector(era, [bin("docs_server"), "--method", "prompts/get", "--prompt-name", "explain", "--prompt-args", "page=loop"]);
    check(name("gets a prompt"), r.status === 0 && r.out.includes("Explain this page"), r);
    r = await inspector(era, [bin("hello_server"), "--method", "tools/call", "--tool-name", "greet", "--load", "--load-requests", "500"]);
    check(name("a load of 500 calls"), r.status === 0, r);
  }, 120000);
  fs.rmSync(home, { recursive: true, force: true });
} else console.log("skip  Inspector 2.12.0 wants node 22.19, this is " + process.versions.node);

// -- their servers, our client --------------------------------------------------------------------------------------

const scratch = fs.mkdtempSync(path.join(os.tmpdir(), "peers-"));
fs.writeFileSync(path.join(scratch, "note.txt"), "a note\n");
const script = name => [process.execPath, path.join(modules, name)];
const mcp = (args, server, options) => run(bin("mcp"), [...args, "--", ...server], options);
const json = r => { try { return JSON.parse(r.out); } catch { return null; } };

const servers = {
  "server-everything": script("@modelcontextprotocol/server-everything/dist/index.js"),
  "server-filesystem": [...script("@modelcontextprotocol/server-filesystem/dist/index.js"), scratch],
  "server-memory": script("@modelcontextprotocol/server-memory/dist/index.js"),
  "SDK 2.4.0 server": [process.execPath, path.join(here, "ts2_server.mjs"), modules],
};
const env = { MEMORY_FILE_PATH: path.join(scratch, "memory.jsonl") };
const calls = {
  "server-everything": [
    ["echo", { message: "from C" }, r => r.status === 0 && r.out.includes("Echo: from C")],
    ["get-sum", { a: 20, b: 22 }, r => r.status === 0 && r.out.includes("42")],
    ["get-tiny-image", {}, r => r.status === 0 && /\[image image\/png, \d+ bytes\]/.test(r.out)],
    ["get-structured-content", { location: "New York" }, r => r.status === 0 && r.out.length > 10],
    ["trigger-long-running-operation", { duration: 1, steps: 4 }, r => r.status === 0],
    ["echo", {}, r => r.status === 2 && r.err.includes(`mcp: $: "message" is required`)],
  ],
  "server-filesystem": [
    ["write_file", { path: path.join(scratch, "from-c.txt"), content: "gr\u00fc\u00dfe\n" }, r => r.status === 0 && fs.readFileSync(path.join(scratch, "from-c.txt"), "utf8") === "gr\u00fc\u00dfe\n"],
    ["read_text_file", { path: path.join(scratch, "note.txt") }, r => r.status === 0 && r.out.includes("a note")],
    ["read_text_file", { path: "/no/such/place" }, r => r.status === 1],
  ],
  "server-memory": [
    ["create_entities", { entities: [{ name: "mcp.h", entityType: "library", observations: ["is one file"] }] }, r => r.status === 0],
    ["read_graph", {}, r => r.status === 0 && r.out.includes("is one file")],
  ],
  "SDK 2.4.0 server": [
    ["greet", { name: "C" }, r => r.status === 0 && r.out === "Hello, C!\n"],
    ["fails", {}, r => r.status === 1 && r.err.includes("as it should")],
    ["steps", { n: 5 }, r => r.status === 0 && r.out === "5 steps\n"],
    ["nothing_like_it", {}, r => r.status === 1 || r.status === 4],
  ],
};
for (const [who, server] of Object.entries(servers)) {
  const modern = who.startsWith("SDK 2");
  for (const era of modern ? ["auto", "legacy", "modern"] : ["auto", "legacy"]) await attempt(`${who}, ${era}`, async () => {
    let r = await mcp(["info", "--json", "--era", era], server, { env });
    check(`${who}, ${era}: info`, r.status === 0 && json(r)?.capabilities !== undefined, r);
    r = await mcp(["info", "--era", era], server, { env });
    check(`${who}, ${era}: the era found`, r.out.includes(modern && era !== "legacy" ? "2026-07-28" : "2025-11-25"), r);
    r = await mcp(["ping", "--era", era], server, { env });
    check(`${who}, ${era}: ping`, r.status === 0, r);
    r = await mcp(["tools", "--json", "--era", era], server, { env });
    check(`${who}, ${era}: tools`, r.status === 0 && json(r)?.tools?.length >= 4, r);
    for (const [tool, args, good] of calls[who]) {
      r = await mcp(["call", "--era", era, tool, JSON.stringify(args)], server, { env });
      check(`${who}, ${era}: ${tool} ${show(JSON.stringify(args))}`, good(r), r);
    }
  }, 180000);
}
await attempt("modern only, a legacy server", async () => {
  const r = await mcp(["tools", "--era", "modern"], servers["server-memory"], { env });
  check("modern only, a legacy server: refused with a sentence", r.status === 3 && /^mcp: ./m.test(r.err), r);
});
await attempt("SDK 2.4.0 server: cancel", async () => {
  for (const era of ["legacy", "modern"]) {
    const r = await mcp(["call", "-t", "3", "--era", era, "sleeps", '{"ms": 20000}'], servers["SDK 2.4.0 server"]);
    check(`SDK 2.4.0 server, ${era}: a timeout cancels the tool`, r.status === 5 && r.err.includes("the sleep was cancelled"), r);
    const child = spawn(bin("mcp"), ["call", "--era", era, "sleeps", '{"ms": 20000}', "--", ...servers["SDK 2.4.0 server"]], { stdio: ["ignore", "pipe", "pipe"] });
    const ended = new Promise(done => { child.on("close", done); child.on("error", done); });
    let err = "";
    child.stderr.on("data", d => { err += d; });
    setTimeout(() => child.kill("SIGINT"), 2500);
    const status = await ended;
    check(`SDK 2.4.0 server, ${era}: Ctrl-C cancels the tool`, status === 130 && err.includes("the sleep was cancelled"), { status, err });
  }
});
await attempt("hello_client", async () => {
  const r = await run(bin("hello_client"), servers["SDK 2.4.0 server"]);
  check("hello_client with the SDK 2.4.0 server", r.status === 0 && r.out.includes("greet: Say hello.") && r.out.includes("Hello, C!"), r);
});
await attempt("chrome-devtools-mcp", async () => {
  const chrome = script("chrome-devtools-mcp/build/src/bin/chrome-devtools-mcp.js");
  const r = await mcp(["tools", "--json", "-q"], chrome, { env: { CI: "1" } });
  check("chrome-devtools-mcp: tools", r.status === 0 && json(r)?.tools?.length > 10, r);
});
await agent({ attempt, check, run, bin, script, scratch, modules, here });
await features({ attempt, check, run, bin, script, scratch, modules, here });
fs.rmSync(scratch, { recursive: true, force: true });
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);

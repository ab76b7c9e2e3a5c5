// A stdio server made with the TypeScript SDK 2, for our client. What it asks is asked with input_required; in a legacy session the
// SDK makes requests of that. usage: node ts2_server.mjs NODE_MODULES [changes]      changes: it changes by itself, again and again
import { createRequire } from "node:module";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { bytes, form, page, question, sure, text } from "./things.mjs";

const need = createRequire(path.resolve(process.argv[2], "x.js"));
const { McpServer, ResourceTemplate, completable, fromJsonSchema, inputRequired, inputResponse } = need("@modelcontextprotocol/server");
const { serveStdio } = need("@modelcontextprotocol/server/stdio");
const { z } = need("zod");

const object = (properties = {}, required = Object.keys(properties)) => fromJsonSchema({ type: "object", properties, required });
const pages = { a: "page a", b: "page b" };
let reads = 0;

function make({ era }) {
  const server = new McpServer({ name: "ts2", version: "2.4.0" }, { capabilities: { logging: {}, resources: { subscribe: true, listChanged: true } } });
  const tool = (name, inputSchema, fn) => server.registerTool(name, { inputSchema }, fn);

  server.registerTool("greet", { description: "Say hello.", inputSchema: object({ name: { type: "string" } }) },
    async ({ name }) => text(`Hello, ${name}!`));
  tool("fails", object(), async () => ({ ...text("as it should"), isError: true }));
  tool("steps", object({ n: { type: "integer" } }), async ({ n }, ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (let i = 1; i <= n && progressToken !== undefined; i++) {
      await sleep(50);
      await ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress: i, total: n, message: `step ${i}` } });
    }
    return text(progressToken === undefined ? "no progress was asked for" : `${n} steps`);
  });
  tool("sleeps", object({ ms: { type: "number" } }), async ({ ms }, ctx) => {
    await sleep(ms, undefined, { signal: ctx.mcpReq.signal }).catch(() => console.error("the sleep was cancelled"));
    return text("slept");
  });
  tool("logs", object(), async (_, ctx) => {
    for (const level of ["debug", "info", "warning", "error"]) await ctx.mcpReq.log(level, { said: level }, "ts2");
    return text("logged");
  });
  tool("meta", object(), async (_, ctx) => text(JSON.stringify(ctx.mcpReq._meta ?? {})));

  // -- asking: each handler is run again with the answers
  const ask = (key, request, then) => async (_, ctx) => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, key);
    return answer.kind === "missing" ? inputRequired({ inputRequests: { [key]: request } }) : then(answer);
  };
  tool("order", object(), async (_, ctx) => {
    const answers = ctx.mcpReq.inputResponses, state = ctx.mcpReq.requestState();
    if (state === undefined) {
      const what = inputResponse(answers, "what");
      if (what.kind === "missing") return inputRequired({ inputRequests: { what: inputRequired.elicit({ message: "What would you like?", requestedSchema: form }) } });
      if (what.action !== "accept") return text(`The form: ${what.action}.`);
      return inputRequired({ inputRequests: { sure: inputRequired.elicit({ message: "Are you sure?", requestedSchema: sure }) }, requestState: JSON.stringify(what.content) });
    }
    const last = inputResponse(answers, "sure");
    return last.action === "accept" && last.content.sure ? text(state) : text(`Not sure: ${last.action}.`);
  });
  tool("visit", object(), ask("page", inputRequired.elicitUrl({ message: "Please pay.", url: page }), a => text(`visit: ${a.action}`)));
  tool("sample", object(), ask("model", inputRequired.createMessage(question), a => text(`The model says: ${a.result.content.text}`)));
  tool("roots", object(), ask("roots", inputRequired.listRoots(), a => text(a.roots.map(r => r.uri).join())));
  tool("survey", object(), async (_, ctx) => {
    const [form, model, roots] = ["form", "model", "roots"].map(key => inputResponse(ctx.mcpReq.inputResponses, key));
    if (form.kind === "missing") return inputRequired({ inputRequests: {
      form: inputRequired.elicit({ message: "Are you sure?", requestedSchema: sure }), model: inputRequired.createMessage(question), roots: inputRequired.listRoots() } });
    return text([form.action, model.result?.content.text, roots.roots?.length].join());
  });
  tool("waits", object(), async (_, ctx) => {             // more input, but nothing to ask: the client comes again
    const n = Number(ctx.mcpReq.requestState() ?? 0);
    return n < 2 ? inputRequired({ requestState: String(n + 1) }) : text(`came ${n + 1} times`);
  });
  tool("endless", object(), ask("never", inputRequired.elicit({ message: "Are you sure?", requestedSchema: sure }),
    () => inputRequired({ inputRequests: { never: inputRequired.elicit({ message: "Are you sure?", requestedSchema: sure }) } })));
  tool("raw", object({ method: { type: "string" }, params: { type: "object" } }), async ({ method, params }, ctx) =>    // legacy: on the wire, whatever the client can
    text(JSON.stringify(await ctx.mcpReq.send({ method, params }, fromJsonSchema({ type: "object" })))));

  // -- resources
  server.registerResource("readme", "note://readme", { mimeType: "text/plain", description: "What this is." },
    async uri => ({ contents: [{ uri: uri.href, mimeType: "text/plain", text: "gr\u00fc\u00dfe\n" }] }));
  server.registerResource("bytes", "note://bytes", { mimeType: "application/octet-stream" },
    async uri => ({ contents: [{ uri: uri.href, mimeType: "application/octet-stream", blob: bytes.toString("base64") }] }));
  server.registerResource("counter", "note://counter", { cacheHint: { ttlMs: 60000, cacheScope: "private" } },
    async uri => ({ contents: [{ uri: uri.href, text: `read ${++reads} times` }] }));
  server.registerResource("secret", "note://secret", {}, async (uri, ctx) => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, "sure");
    if (answer.kind === "missing") return inputRequired({ inputRequests: { sure: inputRequired.elicit({ message: "Are you sure?", requestedSchema: sure }) } });
    return { contents: [{ uri: uri.href, text: answer.action === "accept" ? "the secret" : "nothing" }] };
  });
  server.registerResource("page", new ResourceTemplate("note://page/{name}", {
    list: async () => ({ resources: Object.keys(pages).map(name => ({ uri: `note://page/${name}`, name })) }),
    complete: { name: value => Object.keys(pages).filter(p => p.startsWith(value)) },
  }), { mimeType: "text/markdown" }, async (uri, { name }) => ({ contents: [{ uri: uri.href, text: pages[name] ?? "an empty page" }] }));

  // -- prompts
  server.registerPrompt("plain", { description: "Without arguments." }, async () => ({ messages: [
    { role: "user", content: { type: "text", text: "Hello." } }, { role: "assistant", content: { type: "text", text: "Yes?" } }] }));
  server.registerPrompt("review", { argsSchema: z.object({
    language: completable(z.string().describe("of the program"), v => ["c", "cobol", "rust"].filter(l => l.startsWith(v))),
    style: completable(z.string(), (v, context) => (context?.arguments?.language === "c" ? ["k&r", "knf"] : ["kind"]).filter(s => s.startsWith(v))).optional(),
  }) }, async ({ language, style }) => ({ messages: [
    { role: "user", content: { type: "text", text: `Review my ${language}, ${style ?? "any style"}.` } },
    { role: "user", content: { type: "resource", resource: { uri: "note://page/a", mimeType: "text/markdown", text: pages.a } } }] }));
  server.registerPrompt("secretive", {}, async ctx => {
    const answer = inputResponse(ctx.mcpReq.inputResponses, "sure");
    if (answer.kind === "missing") return inputRequired({ inputRequests: { sure: inputRequired.elicit({ message: "Are you sure?", requestedSchema: sure }) } });
    return { messages: [{ role: "user", content: { type: "text", text: `prompt: ${answer.action}` } }] };
  });

  // -- changes
  const watched = new Set();
  if (era === "legacy") {
    server.server.setRequestHandler("resources/subscribe", async ({ params }) => { watched.add(params.uri); return {}; });
    server.server.setRequestHandler("resources/unsubscribe", async ({ params }) => { watched.delete(params.uri); return {}; });
  }
  const updated = async uri => { if (era !== "legacy" || watched.has(uri)) await server.server.sendResourceUpdated({ uri }); };
  tool("edit", object({ name: { type: "string" }, text: { type: "string" } }), async ({ name, text: t }) => {
    pages[name] = t;
    await updated(`note://page/${name}`);
    return text("edited");
  });
  tool("count", object(), async () => { await updated("note://counter"); return text("told"); });
  const extra = tool("extra", object(), async () => text("extra"));
  tool("touch", object(), async () => {
    if (extra.enabled) extra.disable(); else extra.enable();
    server.sendPromptListChanged();
    server.sendResourceListChanged();
    return text("touched");
  });
  if (process.argv[3] === "changes") setInterval(() => {
    if (!server.isConnected()) return;
    server.sendToolListChanged();
    updated("note://page/a").catch(() => {});
    updated("note://page/b").catch(() => {});
  }, 100).unref();
  return server;
}
serveStdio(make);

// A stdio server made with the TypeScript SDK 1, for our client. usage: node ts1_server.mjs NODE_MODULES [changes]
import { createRequire } from "node:module";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { bytes, form, page, question, sure, text } from "./things.mjs";

const need = createRequire(path.resolve(process.argv[2], "x.js"));
const { McpServer, ResourceTemplate } = need("@modelcontextprotocol/sdk/server/mcp.js");
const { StdioServerTransport } = need("@modelcontextprotocol/sdk/server/stdio.js");
const { completable } = need("@modelcontextprotocol/sdk/server/completable.js");
const types = need("@modelcontextprotocol/sdk/types.js");
const { z } = need("zod");

const server = new McpServer({ name: "ts1", version: "1.32.2" }, { capabilities: { logging: {}, resources: { subscribe: true, listChanged: true } } });
const low = server.server, any = z.looseObject({});
const tool = (name, inputSchema, fn) => server.registerTool(name, { inputSchema }, fn);
const pages = { a: "page a", b: "page b" };

server.registerTool("greet", { description: "Say hello.", inputSchema: { name: z.string() } }, async ({ name }) => text(`Hello, ${name}!`));
tool("fails", {}, async () => ({ ...text("as it should"), isError: true }));
tool("steps", { n: z.number() }, async ({ n }, { _meta, sendNotification }) => {
  for (let i = 1; i <= n && _meta?.progressToken !== undefined; i++) {
    await sleep(50);
    await sendNotification({ method: "notifications/progress", params: { progressToken: _meta.progressToken, progress: i, total: n, message: `step ${i}` } });
  }
  return text(_meta?.progressToken === undefined ? "no progress was asked for" : `${n} steps`);
});
tool("logs", {}, async () => {
  for (const level of ["debug", "info", "warning", "error"]) await server.sendLoggingMessage({ level, logger: "ts1", data: { said: level } });
  return text("logged");
});
tool("meta", {}, async (_, { _meta }) => text(JSON.stringify(_meta ?? {})));
tool("top", { $top: z.number() }, async args => text(JSON.stringify(args)));      // a key that some providers refuse
tool("structure", {}, async () => ({ content: [], structuredContent: { n: 1, deep: [{ a: null }] } }));

// -- asking
tool("order", {}, async () => {
  const what = await low.elicitInput({ message: "What would you like?", requestedSchema: form });
  if (what.action !== "accept") return text(`The form: ${what.action}.`);
  const last = await low.elicitInput({ message: "Are you sure?", requestedSchema: sure });
  return last.action === "accept" && last.content.sure ? text(JSON.stringify(what.content)) : text(`Not sure: ${last.action}.`);
});
tool("visit", {}, async () => text(`visit: ${(await low.elicitInput({ mode: "url", message: "Please pay.", url: page, elicitationId: "e1" })).action}`));
tool("sample", {}, async () => text(`The model says: ${(await low.createMessage(question)).content.text}`));
tool("roots", {}, async () => text((await low.listRoots()).roots.map(r => r.uri).join()));
tool("survey", {}, async () => {                        // three questions at the same time
  const [f, m, r] = await Promise.all([low.elicitInput({ message: "Are you sure?", requestedSchema: sure }), low.createMessage(question), low.listRoots()]);
  return text([f.action, m.content.text, r.roots.length].join());
});
let paid = false;
tool("pays", {}, async () => {                          // refused until the page was visited, which it says by itself
  if (paid) return text("paid");
  setTimeout(async () => { paid = true; await low.createElicitationCompletionNotifier("e2")(); }, 400);
  throw new types.UrlElicitationRequiredError([{ mode: "url", message: "Please pay.", url: page, elicitationId: "e2" }]);
});
tool("impatient", {}, async () => text(await low.elicitInput({ message: "Are you sure?", requestedSchema: sure }, { timeout: 300 })
  .then(r => `in time: ${r.action}`, e => `too late: ${e.code}`)));
tool("raw", { method: z.string(), params: any }, async ({ method, params }, { sendRequest }) =>     // on the wire, whatever the client can
  text(JSON.stringify(await sendRequest({ method, params }, any))));

// -- resources; two on each page of the list
server.registerResource("bytes", "note://bytes", { mimeType: "application/octet-stream" },
  async uri => ({ contents: [{ uri: uri.href, mimeType: "application/octet-stream", blob: bytes.toString("base64") }] }));
server.registerResource("readme", "note://readme", { mimeType: "text/plain", description: "What this is." },
  async uri => ({ contents: [{ uri: uri.href, mimeType: "text/plain", text: "gr\u00fc\u00dfe\n" }] }));
server.registerResource("page", new ResourceTemplate("note://page/{name}", { list: undefined,
  complete: { name: value => Object.keys(pages).filter(p => p.startsWith(value)) },
}), { mimeType: "text/markdown" }, async (uri, { name }) => ({ contents: [{ uri: uri.href, text: pages[name] ?? "an empty page" }] }));
const all = ["readme", "bytes", "page/a", "page/b", "page/c"];
low.setRequestHandler(types.ListResourcesRequestSchema, async ({ params }) => {
  const at = Number(params?.cursor ?? 0);
  return { resources: all.slice(at, at + 2).map(name => ({ uri: `note://${name}`, name })), ...(at + 2 < all.length && { nextCursor: String(at + 2) }) };
});

// -- prompts
server.registerPrompt("plain", { description: "Without arguments." }, async () => ({ messages: [
  { role: "user", content: { type: "text", text: "Hello." } }, { role: "assistant", content: { type: "text", text: "Yes?" } }] }));
server.registerPrompt("review", { argsSchema: {
  language: completable(z.string().describe("of the program"), v => ["c", "cobol", "rust"].filter(l => l.startsWith(v))),
  style: completable(z.string().optional(), (v, context) => (context?.arguments?.language === "c" ? ["k&r", "knf"] : ["kind"]).filter(s => s.startsWith(v ?? ""))),
} }, async ({ language, style }) => ({ messages: [
  { role: "user", content: { type: "text", text: `Review my ${language}, ${style ?? "any style"}.` } },
  { role: "user", content: { type: "resource", resource: { uri: "note://page/a", mimeType: "text/markdown", text: pages.a } } }] }));

// -- changes
const watched = new Set();
low.setRequestHandler(types.SubscribeRequestSchema, async ({ params }) => { watched.add(params.uri); return {}; });
low.setRequestHandler(types.UnsubscribeRequestSchema, async ({ params }) => { watched.delete(params.uri); return {}; });
const updated = async uri => { if (watched.has(uri)) await low.sendResourceUpdated({ uri }); };
tool("edit", { name: z.string(), text: z.string() }, async ({ name, text: t }) => {
  pages[name] = t;
  await updated(`note://page/${name}`);
  return text("edited");
});
const extra = tool("extra", {}, async () => text("extra"));
tool("touch", {}, async () => {
  if (extra.enabled) extra.disable(); else extra.enable();
  server.sendPromptListChanged();
  server.sendResourceListChanged();
  return text("touched");
});
if (process.argv[3] === "changes") setInterval(() => {
  if (!low.getClientVersion()) return;
  server.sendToolListChanged();
  updated("note://page/a").catch(() => {});
  updated("note://page/b").catch(() => {});
}, 100).unref();
await server.connect(new StdioServerTransport());

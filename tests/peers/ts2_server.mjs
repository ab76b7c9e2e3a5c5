// A stdio server made with the TypeScript SDK 2, for our client. usage: node ts2_server.mjs NODE_MODULES
import { createRequire } from "node:module";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";

const need = createRequire(path.resolve(process.argv[2], "x.js"));
const { McpServer, fromJsonSchema } = need("@modelcontextprotocol/server");
const { serveStdio } = need("@modelcontextprotocol/server/stdio");

const text = t => ({ content: [{ type: "text", text: t }] });
const object = (properties = {}, required = Object.keys(properties)) => fromJsonSchema({ type: "object", properties, required });

function make() {
  const server = new McpServer({ name: "ts2", version: "2.4.0" }, { capabilities: { logging: {} } });
  server.registerTool("greet", { description: "Say hello.", inputSchema: object({ name: { type: "string" } }) },
    async ({ name }) => text(`Hello, ${name}!`));
  server.registerTool("fails", { inputSchema: object() }, async () => ({ ...text("as it should"), isError: true }));
  server.registerTool("steps", { inputSchema: object({ n: { type: "integer" } }) }, async ({ n }, ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken;
    for (let i = 1; i <= n && progressToken !== undefined; i++) {
      await sleep(50);
      await ctx.mcpReq.notify({ method: "notifications/progress", params: { progressToken, progress: i, total: n } });
    }
    return text(progressToken === undefined ? "no progress was asked for" : `${n} steps`);
  });
  server.registerTool("sleeps", { inputSchema: object({ ms: { type: "number" } }) }, async ({ ms }, ctx) => {
    await sleep(ms, undefined, { signal: ctx.mcpReq.signal }).catch(() => console.error("the sleep was cancelled"));
    return text("slept");
  });
  return server;
}
serveStdio(make);

// examples/agent.c with three servers of other people's and an endpoint of chat completions that follows a script: 20 turns.
import http from "node:http";
import fs from "node:fs";
import path from "node:path";

const call = (name, args = {}) => ({ name, args });
const e = (tool, args) => call(`mcp__everything__${tool}`, args);
const f = (tool, args) => call(`mcp__files__${tool}`, args);
const o = (tool, args) => call(`mcp__odd__${tool}`, args);

// A turn: what the user types; for each round of the model's the calls, with what the user answers ("" is not asked), and what the model
// must be told of each. `as`: the arguments as they are sent, if not as JSON text.
const turns = ({ scratch }) => [
  [],
  [[[e("echo", { message: "from C" }), "y", /^Echo: from C$/]]],
  [[[e("get-sum", { a: 20, b: 22 }), "a", /42/]]],
  [[[e("get-sum", { a: 1, b: 2 }), "", /is 3/]]],
  [[[e("get-tiny-image"), "y", /\[image, image\/png, \d+ bytes: it follows\]/]]],
  [[[f("read_text_file", { path: path.join(scratch, "note.txt") }), "a", /^a note\n?$/]]],
  [[[f("read_text_file", { path: "/no/such/place" }), "", /^The tool reported an error:\n.*denied/s]]],
  [[[f("write_file", { path: path.join(scratch, "never.txt"), content: "x" }), "n", /^The user does not allow this call\.$/]]],
  [[[o("top", { top: 3 }), "y", /^\{"\$top":3\}$/]]],
  [[[e("echo", { message: "one" }), "y", /^Echo: one$/], [f("read_text_file", { path: path.join(scratch, "note.txt") }), "", /^a note/]]],
  [[[e("no-such-tool"), "", /^There is no tool "mcp__everything__no-such-tool"\./]]],
  [[[{ ...e("echo"), as: '{"message": ' }, "", /^The arguments of "mcp__everything__echo" are not valid JSON from byte 12 on/]]],
  [[[call("mcp__everything__get_sum", { a: 3, b: 4 }), "", /is 7/]]],
  [[[e("get-structured-content", { location: "New York" }), "y", /"temperature"/]]],
  [[[e("get-resource-links", { count: 2 }), "y", /\[link to .*demo:\/\/.*\]/]]],
  [[[e("get-resource-reference", { resourceType: "Text", resourceId: 1 }), "y", /\[resource, demo:\/\/[^\]]*\]\n/]]],
  [[[o("fails"), "y", /^The tool reported an error:\nas it should$/]]],
  [[[{ ...e("get-sum", { a: 5, b: 6 }), as: { a: 5, b: 6 } }, "", /is 11/]]],
  [[[e("get-sum", { a: 1, b: 1 }), "", /is 2/]], [[e("get-sum", { a: 2, b: 2 }), "", /is 4/]]],
  "error",
];

export async function agent({ attempt, check, run, bin, script, scratch, modules, here }) {
  await attempt("agent", async () => {
    const all = turns({ scratch }), queue = [], heard = [], wrong = [];
    let stdin = "", stdout = "", id = 0;
    all.forEach((rounds, t) => {
      stdin += `turn ${t}\n`;
      stdout += "> ";
      if (rounds === "error") { queue.push({ status: 500 }); return; }
      for (const round of rounds) {
        const tool_calls = round.map(([k, answer, told]) => {
          stdin += answer && answer + "\n";
          if (!(told.source.startsWith("^There is no") || told.source.startsWith("^The arguments")))
            stdout += `* ${k.name.replace("get_sum", "get-sum")} ${JSON.stringify(k.args).replace('"top"', '"$top"')}\n` + (answer && "  Call it? (y/n/a) ");
          return { id: `c${++id}`, type: "function", function: { name: k.name, arguments: k.as ?? JSON.stringify(k.args) } };
        });
        queue.push({ message: { role: "assistant", content: null, tool_calls }, turn: t, round });
      }
      queue.push({ message: { role: "assistant", content: `answer ${t}` } });
      stdout += `answer ${t}\n`;
    });
    stdout += "> ";
    const endpoint = http.createServer((req, res) => {
      let text = "";
      req.on("data", d => { text += d; });
      req.on("end", () => {
        const body = JSON.parse(text), next = queue.shift() ?? { status: 400 };
        heard.push(body);
        res.statusCode = next.status ?? 200;
        const answer = JSON.stringify(next.message ? { choices: [{ index: 0, message: next.message }] } : { error: "no" });
        if (heard.length % 2) res.setHeader("Content-Length", Buffer.byteLength(answer));
        else for (let i = 0; i < answer.length; i += 50) res.write(answer.slice(i, i + 50));        // in chunks
        res.end(heard.length % 2 ? answer : undefined);
      });
    });
    const planned = queue.filter(q => q.round);
    await new Promise(done => endpoint.listen(0, "127.0.0.1", done));
    const [node, everything] = script("@modelcontextprotocol/server-everything/dist/index.js");
    const r = await run(bin("agent"), ["-u", `http://127.0.0.1:${endpoint.address().port}/v1`, "-m", "scripted", "-P", "anthropic", "-i",
      "--", `everything=${node}`, everything, "--", `files=${node}`, script("@modelcontextprotocol/server-filesystem/dist/index.js")[1], scratch,
      "--", `odd=${node}`, path.join(here, "ts1_server.mjs"), modules], { input: stdin, timeout: 100000 });
    endpoint.close();
    check("agent: 20 turns", all.length === 20 && r.status === 0, r);
    check("agent: what the user sees", r.out === stdout, r.out);
    check("agent: an endpoint that fails is told", /status 500 \{"error":"no"\}/.test(r.err), r.err);
    check("agent: all that was scripted was asked for", queue.length === 0, queue);

    // What an endpoint would refuse.
    for (const { tools, messages, model } of heard) {
      if (model !== "scripted") wrong.push("model");
      const names = tools.map(t => t.function.name);
      if (new Set(names).size !== names.length) wrong.push("names twice");
      for (const t of tools) {
        if (!/^[A-Za-z_][A-Za-z0-9_-]{0,63}$/.test(t.function.name) || t.type !== "function") wrong.push(t.function.name);
        const p = t.function.parameters;
        if (p.type !== "object" || p.anyOf || p.oneOf || p.allOf || "$schema" in p) wrong.push(p);
        for (const key of Object.keys(p.properties)) if (!/^[a-zA-Z0-9_.-]{1,64}$/.test(key)) wrong.push(key);
        for (const key of p.required ?? []) if (!(key in p.properties)) wrong.push(key);
      }
      messages.forEach((m, i) => {                      // each call is answered, in order, and by nothing else
        (m.tool_calls ?? []).forEach((k, n) => {
          const answer = messages[i + 1 + n];
          if (answer?.role !== "tool" || answer.tool_call_id !== k.id || typeof answer.content !== "string" || !answer.content) wrong.push([k, answer]);
        });
        if (m.role === "tool" && !["tool", "assistant"].includes(messages[i - 1].role)) wrong.push(m);
      });
    }
    check("agent: nothing that an endpoint refuses", wrong.length === 0, wrong);
    check("agent: the tools of all servers", heard[0].tools.length > 30, heard[0].tools.length);
    check("agent: the same bytes of tools in each request", new Set(heard.map(b => JSON.stringify(b.tools))).size === 1);

    const last = heard.at(-1).messages, told = Object.fromEntries(last.filter(m => m.role === "tool").map(m => [m.tool_call_id, m.content]));
    for (const { turn, round, message } of planned) round.forEach(([k, , want], n) =>
      check(`agent: turn ${turn + 1}, ${k.name}`, want.test(told[message.tool_calls[n].id] ?? ""), told[message.tool_calls[n].id]));
    const shown = last.filter(m => m.role === "user" && Array.isArray(m.content));
    check("agent: one image, behind the answers of its turn", shown.length === 1 && shown[0].content[0].text.startsWith("From the tool mcp__everything__get-tiny-image")
      && shown[0].content[1].image_url.url.startsWith("data:image/png;base64,iVBOR") && last[last.indexOf(shown[0]) - 1].role === "tool", shown);
    check("agent: a refusal is one", !fs.existsSync(path.join(scratch, "never.txt")));
  }, 120000);
}

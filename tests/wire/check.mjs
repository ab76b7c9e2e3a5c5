// What tests wrote to MCP_TEST_WIRE files (tests/test.h), against the schemas of the protocol: every message that our side sent
// must be what its revision has for its method.
//     node check.mjs MODULES SCHEMAS FILE...          prints one line for each message that is not, then `N passed, N failed`
import fs from 'node:fs';
import path from 'node:path';
import { createRequire } from 'node:module';

const [modules, schemas, ...files] = process.argv.slice(2);
const require = createRequire(path.resolve(modules, 'x.js'));
const { default: Ajv } = require('ajv');
const { default: Ajv2020 } = require('ajv/dist/2020.js');
const { default: formats } = require('ajv-formats');

const MODERN = '2026-07-28', NEWEST_LEGACY = '2025-11-25', K = 'io.modelcontextprotocol/';
// Tests whose own functions write results or questions that are none: those are the program's, and only counted.
const OWN = new Set(['questions', 'nested', 'strikes', 'no_memory', 'chaos', 'shapes', 'forms', 'capabilities']);
const EMPTY = new Set(['ping', 'resources/subscribe', 'resources/unsubscribe', 'logging/setLevel']);

// -- the schemas: for each revision, the definition of each method's request, notification and result
const revisions = {};
for (const name of fs.readdirSync(schemas).filter(f => /^\d{4}-\d\d-\d\d\.json$/.test(f))) {
  const rev = name.slice(0, 10), schema = JSON.parse(fs.readFileSync(path.join(schemas, name), 'utf8'));
  const key = schema.$defs ? '$defs' : 'definitions', defs = schema[key];
  const ajv = new (key === '$defs' ? Ajv2020 : Ajv)({ strict: false, allErrors: false, validateFormats: true });
  formats(ajv);
  // The generated schemas say integer where the source they are made from says number: the fields of a form.
  for (const one of defs.ElicitResult?.properties.content.additionalProperties.anyOf ?? []) {
    if (Array.isArray(one.type)) one.type = one.type.map(t => t === 'integer' ? 'number' : t);
  }
  ajv.addSchema({ ...schema, $id: rev });
  const r = { params: {}, results: {}, errors: {}, has: d => d in defs, is: d => ajv.getSchema(`${rev}#/${key}/${d}`), text: v => ajv.errorsText(v.errors) };
  for (const [d, body] of Object.entries(defs)) {
    const code = body.properties?.error?.allOf?.[1]?.properties?.code?.const;
    if (code !== undefined) r.errors[code] = d;
    const method = body.properties?.method?.const;
    if (!method) continue;
    r.params[method] = d;
    if (!d.endsWith('Request')) continue;
    const whole = d.replace(/Request$/, 'ResultResponse'), result = d.replace(/Request$/, 'Result');
    r.results[method] = whole in defs ? { whole } : { result: EMPTY.has(method) ? 'EmptyResult' : result in defs ? result : 'Result' };
  }
  r.error = r.has('JSONRPCErrorResponse') ? 'JSONRPCErrorResponse' : 'JSONRPCError';
  revisions[rev] = r;
}

// -- the records of a file: a line `test stream who bytes`, and the bytes
let passed = 0, failed = 0, exempt = 0, mistaken = 0;
const told = new Map();

function bad(test, rev, line, why) {
  failed++;
  const n = told.get(test) ?? 0;
  told.set(test, n + 1);
  if (n < 4) console.log(`${test} (${rev}): ${why}\n    ${line.slice(0, 400)}`);
}

const idKey = id => `${typeof id}:${JSON.stringify(id)}`;
const isModern = m => Object.keys(m.params?._meta ?? {}).some(k => k === K + 'protocolVersion' || k === K + 'clientCapabilities' || k === K + 'clientInfo')
  || m.method === 'server/discover' || m.method === 'subscriptions/listen';

class Stream {
  constructor(test, who) { this.test = test; this.server = who === 'S'; this.parts = { '<': [], '>': [] }; this.asked = { '<': new Map(), '>': new Map() }; this.tokens = new Map(); }

  add(dir, bytes) {
    let at = 0;
    for (let lf; (lf = bytes.indexOf(10, at)) >= 0; at = lf + 1) {
      const line = Buffer.concat([...this.parts[dir], bytes.subarray(at, lf)]);
      this.parts[dir] = [];
      if (line.length) this.line(dir, line);
    }
    if (at < bytes.length) this.parts[dir].push(bytes.subarray(at));
  }

  line(dir, bytes) {
    let text, m;
    try {
      text = new TextDecoder('utf-8', { fatal: true }).decode(bytes);
      m = JSON.parse(text);
    } catch (e) {
      if (dir === '>') bad(this.test, 'any', bytes.toString(), `no JSON: ${e.message}`);
      return;
    }
    for (const x of Array.isArray(m) ? m : [m]) {
      if (!x || typeof x !== 'object') continue;
      const rev = dir === '>' ? this.check(x, Array.isArray(m) ? JSON.stringify(x) : text) : undefined;
      this.note(dir, x, rev);
    }
  }

  // What later messages mean depends on it.
  note(dir, m) {
    if (typeof m.method === 'string' && 'id' in m) {
      const call = { method: m.method, modern: isModern(m), version: m.params?.protocolVersion };
      this.asked[dir].set(idKey(m.id), call);
      const token = m.params?._meta?.progressToken;
      if (token !== undefined) this.tokens.set(idKey(token), call.modern);
      this.modern ||= call.modern;
    } else if ('result' in m) {
      const call = this.asked[dir === '>' ? '<' : '>'].get(idKey(m.id));
      if (call?.method === 'initialize' && typeof m.result?.protocolVersion === 'string') this.version = m.result.protocolVersion;
    }
  }

  legacy() { return revisions[this.version] ? this.version : NEWEST_LEGACY; }

  // Which revisions a message of ours may belong to; mostly it is one.
  revisionsOf(m) {
    if (typeof m.method === 'string' && 'id' in m)
      return [isModern(m) ? MODERN : m.method === 'initialize' && revisions[m.params?.protocolVersion] ? m.params.protocolVersion : this.legacy()];
    if (typeof m.method === 'string') {
      if (m.params?._meta?.[K + 'subscriptionId'] !== undefined) return [MODERN];
      if (m.method === 'notifications/progress' && this.tokens.has(idKey(m.params?.progressToken)))
        return [this.tokens.get(idKey(m.params.progressToken)) ? MODERN : this.legacy()];
      return this.version === undefined ? [MODERN] : this.modern ? [this.legacy(), MODERN] : [this.legacy()];
    }
    const call = this.asked['<'].get(idKey(m.id));
    if (call?.method === 'initialize' && revisions[m.result?.protocolVersion]) return [m.result.protocolVersion];
    if (call) return [call.modern ? MODERN : this.legacy()];
    return [this.version === undefined ? MODERN : this.legacy()];
  }

  why(m, rev) {
    const r = revisions[rev];
    let d;
    if (typeof m.method === 'string') d = r.params[m.method] ?? ('id' in m ? 'JSONRPCRequest' : 'JSONRPCNotification');
    else if ('error' in m) {
      // An answer to what had no id that could be read: these revisions have no form for it (DESIGN, decision 1).
      if (!('id' in m) && r.error === 'JSONRPCError') { exempt++; return null; }
      d = r.errors[m.error?.code] ?? r.error;
    } else {
      const call = this.asked['<'].get(idKey(m.id)), form = r.results[call?.method];
      if (form?.whole) d = form.whole;
      else {
        const v = r.is(form?.result ?? 'Result');
        if (!v(m.result)) return `${form?.result ?? 'Result'}: ${r.text(v)}`;
        d = r.has('JSONRPCResultResponse') ? 'JSONRPCResultResponse' : 'JSONRPCResponse';
      }
    }
    const v = r.is(d);
    return v(m) ? null : `${d}: ${r.text(v)}`;
  }

  check(m, text) {
    let why;
    for (const rev of this.revisionsOf(m)) {
      why = this.why(m, rev);
      if (!why) { passed++; return rev; }
      why = [rev, why];
    }
    const own = this.server ? m.params || m.result?.inputRequests : m.result;
    const uri = !this.server && /\/uri must match format "uri(-template)?"/.test(why[1]);      // the test asks for what is no URI
    if (uri || (own && OWN.has(this.test))) mistaken++;
    else bad(this.test, why[0], text, why[1]);
    return why[0];
  }
}

for (const file of files) {
  const all = fs.readFileSync(file), streams = new Map();
  for (let at = 0; at < all.length;) {
    const lf = all.indexOf(10, at), head = all.subarray(at, lf).toString().match(/^(\S*) (\S+) ([SC<>]) (\d+)$/);
    if (!head) throw new Error(`${file}: no record at byte ${at}`);
    const [, test, id, who, n] = head, bytes = all.subarray(lf + 1, lf + 1 + +n);
    at = lf + 1 + +n + 1;
    if (who === 'S' || who === 'C') streams.set(id, new Stream(test, who));
    else streams.get(id)?.add(who, bytes);
  }
}
for (const [test, n] of told) if (n > 4) console.log(`${test}: ${n - 4} more`);
if (mistaken) console.log(`${mistaken} that a test's own function got wrong`);
if (exempt) console.log(`${exempt} parse errors without an id, under revisions that have no form for them`);
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);

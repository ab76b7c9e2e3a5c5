// Our patterns against RegExp with the flag u: pattern_peer.mjs PROGRAM (tests/fixtures/patterns.c). Patterns come from a grammar, each
// with texts that fit it or nearly do; others are made from those by changing some characters. Always the same ones. What we accept and
// RegExp does not take with the flag must mean what it means without it. Prints what differs, and last `N passed, N failed`.
import { spawnSync } from 'node:child_process';
import vm from 'node:vm';

let state = 20260728;
const random = () => {                          // mulberry32
    state = state + 0x6D2B79F5 | 0;
    let t = Math.imul(state ^ state >>> 15, 1 | state);
    t = t + Math.imul(t ^ t >>> 7, 61 | t) ^ t;
    return (t ^ t >>> 14) >>> 0;
};
const below = n => random() % n;
const one = list => list[below(list.length)];
const chance = n => below(n) === 0;
const regexp = (pattern, flags) => { try { return new RegExp(pattern, flags); } catch { return null; } };

// A node of a pattern: `ours`, what it looks like; `strict`, the same as the flag u wants it; `sample()`, a text that it may match.
const chars = [...'aaabbbcc1_-. \n\té中🐲\u2028', '\0'];
const node = (ours, sample, strict = ours) => ({ ours, strict, sample });
const hex = (c, n) => c.codePointAt(0).toString(16).padStart(n, '0');
const quoted = c => /[\^$\\.*+?()[\]{}|/]/.test(c) ? '\\' + c : c;

function char() {
    const c = one(chars), self = () => c, named = { '\n': '\\n', '\t': '\\t', '\0': '\\0' }[c];
    switch (below(14)) {
    case 0: return node(`\\u{${hex(c, 1)}}`, self);
    case 1: return c.length === 1 ? node(`\\u${hex(c, 4)}`, self) : node(`\\u${hex(c[0], 4)}\\u${c.charCodeAt(1).toString(16)}`, self);
    case 2: return c < '\x7F' ? node(`\\x${hex(c, 2)}`, self) : node(c, self);
    case 3: return named && c !== '\0' ? node(named, self) : c === '\n' ? node('\\cJ', self) : node(quoted(c), self);
    case 4: return /[-_ .é中]/u.test(c) ? node('\\' + c, self, quoted(c)) : node(quoted(c), self);
    case 5: return chance(4) ? node(one(['}', '{a', 'a{-']), () => '', null) : node(quoted(c), self);
    default: return node(quoted(c), self);
    }
}

const escapes = { '\\d': '1', '\\D': 'é', '\\w': 'a', '\\W': '-', '\\s': '\u2028', '\\S': 'b', '.': '中' };
function set() {
    let ours = '', strict = '';
    const in_it = [], negated = chance(4), n = below(5), add = (a, b = a) => { ours += a; strict += b; };
    for (let i = 0; i < n; i++) {
        const c = one(chars), q = /[-\]\\^]/.test(c) ? '\\' + c : c;
        switch (below(6)) {
        case 0: { const e = one(Object.keys(escapes)); add(e === '.' ? '\\.' : e); in_it.push(e === '.' ? '.' : escapes[e]); break; }
        case 1: { const [x, y] = [c, one(chars)].sort((a, b) => a.codePointAt(0) - b.codePointAt(0));
                  add(`\\u{${hex(x, 1)}}-\\u{${hex(y, 1)}}`); in_it.push(x, y); break; }
        case 2: if (chance(3)) { add('\\w-.', '\\w\\-.'); in_it.push('-', '.'); break; }       // falls through
        default: add(q); in_it.push(c);
        }
    }
    return node(`[${negated ? '^' : ''}${ours}]`, () => negated || !in_it.length ? one(chars) : one(in_it), `[${negated ? '^' : ''}${strict}]`);
}

let names = 0;
function atom(depth) {
    const k = below(depth > 0 ? 16 : 10);
    if (k < 6) return char();
    if (k < 8) return set();
    if (k < 10) { const e = one(Object.keys(escapes)); return node(e, () => escapes[e]); }
    const x = alternatives(depth - 1), open = one(['(', '(?:', '(?:', `(?<n${names++}>`]);
    return node(`${open}${x.ours})`, x.sample, x.strict === null ? null : `${open}${x.strict})`);
}

function piece(depth) {
    if (chance(9)) return node(one(['^', '$', '\\b', '\\B']), () => '');
    const x = atom(depth);
    if (!chance(3)) return x;
    const low = below(4), high = low + below(4), big = chance(12) ? below(40) : 0;
    const [q, least, most] = one([['*', 0, 3], ['+', 1, 3], ['?', 0, 1], [`{${low}}`, low, low], [`{${low},}`, low, low + 2], [`{${low},${high + big}}`, low, high + big]]);
    const lazy = chance(5) ? '?' : '', sample = () => Array.from({ length: least + below(most - least + 1) }, x.sample).join('');
    return node(x.ours + q + lazy, sample, x.strict === null ? null : x.strict + q + lazy);
}

const join = (xs, by) => node(xs.map(x => x.ours).join(by), by ? () => one(xs).sample() : () => xs.map(x => x.sample()).join(''),
                              xs.some(x => x.strict === null) ? null : xs.map(x => x.strict).join(by));
const sequence = depth => join(Array.from({ length: chance(12) ? 0 : 1 + below(4) }, () => piece(depth)), '');
const alternatives = depth => chance(4) ? join(Array.from({ length: 2 + below(3) }, () => sequence(depth)), '|') : sequence(depth);
function pattern() {
    const x = alternatives(3);
    if (!chance(2)) return x;
    const whole = s => s === null ? null : `^(?:${s})$`;
    return node(whole(x.ours), x.sample, whole(x.strict));
}

const noise = [...'()[]{}|*+?^$\\.-,:=!<>abcdkpuxnDWSB0123456789', '(?:', '(?<n>', '\\p{L}', '\\P{Lu}', '\\u{', '\\k<', '{1,2}', '{,3}', '[^', '\\b', '\\1', '\\c', 'é', '🐲'];
function changed(s, bits, times) {
    const a = [...s];
    for (; times; times--) {
        const at = below(a.length + 1);
        if (chance(3)) a.splice(at, 1); else a.splice(at, below(2), one(bits));
    }
    return a.join('');
}
const short = s => [...s].slice(0, 12).join('');
function texts(x) {
    const list = ['', one(chars)];
    for (let i = 0; i < 10; i++) {
        const s = short(x.sample());
        list.push(chance(2) ? s : chance(4) ? one(chars) + s + one(chars) : changed(s, chars, 1 + below(2)));
    }
    return list;
}

const cases = [];
while (cases.length < 20000) { const x = pattern(); cases.push({ pattern: x.ours, strict: x.strict, texts: texts(x) }); }
while (cases.length < 50000) {
    const x = pattern(), p = changed(x.ours, noise, 1 + below(3));
    cases.push({ pattern: p, strict: p, texts: texts(x) });
}
// Every class on every code point below U+3000, and above where a class begins or ends. Unicode grows: our letters are those of version
// 17.0, so only what this RegExp knows is asked, and if it is newer, no properties.
const newer = parseInt(process.versions.unicode) > 17;
const kinds = ['L', 'M', 'N', 'Nd'].map(k => new RegExp(`\\p{${k}}`, 'u')), given = /\P{Cn}/u;
const points = [];
for (let c = 0, before = ''; c < 0x110000; c++) {
    if (c >= 0xD800 && c < 0xE000) continue;
    const s = String.fromCodePoint(c), now = kinds.map(k => k.test(s)).join();
    if (c < 0x3000 || now !== before) points.push(s, String.fromCodePoint(c - (c > 0 && c !== 0xE000)));
    before = now;
}
for (const p of ['.', '\\d', '\\w', '\\s', '\\b.', '\\B.\\B', '[^\\D]', '[^\\W]', '[^\\S]', '[\\w\\S]', '[^\\d\\s]'])
    cases.push({ pattern: p, strict: p, texts: points });
for (const p of ['\\p{L}', '\\p{Letter}', '\\P{M}', '\\p{N}', '\\p{Nd}', '\\p{digit}', '[\\P{L}\\p{N}]', '[^\\p{Combining_Mark}]'])
    if (!newer) cases.push({ pattern: p, strict: p, texts: points.filter(s => given.test(s)) });

const run = spawnSync(process.argv[2], { input: cases.map(x => JSON.stringify([x.pattern, ...x.texts]) + '\n').join(''), maxBuffer: 1 << 28 });
const answers = run.stdout.toString().split('\n');
if (run.status !== 0 || answers.length !== cases.length + 1) { console.log(`the program ended with ${run.status ?? run.signal}`, run.stderr.toString()); }

// RegExp walks back, and some patterns would keep it for hours: null for those.
const context = vm.createContext({}), ask = new vm.Script('texts.map(s => re.test(s))');
function asked(re, texts) {
    if (!/\)[*+?{]/.test(re.source)) return texts.map(s => re.test(s));
    Object.assign(context, { re, texts });
    try { return ask.runInContext(context, { timeout: 200 }); } catch { return null; }
}

let failed = 0, slow = 0;
const counts = { 'texts matched': 0, 'texts did not match': 0, 'patterns with the flag': 0, 'patterns without it': 0, 'malformed for both': 0, outside: 0 };
const differs = (x, what) => { if (failed++ < 20) console.log(`${JSON.stringify(x.pattern)}: ${what}`); };
const plane0 = s => !/[\uD800-\uDFFF]/.test(s);
cases.forEach((x, i) => {
    const ours = answers[i] ?? '', flag = regexp(x.strict ?? x.pattern, 'u');
    // Without the flag the same only if it has none of the escapes that the flag adds, and no character that is two units.
    const plain = plane0(x.pattern) && !/\\u\{|\\p\{|\\P\{|\\u[dD][89a-fA-F]/.test(x.pattern) ? regexp(x.pattern, '') : null;
    if (ours.startsWith('- ')) {
        if (ours.startsWith('- malformed')) {
            if (flag) differs(x, `RegExp takes it; here it is ${ours.slice(2)}`); else counts['malformed for both']++;
        } else counts.outside++;
        return;
    }
    if (!flag && !plain) {
        const names = x.pattern.match(/\(\?<[^>=!]+>/g) ?? [];         // we do not mind the same name twice, nor what letters it has
        if (new Set(names).size === names.length && !/[^ -~]/.test(names.join('')) && !regexp(x.pattern, '') && !/\\u\{|\\p\{|\\P\{/.test(x.pattern)) differs(x, 'RegExp does not take it');
        return;
    }
    counts[flag ? 'patterns with the flag' : 'patterns without it']++;
    const wanted = asked(flag ?? plain, x.texts);
    if (!wanted) slow++;
    wanted?.forEach((want, k) => {
        const s = x.texts[k];
        if (!flag && !plane0(s)) return;
        counts[want ? 'texts matched' : 'texts did not match']++;
        if (ours[k] !== (want ? '1' : '0')) differs(x, `${JSON.stringify(s)}: ${ours[k]}, RegExp says ${want}`);
    });
});
console.log(Object.entries(counts).map(([k, v]) => `${v} ${k}`).join(', ') + `; ${slow} patterns were left out because RegExp was too slow`);
if (slow > 200) failed++;
// Each kind must come often enough to mean something.
for (const [k, v] of Object.entries(counts)) if (v < 500) { failed++; console.log(`only ${v} ${k}`); }
console.log(`${cases.length - failed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
